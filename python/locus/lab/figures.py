# SPDX-License-Identifier: MIT
"""Curves and tables of recorded trainings as matplotlib figures. They are not shown or saved: a notebook shows what a
cell returns, and a figure has `savefig`."""
from __future__ import annotations

from typing import Any, Dict, List, Sequence, Union

from .colours import encoding_colour
from .stores import Source, curves, runs
from .tables import check_cells, frame_of, table


def new_figure(columns: int, width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("figures are drawn by matplotlib, which is not installed: "
                          "pip install locus-encodings[lab]") from None
    figure = Figure(figsize=(width * columns, height), layout="constrained")
    return figure, figure.subplots(1, columns, squeeze=False)[0]


_DASHES = ("-", "--", ":", "-.")


def _draw_line(axes: Any, label: str, values: Any, **look: Any) -> None:
    """The mean over seeds at each step, and the span from the lowest to the highest. A seed that ended before a step
    is not part of that step's mean."""
    steps = values.groupby("step")["value"]
    line, = axes.plot(steps.mean().index, steps.mean().to_numpy(), label=label, linewidth=1.5, **look)
    if values["name"].nunique() > 1:
        axes.fill_between(steps.min().index, steps.min().to_numpy(), steps.max().to_numpy(), color=line.get_color(),
                          alpha=0.15, linewidth=0)


def plot_curves(source: Source = "runs/locus.db", metric: str = "dev.accuracy", *, trainings: Any = None,
                by: Union[str, Sequence[str]] = "encoding", panels: str = "task") -> Any:
    """A matplotlib figure of `metric` against training steps: one panel for each value of the column `panels` of
    `runs`, one line for each value of `by`, the mean over seeds with the span of all seeds. An encoding has the colour
    that it has on the program's pages, and lines have the dashes that tell those of one colour apart.

    `trainings`: a frame of `runs(source)` of which some were chosen (all if None). ValueError if nothing has the
    metric, or if trainings of one line differ in anything but their seed."""
    frame = runs(source) if trainings is None else trainings
    names: List[str] = [by] if isinstance(by, str) else list(by)
    values = curves(source)
    known = sorted(values["metric"].unique())
    values = values[values["metric"] == metric].merge(frame[list(dict.fromkeys([panels, *names, "name"]))], on="name")
    if values.empty:
        raise ValueError(f"no training has the curve '{metric}'; there are {', '.join(known) or 'none'}")
    check_cells(frame[frame["name"].isin(values["name"])], [panels, *names])
    groups = list(values.groupby(panels, sort=False, dropna=False))
    figure, axes = new_figure(len(groups), 4.2, 3.2)
    marks: Dict[str, int] = {}
    for place, (panel, part) in zip(axes, groups):
        for key, line in part.groupby(names, sort=False, dropna=False):
            words = key if isinstance(key, tuple) else (key,)
            label = ", ".join(str(word) for word in words)
            look = {"linestyle": _DASHES[marks.setdefault(label, len(marks)) % len(_DASHES)]}
            if "encoding" in names:
                look["color"] = encoding_colour(str(words[names.index("encoding")]))
            _draw_line(place, label, line, **look)
        place.set_title(str(panel))
        place.set_xlabel("step")
        place.grid(alpha=0.3)
    axes[0].set_ylabel(metric)
    axes[-1].legend(fontsize="small")
    return figure


def _cell_text(mean: float, deviation: float, seeds: float) -> str:
    if not seeds > 0:
        return ""
    return f"{mean:.4g} ± {deviation:.2g}" if deviation == deviation else f"{mean:.4g}"


def plot_table(source: Any = "runs/locus.db", score: str = "test.accuracy", *, rows: str = "encoding",
               columns: str = "task") -> Any:
    """A matplotlib figure of `table`: means with standard deviations over seeds, one cell for each row and column.
    `source` and errors as in `table`."""
    means = table(frame_of(source), score, rows, columns)
    if means.empty:
        raise ValueError(f"there is no training that is done and has '{score}'")
    heads = list(dict.fromkeys(means.columns.get_level_values(0)))
    texts = [[_cell_text(*(row[head][part] for part in ("mean", "deviation", "seeds"))) for head in heads]
             for _, row in means.iterrows()]
    named = [[str(name), *cells] for name, cells in zip(means.index, texts)]
    longest = max(len(row[0]) for row in named)
    figure, (axes,) = new_figure(1, max(4.5, 0.09 * longest + 1.5 * len(heads)), 0.7 + 0.28 * len(named))
    axes.axis("off")
    figure.suptitle(f"{score}: mean ± standard deviation over seeds", fontsize="medium")
    width = 1 / (len(heads) + 1)
    drawn = axes.table(named, colLabels=[rows, *map(str, heads)], loc="center", cellLoc="right",
                       colWidths=[width] * (len(heads) + 1))
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(9)
    drawn.scale(1, 1.3)
    for line in range(len(named) + 1):
        drawn[line, 0].set_text_props(ha="left")
    return figure
