# SPDX-License-Identifier: MIT
"""Training, comparing and reproducing by the program `locus`. Options are those of its command line, with underscores:
`train(task="copy", test_lengths=[32, 64])` is `locus train --task copy --test-lengths 32,64`."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from typing import Any, Dict, Iterator, List, Sequence, Union

from .stores import Source, runs

Option = Union[str, int, float, bool, None, "os.PathLike[str]", Sequence[Union[str, int, float]]]


class LabError(RuntimeError):
    """The program refused or failed; the message is its line."""


def _program() -> str:
    found = os.environ.get("LOCUS_PROGRAM") or shutil.which("locus")
    if not found:
        raise LabError("the program 'locus' is neither on PATH nor named by LOCUS_PROGRAM: ./dev install puts it "
                       "there")
    return found


_AGAIN = ("vary", "only")  # options that are given once for each item


def _words(options: Dict[str, Option]) -> Iterator[str]:
    for name, value in options.items():
        if value is None or value is False:
            continue
        option = "--" + name.replace("_", "-")
        if name in _AGAIN and isinstance(value, (list, tuple)):
            for item in value:
                yield from (option, str(item))
            continue
        yield option
        if value is True:
            continue
        if isinstance(value, (list, tuple)):
            yield ",".join(str(item) for item in value)
        else:
            yield os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _wait(process: "subprocess.Popen[str]") -> List[str]:
    """Both outputs. At Ctrl-C the program ends after its step, with a checkpoint, and so does the call."""
    try:
        return list(process.communicate())
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.communicate()
        raise
    except BaseException:
        process.kill()
        process.communicate()
        raise


def _run(command: Sequence[str], options: Dict[str, Option], progress: bool) -> Any:
    words = [_program(), *command, *_words(options), "--json", *([] if progress else ["--quiet"])]
    # A session of its own: a terminal's Ctrl-C would reach the program twice, and the second one ends it without a
    # checkpoint.
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, encoding="utf-8",
                          stderr=None if progress else subprocess.PIPE, start_new_session=True) as process:
        output, said = _wait(process)
    if process.returncode != 0:
        raise LabError((said or "").strip().removeprefix("locus: ") or
                       f"'locus {' '.join(command)}' ended with status {process.returncode}; what it said is above")
    return json.loads(output)


def train(*, store: Source = "runs/locus.db", progress: bool = False, **options: Option) -> Any:
    """One training, `locus train`; its row of `runs(store)`. A training that is done is not made again, and one that
    was stopped goes on, with the same bits.

    `options`: those of `locus train --help`, for example task, encoding, budget, seed, steps, test_lengths. `progress`
    lets the program print its progress to the standard error output. LabError has the program's line;
    KeyboardInterrupt leaves a checkpoint, and the same call goes on from there."""
    written = _run(["train"], {**options, "store": os.fspath(store)}, progress)
    frame = runs(store)
    return frame[frame["name"] == written["name"]].iloc[0]


def compare(*, store: Source = "runs/locus.db", progress: bool = False, **options: Option) -> Any:
    """A comparison, `locus compare`: several encodings on several tasks; the rows of `runs(store)` that it consists
    of. The program writes a page beside the store. `options`, `progress` and errors as in `train`; task and encodings may
    be lists."""
    written = _run(["compare"], {**options, "store": os.fspath(store)}, progress)
    names = [run["name"] for section in written["sections"] for row in section["rows"] for run in row["runs"]]
    frame = runs(store)
    return frame[frame["name"].isin(names)]


def reproduce(name: str, *, store: Source = "runs/locus.db", progress: bool = False, **options: Option) -> Any:
    """A published table, `locus reproduce NAME` (table1, table2, table3, roper, listops): what the program writes as
    JSON, with means beside published numbers and a verdict for each claim. It writes a page, Markdown and the runs
    beside the store. `options`, `progress` and errors as in `train`."""
    return _run(["reproduce", name], {**options, "store": os.fspath(store)}, progress)
