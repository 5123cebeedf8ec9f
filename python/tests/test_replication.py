# SPDX-License-Identifier: MIT
"""The independent replication of cells of Table 1: docs/replication.md has the rows that its runs and those of table1-quick
give, and no others; and the program that made them still trains."""
import argparse
import importlib.util
import json
import os
import pathlib

import pytest

pytest.importorskip("torch")
pytest.importorskip("scipy")

ROOT = pathlib.Path(os.environ.get("LOCUS_SOURCE", pathlib.Path(__file__).parents[2]))


def rows_of(text):
    return [line for line in text.splitlines() if line.startswith(("| copy, ", "| reverse, "))]


@pytest.fixture
def replicate():
    spec = importlib.util.spec_from_file_location("replicate", ROOT / "tools" / "replicate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_rows_that_the_runs_give(replicate, capsys):
    given = []
    for ours, theirs in (("replication-quick.json", "results/table1-quick.json"),
                         ("replication-seeds.json", "replication-seeds-locus.json")):
        with pytest.raises(SystemExit) as ended:
            replicate.run_compare(argparse.Namespace(replication=ROOT / "docs" / ours, locus=ROOT / "docs" / theirs))
        rows = rows_of(capsys.readouterr().out)
        assert ended.value.code == any("APART" in row for row in rows)
        given += rows
    assert len(given) >= 16 and given == rows_of((ROOT / "docs" / "replication.md").read_text())


@pytest.mark.parametrize("encoding", ["rope", "algebraic"])
def test_it_trains_and_goes_on_where_it_stopped(replicate, monkeypatch, encoding, tmp_path):
    for name, value in dict(TRAIN=48, DEV=8, TEST=8, STEPS=4, EVERY=2).items():
        monkeypatch.setattr(replicate, name, value)
    kept = tmp_path / "runs.json"
    train = lambda seeds: replicate.run_train(
        argparse.Namespace(task="reverse", encoding=encoding, first=0, seeds=seeds, threads=1, output=str(kept)))
    train(1)
    first = json.loads(kept.read_text())["runs"]
    train(2)
    both = json.loads(kept.read_text())["runs"]
    assert [run["seed"] for run in both] == [0, 1] and both[0] == first[0]
    assert both[0]["curve"] != both[1]["curve"]
    for run in both:
        assert [step for step, _ in run["curve"]] == [2, 4] and run["encoding"] == replicate.ENCODINGS[encoding]
        assert 0 < run["accuracy"] < 1
