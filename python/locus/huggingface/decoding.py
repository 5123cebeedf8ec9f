# SPDX-License-Identifier: MIT
"""Decoding: a cache of transformers whose layers keep keys as locus turned them.

    locus.huggingface.use(model)
    cache = locus.huggingface.Cache(model)
    model.generate(**inputs, past_key_values=cache)

Each key is turned once, when it is appended. A layer takes its first tokens as they are, so that a forward pass without
a second one costs nothing and has gradients; they go into a `locus.Cache` when the next ones come. Layers whose keys are
made of what the cache keeps (latent attention), linear ones, those that share keys with others and those on other devices
than the CPU stay as transformers has them, and locus turns their keys anew in each step."""
from __future__ import annotations

import copy
from typing import Any, Dict, Iterable, Optional, Tuple

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from ..caches import Cache as KernelCache
from ..errors import UnsupportedError
from ..torch.kernels import lent, taken
from .tracks import Track, places_of
from .sites import Site

_LEAST = 64


def track_of(cache: Any) -> Track:
    """Where the tokens of a cache stand, of this class or any other."""
    found = getattr(cache, "locus_track", None)
    if found is None:
        found = cache.locus_track = Track()
    assert isinstance(found, Track)
    return found


class Kept(DynamicLayer):
    """Keys and values of one attention, turned."""

    def __init__(self, site: Site, track: Track, length: Optional[int]) -> None:
        super().__init__()
        self.site, self.track, self.length, self.asked = site, track, length, length
        self.own: Optional[KernelCache] = None
        self.fresh: Optional[Tuple[Tensor, Tensor]] = None  # the newest tokens, not in `own` yet
        self.said: Optional[Tuple[str, Dict[str, Tensor]]] = None
        self.count = self.batch = self.capacity = 0  # tokens of each sequence, sequences

    # ---- what transformers asks ----

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.dtype, self.device = key_states.dtype, key_states.device
        self.batch = key_states.shape[0]
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> Tuple[Tensor, Tensor]:
        """The new keys and values; attention finds those of before by a mark on the keys."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        if self.count and torch.is_grad_enabled() and (key_states.requires_grad or value_states.requires_grad):
            raise UnsupportedError("gradients do not go through locus.huggingface.Cache: decode under torch.no_grad(), "
                                   "or with transformers' DynamicCache")
        self._append()
        self.fresh = key_states, value_states
        self.count += key_states.shape[2]
        key_states.locus_kept = self
        return key_states, value_states

    def get_seq_length(self) -> int:
        return self.count

    def reset(self) -> None:
        self.own, self.fresh, self.said, self.count, self.is_initialized = None, None, None, 0, False
        self.length = self.asked

    def crop(self, tokens_to_remove: int) -> None:
        if tokens_to_remove > 0:
            raise ValueError(f"crop takes away {tokens_to_remove} tokens; say it as a negative number")
        left = max(self.count + tokens_to_remove, 0)
        if left == 0:
            self.reset()
            return
        kept = 0 if self.own is None else self.own.length()
        if self.fresh is not None:
            self.fresh = None if left <= kept else (self.fresh[0][:, :, :left - kept], self.fresh[1][:, :, :left - kept])
        for sequence in range(self.batch if self.own is not None and left < kept else 0):
            assert self.own is not None
            self.own.truncate(left, sequence)
        self.count = left

    def reorder_cache(self, beam_idx: Tensor) -> None:
        self.select(beam_idx)

    def batch_select_indices(self, indices: Tensor) -> None:
        self.select(torch.arange(self.batch)[indices.cpu()])

    def batch_repeat_interleave(self, repeats: int) -> None:
        self.select(torch.arange(self.batch).repeat_interleave(repeats))

    def offload(self) -> None:
        """Stays where it is: in the CPU's memory."""

    def prefetch(self) -> None:
        """See offload."""

    def select(self, sequences: Tensor) -> None:
        """The sequences with these numbers, in this order."""
        numbers = sequences.tolist()
        if numbers == list(range(self.batch)):
            return
        if self.fresh is not None:
            self.fresh = self.fresh[0][sequences], self.fresh[1][sequences]
        if self.own is not None:
            self.own = self._copied(self.own, numbers, self.capacity)
        self.batch = len(numbers)

    def __deepcopy__(self, memo: Dict[int, Any]) -> Kept:
        other = copy.copy(self)
        other.track = copy.deepcopy(self.track, memo)
        if self.own is not None:
            other.own = self._copied(self.own, range(self.batch), self.capacity)
        return other

    # ---- what attention asks ----

    def prepare(self, spec: str, parameters: Dict[str, Tensor]) -> None:
        """What keys are turned by, said with the first of them."""
        self.said = spec, parameters

    def attend(self, q: Tensor, causal: bool, window: Optional[int], bias: Optional[Tensor], scale: Optional[float],
               cap: Optional[float]) -> Tensor:
        """Attention of the newest tokens over everything kept."""
        self._append()
        assert self.own is not None
        found = self.own.attend(lent(q), causal, scale, None if bias is None else lent(bias), cap=cap, window=window)
        return taken(found, q.dtype)

    def _append(self) -> None:
        """Turns the new tokens and keeps them."""
        if self.fresh is None:
            return
        (k, v), self.fresh = self.fresh, None
        if self.own is None:
            self.own = self._made(max(_LEAST, 2 * self.count), self.batch)
        elif self.count > self.capacity:
            self.own = self._copied(self.own, range(self.batch), 2 * self.count)
        rows = self.track.columns(self.count - k.shape[2], self.count)
        place = places_of(rows, self.own.encoding, self.batch)
        k = torch.roll(k, self.site.behind, -1) if self.site.behind else k
        self.own.append(lent(k), lent(v), place)

    def _made(self, capacity: int, sequences: int) -> KernelCache:
        if self.said is None:
            raise UnsupportedError("locus.huggingface.Cache is for models that locus.huggingface.use was called with")
        spec, parameters = self.said
        if self.length is None:  # of frequencies that depend on it: what the first tokens ask for
            self.length = int(self.track.columns(0, self.count).max()) + 1
        site, self.capacity = self.site, capacity
        values = {name: x.detach().cpu().double().numpy() for name, x in parameters.items()}
        return KernelCache(spec, site.heads, site.head_dim, values or None, capacity=capacity, sequences=sequences,
                           kv_heads=site.kv_heads, value_dim=site.value_dim, length=self.length,
                           dtype=str(self.dtype).removeprefix("torch."))

    def _copied(self, before: KernelCache, sequences: Iterable[int], capacity: int) -> KernelCache:
        numbers = list(sequences)
        made = self._made(capacity, len(numbers))
        for to, number in enumerate(numbers):
            made.insert(before, 0, before.length(number), to, number)
        return made


