# SPDX-License-Identifier: MIT
"""Perplexities of one model, under each scaling and at each length."""
from __future__ import annotations

import math
import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

import torch
from torch import Tensor
from transformers import PreTrainedModel

from ...errors import UnsupportedError
from ..replacing import undo, use
from ..watching import quiet, takes
from .record import Record, fingerprint
from .scalings import Scaling, check_factor, read_scalings, trained_length
from .texts import Runs, Text, check_lengths, read_runs

Progress = Callable[[str, int, int, int], None]


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("perplexities are a frame of pandas, which is not installed: "
                          "pip install locus-encodings[lab]") from None
    return pandas


def _losses(model: Any, windows: Tensor, scored: int) -> List[float]:
    """The negative log-likelihood of the last `scored` tokens of each window, summed, in nats."""
    windows = windows.to(model.get_input_embeddings().weight.device)
    more: Dict[str, Any] = {"use_cache": False} if takes(model, "use_cache") else {}
    if takes(model, "logits_to_keep"):
        more["logits_to_keep"] = scored + 1
    logits = model(input_ids=windows, **more).logits[:, -scored - 1:-1]
    wanted = windows[:, -scored:].to(logits.device)
    found = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten(), reduction="none")
    return [float(x) for x in found.double().unflatten(0, wanted.shape).sum(1)]


def _measure_cell(model: Any, runs: Runs, length: int, at_once: int, sums: List[float],
                  told: Callable[[int], None]) -> None:
    """Appends what is missing; windows go through the model `at_once` at a time."""
    while len(sums) < len(runs.ends):
        told(len(sums))
        numbers = range(len(sums), min(len(sums) + at_once, len(runs.ends)))
        sums += _losses(model, runs.windows(numbers, length), runs.stride)
    told(len(sums))


def _put(model: Any, scaling: Scaling) -> str:
    """Into the model; what its layers have, each spec once. What locus does not take is measured as it is."""
    try:
        use(model, scaling.encoding)
    except UnsupportedError:
        if scaling.encoding is not None:
            raise
        return "as it is"
    return " / ".join(dict.fromkeys(site.spec for site in model.locus_used.sites))


class _Measurement:
    """One call of `measure`."""

    def __init__(self, model: Any, runs: Runs, lengths: List[int], record: Record, progress: Optional[Progress]) -> None:
        self.model, self.runs, self.lengths, self.record, self.progress = model, runs, lengths, record, progress
        self.known = {"model": fingerprint(model), "text": runs.digest(), "stride": runs.stride}

    def row(self, scaling: Scaling, spec: str, length: int) -> Dict[str, Any]:
        """A cell, as far as it is not measured yet."""
        runs = self.runs
        sums = self.record.sums({**self.known, "encoding": spec, "length": length})

        def told(done: int) -> None:
            self.record.save()
            if self.progress is not None:
                self.progress(scaling.label, length, done, len(runs.ends))

        try:
            _measure_cell(self.model, runs, length, max(1, max(self.lengths) // length), sums, told)
        finally:
            self.record.save(now=True)
        means = [x / runs.stride for x in sums]
        mean = math.fsum(means) / len(means)
        spread = math.fsum((x - mean) ** 2 for x in means) / max(1, len(means) - 1)
        return {"scaling": scaling.label, "length": length, "perplexity": math.exp(min(mean, 700.0)), "nats": mean,
                "error": math.sqrt(spread / len(means)), "tokens": len(means) * runs.stride, "spec": spec}


def measure(model: Any, text: Text, lengths: Sequence[int], scalings: Sequence[str] = ("own",), *,
            tokenizer: Any = None, factor: Optional[float] = None, original: Optional[int] = None,
            stride: Optional[int] = None, tokens: int = 8192, record: Union[str, "os.PathLike[str]", None] = None,
            progress: Optional[Progress] = None) -> Any:
    """A frame of pandas with a row for each scaling and length: `scaling`, `length`, `perplexity`, `nats` (the mean
    negative log-likelihood of a token), `error` (the standard error of `nats` over windows), `tokens` (how many were
    scored), `spec` (the encoding in full), `original`.

    `model`: a causal language model of transformers; all but 'own' need one that `locus.huggingface.use` takes. It is
    left without locus.
    `text`: a string with its `tokenizer`, or the numbers of tokens. `scalings`: names (`perplexity.NAMES`), each with a
    factor behind a colon if it is not `factor`, or specs. `original`: the length the model was trained for; None: what
    its configuration says. `factor`: how many times longer texts are to be; None: the longest length over `original`.

    Scored are up to `tokens` tokens in runs of `stride` (None: 256, at most half of the shortest length), spread evenly
    over the text, the same at every length, each run at the end of a window of that length. `record`: a JSON file that
    keeps what is measured; the same call goes on from it. `progress`: called with scaling, length, windows done, windows.

    ValueError, TypeError and UnsupportedError say in a line what cannot be measured."""
    pandas = _pandas()
    if not isinstance(model, PreTrainedModel) or not model.can_generate() or model.config.is_encoder_decoder:
        raise TypeError(f"expected a causal language model of transformers, not {type(model).__name__}")
    found, used_stride = check_lengths(lengths, stride)
    trained = trained_length(model.config) if original is None else int(original)
    scale = max(1.0, max(found) / (trained or max(found))) if factor is None else check_factor(factor)
    chosen = read_scalings(model.config, [scalings] if isinstance(scalings, str) else scalings, trained, scale)
    runs = read_runs(text, tokenizer, found, used_stride, int(tokens),
                     model.get_input_embeddings().num_embeddings)
    undo(model)
    measurement = _Measurement(model, runs, found, Record(record), progress)
    rows = []
    measurement.record.save(now=True)  # where it cannot be written is said before the work
    try:
        with quiet(model):
            for scaling in chosen:
                spec = _put(model, scaling)
                rows += [measurement.row(scaling, spec, length) for length in found]
    finally:
        undo(model)
    return pandas.DataFrame(rows).assign(original=trained)
