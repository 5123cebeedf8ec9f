# SPDX-License-Identifier: MIT
"""`use` and `undo`: locus in the place of a model's attention, and out of it again.

The model is run on a small random input: as it is; watched; and with locus in place and its own encoding, when its
outputs have to agree. Only then is another encoding put in."""
from __future__ import annotations

import traceback
import types
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch
from torch import Tensor, nn
from transformers import DynamicCache, PreTrainedModel

from ..errors import UnsupportedError
from . import interface
from .decoding import Cache
from .sites import Rotary, Site, Used, give_back, looks_at_positions
from .specs import Own, axes_of, halved, layers_by, layers_of, own_of
from .watching import Attending, Watched, is_decoder, outputs, quiet, small_input, watch

# What outputs may differ by, as a share of their norm: float32 keeps it after some hundred roundings, half types after
# a few. Models compute angles in float32, whatever their own type is.
_AGREES = {torch.float64: 1e-5, torch.float32: 1e-4, torch.float16: 0.02, torch.bfloat16: 0.1}


def _name(model: Any) -> str:
    return f"'{model.config.get_text_config(decoder=True).model_type}'"


# ---- the attention implementation of configurations ----


def _configurations(model: Any, modules: List[nn.Module]) -> List[Any]:
    """Those by which attention modules and the masks for them choose their implementation."""
    found = {id(module.config): module.config for module in modules if hasattr(module, "config")}
    types_of = {getattr(config, "model_type", None) for config in found.values()}
    for module in model.modules():
        if isinstance(module, PreTrainedModel) and (not found or module.config.model_type in types_of):
            found[id(module.config)] = module.config
    return list(found.values())


@contextmanager
def _everywhere(model: Any) -> Iterator[None]:
    """All attention of a model through the interface, for watching."""
    kept = [(config, config._attn_implementation) for config in
            {id(m.config): m.config for m in model.modules() if hasattr(m, "config")
             and hasattr(m.config, "_attn_implementation")}.values()]
    try:
        for config, _ in kept:
            config._attn_implementation_internal = interface.NAME
        yield
    finally:
        for config, before in kept:
            config._attn_implementation_internal = before


# ---- putting in and taking out ----


def _chosen(model: Any, watched: Watched) -> List[Attending]:
    """The attention modules whose positions locus takes over."""
    reached = [own for own in watched.attending if own.reached]
    found = reached or [own for own in watched.attending
                        if not own.across and not getattr(own.module, "is_cross_attention", False)]
    if not found:
        raise UnsupportedError(f"{_name(model)} does not attend through transformers' attention interface: locus "
                               "cannot take its place")
    return found


def _hook_rotary(used: Used, watched: Watched, chosen: List[Attending]) -> None:
    inside = {id(part) for own in chosen for part in own.module.modules()}
    marks = any(own.reached for own in chosen)
    for module in {id(module): module for module in watched.rotary}.values():
        hook = Rotary(used, id(module) in inside or not marks)
        used.handles.append(module.register_forward_hook(hook, with_kwargs=True))


def _install(model: Any, watched: Watched, chosen: List[Attending]) -> Used:
    used = Used()
    model.locus_used = used
    _hook_rotary(used, watched, chosen)
    for own in chosen:
        for part in own.module.modules():
            if part is not own.module and looks_at_positions(part):
                used.handles.append(part.register_forward_pre_hook(give_back, with_kwargs=True))
    for config in _configurations(model, [own.module for own in chosen]):
        used.implementations.append((config, config._attn_implementation))
        config._attn_implementation_internal = interface.NAME
    if hasattr(model, "_prepare_cache_for_generation"):
        model._prepare_cache_for_generation = types.MethodType(_prepare_cache, model)
    return used


def _prepare_cache(model: Any, generation_config: Any, model_kwargs: Dict[str, Any], *args: Any, **kwargs: Any) -> Any:
    """What `generate` does ahead of its first token, with a cache of locus in place of a plain dynamic one."""
    given = model_kwargs.get("past_key_values")
    found = type(model)._prepare_cache_for_generation(model, generation_config, model_kwargs, *args, **kwargs)
    made = model_kwargs.get("past_key_values")
    if given is None and isinstance(made, DynamicCache) and type(made) is DynamicCache and not made.offloading:
        model_kwargs["past_key_values"] = Cache(model)
    return found


def _layer_numbers(chosen: List[Attending]) -> List[int]:
    found = []
    for number, own in enumerate(chosen):
        layer = getattr(own.module, "layer_idx", None)
        found.append(number if layer is None else int(layer))
    return found


def _put(used: Used, chosen: List[Attending], specs: List[str], behind: int) -> None:
    """A site in each module, in place of one that may be there."""
    _take_out(used)
    for own, spec, layer in zip(chosen, specs, _layer_numbers(chosen)):
        like = next(own.module.parameters(), torch.empty(0))
        site = Site(used, spec, layer, behind, own.shape, own.direct, like)
        own.module.locus = site
        used.sites.append(site)
        used.modules.append(own.module)
        used.site_handles += [own.module.register_forward_pre_hook(site.before, with_kwargs=True),
                              own.module.register_forward_hook(site.after, always_call=True)]


def _take_out(used: Used) -> None:
    for module in used.modules:
        del module.locus
    for handle in used.site_handles:
        handle.remove()
    used.sites, used.modules, used.site_handles = [], [], []


