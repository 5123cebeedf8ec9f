# SPDX-License-Identifier: MIT
"""The laboratory from Python: recorded trainings as pandas frames, curves and tables as matplotlib figures, and
training, comparing and reproducing by the program `locus`.

    import locus.lab as lab
    lab.compare(task="copy", encodings=["rope", "algebraic"], budget="smoke", seeds=2)
    lab.plot_curves("runs/locus.db", "dev.accuracy").savefig("curves.png")

Reading needs pandas and figures need matplotlib (`pip install locus-encodings[lab]`). Training needs the program, on
PATH or named by LOCUS_PROGRAM."""
from .figures import plot_curves, plot_table
from .program import LabError, compare, reproduce, train
from .stores import curves, runs
from .tables import table

__all__ = ["LabError", "compare", "curves", "plot_curves", "plot_table", "reproduce", "runs", "table", "train"]
