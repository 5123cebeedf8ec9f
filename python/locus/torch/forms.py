# SPDX-License-Identifier: MIT
"""Attention from a plan's forms (docs/forms.md), in PyTorch's operations on any device: differentiable in queries,
keys, values and parameters. Where positions only turn and add, PyTorch's own fused attention computes the rest."""
from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ContextManager, Dict, List, Optional, Tuple
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from torch import Tensor

from ..errors import ShapeError, UnsupportedError
from ..plans import Form, Plan
from . import flex, programs, turning
from .operations import Live, cell_values, embedded, fixed_arrays, hides, sees, turned
from .planning import Kept

_MOST_PROGRAMS = 8  # of a plan on a device: a scale that changes from call to call makes a program each time


@dataclass(frozen=True)
class _Block:
    """Sequences of one size, by their numbers, and the tokens of each, [sequences, queries] and [sequences, keys].
    `alike`: positions say the same of pairs in all of them."""

    numbers: List[int]
    queries: Tensor
    keys: Tensor
    first: Tuple[Optional[int], Optional[int]]  # the first query and the first key, where sequences lie together
    alike: bool


class _Prepared:
    """A plan's forms, and what they say on a device."""

    def __init__(self, plan: Plan, forms: List[Form], device: torch.device) -> None:
        self.forms = forms
        self.fixed = [fixed_arrays(form, device) for form in forms]
        self.stores: List[Dict[Any, Any]] = [{} for _ in forms]
        self.tables: Dict[Any, turning.Table] = {}
        self.programs = Kept(_MOST_PROGRAMS)  # each in a tuple: it may be None
        with torch.inference_mode(False):
            self.blocks, order = _blocks(plan, forms, device)
            sorted_already = bool((order[1:] > order[:-1]).all())
            self.place = None if sorted_already else torch.argsort(order).to(device)

    def live(self, parameters: Dict[str, Tensor]) -> List[Live]:
        return [Live(form, fixed, parameters, store)
                for form, fixed, store in zip(self.forms, self.fixed, self.stores)]

    def together(self, parts: List[Tensor]) -> Tensor:
        """[tokens, …] in the order of tokens, from the blocks'."""
        whole = parts[0] if len(parts) == 1 else torch.cat(parts)
        return whole if self.place is None else whole.index_select(0, self.place)


_read: WeakKeyDictionary[Plan, Tuple[List[Form], Dict[torch.device, _Prepared]]] = WeakKeyDictionary()


def _prepared(plan: Plan, device: torch.device) -> _Prepared:
    """What positions say is moved to a device once."""
    if plan not in _read:
        _read[plan] = plan.forms(), {}
    forms, by_device = _read[plan]
    if plan.parameters and any(form.law == "given" for form in forms):
        raise UnsupportedError(f"'{plan.encoding.spec}' learns with a registered function, which forms cannot "
                               "differentiate; use backend=\"locus\" on the CPU")
    if device not in by_device:
        by_device[device] = _Prepared(plan, forms, device)
    return by_device[device]


def _together_from(offsets: Tuple[int, ...], numbers: List[int], length: int) -> Optional[int]:
    starts = [offsets[number] for number in numbers]
    return starts[0] if all(b - a == length for a, b in zip(starts, starts[1:])) else None


_OF_PAIRS = (("query_cell", "query_position", "query_position.0"), ("key_cell", "key_position"))


def _alike(forms: List[Form], tokens: Tuple[Tensor, Tensor]) -> bool:
    """Whether each token stands as that of the first sequence, for whatever reads positions of pairs."""
    return all(bool((form.arrays[name][own] == form.arrays[name][own[:1]]).all())
               for form in forms if not form.roles
               for names, own in zip(_OF_PAIRS, (x.numpy() for x in tokens)) for name in names if name in form.arrays)


