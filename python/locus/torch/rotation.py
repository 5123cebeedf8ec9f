# SPDX-License-Identifier: MIT
"""The kernel of Triton by which queries and keys are turned (turning.py)."""
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def part(x, y, table, partner, tile, group, batch, x_batch,  # type: ignore[no-untyped-def]
         x_head, x_row, y_batch, y_head, y_row, rows, heads, step, BACK: tl.constexpr, EACH: tl.constexpr,
         DIM: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, HEADS: tl.constexpr):
    row, i = tile * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    other = tl.load(partner + i, mask=i < DIM, other=0)
    inside = (row < rows)[:, None] & (i < DIM)[None, :]
    far, wide_batch = row.to(tl.int64)[:, None], batch.to(tl.int64)
    per_row = 2 * DIM * (heads if EACH else 1)
    own = table + (wide_batch * step + far) * per_row
    from_x = x + wide_batch * x_batch + far * x_row
    to_y = y + wide_batch * y_batch + far * y_row
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
        tl.store(to_y + head * y_head + i[None, :], (a * c + b * s).to(y.dtype.element_ty), mask=seen)


@triton.jit(do_not_specialize=["q_rows", "k_rows", "q_groups", "q_step", "k_step"])
def kernel(q, k, q_out, k_out, q_table, k_table, partner, q_batch,  # type: ignore[no-untyped-def]
           q_head, q_row, k_batch, k_head, k_row, r_batch, r_head, r_row, t_batch, t_head, t_row, q_rows, k_rows,
           q_heads, k_heads, q_groups, q_step, k_step, BACK: tl.constexpr, EACH: tl.constexpr,
           DIM: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, HEADS: tl.constexpr):
    tile, group, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    if group < q_groups:
        part(q, q_out, q_table, partner, tile, group, batch, q_batch, q_head, q_row, r_batch, r_head, r_row,
             q_rows, q_heads, q_step, BACK, EACH, DIM, WIDTH, ROWS, HEADS)
    else:
        part(k, k_out, k_table, partner, tile, group - q_groups, batch, k_batch, k_head, k_row, t_batch, t_head,
             t_row, k_rows, k_heads, k_step, BACK, EACH, DIM, WIDTH, ROWS, HEADS)
