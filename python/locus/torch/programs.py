# SPDX-License-Identifier: MIT
"""Attention from forms as one program for tensors of a shape, a type and a device: what positions say is made once and
kept with the plan, so that a call turns queries and keys with one kernel (turning.py) and leaves the rest to
PyTorch's fused attention. Serves sequences of one length; forms.py does everything else.

Where positions change scores, one of three:

  masks   what is added depends on the difference of index alone, d = i − j: a vector over d, of which a mask is a view
          that is copied. Queries are taken in tiles; the last tile's mask, shifted, is that of every other one
  flex    FlexAttention, compiled: half types with gradients, long sequences, and what no mask of differences says
  shaw    vectors of keys (`relative`): as masks, with a part of its own of each query"""
from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Callable, Dict, List, Optional, Tuple
from weakref import ref

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from . import flex, turning
from .operations import Live, by_head, capturing, cell_values, hides, sees

Learned = Dict[str, Tensor]
HALF = (torch.bfloat16, torch.float16)
_GROUPS = "enable_gqa" in (F.scaled_dot_product_attention.__doc__ or "")  # PyTorch 2.5 on
# From so many keys on FlexAttention is ahead of masks (H100): in half types with gradients, without; in float32.
FLEX_FROM = {"learning": 1024, "half": 2048, "single": 1024}
_TILE, _WORK = 1024, 16384  # queries of a tile, or more where sequences times heads times queries are fewer than this
# Masks that are kept, in bytes, of all programs together; those that would not fit are made at each call.
_MOST_BYTES = 1 << 29
_masks: OrderedDict[Any, Tensor] = OrderedDict()  # by references to their programs, which forget them when they end
_lock = threading.Lock()
# What CUDA graphs were captured with: they read it whenever they are replayed, and nobody tells when they end.
_captured: Dict[int, Any] = {}


def _bytes(x: Tensor) -> int:
    return x.untyped_storage().nbytes()


def _kept(owner: Any, make: Callable[[], Tensor]) -> Tensor:
    key = ref(owner)
    with _lock:
        found = _masks.get(key)
        if found is not None:
            _masks.move_to_end(key)
            if capturing():
                _captured[id(found)] = found
            return found
    with torch.inference_mode(False), torch.no_grad():
        found = make()
    if _bytes(found) > _MOST_BYTES or capturing():
        return found
    # A program may end at any moment, in this thread, too, so that its reference takes no lock.
    own = ref(owner, lambda gone: _masks.pop(gone, None))
    with _lock:
        _masks[own] = found
        total = sum(_bytes(mask) for mask in list(_masks.values()))
        for oldest in list(_masks):
            if total <= _MOST_BYTES:
                break
            gone = _masks.pop(oldest, None)
            total -= 0 if gone is None else _bytes(gone)
    return found


# ---- what depends on the difference of index alone ----


def _stepping(cells: Any) -> Optional[int]:
    """By how much each number is above the one before, modulo 2³²."""
    steps = np.unique(np.diff(cells.astype(np.int64)) % 2**32)
    return None if len(steps) > 1 else int(steps[0]) if len(steps) else 0


def _cells_by_difference(live: Live, queries: Any, keys: Any) -> Optional[Tensor]:
    """The cell of each difference −(n − 1) … m − 1, or None where it is no function of that."""
    of_query, of_key = live.form.arrays["query_cell"][queries], live.form.arrays["key_cell"][keys]
    up, down = _stepping(of_query), _stepping(of_key)
    if up is None or down is None or (up + down) % 2**32 and min(len(queries), len(keys)) > 1:
        return None
    up = up if len(queries) > 1 else -down
    first = int(of_query[0]) + int(of_key[0])
    own = (first + up * np.arange(1 - len(keys), len(queries), dtype=np.int64)) % 2**32
    return torch.from_numpy(own).to(live.arrays["query_cell"].device)


