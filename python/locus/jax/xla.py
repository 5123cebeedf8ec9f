# SPDX-License-Identifier: MIT
"""The library's kernels as functions of JAX, through XLA's foreign-function interface on the CPU, with gradients.

A `Site` says all of a call that is known when a function is traced; arrays are its operands, each with the letter that
python/src/xla_calls.cpp knows it by. Positions and parameters are operands as well, so that other values of them need
no other program; the library keeps the plans."""
from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from .. import _core
from ..errors import UnsupportedError

_TARGET = "locus_call"
jax.ffi.register_ffi_target(_TARGET, _core.xla_target(), platform="cpu")

Arrays = Tuple[Any, ...]


class PlanSite(NamedTuple):
    """What plans are made of, but for positions and parameters."""

    spec: str
    heads: int
    head_dim: int
    kv_heads: int
    value_dim: int
    model_dim: int
    group: str
    place: str
    key_place: str  # "": keys stand where queries do
    folds: int = 1  # so many times the same positions, one after the other


class Site(NamedTuple):
    """A call. `loops`: the size of the leading axis of all results, and of operands whose letter is a capital; 0: there
    is no such axis. `packed`: sequences stand end to end."""

    call: str
    plan: PlanSite
    operands: str
    results: str
    packed: bool
    causal: bool = False
    scale: float = 0.0
    dropout: float = 0.0
    role: int = 0
    inverse: bool = False
    loops: int = 0


def forget() -> None:
    """Lets go of all plans that are kept."""
    _core.xla_forget()


def _bits(number: float) -> int:
    bits: int = struct.unpack("<Q", struct.pack("<d", number))[0]
    return bits


@lru_cache(maxsize=1024)
def _texts(site: Site) -> Dict[str, str]:
    """A site as the extension module reads it."""
    said = {"call": site.call, "operands": site.operands, "results": site.results, "loops": site.loops,
            "causal": int(site.causal), "scale": _bits(site.scale), "dropout": _bits(site.dropout), "role": site.role,
            "inverse": int(site.inverse)}
    both = {"call": said, "plan": site.plan._asdict()}
    return {name: "".join(f"{key}={value}\n" for key, value in each.items()) for name, each in both.items()}


# ---- one call ----


def sums_type(dtype: Any) -> Any:
    return jnp.float64 if dtype == jnp.float64 else jnp.float32


def _results(site: Site, operands: Sequence[Any]) -> List[Tuple[Tuple[int, ...], Any]]:
    """Shapes and types, without the axis of a loop."""
    given = [(letter.lower(), (tuple(own.shape[letter.isupper():]), own.dtype))
             for letter, own in zip(site.operands, operands)]
    shapes, parameters = dict(given), [own for letter, own in given if letter == "p"]
    found: List[Tuple[Tuple[int, ...], Any]] = []
    for letter in site.results:
        if letter == "o":
            (of_q, dtype), (of_v, _) = shapes["q"], shapes["v"]
            found.append(((*of_q[:-1], of_v[-1]), dtype))
        elif letter == "l":
            found.append((shapes["q"][0][:-1], sums_type(shapes["q"][1])))
        else:
            found.append(parameters.pop(0) if letter == "p" else shapes[letter])
    return found


def call(site: Site, operands: Sequence[Any]) -> Arrays:
    """What the library makes of the operands, which go through vmap by the rules of mapping.py."""
    ahead = (site.loops,) if site.loops else ()
    shapes = [jax.ShapeDtypeStruct(ahead + shape, dtype) for shape, dtype in _results(site, operands)]
    return tuple(jax.ffi.ffi_call(_TARGET, shapes)(*operands, **_texts(site)))


@lru_cache(maxsize=1024)
def once(site: Site) -> Callable[..., Arrays]:
    """A gradient, which has none itself."""
    from .mapping import mapped
    gradient = jax.custom_vjp(lambda *operands: mapped(site)(*operands))

    def backward(_: Any, upstream: Any) -> Any:
        if all(isinstance(x, SymbolicZero) for x in upstream):
            return (None,) * len(site.operands)
        raise UnsupportedError("kernels have gradients of first order: gradients of gradients need backend=\"forms\"")

    gradient.defvjp(lambda *primals: (gradient(*_values(primals)), None), backward, symbolic_zeros=True)
    return gradient


