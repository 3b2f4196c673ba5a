"""The views by name, and the one function that draws any of them.

A view is one file with one function ``draw_x(trace, selection, *, width=None, height=None) -> Figure``; width
and height are inches, None is what suits the picture.  The file is imported when its view is drawn.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pse.errors import UsageError
from pse.text import did_you_mean
from pse.trace import Trace
from pse.trace.query import Selection
from pse.views.core._mpl_defaults import mpl_defaults

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from pse.emulate import Results


SLICE_METRICS = ("getts", "ncolldem", "ncollmsm")
"""What figures 5.3 to 5.5 of the paper on BCS-MPI show."""


@dataclass(frozen=True)
class View:
    """A kind of picture.

    Parameters
    ----------
    description : str
        What it shows, in a line.
    module, function : str
        Where it is drawn.

    See Also
    --------
    find_view

    Examples
    --------
    >>> from pse.views import VIEWS
    >>> sorted(VIEWS)[:3], VIEWS["gantt"].function
    (['critical-path', 'durations', 'event-total'], 'draw_gantt')
    """

    description: str
    module: str
    function: str


VIEWS = {
    "gantt": View(
        "calls and waits over time, a row per thread, and lines for what is handed over",
        "gantt._gantt",
        "draw_gantt",
    ),
    "memory": View("memory of the arena and of each thread over time", "charts._memory", "draw_memory"),
    "load": View("CPU load of each module call, and of modules", "charts._load", "draw_load"),
    "durations": View(
        "how long calls take: a strip for each call site", "charts._durations", "draw_durations"
    ),
    "time": View(
        "where the time of each processor or rank went: all of it is 100 %",
        "charts._time_shares",
        "draw_time",
    ),
    "module-total": View("run time of modules on all ranks", "charts._module_bars", "draw_module_total"),
    "messages": View("bytes and messages from rank to rank", "charts._messages", "draw_messages"),
    "message-statistics": View(
        "bytes, messages, rates and durations between machines, nodes or ranks",
        "charts._message_statistics",
        "draw_message_statistics",
    ),
    "critical-path": View(
        "what the end of the run waited for, back to its beginning",
        "charts._critical_path",
        "draw_critical_path",
    ),
    "event-total": View("waits, hand-overs, engine on all ranks", "charts._event_bars", "draw_event_total"),
}

MEASUREMENT_VIEWS = {
    "error": View(
        "error of predicted run times against load, by kind of exchange, size and nodes",
        "charts._measured_errors",
        "draw_error",
    ),
    "applications": View(
        "error of predicted run times against load, by application",
        "charts._measured_errors",
        "draw_applications",
    ),
    "dispersion": View(
        "quantiles of communication and barrier times", "charts._measured_dispersion", "draw_dispersion"
    ),
    "costs": View("time of messages by size, with the models' lines", "charts._measured_costs", "draw_costs"),
    "matrix": View(
        "time of small messages and rate of large ones between each pair of ranks",
        "charts._measured_matrix",
        "draw_matrix",
    ),
}
"""What is drawn of measurements of ACE."""

OVERLAYS = {
    "queues": "the length of each rank's longest queue",
    "memory": "the memory that each rank holds for tags",
    "events": "tags sent and received, memory allocated and freed",
    "slices": "time slices of the coscheduled layer, and what they matched",
    "wait-states": "in routines of MPI the time that ranks waited for each other, by its cause",
}
"""What may be drawn over the rows of gantt."""


def draw(
    trace: Trace,
    view: str,
    selection: Selection | None = None,
    *,
    width: float | None = None,
    height: float | None = None,
    **options: Any,
) -> Figure:
    """Draw a view of a trace.

    Parameters
    ----------
    trace : Trace
        From `pse.trace.open`.
    view : str
        One of `VIEWS`.
    selection : Selection, optional
        What to show; all by default.
    width, height : float, optional
        Of the figure, in inches; by default what suits the view and the number of rows.
    **options
        The view's own, as `draw_gantt`'s `overlays`.

    Returns
    -------
    matplotlib.figure.Figure
        Not bound to any window: save it, or let a notebook show it.

    Raises
    ------
    UsageError
        There is no such view, or matplotlib is missing.
    TraceError
        The selection leaves nothing to show.

    Examples
    --------
    >>> figure = draw(pse.trace.open("run1"), "gantt")
    >>> figure.savefig("run1.png")
    """
    selection = selection or Selection()
    selection.check(trace)
    function = getattr(_module(find_view(view)), find_view(view).function)
    with mpl_defaults():
        figure: Figure = function(trace, selection, width=width, height=height, **options)
    return figure


def draw_measurements(
    results: Results | Sequence[Results],
    view: str,
    *,
    width: float | None = None,
    height: float | None = None,
) -> Figure:
    """Draw a view of what ACE measured.

    Parameters
    ----------
    results : Results or sequence of Results
        Of one measurement or several, which share the picture.
    view : str
        One of `MEASUREMENT_VIEWS`.
    width, height : float, optional
        Of the figure, in inches; by default what suits the view.

    Returns
    -------
    matplotlib.figure.Figure
        Not bound to any window: save it, or let a notebook show it.

    Raises
    ------
    UsageError
        There is no such view, nothing to show, or matplotlib is missing.

    Examples
    --------
    >>> figure = draw_measurements(pse.ace.Results.load("run.ace"), "error")
    """
    if view not in MEASUREMENT_VIEWS:
        help = did_you_mean(view, MEASUREMENT_VIEWS) or f"the views are {', '.join(MEASUREMENT_VIEWS)}"
        raise UsageError(f"there is no view {view!r} of measurements", help=help)
    found = MEASUREMENT_VIEWS[view]
    function = getattr(_module(found), found.function)
    several = results if isinstance(results, Sequence) else [results]
    with mpl_defaults():
        figure: Figure = function(several, width=width, height=height)
    return figure


def draw_slices(
    slices: NDArray[Any],
    metrics: Sequence[str] = SLICE_METRICS,
    *,
    width: float | None = None,
    height: float | None = None,
) -> Figure:
    """Draw metrics of coscheduled communication over time slices.

    Parameters
    ----------
    slices : ndarray
        As `pse.bcs.Comm.slices` gives them; at least one.
    metrics : sequence of str, optional
        Which columns; a panel each.
    width, height : float, optional
        Of the figure, in inches.

    Returns
    -------
    matplotlib.figure.Figure
        Not bound to any window: save it, or let a notebook show it.

    Raises
    ------
    UsageError
        There are no slices, no such metric, or matplotlib is missing.

    Examples
    --------
    >>> from pse._abi.coschedule import SLICE_DTYPE
    >>> slices = np.ones(5, SLICE_DTYPE)
    >>> len(draw_slices(slices, ["getts", "bpts"]).axes)
    2
    """
    if not len(slices):
        raise UsageError(
            "there are no slices to draw", help="record them: PSE_BCS_EMDS=FOLDER mpiexec … python program.py"
        )
    view = View("", "charts._slices", "draw_slices")
    module = _module(view)
    for metric in metrics:
        if metric not in module.MEANINGS:
            help = did_you_mean(metric, module.MEANINGS) or f"there are {', '.join(module.MEANINGS)}"
            raise UsageError(f"slices have no metric {metric!r}", help=help)
    with mpl_defaults():
        figure: Figure = module.draw_slices(slices, metrics, width=width, height=height)
    return figure


def find_view(name: str) -> View:
    """Give the view of a name.

    Parameters
    ----------
    name : str
        One of `VIEWS`.

    Returns
    -------
    View
        Where it is drawn, and what it shows.

    Raises
    ------
    UsageError
        There is none; the message suggests the nearest.

    Examples
    --------
    >>> find_view("gantt").description
    'calls and waits over time, a row per thread, and lines for what is handed over'
    """
    if name not in VIEWS:
        help = did_you_mean(name, VIEWS) or f"the views are {', '.join(VIEWS)}"
        raise UsageError(f"there is no view {name!r}", help=help)
    return VIEWS[name]


def _module(view: View) -> Any:
    try:
        return importlib.import_module(f"pse.views.{view.module}")
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "pse":
            raise
        raise UsageError(
            f"pictures need {error.name}, which can't be imported: {error}",
            help="install it with: pip install 'pse[views]'",
        ) from error
