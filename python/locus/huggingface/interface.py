# SPDX-License-Identifier: MIT
"""The function that transformers calls for attention when a configuration's `_attn_implementation` is "locus"."""
from __future__ import annotations

import sys
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from ..encodings import Encoding
from ..errors import UnsupportedError
from ..torch import attention as torch_attention
from . import masks
from .decoding import Kept, track_of
from .tracks import packed, row_of_places
from .sites import Site
from .specs import with_scores

NAME = "locus"
Observer = Callable[[nn.Module, Tensor, Tensor, Tensor, Dict[str, Any]], None]
_local = threading.local()


def observe(observer: Optional[Observer]) -> None:
    """From now on, or no more, this thread's calls of attention are told to `observer`, and computed by the model."""
    _local.observer = observer


def _theirs(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor], **said: Any) -> Any:
    """Attention by the model's own code: of modules that are no sites, and of other models with one configuration."""
    eager = getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)
    if eager is None:
        return sdpa_attention_forward(module, query, key, value, mask, **said)
    m, n = query.shape[2], key.shape[2]
    if mask is None and m > 1 and said.get("is_causal", getattr(module, "is_causal", True)):
        mask = torch.ones(m, n, dtype=torch.bool, device=query.device).tril(n - m)[None, None]
    return eager(module, query, key, value, None if mask is None else masks.shown(mask, query.dtype), **said)


def attention_forward(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Optional[Tensor],
                      scaling: Optional[float] = None, dropout: float = 0.0, **said: Any
                      ) -> Tuple[Tensor, Optional[Tensor]]:
    """query ``[batch, heads, queries, dim]`` → output ``[batch, queries, heads, dim]``; no weights."""
    observer: Optional[Observer] = getattr(_local, "observer", None)
    site = module._modules.get("locus")
    if observer is not None:
        observer(module, query, key, value, said)
    if observer is not None or not isinstance(site, Site):
        found: Tuple[Tensor, Optional[Tensor]] = _theirs(module, query, key, value, attention_mask, scaling=scaling,
                                                         dropout=dropout, **said)
        return found
    call = _Call(site, module, query, key, value, attention_mask, said)
    return call.output(scaling, dropout).transpose(1, 2).contiguous(), None


class _Call:
    """One call of attention at a site."""

    def __init__(self, site: Site, module: nn.Module, q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor],
                 said: Dict[str, Any]) -> None:
        self.site, self.q, self.k, self.v = site, q, k, v
        own = getattr(k, "locus_kept", None)
        self.layer: Optional[Kept] = own
        self.kept: Optional[Kept] = own if own is not None and own.count > k.shape[2] else None
        self.places, self.key_places = self._places(module)
        self.m, self.n = q.shape[2], self.k.shape[2] if self.kept is None else self.kept.count
        causal = said.get("is_causal")
        causal = bool(getattr(module, "is_causal", True) if causal is None else causal)
        if said.get("indices") is not None:
            mask = masks.narrowed(mask, said["indices"], self.n)
        self.seen = masks.read(mask, self.m, self.n, causal)
        # What a spec says of a window acts beside the model's mask, and biases do not go into packed sequences.
        hides = self.seen.window is not None and bool({"window", "chunk"} & site.settings)
        adds = self.seen.packing is not None and said.get("position_bias") is not None
        if mask is not None and (hides or adds):
            self.seen = masks.as_bias(mask, self.seen, self.n)
        self.bias = self.seen.bias
        if said.get("position_bias") is not None:
            self.bias = said["position_bias"] if self.bias is None else self.bias + said["position_bias"]
        self.cap, self.sinks = None if "cap" in site.settings else said.get("softcap"), said.get("s_aux")
        if site.behind:
            self.q = torch.roll(self.q, site.behind, -1)
            self.k = self.k if self.kept is not None else torch.roll(self.k, site.behind, -1)

    def _places(self, module: nn.Module) -> Tuple[Tensor, Optional[Tensor]]:
        """Where queries stand, and keys, if elsewhere."""
        site, m = self.site, self.q.shape[2]
        cache = site.cache
        past = None if cache is None else site.past
        own = row_of_places(site.positions if site.positions is not None else site.used.positions, m, past or 0,
                            site.axes, self.q.device)
        if cache is None:
            if self.k.shape[2] != m:
                raise UnsupportedError(f"layer {site.layer} attends from {m} tokens to {self.k.shape[2]} without a "
                                       "cache: where its keys stand is not known")
            return own, None
        track = track_of(cache)
        if past is not None:
            track.place(past, own, site.mark)
        if self.k.shape[2] > track.length:  # a static cache, whose rows behind are not tokens yet
            self.k, self.v = self.k[:, :, :track.length], self.v[:, :, :track.length]
        n = track.length if self.kept is not None else self.k.shape[2]
        return own, None if n == m else track.last(n)

    def _encoding(self, whole: bool = True) -> Tuple[str, Dict[str, Tensor]]:
        """The site's encoding with what this call says of scores, and its parameters by their names in it. Without
        `whole` only what learns: a cache is told the rest with each call."""
        site, settings = self.site, {}
        if whole and self.cap is not None:
            settings["cap"] = self.cap
        if whole and self.seen.window is not None:
            settings["window"] = self.seen.window
        if self.sinks is not None:
            settings["sinks"] = "on"
        learned = site.learned()
        if not settings:
            return site.spec, learned
        spec = with_scores(site.spec, **settings)
        shapes = Encoding(spec).parameters(site.heads, site.head_dim, value_dim=site.value_dim, kv_heads=site.kv_heads)
        sinks = None if self.sinks is None else self.sinks.flatten()

        def are_sinks(name: str) -> bool:  # the model's own, of the term with scores, wherever it stands
            return sinks is not None and name.rpartition(".")[2] == "sinks"

        rest = iter(value for name, value in learned.items() if not are_sinks(name))
        return spec, {name: sinks if sinks is not None and are_sinks(name) else next(rest) for name in shapes}

    def output(self, scaling: Optional[float], dropout: float) -> Tensor:
        """[batch, heads, queries, dim]."""
        if self.kept is not None:
            return self.kept.attend(self.q, self.seen.causal, self.seen.window, self.bias, scaling, self.cap)
        spec, parameters = self._encoding()
        if self.layer is not None:
            self.layer.prepare(*self._encoding(False))
        if self.seen.packing is not None:
            return self._packed(spec, parameters, scaling, dropout)
        places, keys = self.places, self.key_places
        return torch_attention(
            self.q, self.k, self.v, spec, places[0] if places.shape[0] == 1 else places, parameters, self.seen.causal,
            keys if keys is None or keys.shape[0] > 1 else keys[0], None, scaling, dropout, True, bias=self.bias)

    def _packed(self, spec: str, parameters: Dict[str, Tensor], scaling: Optional[float], dropout: float) -> Tensor:
        """Without the tokens that are padding, whose outputs are 0."""
        packing = self.seen.packing
        assert packing is not None
        batch, heads, m, _ = self.q.shape
        q, k, v = (packed(x, packing.tokens) for x in (self.q, self.k, self.v))
        places = self.places.expand(batch, *self.places.shape[1:]).flatten(0, 1)[packing.tokens]
        found = torch_attention(q, k, v, spec, places, parameters, self.seen.causal, None, packing.offsets, scaling,
                                dropout, True)
        whole = found.new_zeros(batch * m, heads, found.shape[-1]).index_copy(0, packing.tokens, found)
        return whole.unflatten(0, (batch, m)).transpose(1, 2)


AttentionInterface.register(NAME, attention_forward)
AttentionMaskInterface.register(NAME, sdpa_mask)
