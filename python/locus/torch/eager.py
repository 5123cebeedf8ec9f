# SPDX-License-Identifier: MIT
"""Calls that nothing traces: the same as the operators do, without the dispatcher's time."""
from __future__ import annotations

from typing import Any, List, Mapping, Optional, Tuple

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.autograd.function import once_differentiable

from .. import _core
from ..errors import UnsupportedError
from ..plans import Plan
from . import forms, kernels
from .planning import Place, alike, plan_for, plan_of_site, remember, sizes_of


def traced(q: Tensor) -> bool:
    """Whether the call must go through an operator, for what compiles, traces or transforms."""
    return (torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack() > 0
            or torch._C._functorch.peek_interpreter_stack() is not None or torch.jit.is_tracing()
            or type(q) not in (Tensor, torch.nn.Parameter))


class _Attention(torch.autograd.Function):
    """The library's attention and its gradient."""

    @staticmethod
    def forward(ctx: Any, said: Tuple[Any, ...], q: Tensor, k: Tensor, v: Tensor, bias: Optional[Tensor],
                *parameters: Tensor) -> Tensor:
        plan, _, causal, scale, dropout, seed = said
        output, sums = kernels.forward(plan, q, k, v, bias, causal, scale, dropout, seed, True, True)
        ctx.said = said
        ctx.save_for_backward(q, k, v, output, sums, bias, *parameters)
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tuple[Any, ...]:
        # Asked for seldom, and not for nothing: whether gradients of gradients are to be refused.
        return _refusing(ctx, gradient) if torch.is_grad_enabled() else _backward(ctx, gradient)


def _backward(ctx: Any, gradient: Tensor) -> Tuple[Any, ...]:
    q, k, v, output, sums, bias, *parameters = ctx.saved_tensors
    gradient, (plan, names, causal, scale, dropout, seed) = gradient.resolve_neg(), ctx.said
    return (None, *kernels.backward(plan, gradient, q, k, v, output, sums, bias, ctx.needs_input_grad[1:5], causal,
                                    scale, dropout, seed, names, parameters, True))


_refusing = once_differentiable(_backward)


class _NotPlain(Exception):
    pass


