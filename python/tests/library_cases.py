# SPDX-License-Identifier: MIT
"""Where rotary-embedding-torch and x-transformers compute what locus does, by another's code: pairs of arrays, theirs and
locus's, in float64 and float32. The tests hold them together, tools/compare_libraries.py writes them down.

Both libraries make frequencies in float32, whatever their tensors are. In float64 their code is run with `.float()`
meaning `.double()`, so that what is compared is the convention; in float32 it is as it is."""
import math
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Callable

import numpy as np
import torch

import locus

HEADS, DIM, LENGTH = 4, 32, 48
# What may differ, as a share of the largest number: float32 angles are off by up to LENGTH · 2⁻²⁴, and more roundings.
ALLOWED = {"float64": 1e-12, "float32": 1e-5}
CASES = []


@dataclass(frozen=True)
class Case:
    """`compute(dtype)` gives (theirs, ours); `spec`: of locus."""

    library: str
    name: str
    spec: str
    compute: Callable

    def difference(self, dtype):
        theirs, ours = self.compute(getattr(torch, dtype)) if dtype == "float32" else in_double(self.compute)
        return share(theirs, ours)


def share(theirs, ours):
    theirs, ours = (np.asarray(x.detach() if isinstance(x, torch.Tensor) else x, np.float64) for x in (theirs, ours))
    assert theirs.shape == ours.shape, (theirs.shape, ours.shape)
    return float(np.abs(theirs - ours).max() / np.abs(theirs).max())


@contextmanager
def _doubled():
    before = torch.get_default_dtype(), torch.Tensor.float
    torch.set_default_dtype(torch.float64)
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.set_default_dtype(before[0])
        torch.Tensor.float = before[1]


def in_double(compute):
    with _doubled():
        return compute(torch.float64)


def case(library, name, spec, **more):
    def enter(function):
        CASES.append(Case(library, name, spec, lambda dtype: function(spec, dtype, **more)))
        return function
    return enter


def drawn(dtype, *shape, seed=1):
    return torch.randn(shape or (1, HEADS, LENGTH, DIM), generator=torch.Generator().manual_seed(seed), dtype=dtype)


def turned(spec, x, role="query", positions=None, **parameters):
    """x [batch, heads, length, dim] by locus."""
    place = locus.positions(x.shape[2]) if positions is None else positions
    plan = locus.Encoding(spec).plan(place, x.shape[1], x.shape[3], parameters or None)
    return plan.apply(np.ascontiguousarray(x[0].detach().transpose(0, 1).numpy()), role).swapaxes(0, 1)[None]


# ---- rotary-embedding-torch ----

ROTARY = "rotary-embedding-torch"


@case(ROTARY, "theta_rescale_factor", "rope(scaling=ntk, factor=8)", theta_rescale_factor=8.0)
@case(ROTARY, "interpolate_factor", "rope(scaling=linear, factor=4)", interpolate_factor=4.0)
@case(ROTARY, "a part of the head", "rope(rotate=16)", dim=16)
@case(ROTARY, "theta", "rope(base=500000)", theta=500000)
@case(ROTARY, "rotate_queries_or_keys", "rope")
def plain_rotary(spec, dtype, dim=DIM, **options):
    from rotary_embedding_torch import RotaryEmbedding

    x = drawn(dtype)
    return RotaryEmbedding(dim=dim, **options).rotate_queries_or_keys(x), turned(spec, x)


@case(ROTARY, "offset", "rope")
def offset(spec, dtype):
    from rotary_embedding_torch import RotaryEmbedding

    x = drawn(dtype)
    return (RotaryEmbedding(dim=DIM).rotate_queries_or_keys(x, offset=11),
            turned(spec, x, positions=locus.positions(np.arange(11, 11 + LENGTH))))


