# SPDX-License-Identifier: MIT
"""Gathers the sources of the site in one folder: pages of the tree with links that fit, recorded results with the
interactive pages that are made of their runs, notebooks, files that pages link to, and the references of C, Python and the program.

    python3 docs/site/stage.py FOLDER LOCUS

FOLDER/source is what Sphinx reads, FOLDER/extra is copied beside its output. LOCUS is the built program."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Dict, List

import c_reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\[[^\]]*\]\()([^)\s]+)(\))|(<img[^>]* src=\")([^\"]+)(\")")
# Modules of the Python package: page, title, what is in it.
MODULES = (
    ("locus", "locus", ()),
    ("locus.torch", "locus.torch", ("torch",)),
    ("locus.jax", "locus.jax", ("jax",)),
    ("locus.huggingface", "locus.huggingface", ("transformers", "torch")),
    ("locus.huggingface.perplexity", "locus.huggingface.perplexity", ("transformers", "torch", "pandas", "matplotlib")),
    ("locus.lab", "locus.lab", ("pandas", "matplotlib")),
)


def title_of(path: pathlib.Path) -> str:
    found = re.search(r"^# +(.+)$", path.read_text(encoding="utf-8"), re.M)
    return found.group(1) if found else path.stem


class Stage:
    def __init__(self, folder: pathlib.Path) -> None:
        self.source, self.extra = folder / "source", folder / "extra"
        for part in (self.source, self.extra):
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
        self.pages: Dict[str, str] = {}  # path in the tree: path of the page, without .md
        self.files: List[str] = []  # files that pages link to, each of which gets a page

    def plan(self) -> None:
        """Which file of the tree becomes which page."""
        self.pages = {"README.md": "index", "CONTRIBUTING.md": "contributing", "SECURITY.md": "security",
                      "CHANGELOG.md": "changelog", "docs/results/README.md": "results/index"}
        for path in sorted((ROOT / "docs").glob("*.md")):
            self.pages[f"docs/{path.name}"] = path.stem
        for path in sorted((ROOT / "docs/results").glob("*.md")):
            self.pages.setdefault(f"docs/results/{path.name}", f"results/{path.stem}")
        for path in sorted((ROOT / "include/locus").glob("*.h")):
            self.pages[f"include/locus/{path.name}"] = f"c/{path.stem}"
        for path in sorted((ROOT / "examples/notebooks").glob("*.ipynb")):
            self.pages[f"examples/notebooks/{path.name}"] = f"notebooks/{path.stem}"

    def target(self, link: str, page: str, own: str) -> str:
        """Where a link of the tree's file `own` leads from the page `page`."""
        if re.match(r"[a-z][a-z0-9+.-]*:", link) or link.startswith("#"):
            return link
        name, mark, anchor = link.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(own), name))
        here = os.path.dirname(page)

        def relative(to: str) -> str:
            return os.path.relpath(to, here or ".")

        if path.startswith("docs/results") and path.endswith((".json", ".txt")):
            return "page:" + relative(f"results/data/{os.path.basename(path)}")
        if path == "docs/results":
            return relative("results/index.md")
        if path.startswith("docs/") and not path.endswith(".md"):
            return relative(path[len("docs/"):])
        if path not in self.pages:
            self.pages[path] = f"files/{path.strip('.').replace('/', '-')}" + ("-folder" if (ROOT / path).is_dir() else "")
            self.files.append(path)
        suffix = ".rst" if self.pages[path].startswith("c/") else ".md"
        return relative(self.pages[path] + suffix) + mark + anchor

    def rewritten(self, text: str, own: str) -> str:
        page = self.pages[own]
        parts = re.split(r"(^ *```.*?^ *```$)", text, flags=re.M | re.S)

        def replaced(found: "re.Match[str]") -> str:
            before, link, after = (part for part in found.groups() if part is not None)
            # A path as the words of a link is for readers of the tree; here the page's title stands in its place.
            named = os.path.normpath(os.path.join(os.path.dirname(own), link))
            if before in (f"[{link}](", f"[{named}](") and named in self.pages and named.endswith(".md"):
                before = f"[{title_of(ROOT / named)}]("
            return before + self.target(link, page, own) + after

        return "".join(part if part.lstrip().startswith("```") else LINK.sub(replaced, part) for part in parts)

    def write(self, page: str, text: str) -> None:
        path = self.source / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def tree_pages(self) -> None:
        for own, page in list(self.pages.items()):
            if own.endswith(".md"):
                self.write(page + ".md", self.rewritten((ROOT / own).read_text(encoding="utf-8"), own))
        for folder in ("pictures",):
            shutil.copytree(ROOT / "docs" / folder, self.source / folder)
        shutil.copy(ROOT / "docs/report.png", self.source)
        data = self.extra / "results/data"
        data.mkdir(parents=True)
        for path in (ROOT / "docs/results").iterdir():
            if path.suffix in (".json", ".txt"):
                shutil.copy(path, data)

    def interactive_pages(self, program: str) -> None:
        """The page of every table whose runs are recorded, and a link to it."""
        for runs in sorted((ROOT / "docs/results").glob("*.json")):
            page = self.extra / f"results/data/{runs.stem}.html"
            subprocess.run([program, "reproduce", "--quiet", "--from", str(runs), "-o", str(page)], check=True)
            with (self.source / f"results/{runs.stem}.md").open("a", encoding="utf-8") as text:
                text.write(f"\n[The interactive page of these runs](page:data/{page.name})\n")

    def notebooks(self) -> None:
        for own, page in list(self.pages.items()):
            if not own.endswith(".ipynb"):
                continue
            parts = []
            for cell in json.loads((ROOT / own).read_text(encoding="utf-8"))["cells"]:
                text = "".join(cell["source"])
                parts.append(self.rewritten(text, own) if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
                printed = "".join("".join(output.get("text", "")) for output in cell.get("outputs", []))
                parts += [f"```text\n{printed}```"] if printed else []
            shutil.copy(ROOT / own, self.extra / os.path.basename(own))
            parts.append(f"[The notebook itself](page:../{os.path.basename(own)})")
            self.write(page + ".md", "\n\n".join(parts) + "\n")

    def linked_files(self) -> None:
        """A page for each file or folder that a page links to; Markdown among them may link to more."""
        done = 0
        while done < len(self.files):
            own = self.files[done]
            done += 1
            path, page = ROOT / own, self.pages[own]
            if path.is_dir():
                listed = sorted(item.name for item in path.iterdir() if item.is_file())
                text = f"# {own}/\n\n" + "\n".join(
                    f"- [`{name}`]({self.target(name, page, os.path.join(own, name))})" for name in listed)
            elif path.suffix == ".md":
                text = self.rewritten(path.read_text(encoding="utf-8"), own)
            else:
                language = {".c": "c", ".h": "c", ".py": "python", ".sh": "sh"}.get(path.suffix, "text")
                text = f"# {own}\n\n````{language}\n{path.read_text(encoding='utf-8')}````"
            self.write(page + ".md", "---\norphan: true\n---\n" + text + "\n")

    def c_pages(self) -> None:
        names = c_reference.write(ROOT / "include/locus", self.source / "c")
        order = ["locus", "encoding", "group", "path", "positions", "tensor", "plan", "attention", "attention_kind", "cache",
                 "execution", "form", "fold", "pattern", "extension", "status", "parallel", "memory", "random", "cpu", "version"]
        assert sorted(order) == sorted(names), set(order) ^ set(names)
        toc = "\n".join(f"   {name}" for name in order)
        self.write("c/index.rst", f"C\n=\n\nThe public headers of liblocus, as they stand in ``include/locus/``. "
                                  f"``locus.h`` includes them all.\n\n.. toctree::\n   :maxdepth: 1\n\n{toc}\n")

    def python_pages(self) -> None:
        names = []
        for module, title, _ in MODULES:
            if not (ROOT / "python" / module.replace(".", "/")).with_suffix(".py").exists() and not (
                    ROOT / "python" / module.replace(".", "/")).is_dir():
                continue
            names.append(module)
            self.write(f"python/{module}.rst", f"{title}\n{'=' * len(title)}\n\n.. automodule:: {module}\n   :members:\n"
                                               "   :imported-members:\n   :special-members: __call__\n")
        toc = "\n".join(f"   {name}" for name in names)
        self.write("python/index.rst", "Python\n======\n\nThe package ``locus`` and its modules, from their docstrings.\n\n"
                                       f".. toctree::\n   :maxdepth: 1\n\n{toc}\n")

    def program_page(self, program: str) -> None:
        """What `locus help` and every command's --help print."""
        def said(*words: str) -> str:
            return subprocess.run([program, *words], capture_output=True, text=True, check=True,
                                  env=dict(os.environ, NO_COLOR="1", COLUMNS="100")).stdout

        front = said("--help")
        text = f"# The program\n\n```text\n{front}```\n"
        listed = front.split("commands:\n")[1].split("\n\n")[0].splitlines()
        width = re.match(r"  \S+ +", listed[0]).end()
        for command in (line[:width].strip() for line in listed):
            text += f"\n## locus {command}\n\n```text\n{said(*command.split(), '--help')}```\n"
        self.write("program.md", text)

    def index(self) -> None:
        """README is the front page; what it leads to stands in the navigation."""
        groups = (("Start", ("Which encoding? <which-encoding>", "Embed it <embed>", "Train with it <train>",
                             "Understand it <algebra>")),
                  ("Use", ("encodings", "jax", "huggingface", "laboratory", "import-rope", "extension", "forms",
                           "Notebook: embed it <notebooks/decode>", "Notebook: train with it <notebooks/train>")),
                  ("Reference", ("c/index", "python/index", "program")),
                  ("Results", ("findings", "performance", "libraries", "results/index", "replication", "reproduction",
                               "sweeps", "tasks", "budgets", "data", "augmentation")),
                  ("Inside", ("tour", "decisions", "trust", "security", "contributing", "changelog")))

        def page_of(entry: str) -> str:
            return re.sub(r".*<(.*)>$", r"\1", entry)

        named = {page_of(entry) for _, entries in groups for entry in entries}
        lost = [page for page in self.pages.values() if not page.startswith(("results/", "c/", "files/")) and
                page not in named and page != "index"]
        path = self.source / "index.md"
        text = path.read_text(encoding="utf-8")
        for title, entries in groups:
            there = [entry for entry in entries
                     if any((self.source / (page_of(entry) + end)).exists() for end in (".md", ".rst"))]
            there += lost if title == "Inside" else []
            text += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n" + "\n".join(there) + "\n```\n"
        path.write_text(text, encoding="utf-8")
        results = self.source / "results/index.md"
        names = sorted(page for page in self.pages.values() if page.startswith("results/") and page != "results/index")
        results.write_text(results.read_text(encoding="utf-8") + "\n```{toctree}\n:maxdepth: 1\n\n" + "\n".join(
            name[len("results/"):] for name in names) + "\n```\n", encoding="utf-8")


def main(words: List[str]) -> int:
    if len(words) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    stage = Stage(pathlib.Path(words[0]))
    stage.plan()
    stage.tree_pages()
    stage.interactive_pages(words[1])
    stage.notebooks()
    stage.linked_files()
    stage.c_pages()
    stage.python_pages()
    stage.program_page(words[1])
    stage.index()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