class _Sizes:
    def __init__(self, q: Tensor, k: Tensor, causal: bool, scale: float, queries: Tensor, keys: Tensor) -> None:
        self.batch, self.heads, self.m, self.dim = q.shape
        self.n, self.dtype, self.device = k.shape[2], q.dtype, q.device
        self.causal, self.scale = causal, scale
        self.queries, self.keys = queries, keys  # tokens of the sequences, [1 or sequences, length]
        self.wide = torch.float64 if q.dtype == torch.float64 else torch.float32


class _Tiles:
    """Tiles of queries, the keys that they see, and where those stand in the last tile's mask, [queries of a tile,
    width]: column x of the tile that begins with query a is key x + a − zero. Starts are multiples of 8 numbers, as
    PyTorch's kernels want them."""

    def __init__(self, sizes: _Sizes, window: int) -> None:
        m, n, causal = sizes.m, sizes.n, sizes.causal
        wanted = max(1, _WORK // (sizes.batch * sizes.heads))
        least = max(_TILE, 1 << (wanted.bit_length() - 1))
        whole = m <= least or m != n or not (causal or window)
        self.size = m if whole else least
        self.spans: List[Tuple[int, int, int, int]] = []
        for a in range(0, m, self.size):
            b = min(a + self.size, m)
            low = 0 if whole or not window else max(0, a + 1 - window) // 8 * 8
            high = b if causal and not whole else n if whole or not window else min(n, b + window - 1)
            self.spans.append((a, b, low, high))
        self.zero = max(a - low for a, _, low, _ in self.spans)
        self.width = -(-max(high - a + self.zero for a, _, _, high in self.spans) // 8) * 8

    def part(self, mask: Tensor, span: Tuple[int, int, int, int]) -> Tensor:
        a, b, low, high = span
        first = low - a + self.zero
        return mask[..., :b - a, first:first + high - low]


def _differences(tiles: _Tiles, m: int, n: int, device: torch.device) -> Tensor:
    """What `_spread` takes numbers of, from the largest on; where the last tile's mask has more, again the nearest."""
    d = torch.arange(tiles.size + tiles.zero - 1, tiles.zero - tiles.width, -1, device=device)
    return torch.clamp(d, 1 - n, m - 1)


def _spread(by_difference: Tensor, tiles: _Tiles) -> Tensor:
    """[heads, queries of a tile, width] of [heads, differences]."""
    back = torch.arange(tiles.size - 1, -1, -1, device=by_difference.device)
    return by_difference.unfold(-1, tiles.width, 1).index_select(-2, back)  # contiguous, unlike a flip of what overlaps


# ---- programs ----


def _repeated(x: Tensor, heads: int) -> Tensor:
    return x if x.shape[1] == heads else x.repeat_interleave(heads // x.shape[1], 1)


def _risky(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Whether PyTorch may take cuDNN's kernel, which takes half types, and gradients are wanted: PyTorch 2.11 keeps the plan
    of its backward by how q, k and v lie without the layout of the output's gradient, so that a second layout gets wrong
    gradients in silence."""
    return (q.is_cuda and q.dtype in HALF and torch.is_grad_enabled()
            and (q.requires_grad or k.requires_grad or v.requires_grad) and torch.backends.cuda.cudnn_sdp_enabled())


def attended(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor], causal: bool, scale: float, apart: bool = False
             ) -> Tensor:
    """PyTorch's attention, where gradients are wanted without cuDNN's kernel (`_risky`), unless queries were laid `apart`,
    as callers' tensors are not, so that what is kept is kept for this package alone: then the output's gradient is given
    one layout."""
    groups: Dict[str, bool] = {}
    if q.shape[1] != k.shape[1]:
        if _GROUPS and mask is None and q.dtype in HALF:
            groups = {"enable_gqa": True}
        else:
            k, v = _repeated(k, q.shape[1]), _repeated(v, q.shape[1])
    if apart:
        output = F.scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale=scale, **groups)
        strides = output.stride()
        output.register_hook(lambda gradient: _laid(gradient, strides))
        return output
    if not _risky(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale=scale, **groups)
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        return F.scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale=scale, **groups)
    finally:
        torch.backends.cuda.enable_cudnn_sdp(True)


def _laid(gradient: Tensor, strides: Tuple[int, ...]) -> Tensor:
    if gradient.stride() == strides and not gradient.is_neg():
        return gradient
    return gradient.new_empty_strided(gradient.shape, strides).copy_(gradient)


class _Masks:
    """Cells that are added, and what is hidden."""

    def __init__(self, sizes: _Sizes, lives: List[Live], settings: Dict[str, Any], indices: List[Tensor],
                 given: Tuple[str, ...]) -> None:
        self.sizes = sizes
        self.tiles = _Tiles(sizes, settings.get("window") or 0)
        d = _differences(self.tiles, sizes.m, sizes.n, sizes.device)
        self.lives = [live.among(index[d + sizes.n - 1]) for live, index in zip(lives, indices)]
        self.learns = any(_learning(live, given) for live in lives)
        self.hidden = torch.zeros((1, len(d)), dtype=sizes.wide, device=sizes.device)
        if hides(settings, sizes.causal):  # whether key 0 is seen from so far behind
            seen = sees(settings, sizes.causal, d + (sizes.n - sizes.m), torch.zeros_like(d))
            self.hidden.masked_fill_(~seen, -torch.inf)

    def mask(self, parameters: Learned) -> Tensor:
        """That of the last tile, or of all queries, ready to be added, where there is one."""
        total = self.hidden
        for live in self.lives:
            own = live.again(parameters, self.sizes.wide) if self.learns else live
            total = cell_values(own, self.sizes.heads, self.sizes.wide).to(self.sizes.wide) + total
        mask = _spread(total, self.tiles).to(self.sizes.dtype)
        return self.tiles.part(mask, self.tiles.spans[0])[None] if len(self.tiles.spans) == 1 else mask

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, raw: Tensor, parameters: Learned) -> Tensor:
        mask = self.mask(parameters) if self.learns else _kept(self, lambda: self.mask(parameters))
        sizes, tiles = self.sizes, self.tiles
        if len(tiles.spans) == 1:
            return attended(q, k, v, mask, False, sizes.scale)
        k, v = _repeated(k, sizes.heads), _repeated(v, sizes.heads)
        return torch.cat([attended(part, k[:, :, span[2]:span[3]], v[:, :, span[2]:span[3]],
                                    tiles.part(mask, span)[None], False, sizes.scale)
                          for part, span in zip(q.split(tiles.size, 2), tiles.spans)], 2)


class _Shaw:
    """`relative`: what a query has for each difference −window … window, q·table; other differences have the nearest
    one's. Of a row all but its first may be taken away, which softmax does not see: then what is far behind has 0."""

    def __init__(self, sizes: _Sizes, live: Live, window: int, apart: int) -> None:
        self.sizes, self.live, self.window = sizes, live, window
        self.tiles = _Tiles(sizes, 0)
        self.apart = apart  # key_position − query_position of index 0 of both
        self.factor = sizes.scale if live.arrays["scaled"] else 1.0
        self.masks: Dict[Tuple[int, int, int], Tuple[Tensor, Optional[Tensor]]] = {}

    def _rows(self, queries: int, first: int, keys: int) -> Tuple[Tensor, Optional[Tensor]]:
        """Rows of queries 0 …, and keys first … of these counts, and which pairs are hidden."""
        key = queries, first, keys
        if key not in self.masks:
            with torch.inference_mode(False), torch.no_grad():
                apart = (first + torch.arange(keys, device=self.sizes.device)
                         - torch.arange(queries, device=self.sizes.device)[:, None])
                rows = torch.clamp(apart + self.apart, -self.window, self.window) + self.window
                hidden = apart > self.sizes.n - self.sizes.m if self.sizes.causal else None
            if capturing():
                return rows, hidden
            self.masks[key] = rows, hidden
        return self.masks[key]

    def products(self, raw: Tensor, parameters: Learned, dtype: torch.dtype) -> Tensor:
        """[sequences, heads, queries, 2·window + 1]."""
        table = self.live.again(parameters, self.sizes.wide).arrays["key_table"].to(self.sizes.wide) * self.factor
        return raw.to(dtype) @ table.mT.to(dtype)

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, raw: Tensor, parameters: Learned) -> Tensor:
        sizes, outputs = self.sizes, []
        k, v = _repeated(k, sizes.heads), _repeated(v, sizes.heads)
        for part, own, (a, b, low, high) in zip(q.split(self.tiles.size, 2), raw.split(self.tiles.size, 2),
                                                self.tiles.spans):
            products = self.products(own, parameters, sizes.wide)
            products = products - products[..., :1]
            near = min(high, max(0, a - self.window - self.apart) // 8 * 8)
            rows, hidden = self._rows(b - a, near - a, high - near)
            bias = products.gather(-1, rows.expand(*products.shape[:2], -1, -1))
            bias = bias if hidden is None else bias.masked_fill(hidden, -torch.inf)
            bias = F.pad(bias.to(sizes.dtype), (near, -high % 8))[..., :high]
            outputs.append(attended(part, k[:, :, low:high], v[:, :, low:high], bias, False, sizes.scale))
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs, 2)


class _Flex:
    """FlexAttention; what it cannot do here goes to `other`, and so does what that does faster."""

    def __init__(self, sizes: _Sizes, modifier: Callable[[Tensor, Learned], Any], mask: Callable[[], Any], key: Any,
                 other: Any, always: bool, options: Optional[Dict[str, Any]] = None) -> None:
        self.sizes, self.modifier, self.mask, self.key, self.other = sizes, modifier, mask, key, other
        self.made: Optional[Tuple[Any]] = None  # what `mask` gives, which may be None
        self.options = options
        self.always = always or other is None

    def _ahead(self, learning: bool) -> bool:
        if self.sizes.dtype in HALF:
            return self.sizes.n >= FLEX_FROM["learning" if learning else "half"]
        return not learning and self.sizes.n >= FLEX_FROM["single"]

    def _block_mask(self) -> Any:
        """Made when it is first wanted, since all pairs of queries and keys are looked at."""
        if self.made is None:
            with torch.inference_mode(False), torch.no_grad():
                made = self.mask()
            if capturing():
                return made
            self.made = (made,)
        return self.made[0]

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, raw: Tensor, parameters: Learned) -> Optional[Tensor]:
        learning = torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v, *parameters.values()))
        output = None
        if self.always or self._ahead(learning):
            own = _repeated(k, self.sizes.heads), _repeated(v, self.sizes.heads)
            output = flex.attention(q, *own, self.modifier(raw, parameters), self._block_mask(), (self.key, learning),
                                    self.sizes.scale, self.options)
        return self.other(q, k, v, raw, parameters) if output is None and self.other is not None else output