def _blocks(plan: Plan, forms: List[Form], device: torch.device) -> Tuple[List[_Block], Tensor]:
    """Of sequences that have queries, and the numbers of all queries in the blocks' order, on the CPU."""
    found: Dict[Tuple[int, int], List[int]] = {}
    a, b = plan.queries.offsets, plan.keys.offsets
    for number in range(len(a) - 1):
        if a[number + 1] > a[number]:
            found.setdefault((a[number + 1] - a[number], b[number + 1] - b[number]), []).append(number)
    blocks, order = [], [torch.empty(0, dtype=torch.int64, device="cpu")]
    for (m, n), numbers in found.items():
        tokens = _tokens(a, numbers, m), _tokens(b, numbers, n)
        first = _together_from(a, numbers, m), _together_from(b, numbers, n)
        blocks.append(_Block(numbers, tokens[0].to(device), tokens[1].to(device), first,
                             len(numbers) > 1 and _alike(forms, tokens)))
        order.append(tokens[0].flatten())
    return blocks, torch.cat(order)


def _tokens(offsets: Tuple[int, ...], numbers: List[int], length: int) -> Tensor:
    """On the CPU, whatever the default device is."""
    first = torch.tensor([offsets[number] for number in numbers], device="cpu")
    return first[:, None] + torch.arange(length, device="cpu")


def _of_block(x: Tensor, tokens: Tensor, first: Optional[int]) -> Tensor:
    """[tokens, heads, dim] of a block's tokens as [sequences, heads, length, dim]."""
    own = x.index_select(0, tokens.flatten()) if first is None else x[first:first + tokens.numel()]
    return own.unflatten(0, tokens.shape).transpose(1, 2)


# ---- scores of sequences of one length: [sequences, heads, queries, keys]; queries and keys are token numbers ----


def _pairs(live: Live, queries: Tensor, keys: Tensor) -> Tensor:
    return (live.arrays["query_cell"][queries][..., :, None] + live.arrays["key_cell"][keys][..., None, :]) % 2**32


def _cells(live: Live, queries: Tensor, keys: Tensor, heads: int, dtype: torch.dtype) -> Tensor:
    """[sequences, heads, queries, keys]."""
    return cell_values(live, heads, dtype)[:, _pairs(live, queries, keys)].transpose(0, 1)


def _network(live: Live, queries: Tensor, keys: Tensor) -> Tensor:
    a = live.arrays
    most = torch.maximum(a["query_position.0"][queries].to(a["L"].dtype), abs(a["L"]))
    distance = a["distance"][_pairs(live, queries, keys)]
    x = torch.log1p(abs(a["c"]) * distance) / torch.log1p(abs(a["c"]) * most)[..., None]
    hidden = torch.relu(x[..., None] * a["hidden_weight"] + a["hidden_bias"])
    return torch.movedim(hidden @ a["output_weight"].T + a["output_bias"], -1, 1)


def _content_rows(live: Live, queries: Tensor, keys: Tensor) -> Tensor:
    a = live.arrays
    apart = a["key_position"][keys][..., None, :] - a["query_position"][queries][..., :, None]
    return torch.clamp(apart, -a["window"], a["window"]) + a["window"]


def _content(live: Live, q: Tensor, queries: Tensor, keys: Tensor, scale: float) -> Tensor:
    rows = _content_rows(live, queries, keys)
    by_row = torch.einsum("shtd,rd->shtr", q, live.arrays["key_table"].to(q.dtype))
    own = torch.gather(by_row, -1, rows[:, None].expand(*q.shape[:2], -1, -1))
    return own * scale if live.arrays["scaled"] else own


def _contextual(live: Live, product: Tensor, q: Tensor, scale: float, seen: Tensor) -> Tensor:
    table = live.arrays["table"].to(q.dtype)
    gates = torch.where(seen, torch.sigmoid((scale if live.arrays["scaled"] else 1) * product), 0.0)
    p = torch.clamp(torch.flip(torch.cumsum(torch.flip(gates, [-1]), -1), [-1]), max=len(table) - 1)
    below = torch.floor(p.detach()).long()
    by_row = torch.einsum("shtd,rd->shtr", q, table)
    lower = torch.gather(by_row, -1, below)
    upper = torch.gather(by_row, -1, torch.clamp(below + 1, max=len(table) - 1))
    return lower + (p - below) * (upper - lower)


