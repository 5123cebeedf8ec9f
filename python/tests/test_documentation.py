# SPDX-License-Identifier: MIT
"""The Python blocks of README.md and docs/, the examples of docstrings and the notebooks: they run, and print what they
show."""
import ast
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
from shown_commands import Shown  # noqa: E402

PAGES = [page for page in blocks.pages(ROOT) if any(block.info == "python" for block in blocks.blocks(ROOT, page))]
# What a page may need that the package does not, and what of the package needs it.
NEEDS = {"torch": "torch", "locus.torch": "torch", "jax": "jax", "locus.jax": "jax", "transformers": "transformers",
         "locus.huggingface": "transformers", "locus.lab": "pandas", "pandas": "pandas", "matplotlib": "matplotlib", "ml_dtypes": "ml_dtypes"}
# What the examples of a package's docstrings take as given.
GIVEN = {"torch": "import torch\nq, k, v = torch.randn(3, 1, 8, 20, 64)",
         "jax": "import jax\nq, k, v = jax.random.normal(jax.random.key(0), (3, 1, 8, 20, 64))",
         "huggingface": """import torch
import transformers
import pandas
import matplotlib
import locus.huggingface
sizes = dict(vocab_size=99, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes)).eval()
inputs, text = {"input_ids": torch.arange(3, 8)[None]}, "a text " * 320
tokenizer = lambda text, **_: {"input_ids": [ord(letter) % 99 for letter in text]}""",
         "lab": "import pandas\nimport matplotlib",
         "": "import locus, numpy as np\nq, k, v = np.random.default_rng(0).standard_normal((3, 1000, 8, 64))"}
# A training that is as short as it can be.
SHORT = {'budget="smoke"': 'budget="smoke", steps=4, evaluate_every=2, dim=16, heads=2, layers=1, greedy_samples=4, '
                           'train_samples=40, test_samples=8, dev_samples=8, threads=1'}


def docstring_examples():
    """(file, text) of each indented paragraph that calls the package."""
    for path in sorted((ROOT / "python/locus").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            documented = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
            for part in ((ast.get_docstring(node) if documented else None) or "").split("\n\n"):
                if "locus" in part and all(line.startswith("    ") for line in part.split("\n")):
                    yield path.relative_to(ROOT).as_posix(), "\n".join(line[4:] for line in part.split("\n"))


EXAMPLES = list(docstring_examples())


def skip_without(code):
    for name in re.findall(r"^\s*(?:import|from)\s+([\w.]+)", code, flags=re.M):
        for part in (name, name.split(".")[0]):
            if part in NEEDS:
                pytest.importorskip(NEEDS[part])


def test_something_is_run():
    assert "README.md" in PAGES and len(PAGES) >= 3
    assert {"python/locus/__init__.py", "python/locus/torch/__init__.py", "python/locus/registering.py"} < dict(EXAMPLES).keys()


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


@pytest.mark.parametrize("file, text", EXAMPLES, ids=[f"{file}-{number}" for number, (file, _) in enumerate(EXAMPLES)])
def test_docstring(file, text, tmp_path, monkeypatch):
    if text.startswith("python "):
        assert Shown(ROOT, ROOT, tmp_path).line(text) is None
        return
    folder = file.split("/")[2]
    given = GIVEN.get(folder, GIVEN[""])
    skip_without(given)
    monkeypatch.chdir(tmp_path)
    for long, short in SHORT.items():
        text = text.replace(long, short)
    names = {"__name__": "__main__"}
    exec(given, names)
    exec(compile(text, file, "exec"), names)


@pytest.mark.parametrize("path", sorted((ROOT / "examples/notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    guarded = re.sub(r"^try:.*?^except ImportError:", "", "\n".join(
        notebooks.source(cell) for cell in notebooks.read(path)["cells"] if cell["cell_type"] == "code"),
        flags=re.M | re.S)
    skip_without(guarded)
    assert notebooks.differences(path) == []
