# SPDX-License-Identifier: MIT
"""What `shell` blocks show and nobody runs is held against what there is; by itself, tests of that.

    LOCUS=build/release/locus python3 tests/docs/shown_commands.py

    each line               the shell parses it (sh -n)
    locus …                 the program parses it, up to its work (--help behind it): command, options, values; its
                            operands are those of the command's usage line
    locus train|compare     tasks, encodings and budget are ones: `locus compare --list` takes them
    locus reproduce         `--list` in place of trainings takes the whole line, if it needs no file
    ./dev …                 the command is one of ./dev's; of test, the stage or a name of tests may be any
    pip install …           the extras are pyproject.toml's
    python FILE, -m MODULE  it is in the tree, and what is read of its command line stands in it

Of other programs only the names are known: one that stands nowhere here is refused. `./dev …` and `pip install …` are
looked up in sentences, too."""
from __future__ import annotations

import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest
from typing import Dict, Iterator, List, Optional, Tuple

from blocks import Block, blocks

OTHERS = ("cc", "git", "pkg-config", "sbatch", "sh")
STARTERS = ("mpirun", "srun")  # they start what follows
INLINE = re.compile(r"`((?:\./dev|pip install)(?: [^`…]*)?)`")
VALUE = re.compile(r"^  (?:-(\w), |    )--([\w-]+)(?: (\S+))?", re.M)


class Fault(Exception):
    pass