def _seen(settings: Dict[str, Any], m: int, n: int, causal: bool, device: torch.device) -> Optional[Tensor]:
    """[queries, keys], or None where all is seen."""
    if not hides(settings, causal):
        return None
    t, j = torch.arange(m, device=device)[:, None] + (n - m), torch.arange(n, device=device)[None, :]
    return sees(settings, causal, t, j).expand(m, n)


class _Scores:
    """What the forms of roles () do to scores."""

    def __init__(self, forms: List[Live], head_dim: int, scale: Optional[float], beside: Optional[Tensor]) -> None:
        self.beside = beside  # the caller's bias, [sequences, heads, queries, keys], or fewer and ones
        self.forms = [live for live in forms if not live.form.roles]
        self.settings: Dict[str, Any] = next((x.arrays for x in self.forms if x.kind == "settings"), {})
        self.scale = scale or self.settings.get("scale") or head_dim ** -0.5

    def of(self, *kinds: str) -> List[Live]:
        return [live for live in self.forms if live.kind in kinds]

    @property
    def added(self) -> bool:
        """Whether positions only add to scores, as a mask does."""
        return not (self.of("content", "context") or self.settings.get("cap") or "sinks" in self.settings
                    or any(live.form.multiplies for live in self.of("cells")))

    def own_bias(self, numbers: List[int], m: int, n: int) -> Optional[Tensor]:
        """The caller's bias of some sequences, of m queries and n keys each."""
        if self.beside is None:
            return None
        own = self.beside[(None,) * (4 - self.beside.dim())]
        own = own if own.shape[0] == 1 else own[numbers]
        return own[:, :, :m if own.shape[2] > 1 else 1, :n if own.shape[3] > 1 else 1]

    def bias(self, q: Tensor, queries: Tensor, keys: Tensor, seen: Optional[Tensor], beside: Optional[Tensor]
             ) -> Optional[Tensor]:
        bias = beside
        for live in self.of("cells", "network"):
            cells = live.kind == "cells"
            own = _cells(live, queries, keys, q.shape[1], q.dtype) if cells else _network(live, queries, keys)
            bias = own if bias is None else bias + own
        if bias is None:
            return seen
        return (bias if seen is None else torch.where(seen, bias, -torch.inf)).to(q.dtype)

    def fused(self, q: Tensor, k: Tensor, v: Tensor, queries: Tensor, keys: Tensor, causal: bool,
              beside: Optional[Tensor], dtype: torch.dtype) -> Tensor:
        """`dtype`: the caller's. PyTorch's kernels for half types serve where a mask only hides; what is added to scores
        is added in float32 here (programs.py adds it in the caller's type, which rounds it)."""
        seen = _seen(self.settings, q.shape[2], k.shape[2], causal, q.device)
        plain = causal and q.shape[2] == k.shape[2] and beside is None and not (
            self.of("cells", "network") or self.settings.get("chunk") or self.settings.get("window"))
        mask = None if plain else self.bias(q, queries, keys, seen, beside)
        if mask is None or mask.dtype == torch.bool:
            q, k, v = q.to(dtype), k.to(dtype), v.to(dtype)
        return _computed(programs.attended(q, k, v, mask, plain, self.scale))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, raw: Tensor, queries: Tensor, keys: Tensor, causal: bool,
               dropout: float, generator: Optional[torch.Generator], beside: Optional[Tensor], dtype: torch.dtype
               ) -> Tuple[Tensor, Optional[Tensor]]:
        """`plain`, by the fastest way that does the same. `dtype`: the caller's."""
        if dropout == 0 and k.shape[2] > 0:
            flexible = self.flexible(q, v, k.shape[2], dtype)
            output = self.by_flex(q, k, v, queries, keys, causal, dtype) if flexible else None
            if output is None and self.added:
                output = self.fused(q, k, v, queries, keys, causal, beside, dtype)
            if output is not None:
                return output, None
        return self.plain(q, k, v, raw, queries, keys, causal, dropout, generator, beside)

    def flexible(self, q: Tensor, v: Tensor, keys: int, dtype: torch.dtype) -> bool:
        """Whether FlexAttention does all of it, and better than a mask: scores have tables of which no gradient is
        wanted, or most keys are hidden."""
        tables = self.of("cells")
        return (len(self.forms) == len(self.of("cells", "settings")) and self.beside is None
                and bool(tables or self.settings.get("window") or self.settings.get("chunk"))
                and "sinks" not in self.settings and dtype in programs.HALF and flex.serves(q, v, keys, dtype)
                and not (torch.is_grad_enabled() and any(isinstance(x, Tensor) and x.requires_grad
                                                         for live in tables for x in live.arrays.values())))

    def by_flex(self, q: Tensor, k: Tensor, v: Tensor, queries: Tensor, keys: Tensor, causal: bool,
                dtype: torch.dtype) -> Optional[Tensor]:
        (sequences, heads, m, _), n, settings = q.shape, k.shape[2], self.settings
        tables = [(cell_values(live, heads, torch.float32).float().contiguous(),
                   flex.wrapped(live.arrays["query_cell"][queries], sequences),
                   flex.wrapped(live.arrays["key_cell"][keys], sequences), live.form.multiplies)
                  for live in self.of("cells")]
        mask = None if not hides(settings, causal) else self.forms[0].once(
            ("flex", m, n, causal), lambda: flex.block_mask(lambda i, j: sees(settings, causal, i + (n - m), j), m, n,
                                                            q.device))
        cap = float(settings.get("cap") or 0)
        key = (cap, causal, *(settings.get(x) for x in ("window", "keep", "chunk")),
               *((own[0].shape, own[3]) for own in tables))
        modified = flex.modifier(tables, cap)
        output = flex.attention(q.to(dtype), k.to(dtype), v.to(dtype), modified, mask, key, self.scale)
        return None if output is None else _computed(output)

    def plain(self, q: Tensor, k: Tensor, v: Tensor, raw: Tensor, queries: Tensor, keys: Tensor, causal: bool,
              dropout: float, generator: Optional[torch.Generator], beside: Optional[Tensor]
              ) -> Tuple[Tensor, Optional[Tensor]]:
        """Outputs, and what content's values add behind the operators. `raw`: queries before any operator."""
        m, n = q.shape[2], k.shape[2]
        seen = _seen(self.settings, m, n, causal, q.device)
        seen = torch.ones((m, n), dtype=torch.bool, device=q.device) if seen is None else seen
        # A key that the caller hides counts for nobody, contexts included.
        counted = seen if beside is None else seen & (beside != -torch.inf)
        product = q @ k.mT
        s = self.scale * product
        for live in self.of("content", "context"):
            s = s + (_content(live, raw, queries, keys, self.scale) if live.kind == "content" else
                     _contextual(live, product, raw, self.scale, counted))
        if self.settings.get("cap"):
            s = self.settings["cap"] * torch.tanh(s / self.settings["cap"])
        for live in self.of("cells", "network"):
            own = (_cells(live, queries, keys, q.shape[1], q.dtype) if live.kind == "cells" else
                   _network(live, queries, keys)).to(s.dtype)
            s = s * own if live.form.multiplies else s + own
        s = s if beside is None else s + beside.to(s.dtype)
        weights = self._softmax(torch.where(seen, s, -torch.inf))
        if dropout > 0:
            kept = torch.empty_like(weights).bernoulli_(1 - dropout, generator=generator)
            weights = weights * kept / (1 - dropout)
        tables: Optional[Tensor] = None
        for live in self.of("content"):
            if "value_table" in live.arrays:
                table = live.arrays["value_table"].to(q.dtype)[_content_rows(live, queries, keys)]
                own = torch.einsum("shtj,stjd->shtd", weights, table.expand(q.shape[0], -1, -1, -1))
                tables = own if tables is None else tables + own
        return weights @ v, tables

    def _softmax(self, s: Tensor) -> Tensor:
        sinks = self.settings.get("sinks")
        if sinks is not None:
            own = sinks.to(s.dtype)[None, :, None, None].expand(*s.shape[:-1], 1)
            s = torch.cat((s, own), -1)
        top = s.detach().amax(-1, keepdim=True) if s.shape[-1] else s.new_zeros(*s.shape[:-1], 1)
        weights = torch.exp(s - torch.where(torch.isfinite(top), top, 0.0))
        total = weights.sum(-1, keepdim=True)
        weights = weights / torch.where(total > 0, total, 1.0)
        return weights if sinks is None else weights[..., :-1]


