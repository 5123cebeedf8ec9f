# SPDX-License-Identifier: MIT
"""Recorded trainings as frames and figures, and the program called from Python."""
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import textwrap
import time

import pytest

pandas = pytest.importorskip("pandas")
matplotlib = pytest.importorskip("matplotlib")

import locus
import locus.lab as lab

RESULTS = pathlib.Path(__file__).parents[2] / "docs" / "results"
SMALL = {"budget": "smoke", "steps": 6, "evaluate_every": 3, "dim": 16, "heads": 2, "layers": 1, "threads": 1,
         "greedy_samples": 4, "train_samples": 40, "test_samples": 8, "dev_samples": 8}


def program(*arguments):
    return subprocess.run([os.environ["LOCUS_PROGRAM"], *map(str, arguments)], capture_output=True, check=True).stdout


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "locus.db"
    lab.compare(task=["copy", "reverse"], encodings=["rope", "none"], seeds=2, store=path, **SMALL)
    return path


def test_runs_has_what_the_program_says(store):
    frame = locus.runs(store)
    assert len(frame) == 8 and set(frame["task"]) == {"copy", "reverse"} and set(frame["seed"]) == {0, 1}
    assert (frame["state"] == "done").all() and (frame["config.dim"] == 16).all()
    assert str(frame["started"].dtype).startswith("datetime64") and (frame["ended"] >= frame["started"]).all()
    said = json.loads(program("runs", "show", frame["name"][3], "--json", "--store", store))
    row = frame.iloc[3]
    for name in ("task", "encoding", "budget", "seed", "steps_done", "parameters", "command"):
        assert row[name] == said[name]
    assert row["wall_seconds"] == pytest.approx(said["wall_seconds"], rel=1e-14)


def test_an_exported_file_reads_like_its_store(store, tmp_path):
    exported = tmp_path / "exported.json"
    program("runs", "export", "-o", exported, "--store", store)
    ours, theirs = lab.runs(store).sort_values("name"), lab.runs(exported).sort_values("name")
    assert list(ours.columns) == list(theirs.columns)
    pandas.testing.assert_frame_equal(ours.reset_index(drop=True), theirs.reset_index(drop=True), check_dtype=False)
    order = ["name", "metric", "step"]
    pandas.testing.assert_frame_equal(lab.curves(store).sort_values(order).reset_index(drop=True),
                                      lab.curves(exported).sort_values(order).reset_index(drop=True))


def test_a_store_of_the_first_version_reads_the_same(store, tmp_path):
    older = tmp_path / "older.db"
    shutil.copy(store, older)
    points = lab.curves(store)
    ids = {run: number for number, run in sqlite3.connect(older).execute("SELECT id, name FROM run")}
    with sqlite3.connect(older) as connection:
        connection.executescript("DROP VIEW curves; DROP TABLE evaluation; PRAGMA user_version = 1;"
                                 "CREATE TABLE metric(run INTEGER, name TEXT, step INTEGER, value REAL)")
        connection.executemany("INSERT INTO metric VALUES(?, ?, ?, ?)",
                               [(ids[name], metric, step, value) for name, metric, step, value in
                                points.itertuples(index=False)])
    connection.close()
    assert set(points["metric"]) == {"dev.accuracy", "dev.loss", "train.gradient_norm", "train.loss", "train.rate"}
    pandas.testing.assert_frame_equal(lab.curves(older), points)
    pandas.testing.assert_frame_equal(lab.runs(older), lab.runs(store))


def test_a_table_is_means_over_seeds(store):
    frame = lab.runs(store)
    table = lab.table(frame, "test.loss")
    losses = frame[(frame["task"] == "copy") & (frame["encoding"] == "rope")]["test.loss"]
    assert table.loc["rope", ("copy", "mean")] == pytest.approx(statistics.fmean(losses), rel=1e-12)
    assert table.loc["rope", ("copy", "deviation")] == pytest.approx(statistics.stdev(losses), rel=1e-12)
    assert table.loc["none", ("reverse", "seeds")] == 2


def test_recorded_pages_and_frames_agree():
    page = (RESULTS / "table1-quick.md").read_text(encoding="utf-8")
    frame = lab.runs(RESULTS / "table1-quick.json")
    scales = [name for name in frame.columns if name in ("config.position_scale", "config.logit_scale")]
    frame[scales] = frame[scales].fillna("none")
    table = lab.table(frame, "test.accuracy", columns=["task", "embedding_init", *scales])
    shown = [f"{100 * value:.2f}" for value in table.xs("mean", axis=1, level=-1).to_numpy().ravel() if value == value]
    assert len(shown) >= 20 and all(text in page for text in shown)


def test_budgets_are_not_mixed(store):
    frame = lab.runs(store)
    frame.loc[frame["name"] == frame["name"][0], "config.dim"] = 32
    with pytest.raises(ValueError, match=r"trainings of rope / copy differ in config\.dim"):
        lab.table(frame, "test.accuracy")
    with pytest.raises(ValueError, match=r"differ in task: choose"):
        lab.table(lab.runs(store), "test.accuracy", columns="budget")
    with pytest.raises(ValueError, match=r"no training has the score 'test\.acc'; there are .*test\.accuracy"):
        lab.table(frame, "test.acc")


