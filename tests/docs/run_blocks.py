# SPDX-License-Identifier: MIT
"""Runs the C and shell blocks of README.md and docs/ (blocks.py says which are run, and how), and holds what `shell`
blocks and sentences show against what there is (shown_commands.py).

    LOCUS=build/release/locus LOCUS_BUILD=build/release python3 tests/docs/run_blocks.py [PAGE…]

Python blocks are run by python/tests/test_documentation.py, which needs the built package."""
from __future__ import annotations

import os
import pathlib
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from typing import List, Tuple

from blocks import Block, blocks, faults, pages
from shown_commands import Shown

ROOT = pathlib.Path(os.environ.get("LOCUS_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
PROGRAM = pathlib.Path(os.environ.get("LOCUS") or ROOT / "build/release/locus").resolve()
BUILD = pathlib.Path(os.environ.get("LOCUS_BUILD") or ROOT / "build/release").resolve()
COMPILER = shlex.split(os.environ.get("CC") or "cc")
SECONDS = 60
# Pages whose commands a test of their own runs, with the pictures that they make.
ELSEWHERE = ("docs/algebra.md", "docs/encodings.md")
# What lines of C may use without saying where they come from.
FRAME = """#include <locus/locus.h>
#include <stdio.h>
static int fail(const char *message) { return fprintf(stderr, "%%s\\n", message) > 0; }
int lines(const locus_plan *plan);
int lines(const locus_plan *plan) {
    locus_error error;
#line %d "%s"
%s    return 0;
}
"""


def run(command: List[str], folder: pathlib.Path) -> Tuple[int, str, str]:
    environment = dict(os.environ, PATH=f"{folder / '.bin'}{os.pathsep}{os.environ['PATH']}", NO_COLOR="1")
    try:
        done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return 124, "", f"longer than {SECONDS} seconds: mark the block 'shell', and say how long it takes"
    return done.returncode, done.stdout, done.stderr


def differs(place: str, shown: str, printed: str) -> List[str]:
    return [] if shown == printed else [f"{place}: the page shows\n{shown}and it prints\n{printed}"]


def run_c(block: Block, folder: pathlib.Path) -> List[str]:
    whole = "int main(" in block.text
    source, program = folder / "block.c", folder / "block"
    place = block.page.replace("\\", "/")
    source.write_text(f'#line {block.line} "{place}"\n{block.text}' if whole else
                      FRAME % (block.line, place, block.text), encoding="utf-8")
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "include"), str(source), "-o", str(program)]
    link = [str(BUILD / "liblocus.a"), "-lm", "-lpthread"] if whole else ["-c"]
    status, _, said = run(COMPILER + flags + link, folder)
    if status:
        return [f"{block.place}: does not compile\n{said}"]
    if not whole:
        return []
    status, printed, said = run([str(program)], folder)
    if status or said:
        return [f"{block.place}: the program ended with {status}\n{said}"]
    return [] if block.output is None else differs(block.place, block.output, printed)


def run_sh(block: Block, folder: pathlib.Path) -> List[str]:
    said, printed = [], ""
    for number, line in enumerate(block.text.splitlines(), block.line):
        if line.strip() and not line.startswith("#"):
            status, output, errors = run(["sh", "-c", line], folder)
            printed += output
            if status:
                said.append(f"{block.page}:{number}: {line}\nended with {status}\n{errors}")
    return said + ([] if block.output is None else differs(block.place, block.output, printed))


def run_console(block: Block, folder: pathlib.Path) -> List[str]:
    said = []
    for part in ("\n" + block.text).split("\n$ ")[1:]:
        command, _, shown = part.partition("\n")
        status, printed, errors = run(["sh", "-c", command], folder)
        if status:
            said.append(f"{block.place}: {command}\nended with {status}\n{errors}")
        said += differs(f"{block.place}: {command}", shown.rstrip("\n") + "\n", printed)
    return said


def run_sql(block: Block, folder: pathlib.Path) -> List[str]:
    said = []
    with sqlite3.connect(folder / "runs/locus.db") as store:
        for statement in block.text.split(";\n")[:-1]:
            try:
                rows = store.execute(statement).fetchall()
            except sqlite3.Error as error:
                said.append(f"{block.place}: {statement}: {error}")
                continue
            if not rows or None in [value for row in rows for value in row]:
                said.append(f"{block.place}: {statement}: {rows}")
    return said


def run_page(page: str, counts: dict) -> List[str]:
    said = faults(ROOT, page)
    with tempfile.TemporaryDirectory(prefix="locus-docs-") as name:
        folder = pathlib.Path(name)
        (folder / ".bin").mkdir()
        (folder / ".bin" / "locus").symlink_to(PROGRAM)
        for part in ("include", "examples"):
            (folder / part).symlink_to(ROOT / part)
        own, shown = blocks(ROOT, page), Shown(ROOT, PROGRAM, folder)
        said += shown.sentences(page)
        if any("docs/results" in block.text for block in own):  # a copy, since commands may write there
            shutil.copytree(ROOT / "docs/results", folder / "docs/results")
        for block in own:
            runner = {"c": run_c, "sh": run_sh, "console": run_console, "sql": run_sql,
                      "shell": lambda block, _: shown.block(block)}.get(block.info)
            if runner and not (block.info == "sh" and page in ELSEWHERE):
                said += runner(block, folder)
                counts[block.info] = counts.get(block.info, 0) + 1
    return said


def main(words: List[str]) -> int:
    if not PROGRAM.exists() or not (BUILD / "liblocus.a").exists():
        print(f"{PROGRAM} or {BUILD}/liblocus.a is not built")
        return 77
    counts: dict = {}
    said = [line for page in words or pages(ROOT) for line in run_page(page, counts)]
    for line in said:
        print(f"FAILED: {line}")
    print(", ".join(f"{count} blocks of {info}" for info, count in sorted(counts.items())) or "no blocks")
    return 1 if said or not (counts or words) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
