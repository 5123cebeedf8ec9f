# SPDX-License-Identifier: MIT
"""What was measured so far, in a JSON file: for each cell (a model, a text, an encoding, a length) what it is, and the
negative log-likelihoods of its runs, as many as there are. A measurement that was stopped goes on from there; one of
other weights, another text or another stride is another cell."""
from __future__ import annotations

import hashlib
import json
import os
import time
from typing import Any, Dict, List, Optional, Union

import torch

_FORMAT, _VERSION = "locus-perplexity", 1
_SAMPLED = 1024
_SECONDS = 5.0


def fingerprint(model: Any) -> str:
    """Of a model's configuration, and of some thousand numbers of each of its tensors: another one after any
    training."""
    fields = {key: value for key, value in model.config.to_dict().items() if key != "_name_or_path"}
    found = hashlib.sha256(json.dumps(fields, sort_keys=True, default=str).encode())
    for name, tensor in model.state_dict().items():
        flat = tensor.detach().reshape(-1)
        sample = flat[::max(1, flat.numel() // _SAMPLED)].cpu()
        sample = sample.to(torch.float64) if sample.is_floating_point() else sample
        found.update(f"{name} {list(tensor.shape)} {tensor.dtype} ".encode() + sample.numpy().tobytes())
    return found.hexdigest()[:16]


class Record:
    """The cells of a file, or of none."""

    def __init__(self, path: Union[str, "os.PathLike[str]", None]) -> None:
        self.path = None if path is None else os.fspath(path)
        self.cells: List[Dict[str, Any]] = []
        self._saved = time.monotonic()
        if self.path is not None and os.path.exists(self.path):
            self.cells = self._read(self.path)

    @staticmethod
    def _read(path: str) -> List[Dict[str, Any]]:
        try:
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
            if found["format"] == _FORMAT and found["version"] == _VERSION:
                return [{"of": dict(cell["of"]), "sums": [float(x) for x in cell["sums"]]} for cell in found["cells"]]
        except (ValueError, KeyError, TypeError):
            pass
        raise ValueError(f"'{path}' is no record of perplexities that this version reads: remove it, or name another file")

    def sums(self, of: Dict[str, Any]) -> List[float]:
        """Those of a cell; what is appended to them is kept."""
        for cell in self.cells:
            if cell["of"] == of:
                found: List[float] = cell["sums"]
                return found
        self.cells.append({"of": of, "sums": []})
        return self.sums(of)

    def save(self, now: bool = False) -> None:
        """Writes the file, whole or not at all; without `now` only if a while has passed."""
        if self.path is None or not now and time.monotonic() - self._saved < _SECONDS:
            return
        part = f"{self.path}.part{os.getpid()}"
        try:
            with open(part, "w", encoding="utf-8") as file:
                json.dump({"format": _FORMAT, "version": _VERSION, "cells": self.cells}, file, indent=1)
            os.replace(part, self.path)
        except BaseException:
            _remove(part)
            raise
        self._saved = time.monotonic()


def _remove(path: Optional[str]) -> None:
    try:
        os.unlink(path or "")
    except OSError:
        pass