def test_figures(store, tmp_path):
    figure = lab.plot_curves(store, "dev.loss")
    assert [axes.get_title() for axes in figure.axes] == ["copy", "reverse"]
    drawn = {line.get_label(): line for line in figure.axes[0].lines}
    assert set(drawn) == {"rope", "none"}
    curves, frame = lab.curves(store), lab.runs(store)
    names = frame[(frame["task"] == "copy") & (frame["encoding"] == "rope")]["name"]
    wanted = curves[curves["name"].isin(names) & (curves["metric"] == "dev.loss")].groupby("step")["value"].mean()
    assert list(drawn["rope"].get_xdata()) == list(wanted.index) == [3, 6]
    assert list(drawn["rope"].get_ydata()) == pytest.approx(list(wanted))
    assert drawn["rope"].get_color() == "#236bcf" and drawn["none"].get_color() == "#6f6f6f"
    assert drawn["rope"].get_linestyle() != drawn["none"].get_linestyle()
    by_name = lab.plot_curves(store, "dev.loss", by="name")
    assert len(by_name.axes[0].lines) == 4
    frame["config.extra"] = frame["encoding"].map({"rope": "some"})  # the others have none
    lines = lab.plot_curves(store, "dev.loss", trainings=frame, by="config.extra").axes[0].lines
    assert {line.get_label() for line in lines} == {"some", "nan"}
    figure.savefig(tmp_path / "curves.png")
    lab.plot_table(store, "test.loss").savefig(tmp_path / "table.png")
    for name in ("curves.png", "table.png"):
        assert (tmp_path / name).stat().st_size > 5000
    with pytest.raises(ValueError, match="no training has the curve 'dev.los'; there are dev.accuracy"):
        lab.plot_curves(store, "dev.los")


def test_encodings_have_the_pages_colours():
    from locus.lab.colours import PALETTE, colour_number
    root = pathlib.Path(__file__).parents[2]
    lines = (root / "tests" / "golden" / "encoding_colours.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        number, encoding = line.split(" ", 1)
        assert colour_number(encoding) == int(number), encoding
    light = (root / "lab" / "page" / "page.css").read_text(encoding="utf-8").split("@media")[0]
    assert re.findall(r"--c[0-9]+: (#[0-9a-f]{6})", light) == list(PALETTE) and len(lines) > 30


def test_a_grid_is_varied(tmp_path):
    path = tmp_path / "locus.db"
    lab.compare(task="copy", encodings="none", seeds=1, store=path, vary=["rate=0.001,0.003", "dim=8,16"],
                **{key: value for key, value in SMALL.items() if key != "dim"})
    frame = lab.runs(path)
    assert len(frame) == 4 and sorted(frame["config.dim"]) == [8, 8, 16, 16]
    assert sorted(set(frame["config.rate_peak"])) == [0.001, 0.003]


def test_training_is_the_programs(store):
    run = lab.train(task="copy", encoding="rope", seed=1, store=store, **SMALL)
    assert run["name"] in set(lab.runs(store)["name"]) and len(lab.runs(store)) == 8  # it was done
    with pytest.raises(lab.LabError, match=r"train: unknown option --stepz; did you mean --steps\?"):
        lab.train(task="copy", encoding="rope", stepz=3, store=store)
    with pytest.raises(lab.LabError, match="expected"):
        lab.train(task="copy", encoding="rope(bas=3)", store=store)


def test_reproduce(tmp_path):
    table = lab.reproduce("table1", budget="smoke", columns="copy", rows=["rope"], list=True,
                          store=tmp_path / "new.db")
    assert [training["encoding"] for training in table["trainings"]][0].startswith("rope")


def wait_for(happened):
    """Whether it happens within a minute; meanwhile the store may not be there, or not be whole."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if happened():
                return True
        except (OSError, ValueError):
            pass
        time.sleep(0.1)
    return False


def test_an_interrupted_training_goes_on(tmp_path):
    path = tmp_path / "locus.db"
    code = textwrap.dedent(f"""
        import signal
        import locus.lab as lab
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        try:
            lab.train(task="copy", encoding="rope", budget="smoke", steps=100000, evaluate_every=50, threads=1, dim=16,
                      heads=2, layers=1, train_samples=40, dev_samples=8, patience=0, store={str(path)!r})
        except KeyboardInterrupt:
            print("interrupted")
    """)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert wait_for(lambda: len(lab.curves(path)) > 0), "no curve was recorded within a minute"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "interrupted\n"
    finally:
        process.kill()
        process.communicate()
    run = lab.runs(path).iloc[0]
    assert run["state"] == "stopped" and 0 < run["steps_done"] < 100000
    assert (tmp_path / run["name"]).is_dir()


def test_what_is_no_store(tmp_path, store):
    with pytest.raises(FileNotFoundError, match="there is no run store"):
        locus.runs(tmp_path / "none.db")
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t(x)")
    with pytest.raises(ValueError, match="no run store of locus"):
        locus.runs(other)
    newer = tmp_path / "newer.db"
    shutil.copy(store, newer)
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(ValueError, match="version 9"):
        locus.runs(newer)
    text = tmp_path / "text.json"
    text.write_text("hello")
    with pytest.raises(ValueError, match="neither a run store nor"):
        locus.runs(text)
    text.write_text('{"format": "something"}')
    with pytest.raises(ValueError, match="not what 'locus runs export' writes"):
        locus.runs(text)
    spoilt = tmp_path / "spoilt.db"
    shutil.copy(store, spoilt)
    for metrics in ("{", "[1.0]", "3", '{"dev.loss":"x"}', "[" * 100000, '{"dev.loss":' + "1" * 5000 + "}"):
        with sqlite3.connect(spoilt) as connection:
            connection.execute("UPDATE evaluation SET metrics = ? WHERE run = 2", (metrics,))
        connection.close()
        with pytest.raises(OSError, match="cannot be read"):
            lab.curves(spoilt)
    broken = tmp_path / "broken.db"
    broken.write_bytes(store.read_bytes()[:3000])
    with pytest.raises(OSError, match="cannot be read"):
        locus.runs(broken)
