# SPDX-License-Identifier: MIT
"""Links of the Markdown files and notebooks lead somewhere: to a file of the tree, and to a heading where they name one.

    python3 tests/docs/check_links.py

Links to other hosts are not followed. What stands behind # in a link to JSON is the business of cli.results_written."""
from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
from functools import lru_cache
from typing import Iterator, List, Set, Tuple

ROOT = pathlib.Path(os.environ.get("LOCUS_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
LINK = re.compile(r"\]\(([^)\s]+)\)|<(?:img|a)\s[^>]*(?:src|href)=\"([^\"]+)\"")


def prose(text: str) -> str:
    """The text without its code; lines stay where they are."""
    text = re.sub(r"^( *)```.*?^\1```$", lambda found: "\n" * found.group().count("\n"), text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", lambda found: "x" * len(found.group()), text)


@lru_cache(maxsize=None)
def anchors(path: pathlib.Path) -> Set[str]:
    """Names of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    found: Set[str] = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", text, flags=re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = 0
        while (name if number == 0 else f"{name}-{number}") in found:
            number += 1
        found.add(name if number == 0 else f"{name}-{number}")
    return found


def words_of(path: pathlib.Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")


def links(path: pathlib.Path) -> Iterator[Tuple[int, str]]:
    for number, line in enumerate(prose(words_of(path)).split("\n"), 1):
        for found in LINK.finditer(line):
            yield number, found.group(1) or found.group(2)


def fault(path: pathlib.Path, link: str) -> str:
    if re.match(r"[a-z][a-z0-9+.-]*:", link):
        return ""
    name, _, anchor = link.partition("#")
    target = (path.parent / name).resolve() if name else path
    if not target.exists():
        return "leads to no file"
    if anchor and target.suffix == ".md" and anchor not in anchors(target):
        return "leads to no heading"
    return ""


def main() -> int:
    listed = subprocess.run(["sh", str(ROOT / "tools/lint-files.sh"), "*.md", "*.ipynb"], capture_output=True,
                            text=True, check=True)
    said: List[str] = []
    count = 0
    for name in listed.stdout.split():
        for number, link in links(ROOT / name):
            count += 1
            wrong = fault(ROOT / name, link)
            if wrong:
                said.append(f"{name}:{number}: {link} {wrong}")
    print("\n".join(said + [f"{count} links"]))
    return 1 if said or not count else 0


if __name__ == "__main__":
    sys.exit(main())
