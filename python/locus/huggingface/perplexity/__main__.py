# SPDX-License-Identifier: MIT
"""The command: python -m locus.huggingface.perplexity MODEL --text FILE. Exit status: 0 done, 1 failed or stopped, 2 bad
usage. Errors are one line on the standard error output."""
from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from typing import Any, List, NoReturn, Optional, Sequence

from ...errors import SpecError

NAME = "locus.huggingface.perplexity"
_TEXTS = ("text", "csv", "json")


class _Usage(Exception):
    """What is wrong with the command line."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Usage(f"{message}; --help lists all options")


def _lengths(text: str) -> List[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no list of whole numbers, as in 512,1024,2048") from None


def _parser() -> _Parser:
    parser = _Parser(prog=f"python -m {NAME}", allow_abbrev=False, description=(
        "Perplexity of a causal language model against context length, under each scaling of its rotary frequencies: "
        "a table, and a plot. A measurement that was stopped goes on where it was."))
    parser.add_argument("model", metavar="MODEL", help="a folder with a checkpoint, or a name that transformers knows")
    parser.add_argument("--text", metavar="FILE", required=True, help="what is read, UTF-8")
    parser.add_argument("--lengths", metavar="L,…", type=_lengths, default=[512, 1024, 2048],
                        help="tokens in a window (512,1024,2048)")
    parser.add_argument("--scalings", metavar="S,…", default="none,linear,ntk,dynamic,yarn", help=(
        "own, none, linear, ntk, dynamic, yarn, llama3, longrope, window, sinks, one with a factor of its own (yarn:8), "
        "or specs (none,linear,ntk,dynamic,yarn)"))
    parser.add_argument("--factor", metavar="F", type=float, help="how many times longer (longest length / original)")
    parser.add_argument("--original", metavar="L", type=int, help="the length it was trained for (its configuration's)")
    parser.add_argument("--stride", metavar="N", type=int, help="tokens scored in a window (256, at most half of the "
                        "shortest length)")
    parser.add_argument("--tokens", metavar="N", type=int, default=8192, help="tokens scored in all, at most (8192)")
    parser.add_argument("-o", "--output", metavar="PLOT", default="perplexity.svg", help=".svg, .png or .pdf "
                        "(perplexity.svg)")
    parser.add_argument("--record", metavar="FILE", help="keeps what is measured (PLOT's name with .json)")
    parser.add_argument("--format", choices=_TEXTS, default="text", help="of the table (text)")
    parser.add_argument("--device", default="cpu", help="PyTorch's name of it (cpu)")
    parser.add_argument("--dtype", default="auto", help="float32, bfloat16, float16, or auto: the checkpoint's (auto)")
    parser.add_argument("--quiet", action="store_true", help="no progress on the terminal")
    return parser


# ---- what it reads ----


def _text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise ValueError(f"'{path}' is not UTF-8: byte {error.start} on") from None


def _is_folder(name: str) -> bool:
    """Whether this can only be a folder: MODEL and ORGANISATION/MODEL are names of a hub, too."""
    parts = name.split(os.sep)
    return len(parts) > 2 or len(parts) == 2 and parts[0] in ("", ".", "..", "~")


def _checkpoint(said: argparse.Namespace) -> Any:
    """The model and its tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    dtype = said.dtype if said.dtype == "auto" else getattr(torch, said.dtype, None)
    if dtype != "auto" and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
        raise _Usage(f"--dtype {said.dtype}: expected auto, float32, bfloat16 or float16")
    if _is_folder(said.model) and not os.path.isdir(said.model):
        raise FileNotFoundError(f"there is no folder '{said.model}'")
    model = AutoModelForCausalLM.from_pretrained(said.model, dtype=dtype).to(said.device)
    return model, AutoTokenizer.from_pretrained(said.model)


# ---- what it says ----


def _progress(scaling: str, length: int, done: int, windows: int) -> None:
    line = f"{scaling}, {length} tokens: {done} of {windows} windows"
    sys.stderr.write(f"\r\033[K{line[:78]}")
    sys.stderr.flush()


def _clear() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")


def _number(value: float) -> str:
    return f"{value:.3f}" if value < 1000 else f"{value:.4g}"


def _table(frame: Any) -> str:
    """Perplexities, a row for each scaling and a column for each length; what scalings are stands below."""
    lengths = sorted(set(frame["length"]))
    lines = [["perplexity", *map(str, lengths)]]
    specs = {}
    for label, rows in frame.groupby("scaling", sort=False):
        found = rows.set_index("length")["perplexity"]
        lines.append([label, *(_number(found[length]) for length in lengths)])
        specs[label] = rows["spec"].iloc[0]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lengths) + 1)]
    text = "\n".join("  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in
                                                            zip(line[1:], widths[1:]))]) for line in lines)
    below = "\n".join(f"{label.ljust(widths[0])}  {spec}" for label, spec in specs.items())
    return f"{text}\n\n{below}\n\n{frame['tokens'].iloc[0]} tokens scored at each length\n"


def _shown(frame: Any, form: str) -> str:
    if form == "csv":
        return str(frame.to_csv(index=False))
    if form == "json":
        return json.dumps(json.loads(frame.to_json(orient="records", double_precision=15)), indent=1) + "\n"
    return _table(frame)


# ---- the command ----


def _record_of(said: argparse.Namespace) -> str:
    return said.record or os.path.splitext(said.output)[0] + ".json"


def _run(said: argparse.Namespace) -> None:
    from transformers.utils import logging

    from . import measure, plot, save
    from .drawing import FORMATS
    from .scalings import cut_list

    if not said.output.endswith(FORMATS):
        raise _Usage(f"--output {said.output}: expected a name that ends in {', '.join(FORMATS)}")
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    text = _text_of(said.text)
    model, tokenizer = _checkpoint(said)
    shows = sys.stderr.isatty() and not said.quiet
    frame = measure(model, text, said.lengths, cut_list(said.scalings), tokenizer=tokenizer, factor=said.factor,
                    original=said.original, stride=said.stride, tokens=said.tokens, record=_record_of(said),
                    progress=_progress if shows else None)
    save(plot(frame), said.output)
    _clear()
    sys.stdout.write(_shown(frame, said.format))


def _line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"'{error.filename}': {error.strerror}"
    if isinstance(error, SpecError) and error.text:
        return f"{error.message}, in '{error.text}'"
    said = str(error).strip()
    return " ".join(said.split()) if said else type(error).__name__


def _stop(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def main(words: Optional[Sequence[str]] = None) -> int:
    said = None
    try:
        said = _parser().parse_args(words)
        _run(said)
        return 0
    except _Usage as error:
        status, line = 2, str(error)
    except KeyboardInterrupt:
        status = 1
        line = "stopped"
        if said is not None and os.path.exists(_record_of(said)):
            line += f"; what is measured is in '{_record_of(said)}', and the same command goes on from there"
    except Exception as error:
        status, line = 1, _line(error)
    _clear()
    sys.stderr.write(f"{NAME}: {line}\n")
    return status


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    sys.exit(main())