# ---- tensors of callers ----


def _packed(x: Tensor, offsets: Tuple[int, ...]) -> Tensor:
    """[batch, heads, length, dim] as [tokens, heads, dim]."""
    lengths = [last - first for first, last in zip(offsets, offsets[1:])]
    if x.shape[0] != len(lengths) or max(lengths, default=0) > x.shape[2]:
        raise ShapeError(f"a tensor is {list(x.shape)}, but positions are those of {len(lengths)} sequences of up to "
                         f"{max(lengths, default=0)} tokens")
    if all(length == x.shape[2] for length in lengths):
        return x.transpose(1, 2).reshape(-1, x.shape[1], x.shape[3])
    return torch.cat([own[:, :length].transpose(0, 1) for own, length in zip(x, lengths)])


def _apart(x: Tensor, offsets: Tuple[int, ...], length: int) -> Tensor:
    """[tokens, heads, dim] as [batch, heads, length, dim], 0 beyond a sequence's end."""
    lengths = [last - first for first, last in zip(offsets, offsets[1:])]
    if all(own == length for own in lengths):
        return x.reshape(len(lengths), length, *x.shape[1:]).transpose(1, 2)
    parts = [F.pad(own.transpose(0, 1), (0, 0, 0, length - own.shape[0])) for own in torch.split(x, lengths)]
    return torch.stack(parts)