class _Plain:
    def __init__(self, sizes: _Sizes) -> None:
        self.sizes, self.causal = sizes, sizes.causal and sizes.m > 1

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, raw: Tensor, parameters: Learned, apart: bool = False) -> Tensor:
        return attended(q, k, v, None, self.causal, self.sizes.scale, apart)


def _lays_apart(device: torch.device) -> bool:
    """Whether `attended` is given queries that lie apart: tried with PyTorch 2.11 on an H100; earlier GPUs have other
    kernels."""
    return (device.type == "cuda" and torch.cuda.get_device_capability(device) >= (9, 0)
            and tuple(int(x) for x in torch.__version__.split(".")[:2]) >= (2, 11))


class Program:
    """Of q, k and v, [sequences, heads, length, dim]."""

    def __init__(self, tables: Optional[Tuple[turning.Table, turning.Table]], by_kernel: bool, scores: Any) -> None:
        self.tables, self.by_kernel, self.scores = tables, by_kernel, scores
        self.apart = by_kernel and isinstance(scores, _Plain) and _lays_apart(scores.sizes.device)

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, parameters: Learned) -> Optional[Tensor]:
        raw = q
        if capturing():
            _captured[id(self)] = self
        if self.tables is not None:
            if self.apart and _risky(q, k, v) and turning.kernel_takes(q, k):
                q, k = turning.turn(q, k, self.tables, True, True)
                return self.scores(q, k, v, raw, parameters, True)
            q, k = turning.turn(q, k, self.tables, self.by_kernel)
        return self.scores(q, k, v, raw, parameters)