class _Plain(torch.autograd.Function):
    """The same of q, k and v alone, all with gradients, which the extension module reads by itself."""

    @staticmethod
    def forward(ctx: Any, said: Tuple[Plan, bool, float], q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        plan, causal, scale = said
        output = torch.empty_like(q)
        sums = _core.plain_forward(plan._own, q, k, v, output, causal, scale, True)
        if sums is None:
            raise _NotPlain
        ctx.said, ctx.sums = said, sums
        ctx.save_for_backward(q, k, v, output)
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tuple[Any, ...]:
        return _refusing_plain(ctx, gradient) if torch.is_grad_enabled() else _backward_plain(ctx, gradient)


def _backward_plain(ctx: Any, gradient: Tensor) -> Tuple[Any, ...]:
    q, k, v, output = ctx.saved_tensors
    gradient, (plan, causal, scale) = gradient.resolve_neg(), ctx.said
    made = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    if _core.plain_backward(plan._own, gradient, q, k, v, output, ctx.sums, made, causal, scale):
        return None, *made
    sums = torch.frombuffer(ctx.sums, dtype=kernels.sums_type(q.dtype)).view(q.shape[:3])
    return None, *kernels.backward(plan, gradient, q, k, v, output, sums, None, (True, True, True, False), causal, scale,
                                   0.0, 0, (), [], True)[:3]


_refusing_plain = once_differentiable(_backward_plain)


def _plain(plan: Plan, q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float, learns: bool) -> Optional[Tensor]:
    """None where the call is not plain."""
    if learns:
        try:
            output: Tensor = _Plain.apply((plan, causal, scale), q, k, v)
        except _NotPlain:
            return None
        return output
    output = torch.empty_like(q)
    return None if _core.plain_forward(plan._own, q, k, v, output, causal, scale, False) is None else output


def _if_plain(plan: Plan, plain: bool, q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float
              ) -> Optional[Tensor]:
    """The same way for the first call and for those after it, since a checkpointed call must save what it saved before.
    None where the call is not plain."""
    learning = q.requires_grad + k.requires_grad + v.requires_grad if torch.is_grad_enabled() else 0
    if not plain or learning not in (0, 3) or q.numel() == 0:
        return None
    return _plain(plan, q, k, v, causal, scale, learning > 0)


def again(q: Tensor, k: Tensor, v: Tensor, said: Tuple[Any, ...], causal: bool, scale: float) -> Optional[Tensor]:
    """Attention as in a call before that said the same of tensors of these shapes, which was checked then; None if there
    was none."""
    found = alike(q, k, v, said)
    if found is None or forward_ad._current_level >= 0:
        return None
    plan, plain, _ = found
    output = _if_plain(plan, plain, q, k, v, causal, scale)
    if output is not None:
        return output
    dtype = q.dtype
    if (dtype is not k.dtype or dtype is not v.dtype or dtype not in kernels.CODES
            or not (q.is_cpu and k.is_cpu and v.is_cpu)):
        return None
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        output = _Attention.apply((plan, (), causal, scale, 0.0, 0), q, k, v, None)
        return output
    return kernels.forward(plan, q, k, v, None, causal, scale, 0.0, 0, False, True)[0]


def again_from_forms(q: Tensor, k: Tensor, v: Tensor, said: Tuple[Any, ...], learned: Mapping[str, Tensor]
                     ) -> Optional[Tensor]:
    """The same where forms compute."""
    found = alike(q, k, v, said)
    return None if found is None else forms.run(found[0], q, k, v, dict(learned))


def _refuse_tangents(inputs: Tuple[Tensor, ...]) -> None:
    if forward_ad._current_level >= 0 and any(forward_ad.unpack_dual(x).tangent is not None for x in inputs):
        raise UnsupportedError("the library's kernels know no tangents of forward mode; backend=\"forms\" has those of "
                               "PyTorch's operations")


def attention(q: Tensor, k: Tensor, v: Tensor, learned: Mapping[str, Tensor], places: Tuple[Place, Place],
              offsets: Optional[Tensor], seed: Optional[Tensor], spec: str, causal: bool, scale: float,
              dropout: float, backend: str, bias: Optional[Tensor], said: Optional[Tuple[Any, ...]]) -> Tensor:
    sizes, counts, packing = sizes_of(q, k, v, offsets, spec)
    names, parameters = tuple(learned), list(learned.values())
    plan = plan_for(spec, sizes, places, counts, packing, names, parameters, backend == "forms")
    if backend == "forms":
        if said is not None:
            own = forms.program(plan, q, k, v, names, causal, scale) if plan.encoding.causal <= causal else None
            if own is not None:
                remember(q, k, v, said, own, True)
        generator = None if seed is None else torch.Generator(q.device).manual_seed(int(seed))
        return forms.attention(plan, q, k, v, dict(learned), causal, scale, dropout, generator, bias)
    inputs = (q, k, v, *parameters) if bias is None else (q, k, v, bias, *parameters)
    _refuse_tangents(inputs)
    if said is not None:
        plain = kernels.is_plain(plan, q, v)
        remember(q, k, v, said, plan, plain)
        found = _if_plain(plan, plain, q, k, v, causal, scale)
        if found is not None:
            return found
    number = 0 if seed is None else int(seed)
    if torch.is_grad_enabled() and any(x.requires_grad for x in inputs):
        output: Tensor = _Attention.apply((plan, names, causal, scale, dropout, number), q, k, v, bias, *parameters)
        return output
    return kernels.forward(plan, q, k, v, bias, causal, scale, dropout, number, False, True)[0]


# ---- one site ----


class _Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, said: Tuple[Plan, Tuple[str, ...], str], x: Tensor, *parameters: Tensor) -> Tensor:
        ctx.said = said
        ctx.save_for_backward(x, *parameters)
        return kernels.apply(said[0], x, said[2], False)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tuple[Any, ...]:
        (plan, names, role), (x, *parameters) = ctx.said, ctx.saved_tensors
        return None, *kernels.apply_backward(plan, x, gradient.resolve_neg(), role, False, names, parameters)


def apply(x: Tensor, learned: Mapping[str, Tensor], place: Place, offsets: Optional[Tensor], spec: str,
          sizes: List[int], role: str, backend: str) -> Tensor:
    """What the encoding does to x at one site."""
    names, parameters = tuple(learned), list(learned.values())
    x = x.resolve_neg()
    plan = plan_of_site(x, names, parameters, place, offsets, spec, sizes, backend == "forms")
    if backend == "forms":
        return forms.apply(plan, x, dict(learned), role).clone(memory_format=torch.contiguous_format)
    _refuse_tangents((x, *parameters))
    output: Tensor = _Apply.apply((plan, names, role), x, *parameters)
    return output
