# SPDX-License-Identifier: MIT
"""The fenced blocks of a page, and what their info strings promise:

    c        a program (it has a main), compiled against liblocus, linked and run; or lines of a function, compiled
    python   run, all blocks of a page one after the other with what the earlier ones defined
    sh       commands, one to a line, run one after the other in a folder of the page's own; each ends with 0
    console  commands behind `$ `, each with what it prints
    shell    commands that tests don't run but hold against the program and the tree (shown_commands.py); the first line
             is a comment that says what they need or how long they take
    sql      statements on runs/locus.db, which the page's commands made; each answers with a row or more
    text     what the block right before it prints; or no code at all
    cmake    part of a CMakeLists.txt; install.install builds a program with the one of docs/embed.md

Other info strings, and blocks without one, are refused, so that nothing escapes by its name."""
from __future__ import annotations

import dataclasses
import pathlib
import re
from typing import List, Optional

INFOS = ("c", "python", "sh", "console", "shell", "sql", "text", "cmake")
COMMAND = re.compile(r"    (\$ |(locus|\./dev|cc|python3?|cmake|pip|git|mpirun) )")


@dataclasses.dataclass
class Block:
    page: str  # from the root of the tree
    line: int  # of its first line, from 1
    info: str
    text: str
    output: Optional[str] = None  # what a text block right behind it shows

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def pages(root: pathlib.Path) -> List[str]:
    """README.md and its like, the pages of docs/; those of recorded results are written by the program."""
    return ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/results/README.md"] + sorted(
        f"docs/{path.name}" for path in (root / "docs").glob("*.md"))


def blocks(root: pathlib.Path, page: str) -> List[Block]:
    found: List[Block] = []
    inside, last_end = False, -1
    for number, line in enumerate((root / page).read_text(encoding="utf-8").split("\n"), 1):
        if inside and line.strip() == "```":
            inside = False
            block = found[-1]
            if block.info == "text" and len(found) > 1 and block.line - 2 - last_end <= 1 and found[-2].output is None:
                found[-2].output = block.text
            last_end = number
        elif inside:
            found[-1].text += line + "\n"
        elif line.lstrip().startswith("```"):
            inside = True
            found.append(Block(page, number + 1, line.strip()[3:], ""))
    return found


def faults(root: pathlib.Path, page: str) -> List[str]:
    """What is wrong with the page's blocks before any is run."""
    said = [f"{block.place}: a block of '{block.info}'; expected one of {', '.join(INFOS)}"
            for block in blocks(root, page) if block.info not in INFOS]
    said += [f"{block.place}: a block of 'shell' begins with a comment that says what it needs or how long it takes"
             for block in blocks(root, page) if block.info == "shell" and not block.text.lstrip().startswith("# ")]
    lines, inside = (root / page).read_text(encoding="utf-8").split("\n"), False
    for number, line in enumerate(lines, 1):
        inside ^= line.lstrip().startswith("```")
        if not inside and COMMAND.match(line):
            said.append(f"{page}:{number}: a command in an indented block, which nobody runs: fence it")
    return said