def _learning(live: Live, given: Tuple[str, ...]) -> bool:
    return any(parameter in given for parameter, _ in live.form.parameters.values())


def _straight(live: Live, sizes: _Sizes, queries: Any, keys: Any) -> Optional[int]:
    """key_position − query_position of index 0 of both, where positions count on by 1."""
    of_query, of_key = (live.form.arrays[f"{name}_position"][own] for name, own in (("query", queries), ("key", keys)))
    if (np.diff(of_query) != 1).any() or (np.diff(of_key) != 1).any():
        return None
    return int(of_key[0]) - int(of_query[0])


def _modifier(lives: List[Live], indices: List[Optional[Tensor]], sizes: _Sizes, given: Tuple[str, ...]
              ) -> Tuple[Callable[[Tensor, Learned], Any], Any]:
    """What FlexAttention does to a score with cells, of the parameters, and what tells this from others."""
    tables: List[Any] = []
    if len(lives) == 1 and lives[0].law == "slope" and not _learning(lives[0], given) and indices[0] is not None:
        live, away = lives[0], np.arange(1 - sizes.n, sizes.m)
        distance = live.form.arrays["distance"][indices[0].cpu().numpy()]
        zero = int(away[np.argmin(distance)])
        if np.array_equal(distance, np.abs(away - zero)):
            slopes = by_head(torch.as_tensor(live.arrays["slope"], device=sizes.device).reshape(-1, 1), sizes.heads)
            behind = sizes.causal and zero <= sizes.m - sizes.n
            own = flex.sloped(slopes.float().flatten().contiguous(), zero, behind)
            return lambda raw, parameters: own, ("slope", zero, behind)
    for live, index in zip(lives, indices):
        if index is None:
            part = live, flex.wrapped(live.arrays["query_cell"][sizes.queries], sizes.batch), flex.wrapped(
                live.arrays["key_cell"][sizes.keys], sizes.batch)
        else:
            part = live.among(index), sizes.n - 1, None
        tables.append(part)

    def made(parameters: Learned) -> Any:
        own = []
        for live, of_query, of_key in tables:
            live = live.again(parameters, torch.float32) if _learning(live, given) else live
            values = cell_values(live, sizes.heads, torch.float32).float().contiguous()
            own.append((values, of_query, of_key, live.form.multiplies))
        return flex.modifier(own, 0.0)

    kind = tuple((live.form.multiplies, of_key is None, live.arrays["values"].shape) for live, _, of_key in tables)
    if any(_learning(live, given) for live in lives):
        return lambda raw, parameters: made(parameters), kind
    fixed = made({})
    return lambda raw, parameters: fixed, kind


