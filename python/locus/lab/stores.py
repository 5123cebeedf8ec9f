# SPDX-License-Identifier: MIT
"""Recorded trainings as frames: of a run store (SQLite) or of a file that `locus runs export` wrote (JSON). Both are
read only; a training that is going on may write its store meanwhile."""
from __future__ import annotations

import json
import os
import pathlib
import sqlite3
from typing import Any, Dict, Iterable, List, Mapping, Tuple, Union

Source = Union[str, "os.PathLike[str]"]

STATES = ("started", "done", "stopped", "failed")
STORE_VERSION = 2
FILE_VERSION = 1
# The table of curves, by version: the first had a row for each point, the second has one for each step.
CURVES = {1: "metric", 2: "evaluation"}

# What describes a training, in the order in which a frame has it; texts, integers and moments by these names.
TEXTS = ("name", "task", "encoding", "setup", "embedding_init", "budget", "state")
NUMBERS = ("seed", "data_seed", "parameters", "steps_total", "steps_done", "tokens_seen", "wall_seconds",
           "tokens_per_second", "peak_bytes")
MOMENTS = ("started", "ended")
REMARKS = ("version", "machine", "command", "message")


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("recorded trainings are frames of pandas, which is not installed: "
                          "pip install locus-encodings[lab]") from None
    return pandas


def _open_store(path: pathlib.Path) -> sqlite3.Connection:
    # A store in use has its newest rows in the log beside it, which mode=ro reads as well.
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    return connection


def _check_store(path: pathlib.Path, connection: sqlite3.Connection) -> int:
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > STORE_VERSION:
        raise ValueError(f"'{path}' is a run store of version {version}; this package reads version {STORE_VERSION}")
    if not {"run", "final", CURVES.get(version)} <= tables:
        raise ValueError(f"'{path}' is a database, but no run store of locus")
    return int(version)


def _record(row: Mapping[str, Any], config: Mapping[str, Any], scores: Mapping[str, Any]) -> Dict[str, Any]:
    record = {name: row[name] for name in TEXTS + NUMBERS + MOMENTS + REMARKS}
    record.update({f"config.{name}": value for name, value in config.items() if name not in record})
    record.update(scores)
    return record


def _store_records(path: pathlib.Path) -> List[Dict[str, Any]]:
    connection = _open_store(path)
    try:
        _check_store(path, connection)
        scores: Dict[int, Dict[str, Any]] = {}
        for run, test_set, name, value in connection.execute('SELECT run, "set", name, value FROM final'):
            scores.setdefault(run, {})[f"{test_set}.{name}"] = value
        records = []
        for row in connection.execute("SELECT * FROM run ORDER BY id"):
            fields = {**dict(row), "state": STATES[row["state"]]}
            records.append(_record(fields, json.loads(row["config"]), scores.get(row["id"], {})))
        return records
    finally:
        connection.close()


def _measured(path: pathlib.Path, text: str) -> Dict[str, Any]:
    try:
        metrics = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        metrics = None
    kinds = (int, float, type(None))
    if not isinstance(metrics, dict) or not all(isinstance(value, kinds) for value in metrics.values()):
        raise OSError(f"the run store '{path}' cannot be read: what was measured at a step is no object of numbers")
    return metrics


def _store_curves(path: pathlib.Path) -> Iterable[Tuple[str, str, int, float]]:
    connection = _open_store(path)
    try:
        if _check_store(path, connection) == 1:
            return connection.execute("SELECT run.name, metric.name, step, value FROM metric JOIN run ON run.id = run "
                                      "ORDER BY run.id, metric.name, step").fetchall()
        rows: List[Tuple[str, str, int, float]] = []
        for run, name in connection.execute("SELECT id, name FROM run ORDER BY id").fetchall():
            evaluations = connection.execute("SELECT step, metrics FROM evaluation WHERE run = ?", (run,))
            points = [(name, metric, step, value) for step, metrics in evaluations
                      for metric, value in _measured(path, metrics).items()]
            rows += sorted(points, key=lambda point: point[1:3])
        return rows
    finally:
        connection.close()


def _file_runs(path: pathlib.Path) -> List[Dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        try:
            content = json.load(file)
        except ValueError as error:
            raise ValueError(f"'{path}' is no JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != "locus-runs":
        raise ValueError(f"'{path}' is JSON, but not what 'locus runs export' writes")
    if content.get("version") != FILE_VERSION:
        raise ValueError(f"'{path}' has runs of version {content.get('version')}; this package reads {FILE_VERSION}")
    written: List[Dict[str, Any]] = content["runs"]
    return written


def _file_records(path: pathlib.Path) -> List[Dict[str, Any]]:
    return [_record({**run, "state": "done"}, run["config"],
                    {f"{test_set}.{name}": value for test_set, scores in run["scores"].items()
                     for name, value in scores.items()}) for run in _file_runs(path)]


def _file_curves(path: pathlib.Path) -> Iterable[Tuple[str, str, int, float]]:
    return [(run["name"], name, step, value) for run in _file_runs(path)
            for name, curve in run["curves"].items() for step, value in zip(curve["steps"], curve["values"])]


def _is_store(source: Source) -> Tuple[pathlib.Path, bool]:
    path = pathlib.Path(source)
    if path.is_dir():
        path = path / "locus.db"
    if not path.exists():
        raise FileNotFoundError(f"there is no run store '{path}'")
    with open(path, "rb") as file:
        begin = file.read(16)
    if not begin:
        raise ValueError(f"'{path}' is empty: no training has begun in it")
    if begin.startswith(b"SQLite format 3"):
        return path, True
    if begin.lstrip()[:1] == b"{":
        return path, False
    raise ValueError(f"'{path}' is neither a run store nor a file of 'locus runs export'")


def runs(source: Source = "runs/locus.db") -> Any:
    """A pandas frame with one row for each recorded training, in the order in which they began.

    `source` is a run store, the folder that it is in, or a JSON file of `locus runs export` (docs/results/ has some).
    Columns: what the training is (name, task, encoding, budget, seed, …), `state` (started, done, stopped, failed),
    what it cost, `config.NAME` for every option of it, and final scores as `SET.SCORE` (`test.accuracy`, `dev.loss`,
    `test:200.exact`); NaN where a training has none.
    Raises FileNotFoundError, and ValueError if the file is something else or of a newer version."""
    pandas = _pandas()
    path, store = _is_store(source)
    try:
        records = _store_records(path) if store else _file_records(path)
    except sqlite3.Error as error:
        raise OSError(f"the run store '{path}' cannot be read: {error}") from None
    first = list(TEXTS + NUMBERS + MOMENTS + REMARKS)
    frame = pandas.DataFrame.from_records(records, columns=None if records else first)
    later = sorted((name for name in frame.columns if name not in first),
                   key=lambda name: (name.startswith("config."), name))
    frame = frame[first + later]
    for name in MOMENTS:
        frame[name] = pandas.to_datetime(frame[name], utc=True, errors="coerce")
    return frame


def curves(source: Source = "runs/locus.db") -> Any:
    """A pandas frame with one row for each recorded value of a training: `name` (of the run), `metric` (`train.loss`,
    `dev.accuracy`, …), `step`, `value`. `source` and errors as in `runs`."""
    pandas = _pandas()
    path, store = _is_store(source)
    try:
        rows = _store_curves(path) if store else _file_curves(path)
    except sqlite3.Error as error:
        raise OSError(f"the run store '{path}' cannot be read: {error}") from None
    frame = pandas.DataFrame([tuple(row) for row in rows], columns=["name", "metric", "step", "value"])
    return frame.astype({"step": "int64", "value": "float64"})
