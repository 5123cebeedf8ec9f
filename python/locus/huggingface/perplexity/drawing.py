# SPDX-License-Identifier: MIT
"""Perplexities as a figure of matplotlib: a line for each scaling over the length."""
from __future__ import annotations

import os
from typing import Any, Union

from ...lab.figures import new_figure

_SPAN = 4.0  # beyond which perplexities are drawn on a logarithmic axis
FORMATS = (".svg", ".png", ".pdf")


def _draw_logarithmic(axes: Any) -> None:
    """With plain numbers at the ticks, at those between tens as well where there are few."""
    from matplotlib.ticker import LogFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(LogFormatter(labelOnlyBase=False))
    axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))


def plot(frame: Any) -> Any:
    """Of a frame that `measure` returned. The dotted line is the length that the model was trained for."""
    figure, (axes,) = new_figure(1, 6.0, 3.8)
    for label, rows in frame.groupby("scaling", sort=False):
        axes.plot(rows["length"], rows["perplexity"], label=label, marker="o", markersize=3.5, linewidth=1.5)
    lengths = sorted(set(frame["length"]))
    axes.set_xscale("log", base=2)
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.minorticks_off()
    if frame["perplexity"].max() > _SPAN * frame["perplexity"].min():
        _draw_logarithmic(axes)
    original = frame["original"].iloc[0]
    if original == original and original is not None and lengths[0] <= original <= lengths[-1]:
        axes.axvline(original, color="0.5", linestyle=":", linewidth=1)
    axes.set_xlabel("tokens in the window")
    axes.set_ylabel("perplexity")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return figure


def save(figure: Any, path: Union[str, "os.PathLike[str]"]) -> None:
    """As .svg, .png or .pdf, as the name says. The same figure gives the same bytes."""
    import matplotlib

    name = os.fspath(path)
    if not name.endswith(FORMATS):
        raise ValueError(f"'{name}' ends in none of {', '.join(FORMATS)}")
    with matplotlib.rc_context({"svg.hashsalt": "locus"}):
        figure.savefig(name, metadata={"Software": None} if name.endswith(".png") else
                       {"Date": None} if name.endswith(".svg") else {"CreationDate": None})
