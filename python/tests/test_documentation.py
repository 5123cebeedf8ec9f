# SPDX-License-Identifier: MIT
"""The Python blocks of README.md and docs/, and the notebooks: they run, and print what they show."""
import contextlib
import io
import os
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(os.environ.get("LOCUS_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
sys.path.insert(0, str(ROOT / "tests/docs"))

import blocks  # noqa: E402
import notebooks  # noqa: E402

PAGES = [page for page in blocks.pages(ROOT) if any(block.info == "python" for block in blocks.blocks(ROOT, page))]
# What a page may need that the package does not, and what of the package needs it.
NEEDS = {"torch": "torch", "locus.torch": "torch", "jax": "jax", "locus.jax": "jax", "transformers": "transformers",
         "locus.huggingface": "transformers", "locus.lab": "pandas", "pandas": "pandas", "matplotlib": "matplotlib", "ml_dtypes": "ml_dtypes"}


def skip_without(code):
    for name in re.findall(r"^\s*(?:import|from)\s+([\w.]+)", code, flags=re.M):
        for part in (name, name.split(".")[0]):
            if part in NEEDS:
                pytest.importorskip(NEEDS[part])


def test_something_is_run():
    assert "README.md" in PAGES and len(PAGES) >= 3


@pytest.mark.parametrize("page", PAGES)
def test_blocks(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").symlink_to(ROOT / "docs")  # what a page reads as from the root of a clone
    own = [block for block in blocks.blocks(ROOT, page) if block.info == "python"]
    skip_without("\n".join(block.text for block in own))
    names = {"__name__": "__main__"}
    for block in own:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile("\n" * (block.line - 1) + block.text, block.page, "exec"), names)
        assert block.output is None or block.output == output.getvalue(), block.place


@pytest.mark.parametrize("path", sorted((ROOT / "examples/notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    guarded = re.sub(r"^try:.*?^except ImportError:", "", "\n".join(
        notebooks.source(cell) for cell in notebooks.read(path)["cells"] if cell["cell_type"] == "code"),
        flags=re.M | re.S)
    skip_without(guarded)
    assert notebooks.differences(path) == []