def undo(model: Any) -> Any:
    """Takes locus out of a model that `use` was called with; what its encodings learned is gone. Returns the model."""
    used = getattr(model, "locus_used", None)
    if used is None:
        return model
    _take_out(used)
    for handle in used.handles:
        handle.remove()
    for config, before in used.implementations:
        config._attn_implementation_internal = before
    model.__dict__.pop("_prepare_cache_for_generation", None)
    del model.locus_used
    return model


# ---- agreement ----


def _difference(one: Tensor, other: Tensor, seen: Tensor) -> float:
    """Of the tokens that are no padding, as a share of their norm."""
    kept = seen.bool()
    if kept.shape != one.shape[:2]:
        kept = torch.ones(one.shape[:2], dtype=torch.bool, device=one.device)
    a, b = one[kept].double(), other[kept].double()
    found = float((a - b).norm() / a.norm())
    return found if found == found else float("inf")


def _decoded(model: Any, inputs: Dict[str, Tensor]) -> Tensor:
    """The last token's outputs, computed with a cache."""
    cache = Cache(model)
    ahead = {name: x[..., :-1] for name, x in inputs.items()}
    outputs(model, ahead, past_key_values=cache, use_cache=True)
    last = {name: x if name == "attention_mask" else x[..., -1:] for name, x in inputs.items()}
    return outputs(model, last, past_key_values=cache, use_cache=True)[:, -1:]


def _disagreement(model: Any, inputs: Dict[str, Tensor], wanted: Tensor) -> float:
    seen = inputs["attention_mask"]
    found = _difference(wanted, outputs(model, inputs), seen)
    causal = all(getattr(own, "is_causal", True) for own in model.locus_used.modules)
    if is_decoder(model) and causal:
        found = max(found, _difference(wanted[:, -1:], _decoded(model, inputs), seen[:, -1:]))
    return found


def _agree(model: Any, used: Used, chosen: List[Attending], own: Own, inputs: Dict[str, Tensor], wanted: Tensor
           ) -> Own:
    """The model's own encoding put in, as its configuration or as its rotary functions have it."""
    layers, least = _layer_numbers(chosen), float("inf")
    for read in (own, Own(tuple(halved(spec) for spec in own.specs), own.behind, own.notes)):
        _put(used, chosen, layers_by(read, None, layers), own.behind)
        found = _disagreement(model, inputs, wanted)
        if found <= _AGREES.get(wanted.dtype, 1e-4):
            return read
        least = min(least, found)
        if read.specs == tuple(halved(spec) for spec in own.specs):
            break
    raise UnsupportedError(f"{_name(model)}: with '{own.of_layer(layers[0])}', as its configuration is read, outputs "
                           f"differ by {least:.1g} of their norm: locus leaves it as it is")


def _replace(model: Any, encoding: Optional[str]) -> None:
    with quiet(model):
        try:
            read: Optional[Own] = own_of(model.config)
        except UnsupportedError:
            if encoding is None:
                raise
            read = None
        inputs = small_input(model, max(map(axes_of, read.specs)) if read else 1)
        wanted = outputs(model, inputs)
        if not bool(wanted.isfinite().all()):  # eager attention in float64 makes NaN of padding by itself
            inputs["attention_mask"] = torch.ones_like(inputs["attention_mask"])
            wanted = outputs(model, inputs)
        with _everywhere(model):
            watched = watch(model, inputs)
        chosen = _chosen(model, watched)
        if read is None and watched.rotary:
            raise UnsupportedError(f"{_name(model)} has rotary positions, but its configuration does not say which")
        used = _install(model, watched, chosen)
        if read is not None:
            read = _agree(model, used, chosen, read, inputs, wanted)
            used.notes = read.notes
        if encoding is not None:
            before = read or Own(("none",), 0, ())
            specs = layers_by(before, encoding, _layer_numbers(chosen))
            _put(used, chosen, specs, before.behind)
            outputs(model, inputs)


def _reason(error: Exception) -> str:
    """Its first line; of one without words, what it was raised by."""
    said = str(error).strip()
    if said:
        return said.splitlines()[0]
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.line or 'no reason given'} ({Path(last.filename).name}, line {last.lineno})"


def use(model: Any, encoding: Optional[str] = None) -> Any:
    """Replaces the attention of a transformers model by locus, in place, and returns the model.

    `encoding` None: the rotary settings of its own configuration; its outputs are checked to be the same, on a small
    random input. Else a spec, or a pattern over layers ("3*rope / none"): a `rope` takes base, pairs and rotated
    dimensions from the model unless it says them itself; what an encoding learns becomes a parameter of the model.
    UnsupportedError says in one line why a model cannot be done, and leaves it as it was."""
    if not isinstance(model, PreTrainedModel):
        raise TypeError(f"expected a transformers model, not {type(model).__name__}")
    if encoding is not None:
        layers_of(encoding)
    undo(model)
    try:
        _replace(model, encoding)
    except Exception as error:
        undo(model)
        if isinstance(error, (UnsupportedError, ImportError)) or encoding is not None and isinstance(
                error, (ValueError, TypeError)):
            raise
        raise UnsupportedError(f"{_name(model)}: {type(error).__name__}: {_reason(error)}") from error
    return model
