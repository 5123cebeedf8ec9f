# SPDX-License-Identifier: MIT
"""Rotations of queries and keys at once, by one kernel of Triton where there is one:

    y_i = c_i x_i + s_i x_partner(i)

of each token's own c and s, which hold every turn of pairs that nothing learned makes, whatever the order of its pairs:
coordinates without a pair have c = 1, s = 0. Where there is no Triton, and in programs that PyTorch compiles, the same
is a sum of products."""
from __future__ import annotations

import warnings
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd import forward_ad

from .operations import Live, by_head, cosines_of, side, wide

try:
    import triton

    from .rotation import kernel
except Exception:  # no Triton, one that fails, or a package without its sources, which Triton reads
    triton = None

# Kinds of devices where the kernel runs.
DEVICES = {"cuda"}
_ROWS, _HEADS = 8, 8  # of one program of the kernel: the fastest of seven on an H100, or near it
_APART = 64  # numbers of the gap: cuDNN's kernel was tried with it
_MOST_SEQUENCES = 65535  # as many as CUDA's grids have in their third direction


class Table:
    """c and s of one role, [rows, 1 or heads, 2, dim], in float32, or in double for double; `partner` [dim]. Sequences
    that stand alike share their rows: `step` is how many rows each has of its own, or 0."""

    def __init__(self, both: Tensor, partner: Tensor, step: int) -> None:
        self.both, self.partner, self.step = both, partner, step
        self.heads, self.pairs = both.shape[1], _pairs_of(both, partner)
        self.launches: Dict[Any, Any] = {}  # of a pair of tables, at that of queries