def program(prepared: Any, q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float,
            given: Tuple[str, ...], way: Optional[str] = None) -> Optional[Program]:
    """None where forms.py has to do it. `given`: names of parameters that the caller has. `way`: "masks" or "flex"
    where it is not to be chosen here, as for measurements."""
    if q.is_meta or len(prepared.blocks) != 1 or prepared.place is not None or None in prepared.blocks[0].first:
        return None
    block, forms = prepared.blocks[0], prepared.live({})
    (sequences, m), n = block.queries.shape, block.keys.shape[1]
    if q.shape[0] != sequences or (q.shape[2], k.shape[2]) != (m, n) or not m or not n or (causal and m > n):
        return None
    settings: Dict[str, Any] = next((x.arrays for x in forms if x.kind == "settings" and not x.form.roles), {})
    alike = sequences == 1 or block.alike
    sizes = _Sizes(q, k, causal, scale or settings.get("scale") or q.shape[3] ** -0.5,
                   block.queries[:1] if alike else block.queries, block.keys[:1] if alike else block.keys)
    roles = {role for live in forms if live.kind != "vectors" for role in live.form.roles}
    if roles & {"value", "output"} or settings.get("cap") or "sinks" in settings:
        return None
    tables = None
    if roles:
        of_q, of_k = (turning.table_of(forms, role, x.shape[1], q.shape[3], sequences, q.dtype, q.device)
                      for role, x in (("query", q), ("key", k)))
        if of_q is None or of_k is None or not torch.equal(of_q.partner, of_k.partner):
            return None
        tables = of_q, of_k
    lives = [live for live in forms if not live.form.roles and live.kind != "settings"]
    scores = _scores(sizes, lives, settings, alike, q, v, given, way)
    if scores is None:
        return None
    return Program(tables, tables is not None and turning.serves(tables, q.dtype, q.device), scores)


