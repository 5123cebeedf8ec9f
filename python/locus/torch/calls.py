# SPDX-License-Identifier: MIT
"""Attention as a function: arguments are checked here, then go to an operator."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Tuple, Union

import torch
from torch import Tensor, nn

from ..encodings import Encoding
from ..errors import DtypeError, ShapeError
from ..places import positions as Positions
from ..plans import scale_of
from . import compiled, eager, operators
from .kernels import CODES
from .planning import Place, number_of

_BACKENDS = {"auto", "locus", "forms"}
Learned = Union[None, Mapping[str, Tensor], nn.Module]


@torch.compiler.assume_constant_result
def _spec_of(encoding: Any) -> str:
    return str(encoding.spec)


@torch.compiler.assume_constant_result
def _number_of(place: Any) -> int:
    return number_of(place)


def spec_text(encoding: Union[str, Encoding]) -> str:
    return encoding if isinstance(encoding, str) else _spec_of(encoding)


def named(parameters: Learned) -> Mapping[str, Tensor]:
    """Parameters by the encoding's names: a mapping's, or those of a module of this package or any other."""
    if parameters is None:
        return {}
    if isinstance(parameters, nn.Module):
        own = getattr(parameters, "learned", None)
        return own() if callable(own) else dict(parameters.named_parameters())
    return parameters


def backend_of(backend: str, x: Tensor) -> str:
    if backend not in ("auto", "locus", "forms"):
        raise ValueError(f"there is no backend '{backend}'; expected auto, locus or forms")
    if backend == "auto":
        return "locus" if x.device.type == "cpu" else "forms"
    if backend == "locus" and x.device.type != "cpu":
        raise DtypeError(f"the library's kernels are for the CPU, but a tensor is on '{x.device}': use "
                         "backend=\"forms\" or \"auto\"")
    return backend


def as_place(values: Any) -> Place:
    return values if values is None or isinstance(values, (Tensor, Positions)) else torch.as_tensor(values)


def placed(values: Any, device: torch.device) -> Tuple[Optional[Tensor], int]:
    """Positions as an operator takes them: a tensor, or a number for `locus.positions`."""
    if values is None or isinstance(values, Tensor):
        return values, 0
    if isinstance(values, Positions):
        return None, _number_of(values)
    return torch.as_tensor(values), 0


def _check(q: Tensor, k: Tensor, v: Tensor, rank: int, enable_gqa: bool) -> None:
    ranks, types = (q.dim(), k.dim(), v.dim()), (q.dtype, k.dtype, v.dtype)
    for name, x, own in zip("qkv", (q, k, v), ranks):
        if own != rank:
            layout = "[batch, heads, length, dim]" if rank == 4 else "[tokens, heads, dim], as offsets are given"
            raise ShapeError(f"{name} is {list(x.shape)}; expected {layout}")
    if types[0] is not types[1] or types[0] is not types[2] or not q.device == k.device == v.device:
        raise DtypeError(f"q, k and v must be of one type and on one device, not {q.dtype} on '{q.device}', {k.dtype} "
                         f"on '{k.device}' and {v.dtype} on '{v.device}'")
    if types[0] not in CODES:
        raise DtypeError(f"q is {q.dtype}; expected float32, float64, float16 or bfloat16")
    of_q, of_k, of_v = q.shape, k.shape, v.shape
    if of_k[:-1] != of_v[:-1] or of_q[-1] != of_k[-1] or (rank == 4 and of_q[0] != of_k[0]):
        raise ShapeError(f"q {list(q.shape)}, k {list(k.shape)} and v {list(v.shape)} do not go together")
    if of_q[1] != of_k[1] and not enable_gqa:
        raise ShapeError(f"q has {q.shape[1]} heads, k and v have {k.shape[1]}: say enable_gqa=True if heads of keys "
                         "and values serve groups")


def _check_bias(bias: Tensor, q: Tensor, k: Tensor) -> None:
    if not isinstance(bias, Tensor) or bias.dtype not in CODES or bias.device != q.device:
        raise DtypeError(f"bias must be a tensor of real numbers on '{q.device}', −inf where a key is hidden")
    heads, lengths = q.shape[1], (q.shape[2], k.shape[2]) if q.dim() == 4 else (None, None)
    wanted = (q.shape[0] if q.dim() == 4 else None, heads, *lengths)[4 - bias.dim():] if 2 <= bias.dim() <= 4 else ()
    if not wanted or any(size is not None and own not in (1, size) for own, size in zip(bias.shape, wanted)):
        raise ShapeError(f"bias is {list(bias.shape)}; expected [queries, keys], [heads, queries, keys] or "
                         f"[batch, heads, queries, keys] of q {list(q.shape)} and k {list(k.shape)}, each also 1")


def attention(q: Tensor, k: Tensor, v: Tensor, encoding: Union[str, Encoding], positions: Any = None,
              parameters: Learned = None, is_causal: bool = False, key_positions: Any = None, offsets: Any = None,
              scale: Optional[float] = None, dropout_p: float = 0.0, enable_gqa: bool = False,
              backend: str = "auto", bias: Optional[Tensor] = None) -> Tensor:
    """Attention with every site of the encoding, by the conventions of `scaled_dot_product_attention`.

    q ``[batch, heads, length, dim]``, k and v ``[batch, kv_heads, key length, dim]``; with `offsets` (cumulative
    lengths, beginning with 0) sequences are packed, ``[tokens, heads, dim]``.

    `positions`: None is 0 … length − 1 in each sequence; else ``[length]``, ``[batch, length]`` or packed ``[tokens]``,
    with a last axis for coordinates on grids or for branches on trees; or a `locus.positions`. A tensor on a device is
    read once for each version that PyTorch counts: writes by `.data`, by kernels of one's own or by a replayed graph are
    not seen. `key_positions`: where keys stand, if elsewhere. `parameters`: what the encoding learns, {name: tensor} or a module of this package;
    gradients go there, too. None: initial values of seed 0. `is_causal`: queries see keys up to their own index,
    counted from the ends of both where their numbers differ. `dropout_p`: of weights. `backend`: "locus", the
    library's kernels on the CPU; "forms", PyTorch's operations on any device; "auto" chooses by the tensors' device.
    Backends draw different dropout. `bias`: added to scores, differentiable, −inf hides a key: ``[queries, keys]``,
    ``[heads, …]`` or ``[batch, heads, …]``, each also 1 for all; with `offsets` counted within each sequence."""
    traced = eager.traced(q)
    if not traced and (q.is_neg() or k.is_neg() or v.is_neg()):  # their memory has other signs than they have
        q, k, v = q.resolve_neg(), k.resolve_neg(), v.resolve_neg()
    said, learned = None, named(parameters)
    if not (traced or dropout_p) and backend in _BACKENDS and (
            bias is offsets is key_positions is None and (positions is None or isinstance(positions, Positions))):
        factor = 0.0 if scale is None else scale_of(scale)
        if backend == "forms" or backend == "auto" and not q.is_cpu:
            said = (positions, encoding, is_causal, enable_gqa, factor, q.dtype, k.dtype, v.dtype, q.device, k.device,
                    v.device, *learned)
            found = eager.again_from_forms(q, k, v, said, learned)
        elif not learned:
            said = positions, encoding, is_causal, enable_gqa
            found = eager.again(q, k, v, said, is_causal, factor)
        else:
            found = None
        if found is not None:
            return found
    if not 0 <= dropout_p < 1:
        raise ValueError(f"dropout_p is {dropout_p}; give a probability in [0, 1)")
    own_offsets = None if offsets is None else torch.as_tensor(offsets)
    _check(q, k, v, 4 if own_offsets is None else 3, enable_gqa)
    if bias is not None:
        _check_bias(bias, q, k)
        bias = bias.resolve_neg()
    if is_causal and positions is None and q.shape[-2 if own_offsets is None else 0] != k.shape[
            -2 if own_offsets is None else 0]:
        raise ShapeError("causal attention of more keys than queries, or fewer: say where both stand, with positions "
                         "and key_positions")
    spec, factor = spec_text(encoding), scale_of(scale)
    chosen = backend_of(backend, q)
    seed = torch.randint(1 << 62, ()) if dropout_p > 0 else None
    if not traced:
        places = as_place(positions), as_place(key_positions)
        return eager.attention(q, k, v, learned, places, own_offsets, seed, spec, is_causal, factor, float(dropout_p),
                               chosen, bias, said)
    if (torch.compiler.is_compiling() and chosen == "forms" and not (learned or dropout_p)
            and positions is key_positions is own_offsets is bias is None and compiled.serves(spec, q.is_cuda)):
        return compiled.attention(q, k, v, spec, is_causal, factor)
    own, place = placed(positions, q.device)
    keys, key_place = placed(key_positions, q.device)
    output, _ = operators.attention(
        q, k, v, list(learned.values()), own, keys, own_offsets, seed, bias, spec, ",".join(learned), place, key_place,
        is_causal, factor, float(dropout_p), chosen)
    return output
