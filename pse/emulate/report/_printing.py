"""Reports on a terminal: tables by rich, sentences below them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pse.emulate.model._model import Model
from pse.emulate.report._tables import (
    TextTable,
    comparison_table,
    loaded_table,
    model_tables,
    result_tables,
)
from pse.emulate.results._results import Results
from pse.emulate.statistics._comparison import Comparison
from pse.emulate.statistics._disturbances import disturbances
from pse.emulate.statistics._prediction import Loaded
from pse.text import count_text, size_text

if TYPE_CHECKING:
    from rich.console import Console


def report_console() -> Console:
    """Give the console of standard output; anything but a terminal has room for whole tables.

    Returns
    -------
    rich.console.Console
        For the functions that print.

    See Also
    --------
    print_report
    """
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=max(200, console.width))


def print_model(model: Model, console: Console) -> None:
    """Print a cost model.

    Parameters
    ----------
    model : Model
        What `fit` gave.
    console : rich.console.Console
        Where to.

    Examples
    --------
    >>> from pse.emulate import Results, fit
    >>> print_model(fit(Results.load("run.ace").exchanges), report_console())
    cost of a message (piecewise)
    ...
    the protocol changes between 8 KiB and 16 KiB
    """
    _print_tables(model_tables(model), console)
    for below, above in model.switches:
        ends = (size_text(below, zeros=False), size_text(above, zeros=False))
        console.print(f"the protocol changes between {ends[0]} and {ends[1]}")
    if model.launches and model.segments[0].alpha_interval is None:
        console.print(
            f"{count_text(model.launches, 'launch', 'launches')}: too few for intervals, which need 3",
            style="yellow",
        )


def print_report(results: Results, console: Console, *, by: str = "application") -> None:
    """Print what was measured: run times, dispersion, applications beside others, disturbances.

    Parameters
    ----------
    results : Results
        What was measured.
    console : rich.console.Console
        Where to.
    by : {"application", "rank", "pattern"}
        What gets a row of its own.

    Examples
    --------
    >>> from pse.emulate import Results
    >>> print_report(Results.load("run.ace"), report_console())
    run time, without barriers
    <BLANKLINE>
     application   ranks    size   load   achieved   typical   predicted ...
    ...
     halo              4   1 KiB   50 %     50.5 %    49.8 % ...
    ...
    """
    _print_tables(result_tables(results, by), console)
    found = disturbances(results)
    for one in found:
        console.print(str(one), style="bold")
    if not found:
        console.print("no link or rank is slow, no late messages come again, no level changes", style="dim")


def print_loaded(found: Iterable[Loaded], console: Console) -> None:
    """Print how much longer communication takes beside other applications than alone.

    Parameters
    ----------
    found : iterable of Loaded
        What `loaded_ratios` gave.
    console : rich.console.Console
        Where to.

    Examples
    --------
    >>> from pse.emulate import Results, loaded_ratios
    >>> alone, beside = Results.load("run.ace"), Results.load("after.ace")
    >>> print_loaded(loaded_ratios(beside, alone), report_console())
    communication beside other applications over alone
    <BLANKLINE>
     application    size   load    mean    95 % interval   99th percentile    95 % interval
    ...
     halo          1 KiB   50 %   1.245 ...
    """
    _print_tables([loaded_table(found)], console)


def print_comparison(found: Comparison, console: Console, *, top: int = 20) -> None:
    """Print what differs between two results.

    Parameters
    ----------
    found : Comparison
        What `compare` gave.
    console : rich.console.Console
        Where to.
    top : int, default 20
        How many quantities are listed.

    Examples
    --------
    >>> from pse.emulate import Results, compare
    >>> found = compare(Results.load("run.ace"), Results.load("after.ace"))
    >>> print_comparison(found, report_console(), top=1)
    the results differ, in 2 quantities:
      rank 3 of `halo`, 1 KiB, load 50 %: median communication +100.0 % (...), p = 0.0006
    ...
    """
    if found.real:
        console.print(
            f"the results differ, in {count_text(len(found.real), 'quantity', 'quantities')}:", style="bold"
        )
        for one in found.real[:top]:
            console.print(f"  {one}")
    else:
        compared = "" if found.applications else "; no application was compared, only links"
        console.print(f"no difference is shown{compared}", style="bold")
    console.print()
    _print_tables([comparison_table(found, top)], console)
    launches = f"{count_text(found.launches[0], 'launch', 'launches')} against {found.launches[1]}"
    console.print(
        f"{launches}; {found.test}; a difference is real if its corrected p is below {found.level:g}"
        f" and it is at least {100 * found.least:g} %",
        style="dim",
    )
    for note in found.notes:
        console.print(f"note: {note}", style="yellow")


def _print_tables(tables: Iterable[TextTable], console: Console) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    for one in tables:
        table = Table(
            title=one.title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, title_style="bold"
        )
        for place, heading in enumerate(one.headings):
            justify: Any = "left" if place < one.names else "right"
            table.add_column(heading, justify=justify, overflow="fold")
        for row in one.rows:
            table.add_row(*map(Text, row))
        console.print(table)
        if one.note:
            console.print(one.note, end="\n\n")