def _exact(device: torch.device) -> ContextManager[Any]:
    """Without autocast, on devices that have it."""
    available = getattr(torch.amp, "is_autocast_available", lambda kind: kind in ("cpu", "cuda"))
    return torch.autocast(device.type, enabled=False) if available(device.type) else nullcontext()


def _computed(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def attention(plan: Plan, q: Tensor, k: Tensor, v: Tensor, parameters: Dict[str, Tensor], causal: bool, scale: float,
              dropout: float, generator: Optional[torch.Generator] = None, bias: Optional[Tensor] = None) -> Tensor:
    """As `Plan.attention`, of tensors packed or apart. Autocast has no say here."""
    if dropout == 0 and bias is None and plan.encoding.causal <= causal:
        own = program(plan, q, k, v, tuple(parameters), causal, scale)
        output = None if own is None else run(own, q, k, v, parameters)
        if output is not None:
            return output
    with _exact(q.device):
        return _attention(plan, q, k, v, parameters, causal, scale, dropout, generator, bias)


def program(plan: Plan, q: Tensor, k: Tensor, v: Tensor, given: Tuple[str, ...], causal: bool, scale: float
            ) -> Optional[programs.Program]:
    """That of a plan for tensors of these shapes, if there is one."""
    prepared = _prepared(plan, q.device)
    if q.dim() == 3:
        return None
    key = q.shape, k.shape, v.shape, q.dtype, given, causal, scale
    found: Optional[Tuple[Optional[programs.Program]]] = prepared.programs.get(key)
    if found is None:
        with torch.inference_mode(False), torch.no_grad(), _exact(q.device):
            found = (programs.program(prepared, q, k, v, causal, scale, given),)
        prepared.programs.put(key, found)
    return found[0]


def table(plan: Plan, role: str, x: Tensor) -> turning.Table:
    """By which a role's x [sequences, heads, length, dim] is turned, where nothing else happens to it."""
    prepared = _prepared(plan, x.device)
    key = role, x.shape[1], x.shape[3], x.dtype
    if key not in prepared.tables:
        with torch.inference_mode(False), torch.no_grad(), _exact(x.device):
            found = turning.table_of(prepared.live({}), role, x.shape[1], x.shape[3], 1, x.dtype, x.device)
        if found is None:
            raise UnsupportedError(f"'{plan.encoding.spec}' does more than turn pairs")
        prepared.tables[key] = found
    return prepared.tables[key]


# Where PyTorch cannot say which kinds of devices have autocast, calls switch it off without asking for it.
_casts = getattr(torch.amp, "is_autocast_available", None)


def run(own: programs.Program, q: Tensor, k: Tensor, v: Tensor, parameters: Dict[str, Tensor]) -> Optional[Tensor]:
    """None where PyTorch turns out not to compile it."""
    if _casts is None or _casts(q.device.type) and torch.is_autocast_enabled(q.device.type):
        with _exact(q.device):
            return own(q, k, v, parameters)
    return own(q, k, v, parameters)


def _attention(plan: Plan, q: Tensor, k: Tensor, v: Tensor, parameters: Dict[str, Tensor], causal: bool, scale: float,
               dropout: float, generator: Optional[torch.Generator], bias: Optional[Tensor]) -> Tensor:
    if plan.encoding.causal and not causal:
        raise UnsupportedError(f"'{plan.encoding.spec}' needs causal attention: is_causal=True")
    apart, length, dtype = q.dim() == 4, q.shape[-2], q.dtype
    a, b = plan.queries.offsets, plan.keys.offsets
    if apart:
        q, k, v = _packed(q, a), _packed(k, b), _packed(v, b)
    elif (q.shape[0], k.shape[0]) != (a[-1], b[-1]):
        raise ShapeError(f"there are {q.shape[0]} queries and {k.shape[0]} keys, but positions of {a[-1]} and {b[-1]}")
    q, k, v = _computed(q), _computed(k), _computed(v)
    prepared = _prepared(plan, q.device)
    forms = prepared.live(parameters)
    scores, group = _Scores(forms, q.shape[2], scale, bias), q.shape[1] // k.shape[1]
    own_q = turned(forms, q, "query")
    own_k = turned(forms, k, "key").repeat_interleave(group, 1)
    own_v = turned(forms, v, "value").repeat_interleave(group, 1)
    outputs: List[Tensor] = [own_v.new_zeros(0, *q.shape[1:2], v.shape[2])]
    besides: List[Tensor] = []
    for block in prepared.blocks:
        m, n = block.queries.shape[1], block.keys.shape[1]
        queries, keys = (block.queries[:1], block.keys[:1]) if block.alike else (block.queries, block.keys)
        parts = (_of_block(own_q, block.queries, block.first[0]), _of_block(own_k, block.keys, block.first[1]),
                 _of_block(own_v, block.keys, block.first[1]))
        raw, beside = _of_block(q, block.queries, block.first[0]), scores.own_bias(block.numbers, m, n)
        o, own = scores.attend(*parts, raw, queries, keys, causal, dropout, generator, beside, dtype)
        outputs.append(o.transpose(1, 2).flatten(0, 1))
        if own is not None:
            besides.append(own.transpose(1, 2).flatten(0, 1))
    output = turned(forms, prepared.together(outputs[1:] or outputs), "output")
    output = output + prepared.together(besides) if besides else output
    return (_apart(output, a, length) if apart else output).to(dtype)


def apply(plan: Plan, x: Tensor, parameters: Dict[str, Tensor], role: str) -> Tensor:
    """As `Plan.apply`, of a tensor packed or apart. Autocast has no say here."""
    with _exact(x.device):
        return _apply(plan, x, parameters, role)


def _apply(plan: Plan, x: Tensor, parameters: Dict[str, Tensor], role: str) -> Tensor:
    dtype, own = x.dtype, _computed(x)
    forms = _prepared(plan, x.device).live(parameters)
    offsets = (plan.keys if role in ("key", "value") else plan.queries).offsets
    if role in ("token", "encoded"):
        if own.dim() == 2:
            return embedded(forms, own, role).to(dtype)
        packed = _packed(own[:, None], offsets)[:, 0]
        return _apart(embedded(forms, packed, role)[:, None], offsets, x.shape[-2])[:, 0].to(dtype)
    if own.dim() == 3:
        return turned(forms, own, role).to(dtype)
    return _apart(turned(forms, _packed(own, offsets), role), offsets, x.shape[-2]).to(dtype)
