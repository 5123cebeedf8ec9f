# SPDX-License-Identifier: MIT
"""Custom operators of PyTorch, ``torch.ops.locus.*``, with fake kernels and autograd: what compiled and traced programs
call. They take tensors, texts and numbers only, so positions of `locus.positions` come by number (`place`), and
parameters as a list, their names joined by commas."""
from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from . import forms, kernels
from .planning import place_of, plan_for, plan_of_site, sizes_of
from ..plans import Plan


def split(names: str) -> Tuple[str, ...]:
    return tuple(names.split(",")) if names else ()


def _plan(q: Tensor, k: Tensor, v: Tensor, parameters: Sequence[Tensor], positions: Optional[Tensor],
          key_positions: Optional[Tensor], offsets: Optional[Tensor], encoding: str, names: str, place: int,
          key_place: int, backend: str) -> Plan:
    sizes, counts, packing = sizes_of(q, k, v, offsets, encoding)
    places = place_of(place, positions), place_of(key_place, key_positions)
    return plan_for(encoding, sizes, places, counts, packing, split(names), list(parameters), backend == "forms")


@contextmanager
def _recorded() -> Iterator[None]:
    """Autograd inside of an operator, below which PyTorch switches it off."""
    keys = torch._C.DispatchKey
    excluded = torch._C._dispatch_tls_local_exclude_set()
    for key in (keys.AutogradFunctionality, keys.AutogradOther, keys.AutogradNestedTensor, keys.ADInplaceOrView):
        excluded = excluded.remove(key)
    with torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded), torch.enable_grad():
        yield


def _number(seed: Optional[Tensor]) -> int:
    return 0 if seed is None else int(seed)


def _from_forms(plan: Plan, q: Tensor, k: Tensor, v: Tensor, parameters: Sequence[Tensor], names: str,
                is_causal: bool, scale: float, dropout_p: float, seed: Optional[Tensor],
                bias: Optional[Tensor]) -> Tensor:
    generator = None
    if dropout_p > 0:
        generator = torch.Generator(q.device)
        generator.manual_seed(_number(seed))
    named = dict(zip(split(names), parameters))
    return forms.attention(plan, q, k, v, named, is_causal, scale, dropout_p, generator, bias)


@torch.library.custom_op("locus::attention", mutates_args=())
def attention(q: Tensor, k: Tensor, v: Tensor, parameters: Sequence[Tensor], positions: Optional[Tensor],
              key_positions: Optional[Tensor], offsets: Optional[Tensor], seed: Optional[Tensor],
              bias: Optional[Tensor], encoding: str, names: str, place: int, key_place: int, is_causal: bool,
              scale: float, dropout_p: float, backend: str) -> Tuple[Tensor, Tensor]:
    """Output, and log-sum-exp for the gradient (of no elements from forms)."""
    plan = _plan(q, k, v, parameters, positions, key_positions, offsets, encoding, names, place, key_place, backend)
    if backend == "forms":
        output = _from_forms(plan, q, k, v, parameters, names, is_causal, scale, dropout_p, seed, bias)
        return output.contiguous(), q.new_empty(0)
    output, sums = kernels.forward(plan, q, k, v, bias, is_causal, scale, dropout_p, _number(seed), True)
    assert sums is not None
    return output, sums


@attention.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, parameters: Sequence[Tensor], positions: Optional[Tensor],
      key_positions: Optional[Tensor], offsets: Optional[Tensor], seed: Optional[Tensor], bias: Optional[Tensor],
      encoding: str, names: str, place: int, key_place: int, is_causal: bool, scale: float, dropout_p: float,
      backend: str) -> Tuple[Tensor, Tensor]:
    output = q.new_empty((*q.shape[:-1], v.shape[-1]))
    if backend == "forms":
        return output, q.new_empty(0)
    return output, q.new_empty(q.shape[:-1], dtype=kernels.sums_type(q.dtype))


@torch.library.custom_op("locus::attention_backward", mutates_args=())
def attention_backward(gradient: Tensor, q: Tensor, k: Tensor, v: Tensor, output: Tensor, sums: Tensor,
                       parameters: Sequence[Tensor], positions: Optional[Tensor], key_positions: Optional[Tensor],
                       offsets: Optional[Tensor], seed: Optional[Tensor], bias: Optional[Tensor], encoding: str,
                       names: str, place: int, key_place: int, is_causal: bool, scale: float, dropout_p: float,
                       backend: str, with_bias: bool) -> List[Tensor]:
    """dq, dk, dv, the parameters' gradients, and the bias' (of no elements unless it is wanted)."""
    plan = _plan(q, k, v, parameters, positions, key_positions, offsets, encoding, names, place, key_place, backend)
    if backend != "forms":
        dq, dk, dv, of_bias, *learned = kernels.backward(
            plan, gradient, q, k, v, output, sums, bias, (True, True, True, with_bias), is_causal, scale, dropout_p,
            _number(seed), split(names), list(parameters))
        return [dq, dk, dv, *learned, q.new_empty(0) if of_bias is None else of_bias]
    with _recorded():
        inputs = [x.detach().requires_grad_() for x in (q, k, v, *parameters)]
        own_bias = bias if bias is None or not with_bias else bias.detach().requires_grad_()
        again = _from_forms(plan, inputs[0], inputs[1], inputs[2], inputs[3:], names, is_causal, scale, dropout_p,
                            seed, own_bias)
        inputs.append(own_bias if with_bias and own_bias is not None else q.new_empty(0).requires_grad_())
        made = torch.autograd.grad(again, inputs, gradient, allow_unused=True)
    return [torch.zeros_like(x, memory_format=torch.contiguous_format) if own is None else own.contiguous().clone()
            for own, x in zip(made, inputs)]