def commands(line: str) -> Iterator[List[str]]:
    """The simple commands of a line, their words as a shell cuts them; what `$(…)` holds comes first."""
    inner = re.compile(r"\$\(([^()]*)\)")
    for part in inner.findall(line):
        yield from commands(part)
    plain = re.sub(r"(?<!\S)\d(?=[<>])", "", inner.sub("SUBSTITUTED", line))
    lexer = shlex.shlex(plain, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: List[str] = []
    for word in [*lexer, ";"]:
        if word.strip("&") and set(word) <= set("<>&"):
            words.append(">")
        elif set(word) <= set("();|&"):
            while ">" in words:
                del words[words.index(">"):words.index(">") + 2]
            while words and re.match(r"\w+=", words[0]):
                del words[0]
            if words:
                yield words
            words = []
        else:
            words.append(word)


def lines_of(block: Block) -> Iterator[Tuple[int, str]]:
    """Lines with their numbers; those that a backslash continues are one."""
    kept, first = "", block.line
    for number, line in enumerate(block.text.splitlines(), block.line):
        first = first if kept else number
        kept += line
        if kept.endswith("\\"):
            kept = kept[:-1]
            continue
        if kept.strip():
            yield first, kept
        kept = ""


class Shown:
    def __init__(self, root: pathlib.Path, program: pathlib.Path, folder: pathlib.Path) -> None:
        self.root, self.program, self.folder = root, program, folder

    def run(self, *words: str) -> Tuple[int, str, str]:
        done = subprocess.run([str(self.program), *words], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    def asked(self, *words: str) -> str:
        status, printed, said = self.run(*words)
        if status:
            raise Fault(said.strip())
        return printed

    # ---- locus ----

    def locus(self, words: List[str]) -> None:
        usage = self.asked(*words, "--help")
        found = re.search(r"^usage: locus (.*) \[options\]$", usage, re.M)
        if not found:
            raise Fault("the program knows no such command")
        shown = found.group(1).split(" ")
        name = [word for word, given in zip(shown, words) if word == given]
        valued = {option: f"--{long}" for letter, long, value in VALUE.findall(usage) if value
                  for option in (f"-{letter}", f"--{long}")}
        operands, options = cut(words[len(name):], valued)
        self.fits(shown[len(name):], operands)
        if name == ["reproduce"] and "--pretrained" not in options:  # whose encoder is not there
            self.asked(*(word for word in words if word not in ("--sbatch", "--parallel")), "--list")
        if name in (["train"], ["compare"]) and "--task" in options:
            self.settings(options)

    @staticmethod
    def fits(shown: List[str], operands: List[str]) -> None:
        least = sum(not word.startswith("[") for word in shown)
        if len(operands) < least or (len(operands) > len(shown) and "…" not in "".join(shown)):
            raise Fault(f"{len(operands)} operands, where usage says '{' '.join(shown)}'")
        for word, given in zip(shown, operands):
            if re.fullmatch(r"\[?[a-z0-9-]+(\|[a-z0-9-]+)+\]?", word) and given not in word.strip("[]").split("|"):
                raise Fault(f"'{given}' is none of {word}")

    def settings(self, options: Dict[str, str]) -> None:
        own = "--data" in options  # whose samples are not there
        asked = {"--task": "copy" if own else options.get("--task"), "--budget": options.get("--budget"),
                 "--encodings": options.get("--encodings") or options.get("--encoding")}
        self.asked("compare", "--list", *(word for name, value in asked.items() if value for word in (name, value)))

    # ---- the tree ----

    def text(self, name: str) -> str:
        path = self.root / name
        if not path.is_file():
            raise Fault(f"there is no {name}")
        return path.read_text(encoding="utf-8")

    def dev(self, words: List[str]) -> None:
        known = re.findall(r"^([a-z]+)\)$", self.text("dev"), re.M)
        if words and words[0] not in known:
            raise Fault(f"'{words[0]}' is none of {', '.join(known)}")

    def pip(self, words: List[str]) -> None:
        project = self.text("pyproject.toml")
        names = (".", re.findall(r'^name = "([^"]+)"', project, re.M)[0])
        extras = re.findall(r"^([\w-]+) = \[", project.split("[project.optional-dependencies]")[1].split("\n[")[0], re.M)
        for word in words[1:]:
            found = re.fullmatch(r"([^\[]*)(?:\[([\w,-]+)\])?", word)
            if not found or found.group(1) not in names:
                raise Fault(f"'{word}' is none of {', '.join(names)}")
            for extra in (found.group(2) or "").split(","):
                if extra and extra not in extras:
                    raise Fault(f"'{extra}' is none of the extras {', '.join(extras)}")

    def python(self, words: List[str]) -> None:
        at = 1 if words[:1] == ["-m"] else 0
        module = pathlib.PurePosixPath("python", *words[at].split("."))
        text = self.text(words[0]) if at == 0 else self.text(
            f"{module}/__main__.py" if (self.root / f"{module}").is_dir() else f"{module}.py")
        for word in words[at + 1:]:
            if word.startswith("-") and f'"{word}"' not in text:
                raise Fault(f"{words[at]} has no option {word}")

    # ---- a line, a page ----

    def command(self, words: List[str]) -> None:
        name, rest = words[0], words[1:]
        if name in STARTERS and "locus" in rest:
            name, rest = "locus", rest[rest.index("locus") + 1:]
        checks = {"locus": self.locus, "build/release/locus": self.locus, "./dev": self.dev, "pip": self.pip,
                  "python": self.python, "python3": self.python}
        if name in checks:
            checks[name](rest)
        elif name not in OTHERS:
            raise Fault(f"'{name}': no check knows this command")

    def line(self, line: str) -> Optional[str]:
        done = subprocess.run(["sh", "-n", "-c", line], capture_output=True, text=True, check=False)
        try:
            if done.returncode:
                raise Fault(done.stderr.strip())
            for words in commands(line):
                self.command(words)
        except (Fault, ValueError, IndexError) as fault:
            return f"{line}\n{fault}"
        return None

    def block(self, block: Block) -> List[str]:
        said = [(number, self.line(line)) for number, line in lines_of(block)]
        return [f"{block.page}:{number}: {fault}" for number, fault in said if fault]

    def sentences(self, page: str) -> List[str]:
        said = []
        for number, line in enumerate((self.root / page).read_text(encoding="utf-8").split("\n"), 1):
            said += [f"{page}:{number}: {fault}" for command in INLINE.findall(line) for fault in [self.line(command)] if fault]
        return said


def cut(words: List[str], valued: Dict[str, str]) -> Tuple[List[str], Dict[str, str]]:
    """Operands, and options by their long names with their values; `valued`: which have one."""
    operands, options, left = [], {}, list(words)
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if not word.startswith("-"):
            operands.append(word)
        else:
            options[valued.get(name, name)] = value if equals else left.pop(0) if name in valued and left else ""
    return operands, options


class Planted(unittest.TestCase):
    def test_lines(self):
        """Commands that are right, and each with one word changed; what a sentence or a continued line says is read, too."""
        root = pathlib.Path(__file__).resolve().parents[2]
        program = pathlib.Path(os.environ.get("LOCUS") or root / "build/release/locus").resolve()
        with tempfile.TemporaryDirectory() as name:
            shown = Shown(root, program, pathlib.Path(name))
            for right, wrong, says in (
                    ("locus train --task copy --encoding 'rope + alibi'", "locus train --task copi --encoding rope", "unknown task 'copi'"),
                    ("locus train -t text -e rope --data x", "locus train -t copy -e 'rope(bas=3)'", "did you mean 'base'"),
                    ("locus compare --task copy,reverse --budget quick", "locus compare --task copy --budgt quick", "--budgt"),
                    ("locus eval 1 --lengths 64,128", "locus eval --lengths 64,128", "0 operands, where"),
                    ("locus plot curves 1 2 -o x.svg", "locus plot curve 1 2 -o x.svg", "unknown command"),
                    ("locus runs import a.db b.db", "locus runs imprt a.db", "'imprt' is none of"),
                    ("locus data get cifar10   # or not", "locus data get cifar10 or not", "3 operands, where"),
                    ("locus reproduce table2 --jobs 2 --parallel | sh", "locus reproduce table2 --rows nobody | sh", "nobody"),
                    ("srun -n 4 locus train --shards 4 >x 2>y", "mpirun -n 4 locus train --shards four", "needs an integer"),
                    ("CC=clang ./dev test unit", "./dev tests", "'tests' is none of"),
                    ("pip install '.[torch,lab]'", "pip install '.[torch,labs]'", "'labs' is none of"),
                    ("pip install locus-encodings", "pip install locus", "'locus' is none of"),
                    ("python -m locus.huggingface.perplexity M --text T", "python3 -m locus.huggingface.perplexity --txt T", "--txt"),
                    ("python3 tools/sentences.py --check F", "python3 tools/sentence.py --check F", "there is no tools"),
                    ("cc x.c $(pkg-config --libs locus) -lm", "cc x.c $(locus encodes rope)", "unknown command"),
                    ("git log", "gti log", "no check knows"), ("cc 'x.c'", "cc 'x.c", "nterminated"), ("cc x.c", "cc (x.c", "yntax error")):
                self.assertIsNone(shown.line(right), right)
                self.assertIn(says, shown.line(wrong) or "", wrong)
            (pathlib.Path(name) / "page.md").write_text("Say `./dev tests`.\n\n```shell\n# quick\nlocus eval \\\n    --lengths 3\n```\n")
            (pathlib.Path(name) / "dev").write_text("build)\n")
            there = Shown(pathlib.Path(name), program, pathlib.Path(name))
            self.assertTrue(there.sentences("page.md")[0].startswith("page.md:1: ./dev tests\n'tests' is none of build"))
            self.assertTrue(there.block(blocks(pathlib.Path(name), "page.md")[0])[0].startswith("page.md:5: locus eval "))


if __name__ == "__main__":
    unittest.main()
