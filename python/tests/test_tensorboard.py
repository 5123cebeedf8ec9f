# SPDX-License-Identifier: MIT
"""TensorBoard reads the event files of `locus runs export` as what the store has."""
import csv
import os
import subprocess

import pytest

pytest.importorskip("tensorboard")
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

SMALL = ("--dim 16 --heads 2 --layers 1 --feed-forward 16 --length 4 --steps 4 --evaluate-every 2 --train-samples 8 "
         "--dev-samples 4 --test-samples 4 --greedy-samples 2 --batch 4 --threads 1 --quiet").split()


def test_values_are_the_stores(tmp_path):
    def locus(*arguments):
        subprocess.run([os.environ["LOCUS_PROGRAM"], *arguments], cwd=tmp_path, check=True, capture_output=True)

    locus("compare", "--task", "copy", "--encodings", "rope", "--seeds", "2", "--no-page", *SMALL)
    locus("runs", "export", "--format", "csv", "-o", "values.csv")
    locus("runs", "export", "--format", "tensorboard", "-o", "board")
    wanted = {}
    with open(tmp_path / "values.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            tag = f"{row['set']}/{row['name']}"
            tags = wanted.setdefault(row["run"], {})
            tags.setdefault(tag if row["kind"] == "curve" else f"final/{tag}", []).append(
                (int(row["step"] or 4), float(row["value"])))
    assert len(wanted) == 2
    for run, tags in wanted.items():
        events = EventAccumulator(str(tmp_path / "board" / run))
        events.Reload()
        assert set(events.Tags()["scalars"]) == set(tags) and len(tags) > 6
        for tag, points in tags.items():
            found = events.Scalars(tag)
            assert [event.step for event in found] == [step for step, _ in sorted(points)]
            assert [event.value for event in found] == pytest.approx([value for _, value in sorted(points)], rel=1e-6)
            assert all(event.wall_time > 1.7e9 for event in found)
