# SPDX-License-Identifier: MIT
"""A model seen at work on a small random input: which modules attend, which of them the model's cosines and sines reach,
and whether keys come to attention as the cache gave them."""
from __future__ import annotations

import inspect
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Set, Tuple

import torch
from torch import Tensor, nn
from transformers import DynamicCache

from . import interface
from .sites import Rotary, Used, is_rotary, turned_by

_PLACES = (0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144)
_PADDED = 3


# ---- a small input ----


def _spared(config: Any) -> Set[int]:
    """Tokens with a meaning of their own: images, padding, ends."""
    found: Set[int] = set()
    for own in (config, config.get_text_config(decoder=True)):
        for name, value in own.to_dict().items():
            if name.endswith(("_token_id", "_token_index", "_token_ids")):
                found |= {x for x in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(x, int)}
    return found


def takes(model: nn.Module, name: str) -> bool:
    return name in inspect.signature(model.forward).parameters


def is_decoder(model: Any) -> bool:
    """Whether a plain dynamic cache will do for it."""
    plain = getattr(model, "_supports_default_dynamic_cache", None)
    return takes(model, "past_key_values") and (plain is None or plain())


def _below(most: int) -> List[int]:
    """As many places as a text has tokens, growing faster and faster, of those that the model has."""
    found = [place for place in _PLACES if place < most]
    rest = [place for place in range(most) if place not in found]
    return sorted(found + rest[:len(_PLACES) - len(found)])


def small_input(model: Any, axes: int) -> Dict[str, Tensor]:
    """Two texts, the second one padded on the left, at positions that grow faster and faster."""
    embedding = model.get_input_embeddings()
    size = min(embedding.num_embeddings, model.config.get_text_config(decoder=True).vocab_size)
    tokens = torch.tensor(sorted(set(range(min(3, size - 1), min(size, 4096))) - _spared(model.config)))
    drawn = torch.randint(len(tokens), (2, len(_PLACES)), generator=torch.Generator().manual_seed(3))
    device = embedding.weight.device
    found = {"input_ids": tokens[drawn].to(device), "attention_mask": torch.ones(2, len(_PLACES), dtype=torch.long,
                                                                              device=device)}
    found["attention_mask"][1, :_PADDED] = 0
    if takes(model, "position_ids"):
        most = getattr(model.config.get_text_config(decoder=True), "max_position_embeddings", None) or _PLACES[-1] + 1
        row = torch.tensor(_below(most), device=device)
        places = torch.stack([row, (row - _PADDED).clamp(min=0)])
        found["position_ids"] = places if axes == 1 else torch.stack([places, places * 3 // 2, places // 2][:axes])
    return found


@contextmanager
def quiet(model: nn.Module) -> Iterator[None]:
    """Without dropout and gradients."""
    training = [module for module in model.modules() if module.training]
    try:
        model.eval()
        with torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True


def outputs(model: nn.Module, inputs: Dict[str, Tensor], **more: Any) -> Tensor:
    """Logits, or the last hidden states."""
    if "past_key_values" not in more and takes(model, "use_cache"):
        more["use_cache"] = False
    found = model(**inputs, **more)
    own = getattr(found, "logits", None)
    return found[0] if own is None else own


# ---- watching ----


@dataclass
class Attending:
    """One attention module: heads, heads of keys and values, their dimensions. `direct`: its keys come as the cache
    gave them; `reached`: it is handed cosines and sines."""

    module: nn.Module
    shape: Tuple[int, int, int, int]
    direct: bool
    reached: bool
    across: bool


class Watched:
    """What was seen of a model; `rotary`: its rotary modules, as far as they were called."""

    def __init__(self) -> None:
        self.attending: List[Attending] = []
        self.rotary: List[nn.Module] = []
        self._reached: Set[int] = set()
        self._given: Dict[int, List[Attending]] = {}
        self._held: List[Tensor] = []  # so that no other tensor gets its number

    def ahead(self, module: nn.Module, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        if any(turned_by(x) is not None for x in (*args, *kwargs.values())):
            self._reached.add(id(module))

    def behind(self, module: nn.Module, args: Any, output: Any) -> None:
        self.rotary.append(module)

    def gave(self, keys: Tensor) -> None:
        self._held.append(keys)
        self._given[id(keys)] = []

    def attends(self, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, said: Dict[str, Any]) -> None:
        before = next((own for own in self.attending if own.module is module), None)
        if before is not None:
            before.direct = False
            return
        own = Attending(module, (query.shape[1], key.shape[1], query.shape[3], value.shape[3]), id(key) in self._given,
                        id(module) in self._reached, query.shape[2] != key.shape[2])
        self.attending.append(own)
        sharing = self._given.setdefault(id(key), [])
        sharing.append(own)
        self._held.append(key)
        if len(sharing) > 1:
            for other in sharing:
                other.direct = False


class _WatchedCache(DynamicCache):
    """A cache that says what it gave."""

    def __init__(self, watched: Watched, config: Any) -> None:
        super().__init__(config=config)
        self._watched = watched

    def update(self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
               ) -> Tuple[Tensor, Tensor]:
        keys, values = super().update(key_states, value_states, layer_idx, *args, **kwargs)
        self._watched.gave(keys)
        return keys, values


def watch(model: Any, inputs: Dict[str, Tensor]) -> Watched:
    """Runs the model once, as it is but with attention by its eager code."""
    watched, handles = Watched(), []
    for module in model.modules():
        handles.append(module.register_forward_pre_hook(watched.ahead, with_kwargs=True))
        if is_rotary(module):
            handles.append(module.register_forward_hook(Rotary(Used(), False), with_kwargs=True))
            handles.append(module.register_forward_hook(watched.behind))
    more = {}
    if is_decoder(model):
        more["past_key_values"] = _WatchedCache(watched, model.config)
    try:
        interface.observe(watched.attends)
        outputs(model, inputs, **more)
    finally:
        interface.observe(None)
        for handle in handles:
            handle.remove()
    return watched
