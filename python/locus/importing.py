# SPDX-License-Identifier: MIT
"""Rotary settings of a model's configuration as a spec. The program `locus` reads them (docs/import-rope.md), and has
to be installed beside the package: on PATH, or named by LOCUS_PROGRAM."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Tuple, Union

from .errors import UnsupportedError


@dataclass(frozen=True)
class ImportedRope:
    """`spec`, and with what else attention needs said in it, `attention`; either may be a pattern over layers. `notes`
    name guesses, fields that mean nothing, and what a spec cannot say."""

    spec: str
    attention: str
    model_type: str
    head_dim: Optional[int]
    length: Optional[int]
    notes: Tuple[str, ...]


def _program() -> str:
    found = os.environ.get("LOCUS_PROGRAM") or shutil.which("locus")
    if not found:
        raise UnsupportedError("import_rope needs the program 'locus' on PATH, or named by LOCUS_PROGRAM: "
                               "./dev install puts it there")
    return found


def import_rope(config: Union[str, os.PathLike[str], Mapping[str, Any]]) -> ImportedRope:
    """The rotary settings of a Hugging Face config.json: its path, the folder that it is in, or its fields."""
    if isinstance(config, Mapping):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "config.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(dict(config), file)
            return import_rope(path)
    path = os.fspath(config)
    path = os.path.join(path, "config.json") if os.path.isdir(path) else path
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file '{path}'")
    done = subprocess.run([_program(), "import-rope", "--json", "--quiet", path], capture_output=True, text=True,
                          encoding="utf-8", check=False)
    if done.returncode != 0:
        raise ValueError((done.stderr.strip() or "locus import-rope failed").removeprefix("locus: "))
    read = json.loads(done.stdout)
    return ImportedRope(read["spec"], read["attention"], read["model_type"], read["head_dim"], read["length"],
                        tuple(read["notes"]))