@attention_backward.register_fake
def _(gradient: Tensor, q: Tensor, k: Tensor, v: Tensor, output: Tensor, sums: Tensor, parameters: Sequence[Tensor],
      positions: Optional[Tensor], key_positions: Optional[Tensor], offsets: Optional[Tensor], seed: Optional[Tensor],
      bias: Optional[Tensor], *rest: Any) -> List[Tensor]:
    of_bias = bias.new_empty(bias.shape) if bias is not None and rest[-1] else q.new_empty(0)
    return [x.new_empty(x.shape) for x in (q, k, v, *parameters)] + [of_bias]


def _save(ctx: Any, inputs: Tuple[Any, ...], output: Tuple[Tensor, Tensor]) -> None:
    q, k, v, parameters, positions, key_positions, offsets, seed, bias, *ctx.rest = inputs
    ctx.save_for_backward(q, k, v, *output, positions, key_positions, offsets, seed, bias, *parameters)


def _backward(ctx: Any, gradient: Tensor, _: Any) -> Tuple[Any, ...]:
    q, k, v, output, sums, positions, key_positions, offsets, seed, bias, *parameters = ctx.saved_tensors
    with_bias = bias is not None and bias.requires_grad
    dq, dk, dv, *learned, of_bias = attention_backward(gradient, q, k, v, output, sums, parameters, positions,
                                                       key_positions, offsets, seed, bias, *ctx.rest, with_bias)
    return dq, dk, dv, learned, *[None] * 4, of_bias if with_bias else None, *[None] * len(ctx.rest)


attention.register_autograd(_backward, setup_context=_save)


# ---- one site ----


def _apply_plan(x: Tensor, parameters: Sequence[Tensor], positions: Optional[Tensor], offsets: Optional[Tensor],
                encoding: str, names: str, place: int, sizes: List[int], backend: str) -> Plan:
    return plan_of_site(x, split(names), list(parameters), place_of(place, positions), offsets, encoding, sizes,
                        backend == "forms")


@torch.library.custom_op("locus::apply", mutates_args=())
def apply(x: Tensor, parameters: Sequence[Tensor], positions: Optional[Tensor], offsets: Optional[Tensor],
          encoding: str, names: str, place: int, sizes: List[int], role: str, backend: str) -> Tensor:
    """What the encoding does to x at one site."""
    plan = _apply_plan(x, parameters, positions, offsets, encoding, names, place, sizes, backend)
    if backend == "forms":
        return forms.apply(plan, x, dict(zip(split(names), parameters)), role).clone(
            memory_format=torch.contiguous_format)
    return kernels.apply(plan, x, role, False)


@apply.register_fake
def _(x: Tensor, *rest: Any) -> Tensor:
    return x.new_empty(x.shape)


@torch.library.custom_op("locus::apply_backward", mutates_args=())
def apply_backward(gradient: Tensor, x: Tensor, parameters: Sequence[Tensor], positions: Optional[Tensor],
                   offsets: Optional[Tensor], encoding: str, names: str, place: int, sizes: List[int], role: str,
                   backend: str) -> List[Tensor]:
    """dx, and the parameters' gradients."""
    plan = _apply_plan(x, parameters, positions, offsets, encoding, names, place, sizes, backend)
    if backend != "forms":
        return kernels.apply_backward(plan, x, gradient, role, False, split(names), list(parameters))
    with _recorded():
        inputs = [own.detach().requires_grad_() for own in (x, *parameters)]
        again = forms.apply(plan, inputs[0], dict(zip(split(names), inputs[1:])), role)
        made = torch.autograd.grad(again, inputs, gradient, allow_unused=True)
    return [torch.zeros_like(own, memory_format=torch.contiguous_format) if found is None else
            found.contiguous().clone() for found, own in zip(made, inputs)]


@apply_backward.register_fake
def _(gradient: Tensor, x: Tensor, parameters: Sequence[Tensor], *rest: Any) -> List[Tensor]:
    return [own.new_empty(own.shape) for own in (x, *parameters)]


def _save_apply(ctx: Any, inputs: Tuple[Any, ...], output: Tensor) -> None:
    x, parameters, positions, offsets, *ctx.rest = inputs
    ctx.save_for_backward(x, positions, offsets, *parameters)


def _backward_apply(ctx: Any, gradient: Tensor) -> Tuple[Any, ...]:
    x, positions, offsets, *parameters = ctx.saved_tensors
    dx, *learned = apply_backward(gradient, x, parameters, positions, offsets, *ctx.rest)
    return dx, learned, *[None] * (2 + len(ctx.rest))


apply.register_autograd(_backward_apply, setup_context=_save_apply)