def _pairs_of(both: Tensor, partner: Tensor) -> str:
    """halves, neighbours: every pair's numbers lie so, and have one c, and s and -s, which a kernel reads once; or any."""
    dim, i = partner.numel(), torch.arange(partner.numel(), device=partner.device)
    for name, other in (("halves", (i + dim // 2) % dim), ("neighbours", i ^ 1)):
        if dim > 1 and dim & (dim - 1) == 0 and torch.equal(partner, other.to(partner.dtype)):
            c, s = both.unbind(2)
            if torch.equal(c, c[..., other]) and torch.equal(s, -s[..., other]):
                return name
    return "any"


def table_of(forms: List[Live], role: str, heads: int, dim: int, sequences: int, dtype: torch.dtype,
             device: torch.device) -> Optional[Table]:
    """None where something else than turns of pairs, each in elements of its own, acts on this role, or something
    learned. Without any form it is a table of ones."""
    acting = [live for live in forms if role in live.form.roles and live.kind != "vectors"]
    free, tokens = np.ones(dim, dtype=bool), 0
    for live in acting:
        own = slice(live.form.first, live.form.first + live.form.count)
        if live.kind != "turn" or live.form.parameters or "basis" in live.arrays or not free[own].all():
            return None
        free[own] = False
        tokens = len(live.arrays[f"{side(role)}_coarse.0"])
    if not acting:
        return None
    c = torch.ones((tokens, 1, dim), dtype=wide(device), device=device)
    s, partner = torch.zeros_like(c), torch.arange(dim, dtype=torch.int32, device=device)
    for live in acting:
        cosine, sine = cosines_of(live, heads, role)
        if cosine.shape[1] > c.shape[1]:
            c, s = c.expand(-1, heads, -1).clone(), s.expand(-1, heads, -1).clone()
        pairs = torch.from_numpy(live.form.arrays["pair"].astype(np.int64)) + live.form.first
        one, other = pairs.to(device).unbind(1)
        c[..., one] = c[..., other] = cosine
        s[..., one], s[..., other] = -sine, sine
        partner[one], partner[other] = other.to(torch.int32), one.to(torch.int32)
        if "flip" in live.arrays and live.form.count % 2 == 1:
            odd = live.arrays[f"{side(role)}_position.0"] % 2 == 1
            flips = by_head(live.arrays["flip"], heads) < live.form.count
            sign = torch.where(odd[:, None] & flips[None, :], -1.0, 1.0).to(c.dtype)
            c, s = (c.expand(-1, heads, -1).clone(), s.expand(-1, heads, -1).clone()) if c.shape[1] == 1 else (c, s)
            c[..., live.form.first + live.form.count - 1] = sign
    both = torch.stack((c, s), 2).to(dtype if dtype == torch.float64 else torch.float32)
    apart = both.unflatten(0, (sequences, -1))
    alike = sequences == 1 or bool((apart == apart[:1]).all())
    # A copy: a view would keep the rows of all sequences.
    return Table(apart[0].clone() if alike and sequences > 1 else both, partner, 0 if alike else tokens // sequences)


# ---- PyTorch's operations ----


def plain(x: Tensor, both: Tensor, partner: Tensor, step: int = 0) -> Tensor:
    """x [sequences, heads, length, dim]; the rest as in a table."""
    c, s = both.unbind(2)
    if step:
        c, s = (own.unflatten(0, (-1, step)).transpose(1, 2) for own in (c, s))
    else:
        c, s = c.transpose(0, 1), s.transpose(0, 1)
    own = x.to(both.dtype)
    return (own * c + own.index_select(-1, partner) * s).to(x.dtype)


# ---- one kernel ----


def _ready(q: Tensor, k: Tensor, made: Tensor, other: Tensor, tables: Tuple[Table, Table], back: bool
           ) -> Tuple[Any, Tuple[Any, ...]]:
    """Does it once. The compiled kernel on its grid, None where it can't be called by itself, and what it is called with
    behind its first pointers."""
    (batch, q_heads, q_rows, dim), (_, k_heads, k_rows, _) = q.shape, k.shape
    groups = -(-q_heads // _HEADS)
    grid = (-(-max(q_rows, k_rows) // _ROWS), groups - (-k_heads // _HEADS), batch)
    rest = (*q.stride()[:3], *k.stride()[:3], *made.stride()[:3], *other.stride()[:3], q_rows, k_rows, q_heads, k_heads,
            groups, tables[0].step, tables[1].step, back, tables[0].heads > 1, dim, triton.next_power_of_2(dim), _ROWS,
            _HEADS, tables[0].pairs if tables[0].pairs == tables[1].pairs else "any")
    constant = (tables[0].both, tables[1].both, tables[0].partner)
    compiled = kernel[grid](q, k, made, other, *constant, *rest)
    known = *(x.data_ptr() for x in constant), *rest
    try:
        run = compiled[grid]
        run(q, k, made, other, *known)
    except TypeError:  # an interpreter, or a Triton whose compiled kernels take other arguments
        return None, known
    return run, known


def _launched(q: Tensor, k: Tensor, tables: Tuple[Table, Table], back: bool, apart: bool = False
              ) -> Tuple[Tensor, Tensor]:
    """Triton reads off its arguments what to compile, which takes longer than the kernel does: for tensors that lie as
    those before, the compiled kernel is called by itself, with addresses."""
    if q.is_cuda and q.device.index != torch.cuda.current_device():
        with torch.cuda.device(q.device):
            return _launched(q, k, tables, back, apart)
    q = q if q.stride(3) == 1 else q.contiguous()
    k = k if k.stride(3) == 1 else k.contiguous()
    if apart:
        _, heads, length, dim = q.shape
        row = heads * dim + _APART
        made = q.new_empty_strided(q.shape, (length * row, dim, row, 1))
    else:
        made = torch.empty_like(q)
    other = torch.empty_like(k)
    at = q.data_ptr(), k.data_ptr(), made.data_ptr(), other.data_ptr()
    aligned = (at[0] | at[1] | at[2] | at[3]) % 16 == 0
    key = q.shape, k.shape, q.stride(), k.stride(), q.dtype, back, apart
    found = tables[0].launches.get(key) if aligned else None
    if found is None:
        run, rest = _ready(q, k, made, other, tables, back)
        if run is not None and aligned:
            tables[0].launches[key] = run, rest
    else:
        run, rest = found
        run(*at, *rest)
    return made, other


class _Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tables: Tuple[Table, Table], back: bool, apart: bool, q: Tensor, k: Tensor
                ) -> Tuple[Tensor, Tensor]:
        ctx.tables, ctx.back = tables, back
        return _launched(q, k, tables, back, apart)

    @staticmethod
    def backward(ctx: Any, dq: Tensor, dk: Tensor) -> Tuple[None, None, None, Tensor, Tensor]:
        return (None, None, None, *_by_kernel(dq.resolve_neg(), dk.resolve_neg(), ctx.tables, not ctx.back))


def _by_kernel(q: Tensor, k: Tensor, tables: Tuple[Table, Table], back: bool, apart: bool = False
               ) -> Tuple[Tensor, Tensor]:
    """`back`: by the transposed, as gradients are, whose own gradients are turned forth again."""
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad):
        turned: Tuple[Tensor, Tensor] = _Turn.apply(tables, back, apart, q, k)
        return turned
    return _launched(q, k, tables, back, apart)


def serves(tables: Tuple[Table, Table], dtype: torch.dtype, device: torch.device) -> bool:
    """Whether the kernel does it to tensors of this type."""
    return (triton is not None and device.type in DEVICES and (tables[0].heads > 1) == (tables[1].heads > 1)
            and _compiles(dtype, device))


_known: Dict[Any, bool] = {}


def _compiles(dtype: torch.dtype, device: torch.device) -> bool:
    """Whether Triton can make kernels of this type here, for which it wants a C compiler and a device that it knows and
    that knows the type."""
    if (dtype, device) not in _known:
        x = torch.zeros((1, 1, 1, 4), dtype=dtype, device=device)
        both = torch.zeros((1, 1, 2, 4), dtype=dtype if dtype == torch.float64 else torch.float32, device=device)
        table = Table(both, torch.tensor([1, 0, 3, 2], dtype=torch.int32, device=device), 0)
        try:
            _launched(x, x, (table, table), False)
            _known[dtype, device] = True
        except torch.cuda.OutOfMemoryError:  # says nothing of compilers
            raise
        except Exception as error:  # whatever it is, PyTorch's operations do the same
            _known[dtype, device] = False
            warnings.warn(f"locus.torch: Triton cannot compile for {dtype} here, so that rotations are several "
                          f"operations: {type(error).__name__}: {error}".splitlines()[0], stacklevel=2)
    return _known[dtype, device]


def kernel_takes(q: Tensor, k: Tensor) -> bool:
    """Whether the kernel turns these, where it serves: it knows no tangents of forward mode."""
    return q.numel() > 0 and k.numel() > 0 and q.shape[0] <= _MOST_SEQUENCES and forward_ad._current_level < 0


def turn(q: Tensor, k: Tensor, tables: Tuple[Table, Table], by_kernel: bool, apart: bool = False
         ) -> Tuple[Tensor, Tensor]:
    """q and k [sequences, heads, length, dim], each by its table. `apart`: queries get a gap behind each row, which tensors
    of callers do not have; where the kernel turns them only."""
    if not (by_kernel and kernel_takes(q, k)):
        of_q, of_k = tables
        return plain(q, of_q.both, of_q.partner, of_q.step), plain(k, of_k.both, of_k.partner, of_k.step)
    return _by_kernel(q, k, tables, False, apart)