class Cache(DynamicCache):
    """A cache for a model that `use` was called with; transformers' own methods (crop, reset, reorder_cache,
    batch_select_indices, batch_repeat_interleave, get_seq_length) work on it.

    `length`: to frequencies that depend on a text's length (dynamic NTK, LongRoPE), fixed for the cache's life; None:
    that of the first tokens. Parameters are those of the first tokens, too."""

    def __init__(self, model: Any, length: Optional[int] = None) -> None:
        used = getattr(model, "locus_used", None)
        if used is None:
            raise UnsupportedError("locus.huggingface.Cache is for a model that locus.huggingface.use was called with")
        super().__init__(config=model.config)
        self.locus_track = Track()
        for site, module in zip(used.sites, used.modules):
            if site.direct and site.layer < len(self.layers) and site.encoding.cached and type(
                    self.layers[site.layer]) in (DynamicLayer, DynamicSlidingWindowLayer) and all(
                        x.is_cpu for x in module.parameters()):
                self.layers[site.layer] = Kept(site, self.locus_track, length)

    def reset(self) -> None:
        super().reset()
        self.locus_track.reset()

    def crop(self, tokens_to_remove: int) -> None:
        """Takes so many of the newest tokens away, said as a negative number; a positive one is the length to keep, as
        earlier releases of transformers have it."""
        if tokens_to_remove > 0:
            tokens_to_remove -= self.locus_track.length or self.get_seq_length()
            if tokens_to_remove >= 0:
                return
        super().crop(tokens_to_remove)
        self.locus_track.crop(max(self.locus_track.length - abs(tokens_to_remove), 0))

    def reorder_cache(self, beam_idx: Tensor) -> None:
        super().reorder_cache(beam_idx)
        self.locus_track.select(beam_idx)

    def batch_select_indices(self, indices: Tensor) -> None:
        super().batch_select_indices(indices)
        self.locus_track.select(indices)

    def batch_repeat_interleave(self, repeats: int) -> None:
        super().batch_repeat_interleave(repeats)
        self.locus_track.repeat(repeats)