@case(ROTARY, "use_xpos: keys", f"rope(xpos=512, centre={LENGTH // 2})", which=1)
@case(ROTARY, "use_xpos: queries", f"rope(xpos=512, centre={LENGTH // 2})", which=0)
def rotary_xpos(spec, dtype, which):
    from rotary_embedding_torch import RotaryEmbedding

    q, k = drawn(dtype), drawn(dtype, seed=2)
    theirs = RotaryEmbedding(dim=DIM, use_xpos=True).rotate_queries_and_keys(q, k)
    return theirs[which], turned(spec, (q, k)[which], ("query", "key")[which])


@case(ROTARY, "get_axial_freqs, four axes", "rope(axes=4)", sizes=(2, 3, 4, 2))
@case(ROTARY, "get_axial_freqs, two axes", "rope(axes=2)", sizes=(6, 8))
def axial(spec, dtype, sizes):
    from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

    x = drawn(dtype, 1, HEADS, LENGTH, DIM)
    rows = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), -1).reshape(-1, len(sizes))
    freqs = RotaryEmbedding(dim=DIM // len(sizes)).get_axial_freqs(*sizes)
    theirs = apply_rotary_emb(freqs, x.unflatten(2, sizes))
    return theirs.flatten(2, -2), turned(spec, x, positions=locus.positions(rows, f"grid:{len(sizes)}"))


@case(ROTARY, "freqs_for='pixel'", "rope(axes=2, frequencies=axial, learned=on)")
def pixel(spec, dtype, sizes=(6, 8)):
    """Places from −1 to 1, and frequencies that are handed over."""
    from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

    x, own = drawn(dtype), RotaryEmbedding(dim=DIM // 2, freqs_for="pixel", max_freq=10)
    theirs = apply_rotary_emb(own.get_axial_freqs(*sizes), x.unflatten(2, sizes)).flatten(2, -2)
    rows = np.stack(np.meshgrid(*(np.linspace(-1, 1, n) for n in sizes), indexing="ij"), -1).reshape(-1, 2)
    both = np.tile(own.freqs.detach().double().numpy(), 2)
    return theirs, turned(spec, x, positions=locus.positions(rows, "grid:2"), frequencies=both)


@case(ROTARY, "learned_freq: their gradient", "rope(learned=on)")
def learned(spec, dtype):
    from rotary_embedding_torch import RotaryEmbedding

    import locus.torch

    x, wanted = drawn(dtype), drawn(dtype, seed=3)
    own = RotaryEmbedding(dim=DIM, learned_freq=True)
    (own.rotate_queries_or_keys(x) * wanted).sum().backward()
    ours = locus.torch.Encoding(spec, heads=HEADS, head_dim=DIM).to(dtype)
    (ours(x, None, role="query") * wanted).sum().backward()
    return own.freqs.grad, next(ours.parameters()).grad.flatten()


# ---- x-transformers ----

X = "x-transformers"


@case(X, "rotary_xpos: keys", f"rope(xpos=512, centre={LENGTH // 2})", use_xpos=True, role="key")
@case(X, "rotary_xpos: queries", f"rope(xpos=512, centre={LENGTH // 2})", use_xpos=True, role="query")
@case(X, "base_rescale_factor", "rope(scaling=ntk, factor=8)", base_rescale_factor=8.0)
@case(X, "interpolation_factor", "rope(scaling=linear, factor=4)", interpolation_factor=4.0)
@case(X, "rotary_emb_dim", "rope(rotate=16)", dim=16)
@case(X, "RotaryEmbedding", "rope")
def x_rotary(spec, dtype, dim=DIM, role="query", **options):
    from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

    x = drawn(dtype)
    freqs, scale = RotaryEmbedding(dim, **options).forward_from_seq_len(LENGTH)
    scale = scale if role == "query" else scale ** -1
    return apply_rotary_pos_emb(x, freqs, scale), turned(spec, x, role)


def scores(spec, heads, length=LENGTH, **parameters):
    return locus.Encoding(spec).plan(length, heads, DIM, parameters or None).scores()


@case(X, "AlibiPositionalBias, 12 heads", "alibi", heads=12)
@case(X, "AlibiPositionalBias, 8 heads", "alibi", heads=8)
def alibi(spec, dtype, heads):
    from x_transformers.x_transformers import AlibiPositionalBias

    return AlibiPositionalBias(heads)(LENGTH, LENGTH), scores(spec, heads)


@case(X, "RelativePositionBias (T5), causal", "t5(direction=causal)", causal=True)
@case(X, "RelativePositionBias (T5)", "t5", causal=False)
def t5(spec, dtype, causal, length=400):
    """Its bias is multiplied by √d, since its scores are divided by that and T5's are not."""
    from x_transformers.x_transformers import RelativePositionBias

    torch.manual_seed(0)
    own = RelativePositionBias(scale=math.sqrt(DIM), causal=causal, heads=HEADS)
    table = own.relative_attention_bias.weight.detach().double().numpy() * math.sqrt(DIM)
    return own(length, length), scores(spec, HEADS, length, bias=table)


@case(X, "CoPE", "cope(max=15, gate=scaled)")
def cope(spec, dtype):
    from x_transformers.x_transformers import CoPE

    q, k, v = (drawn(dtype, seed=seed) for seed in (1, 2, 3))
    own = CoPE(DIM, HEADS, 16).to(dtype)
    with torch.no_grad():
        own.pos_emb.copy_(drawn(dtype, 16, DIM, seed=4))
    hidden = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    sim = (q @ k.mT * DIM ** -0.5).masked_fill(hidden, -torch.finfo(dtype).max)
    theirs = (sim + own(q, sim)).softmax(-1) @ v
    plan = locus.Encoding(spec).plan(LENGTH, HEADS, DIM, {"table": own.pos_emb.detach().double().numpy()})
    packed = (np.ascontiguousarray(x[0].transpose(0, 1).numpy()) for x in (q, k, v))
    return theirs[0], plan.attention(*packed, causal=True).swapaxes(0, 1)


@case(X, "ScaledSinusoidalEmbedding", "sinusoidal, its columns moved, times D^(−1/2)")
def sinusoidal(spec, dtype, dim=64):
    """All sines before all cosines, with the frequencies of the paper, which interleaves them."""
    from x_transformers.x_transformers import ScaledSinusoidalEmbedding

    theirs = ScaledSinusoidalEmbedding(dim)(torch.zeros(1, LENGTH, dim))
    table = locus.Encoding("sinusoidal").plan(LENGTH, model_dim=dim).table()
    return theirs, np.concatenate([table[:, 0::2], table[:, 1::2]], -1) / math.sqrt(dim)


# ---- where they do not agree ----


def far(position):
    """The largest difference at a position, float32 as it is against locus in float32 and in float64: angles."""
    from rotary_embedding_torch import RotaryEmbedding

    x, place = drawn(torch.float32, 1, HEADS, 1, DIM), locus.positions(np.array([position]))
    theirs = RotaryEmbedding(dim=DIM).rotate_queries_or_keys(x, offset=position)
    exact = turned("rope", x.double(), positions=place)
    return share(exact, theirs), share(exact, turned("rope", x, positions=place))


def xpos_with_cached_keys():
    """rotate_queries_with_cached_keys against rotate_queries_and_keys of the same library: the last token's scores."""
    from rotary_embedding_torch import RotaryEmbedding

    q, k = drawn(torch.float64), drawn(torch.float64, seed=2)
    whole = RotaryEmbedding(dim=DIM, use_xpos=True).rotate_queries_and_keys(q, k)
    step = RotaryEmbedding(dim=DIM, use_xpos=True).rotate_queries_with_cached_keys(q[:, :, -1:], k)
    return share(whole[0][:, :, -1:] @ whole[1].mT, step[0] @ step[1].mT)
