# SPDX-License-Identifier: MIT
"""Runs the notebooks of examples/notebooks without Jupyter: code cells one after the other, what they print compared
with what the notebook keeps.

    PYTHONPATH=build/python/python python3 tests/docs/notebooks.py [--write] NOTEBOOK…

With --write the notebooks keep what their cells print now."""
from __future__ import annotations

import contextlib
import io
import json
import pathlib
import sys
from typing import Any, Dict, List


def read(path: pathlib.Path) -> Dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def source(cell: Dict[str, Any]) -> str:
    return "".join(cell["source"])


def printed(cell: Dict[str, Any]) -> str:
    """What the notebook keeps of a cell's standard output."""
    return "".join("".join(output.get("text", "")) for output in cell.get("outputs", []))


def run(notebook: Dict[str, Any], name: str) -> List[str]:
    """What each code cell prints now."""
    names: Dict[str, Any] = {"__name__": "__main__"}
    found = []
    for number, cell in enumerate(notebook["cells"], 1):
        if cell["cell_type"] == "code":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(source(cell), f"{name}, cell {number}", "exec"), names)  # a cell is Python
            found.append(output.getvalue())
    return found


def differences(path: pathlib.Path) -> List[str]:
    notebook = read(path)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [f"{path.name}: a cell that begins '{source(cell).splitlines()[0]}' keeps\n{printed(cell)}and prints\n{now}"
            for cell, now in zip(cells, run(notebook, path.name)) if printed(cell) != now]


def write(path: pathlib.Path) -> None:
    notebook = read(path)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, now) in enumerate(zip(cells, run(notebook, path.name)), 1):
        cell["execution_count"] = number
        cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": now.splitlines(keepends=True)}] if now else []
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(words: List[str]) -> int:
    paths = [pathlib.Path(word) for word in words if word != "--write"]
    if "--write" in words:
        for path in paths:
            write(path)
        return 0
    said = [line for path in paths for line in differences(path)]
    print("\n".join(said) or f"{len(paths)} notebooks")
    return 1 if said or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
