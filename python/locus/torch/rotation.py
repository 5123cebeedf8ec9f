# SPDX-License-Identifier: MIT
"""The kernel of Triton by which queries and keys are turned (turning.py)."""
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def part(x, y, table, partner, tile, group, batch, x_batch,  # type: ignore[no-untyped-def]
         x_head, x_row, y_batch, y_head, y_row, rows, heads, step, BACK: tl.constexpr, EACH: tl.constexpr,
         DIM: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, HEADS: tl.constexpr, PAIRS: tl.constexpr):
    row = tile * ROWS + tl.arange(0, ROWS)
    far, wide_batch = row.to(tl.int64)[:, None], batch.to(tl.int64)
    per_row = 2 * DIM * (heads if EACH else 1)
    own = table + (wide_batch * step + far) * per_row
    from_x, to_y = x + wide_batch * x_batch + far * x_row, y + wide_batch * y_batch + far * y_row
    if PAIRS == "any":
        any_pairs(from_x, to_y, own, partner, (row < rows)[:, None], group, x_head, y_head, heads, BACK, EACH, DIM, WIDTH,
                  HEADS)
    else:
        like_pairs(from_x, to_y, own, (row < rows)[:, None], group, x_head, y_head, heads, BACK, EACH, DIM, ROWS, HEADS,
                   PAIRS)


@triton.jit
def any_pairs(from_x, to_y, own, partner, inside, group, x_head, y_head, heads,  # type: ignore[no-untyped-def]
              BACK: tl.constexpr, EACH: tl.constexpr, DIM: tl.constexpr, WIDTH: tl.constexpr, HEADS: tl.constexpr):
    i = tl.arange(0, WIDTH)
    other, inside = tl.load(partner + i, mask=i < DIM, other=0), inside & (i < DIM)[None, :]
    at_s = DIM + (other if BACK else i)  # its transpose, for gradients
    if not EACH:
        c, s = tl.load(own + i[None, :], mask=inside), tl.load(own + at_s[None, :], mask=inside)
    for number in tl.static_range(HEADS):
        head = (group * HEADS + number).to(tl.int64)
        seen = inside & (head < heads)
        if EACH:
            c = tl.load(own + head * 2 * DIM + i[None, :], mask=seen)
            s = tl.load(own + head * 2 * DIM + at_s[None, :], mask=seen)
        a = tl.load(from_x + head * x_head + i[None, :], mask=seen).to(c.dtype)
        b = tl.load(from_x + head * x_head + other[None, :], mask=seen).to(c.dtype)
        tl.store(to_y + head * y_head + i[None, :], (a * c + b * s).to(to_y.dtype.element_ty), mask=seen)


@triton.jit
def like_pairs(from_x, to_y, own, inside, group, x_head, y_head, heads,  # type: ignore[no-untyped-def]
               BACK: tl.constexpr, EACH: tl.constexpr, DIM: tl.constexpr, ROWS: tl.constexpr, HEADS: tl.constexpr,
               PAIRS: tl.constexpr):
    """Each number is read once, in order, and each c and s for both of a pair: s of the second, of the first it is -s."""
    half = tl.arange(0, DIM // 2)[None, :]
    i = tl.arange(0, DIM)[None, :]
    first, second = (half, DIM // 2 + half) if PAIRS == "halves" else (2 * half, 2 * half + 1)
    if not EACH:
        c, s = tl.load(own + first, mask=inside), tl.load(own + DIM + second, mask=inside)
        s = -s if BACK else s
    for number in tl.static_range(HEADS):
        head = (group * HEADS + number).to(tl.int64)
        seen = inside & (head < heads)
        at, to = from_x + head * x_head, to_y + head * y_head
        if EACH:
            c = tl.load(own + head * 2 * DIM + first, mask=seen)
            s = tl.load(own + head * 2 * DIM + DIM + second, mask=seen)
            s = -s if BACK else s
        if PAIRS == "halves":
            a, b = tl.load(at + first, mask=seen).to(c.dtype), tl.load(at + second, mask=seen).to(c.dtype)
            tl.store(to + first, (a * c - b * s).to(to_y.dtype.element_ty), mask=seen)
            tl.store(to + second, (b * c + a * s).to(to_y.dtype.element_ty), mask=seen)
        else:
            a, b = tl.split(tl.reshape(tl.load(at + i, mask=seen).to(c.dtype), (ROWS, DIM // 2, 2)))
            both = tl.reshape(tl.join(a * c - b * s, b * c + a * s), (ROWS, DIM))
            tl.store(to + i, both.to(to_y.dtype.element_ty), mask=seen)


@triton.jit(do_not_specialize=["q_rows", "k_rows", "q_groups", "q_step", "k_step"])
def kernel(q, k, q_out, k_out, q_table, k_table, partner, q_batch,  # type: ignore[no-untyped-def]
           q_head, q_row, k_batch, k_head, k_row, r_batch, r_head, r_row, t_batch, t_head, t_row, q_rows, k_rows,
           q_heads, k_heads, q_groups, q_step, k_step, BACK: tl.constexpr, EACH: tl.constexpr,
           DIM: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, HEADS: tl.constexpr, PAIRS: tl.constexpr):
    tile, group, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    if group < q_groups:
        part(q, q_out, q_table, partner, tile, group, batch, q_batch, q_head, q_row, r_batch, r_head, r_row,
             q_rows, q_heads, q_step, BACK, EACH, DIM, WIDTH, ROWS, HEADS, PAIRS)
    else:
        part(k, k_out, k_table, partner, tile, group - q_groups, batch, k_batch, k_head, k_row, t_batch, t_head,
             t_row, k_rows, k_heads, k_step, BACK, EACH, DIM, WIDTH, ROWS, HEADS, PAIRS)
