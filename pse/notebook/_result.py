"""What `pse.run` gives back: the report, what was printed, the trace; as text, HTML, tables and pictures."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pse.analysis import Cube, analyze
from pse.notebook._diagnostics import Diagnostics
from pse.notebook._display import TimelinePage, show_cubes, show_figures
from pse.notebook._errors import NotebookError, needed, translated
from pse.runtime.status import (
    SITE_HEAD,
    THREAD_HEAD,
    Report,
    figure_rows,
    format_report,
    site_rows,
    thread_rows,
)
from pse.text import list_text
from pse.trace import Selection, Trace, TraceError, open as open_trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPORT_TABLES = ("sites", "threads")
RUN_IN_BACKGROUND = "start it again with `run = pse.start(…)`, then `run.watch(…)` while it goes on"


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A run that went well.

    Attributes
    ----------
    program : Path
        The file that ran.
    processors : int
        How many it ran on.
    params : mapping of str to str
        The values that were given to parameters.
    report : pse.runtime.status.Report
        Where the time went: ``report.wall_seconds``, ``report.sites``, ``report.threads``,
        ``report.figures``.
    output : str
        What modules printed.
    directory : Path
        The directory in which it ran: what its modules saved under relative paths lies there.
    warnings : Diagnostics
        What the checker warned of.
    trace_directory : Path or None
        Where the run was recorded.
    exit_code : int
        0: a run that fails raises.

    See Also
    --------
    run
    """

    program: Path
    processors: int
    params: Mapping[str, str]
    report: Report
    output: str
    directory: Path
    warnings: Diagnostics
    trace_directory: Path | None = None
    exit_code: int = 0

    @property
    def headline(self) -> str:
        """The run in one line."""
        return format_report(self.report).partition("\n")[0]

    @property
    def figures(self) -> Mapping[str, float]:
        """What modules reported by name; the largest value of each."""
        return self.report.figures

    @cached_property
    def trace(self) -> Trace:
        """The trace.

        Raises
        ------
        NotebookError
            If the run was not recorded, or the trace can't be read.
        """
        if self.trace_directory is None:
            raise NotebookError(
                "this run has no trace: it was not recorded", help="run it with trace=True (%%coven --trace)"
            )
        with translated():
            return open_trace(str(self.trace_directory))

    @cached_property
    def cube(self) -> Cube:
        """What `pse.analysis.analyze` finds in the trace; a notebook shows it as three linked trees.

        Raises
        ------
        NotebookError
            If the run was not recorded, or the trace can't be read.
        """
        show_cubes()
        with translated():
            return replace(analyze(self.trace), title=self.program.name)

    def frame(self, table: str = "sites", selection: Selection | None = None) -> Any:
        """Give a table as a pandas data frame.

        Parameters
        ----------
        table : str
            ``sites`` or ``threads`` of the report; or one of the trace: ``module_calls``, ``waits``,
            ``messages``, ``memory``, ``queue_depths``, ``routine_calls``.
        selection : pse.trace.Selection, optional
            What part of the trace to show.

        Raises
        ------
        NotebookError
            If there is no such table, or pandas is not installed.
        """
        pandas = needed("pandas", "a data frame")
        if table in REPORT_TABLES:
            return pandas.DataFrame([asdict(row) for row in getattr(self.report, table)])
        try:
            return self.trace.frame(table, selection)
        except TraceError as error:
            more = f"or, of the report, {list_text(REPORT_TABLES)}"
            raise NotebookError(error.message, help=f"{error.help}; {more}" if error.help else more) from None

    def view(self, name: str = "gantt", selection: Selection | None = None, **how: Any) -> Figure:
        """Draw a picture of the trace.

        Parameters
        ----------
        name : str
            One of `pse.views.VIEWS`: ``gantt``, ``load``, ``memory``, …
        selection : pse.trace.Selection, optional
            What to show; everything, if it isn't given.
        **how
            What else the view takes (``width=…`` and ``height=…`` in inches).

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it; ``savefig`` saves it.

        Raises
        ------
        NotebookError
            If there is no trace, no such view, or matplotlib is not installed.
        """
        needed("matplotlib", "a picture")
        from pse import views

        show_figures()
        with translated():
            return views.draw(self.trace, name, selection, **how)

    def page(self, selection: Selection | None = None) -> TimelinePage:
        """Give the interactive page of the trace, as ``pse view -o FILE.html`` writes it.

        Parameters
        ----------
        selection : pse.trace.Selection, optional
            What to show; everything, if it isn't given.

        Returns
        -------
        TimelinePage
            A notebook shows it in a frame; ``html`` is all of it.

        Raises
        ------
        NotebookError
            If there is no trace, or the selection names what isn't in it.
        """
        from pse.views.page import page_html

        with translated():
            return TimelinePage(page_html(self.trace, selection).decode())

    def watch(self, tag: str) -> NoReturn:
        """Say that a run which has ended can't be watched; `Running.watch` shows one that goes on.

        Parameters
        ----------
        tag : str
            The tag.

        Raises
        ------
        NotebookError
            Always.
        """
        raise NotebookError(
            f"the run has ended: {tag} can't be watched any more",
            help=RUN_IN_BACKGROUND,
        )

    def __repr__(self) -> str:
        return format_report(self.report).rstrip("\n")

    def _repr_html_(self) -> str:
        return _html(self.headline, self.report)


def _html(headline: str, report: Report) -> str:
    parts = [f"<b>{html.escape(headline)}</b>", _table(SITE_HEAD, site_rows(report), 3)]
    parts.append(_table(THREAD_HEAD, thread_rows(report), 1))
    if report.figures:
        parts.append(_table(("reported", "value"), figure_rows(report), 1))
    return "".join(parts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int) -> str:
    """Write a table; the first `left` columns are words, the others numbers."""
    sides = ["left" if number < left else "right" for number in range(len(head))]

    def line(cells: Sequence[str], kind: str) -> str:
        written = (
            f'<{kind} style="text-align: {side}">{html.escape(cell)}</{kind}>'
            for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{''.join(written)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f'<table style="margin: 0.5em 0"><thead>{line(head, "th")}</thead><tbody>{body}</tbody></table>'
