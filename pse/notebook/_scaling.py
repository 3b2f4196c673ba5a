"""Pictures of an experiment: speedup and efficiency over the number of processors, beside the ideal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pse.notebook._display import show_figures
from pse.notebook._errors import NotebookError, needed
from pse.text import count_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by everybody; with a mark each, in grey print too.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKS = ("o", "s", "^", "D", "v", "P", "X")
_APART, _ASIDE = 5.0, 16.0  # points: between neighbours, and from the first to the last of many
_WIDE = 8  # times the fewest processors; from there on steps are of factors
_ENOUGH = 6  # runs, for an interval with 95 %
_TITLES = {"speedup": "Speedup", "efficiency": "Efficiency"}


def draw_scaling(frame: Any, what: str) -> Figure:
    """Draw a quantity over the number of processors, with its intervals.

    Parameters
    ----------
    frame : pandas.DataFrame
        What `pse.experiment` gave: an `Experiment`, with its attributes ``names`` and ``program``.
    what : str
        ``speedup`` or ``efficiency``.

    Raises
    ------
    NotebookError
        If no run went well, columns are gone, or matplotlib is not installed.
    """
    needed("matplotlib", "a picture")
    from matplotlib.figure import Figure

    show_figures()
    needs = {"procs", "median", "runs", "confidence", what, f"{what}_low", f"{what}_high"}
    if frame.names is None or not needs.union(frame.names) <= set(frame.columns):
        raise NotebookError(
            "the frame lacks columns of an experiment's result",
            help="draw the frame that pse.experiment returned, or a selection of its rows",
        )
    done = frame[frame["median"].notna()].sort_values("procs")
    if done.empty:
        raise NotebookError(
            "there is nothing to draw: all runs failed", help="look at the errors: frame.raw has them"
        )
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    _ideal(axes, done, what)
    names = [name for name in frame.names if done[name].nunique() > 1]
    groups = list(done.groupby(names, sort=True)) if names else [((), done)]
    apart = min(_APART, _ASIDE / len(groups))
    for number, (values, rows) in enumerate(groups):
        label = ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))
        aside = apart * (number - (len(groups) - 1) / 2)
        _line(axes, rows, what, number, label or frame.program, aside)
    _dress(axes, done, what, {rows["procs"].min() for _, rows in groups})
    _entitle(axes, done, what, frame.program)
    return figure


def _ideal(axes: Axes, done: Any, what: str) -> None:
    procs = sorted(done["procs"].unique())
    ideal = [count / procs[0] for count in procs] if what == "speedup" else [1.0] * len(procs)
    axes.plot(procs, ideal, color="0.55", linestyle=(0, (4, 3)), linewidth=1.2, label="ideal", zorder=1)


def _line(axes: Axes, rows: Any, what: str, number: int, label: str, aside: float) -> None:
    """Draw a line, some points aside, so that intervals don't hide each other."""
    from matplotlib.transforms import ScaledTranslation

    colour = _COLOURS[number % len(_COLOURS)]
    mark = _MARKS[(number + number // len(_COLOURS)) % len(_MARKS)]  # Another one when colours come again.
    middle = rows[what]
    below, above = middle - rows[f"{what}_low"], rows[f"{what}_high"] - middle
    axes.errorbar(
        rows["procs"],
        middle,
        yerr=[below.clip(lower=0), above.clip(lower=0)],
        color=colour,
        marker=mark,
        markersize=6,
        linewidth=1.6,
        capsize=3,
        label=label,
        zorder=2,
        transform=axes.transData + ScaledTranslation(aside / 72, 0, axes.figure.dpi_scale_trans),
    )


def _dress(axes: Axes, done: Any, what: str, bases: set[int]) -> None:
    """Give the axes their scales, ticks and names; `bases` are the processors that lines are relative to."""
    procs = sorted(done["procs"].unique())
    highest = max(done[f"{what}_high"].max(), procs[-1] / procs[0] if what == "speedup" else 1.0)
    axes.set_ylim(0.0, 1.06 * highest)
    if procs[-1] > _WIDE * procs[0]:
        axes.set_xscale("log", base=2)
        if what == "speedup":
            axes.set_yscale("log", base=2)
            axes.set_ylim(0.85 * min(1.0, done[f"{what}_low"].min()), 1.3 * highest)
            axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xticks(procs, [str(count) for count in procs])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("processors")
    base = f"{count_text(procs[0], 'processor')}" if len(bases) == 1 else "the fewest of each line"
    axes.set_ylabel(f"{what} over {base}")
    axes.grid(color="0.9", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)


def _entitle(axes: Axes, done: Any, what: str, program: str) -> None:
    """Say what is shown, and what the bars mean."""
    fewest, most = done["runs"].min(), done["runs"].max()
    runs = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    # Both times of a ratio have to lie in their intervals.
    confidence = 100 * (2 * done["confidence"].min() - 1)
    enough = fewest >= _ENOUGH
    bars = f"intervals of at least {confidence:.3g} % confidence" if enough else "fastest to slowest"
    axes.set_title(f"{_TITLES[what]} of {program}", loc="left", fontsize=11, pad=20)
    axes.annotate(
        "a single run of each" if most == 1 else f"medians of {runs} runs; bars: {bars}",
        (0, 1),
        xytext=(0, 7),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=8.5,
        color="0.35",
    )