# ---- attention ----


def _listed(arrays: Arrays) -> Arrays:
    """Operands in the order of their letters: q, k, v, what else is said, parameters."""
    q, k, v, bias, parameters, rest = arrays
    return (q, k, v, *(() if bias is None else (bias,)), *rest, *parameters)


def _values(arrays: Any) -> Any:
    return jax.tree.map(lambda own: own.value, arrays)


def _wanted(primals: Any) -> Dict[str, Tuple[()]]:
    """Letters of what is differentiated, as a tree without leaves, which residuals may be."""
    q, k, v, bias, parameters, _ = primals
    single = {"q": q, "k": k, "v": v, "b": bias}
    found = {letter: () for letter, own in single.items() if own is not None and own.perturbed}
    if any(own.perturbed for own in parameters):
        found["p"] = ()
    return found


@lru_cache(maxsize=1024)
def attending(site: Site) -> Callable[..., Tuple[Any, Any]]:
    """A function of q, k, v, the bias or None, a tuple of parameters and one of what else is said, in the order of
    `site.operands`, where parameters are last: the output and the log-sum-exp of each row."""
    from .mapping import mapped

    @jax.custom_vjp
    def attend(*arrays: Any) -> Any:
        return mapped(site)(*_listed(arrays))

    def forward(*primals: Any) -> Tuple[Any, Any]:
        arrays = _values(primals)
        output, sums = attend(*arrays)
        return (output, sums), (arrays, output, sums, _wanted(primals))

    def backward(residuals: Any, upstream: Any) -> Tuple[Any, ...]:
        arrays, output, sums, wanted = residuals
        of_output, of_sums = (None if isinstance(x, SymbolicZero) else x for x in upstream)
        if not wanted or (of_output is None and of_sums is None):
            return (None,) * len(arrays)
        parameters = arrays[4]
        results = "".join(letter for letter in "qkvb" if letter in wanted) + "p" * (len(parameters) * ("p" in wanted))
        letters, more = ("olg", ()) if of_sums is None else ("olgh", (of_sums,))
        own = site._replace(call="backward", results=results, operands=site.operands[:3] + letters + site.operands[3:])
        q, k, v, *others = _listed(arrays)
        upper = jnp.zeros_like(output) if of_output is None else of_output
        made = once(own)(q, k, v, output, sums, upper, *more, *others)
        single = dict(zip(results.rstrip("p"), made))
        of_parameters = made[len(single):] if "p" in wanted else None
        return (*(single.get(letter) for letter in "qkvb"), of_parameters, None)

    attend.defvjp(forward, backward, symbolic_zeros=True)
    return attend


# ---- one site ----


@lru_cache(maxsize=1024)
def applying(site: Site) -> Callable[..., Any]:
    """A function of x, a tuple of parameters and one of what else is said."""
    from .mapping import mapped

    @jax.custom_vjp
    def applied(x: Any, parameters: Arrays, rest: Arrays) -> Any:
        y, = mapped(site)(x, *rest, *parameters)
        return y

    def forward(*primals: Any) -> Tuple[Any, Any]:
        x, parameters, rest = _values(primals)
        learned: Dict[str, Tuple[()]] = {"p": ()} if any(own.perturbed for own in primals[1]) else {}
        return applied(x, parameters, rest), (x, parameters, rest, learned)

    def backward(residuals: Any, upstream: Any) -> Tuple[Any, Any, None]:
        x, parameters, rest, learned = residuals
        if isinstance(upstream, SymbolicZero):
            return None, None, None
        own = site._replace(call="apply_backward", results="t" + "p" * (len(parameters) * len(learned)),
                            operands="tg" + site.operands[1:])
        dx, *of_parameters = once(own)(x, upstream, *rest, *parameters)
        return dx, tuple(of_parameters) if learned else None, None

    applied.defvjp(forward, backward, symbolic_zeros=True)
    return applied
