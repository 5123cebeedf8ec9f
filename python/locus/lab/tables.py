# SPDX-License-Identifier: MIT
"""Scores over seeds. Trainings are only averaged if nothing but the seed tells them apart."""
from __future__ import annotations

from typing import Any, List, Sequence, Union

from .stores import Source, _pandas, runs

# An option that changes no number.
PER_RUN = ("config.checkpoint_seconds",)

# What identifies a training, beside its options.
IDENTITY = ("task", "encoding", "setup", "embedding_init", "budget", "data_seed")


def frame_of(source: Any) -> Any:
    """A frame as it is, all else read as a store."""
    return source if hasattr(source, "columns") else runs(source)


def _names(by: Union[str, Sequence[str]]) -> List[str]:
    return [by] if isinstance(by, str) else list(by)


def finished(frame: Any, score: str) -> Any:
    """The trainings that are done and have the score."""
    if score not in frame.columns:
        scores = [name for name in frame.columns if "." in name and not name.startswith("config.")]
        raise ValueError(f"no training has the score '{score}'; there are {', '.join(scores) or 'none'}")
    return frame[(frame["state"] == "done") & frame[score].notna()]


def check_cells(frame: Any, by: Sequence[str]) -> None:
    """ValueError if trainings of one cell differ in more than their seed."""
    asked = [name for name in frame.columns
             if (name in IDENTITY or (name.startswith("config.") and name not in PER_RUN)) and name not in by]
    for key, cell in frame.groupby(list(by), sort=False, dropna=False):
        options = [name for name in asked if cell[name].astype(str).nunique() > 1]
        if options:
            place = " / ".join(str(part) for part in (key if isinstance(key, tuple) else (key,)))
            raise ValueError(f"trainings of {place} differ in {', '.join(sorted(options))}: choose some of them, or "
                             "name what tells them apart among the rows or columns")


def table(source: Any = "runs/locus.db", score: str = "test.accuracy", rows: Union[str, Sequence[str]] = "encoding",
          columns: Union[str, Sequence[str]] = "task") -> Any:
    """Mean, standard deviation (n − 1; NaN for one seed) and number of seeds of a score, as a pandas frame: one row
    for each value of `rows`, and below each value of `columns` the columns `mean`, `deviation`, `seeds`.

    `source` is a store, or a frame of `runs` of which some were chosen. Only trainings that are done count. ValueError
    if trainings of one cell differ in anything but their seed, so that budgets are never mixed."""
    pandas = _pandas()
    row_names, column_names = _names(rows), _names(columns)
    frame = finished(frame_of(source), score)
    check_cells(frame, row_names + column_names)
    parts = {}
    for key, part in frame.groupby(column_names, sort=False, dropna=False):
        cells = part.groupby(row_names, sort=False, dropna=False)[score]
        parts[key] = pandas.DataFrame({"mean": cells.mean(), "deviation": cells.std(ddof=1), "seeds": cells.count()})
    if not parts:
        return pandas.DataFrame()
    return pandas.concat(parts, axis=1, names=column_names)