def _scores(sizes: _Sizes, lives: List[Live], settings: Dict[str, Any], alike: bool, q: Tensor, v: Tensor,
            given: Tuple[str, ...], way: Optional[str]) -> Any:
    m, n, causal = sizes.m, sizes.n, sizes.causal
    straight = not (settings.get("chunk") or settings.get("window"))
    if not lives and straight and (not causal or m == n or m == 1):
        return _Plain(sizes)
    queries, keys = sizes.queries[0].cpu().numpy(), sizes.keys[0].cpu().numpy()
    flexible = way != "masks" and flex.serves(q, v, n, sizes.dtype)
    hidden = causal, *(settings.get(x) for x in ("window", "keep", "chunk"))

    def block_mask() -> Any:
        return None if not hides(settings, causal) else flex.block_mask(
            lambda i, j: sees(settings, causal, i + (n - m), j), m, n, sizes.device)

    if len(lives) == 1 and lives[0].kind == "content" and straight and alike and "value_table" not in lives[0].arrays:
        apart = _straight(lives[0], sizes, queries, keys) if causal else None
        if apart is None:
            return None
        shaw, window = _Shaw(sizes, lives[0], int(lives[0].arrays["window"]), apart), int(lives[0].arrays["window"])
        if not flexible or sizes.dtype not in HALF:
            return shaw
        # Products in the type of queries: in float32 they are too much for the memory of an H100's kernel.
        return _Flex(sizes, lambda raw, own: flex.clipped(shaw.products(raw, own, sizes.dtype), window, apart),
                     block_mask, ("shaw", window, apart, hidden), shaw, way == "flex")
    if any(live.kind != "cells" or live.form.multiplies and not flexible for live in lives):
        return None
    indices = [_cells_by_difference(live, queries, keys) if alike else None for live in lives]
    masks = None
    if (None not in indices and not settings.get("chunk") and not (settings.get("window") and settings.get("keep"))
            and not any(live.form.multiplies for live in lives)):
        masks = _Masks(sizes, lives, settings, indices, given)
    if not flexible:
        return masks
    modifier, kind = _modifier(lives, indices, sizes, given)
    sparse = bool(settings.get("window") or settings.get("chunk")) and n >= FLEX_FROM["single"]
    short = flex.SHORT if kind[:1] != ("slope",) and lives and any(index is not None for index in indices) else None
    return _Flex(sizes, modifier, block_mask, (kind, hidden), masks, way == "flex" or sparse, short)
