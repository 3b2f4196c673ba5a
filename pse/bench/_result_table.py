"""Figures as a table for people.  Prints to the console that it is given; measures nothing."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from pse.bench._figures import Figure, Result
from pse.bench._machine import BUSY_SHARE
from pse.text import number_text, share_text

HEADINGS = ("figure", "median", "least – greatest", "target", "", "against", "measured", "ratio")


def print_result(result: Result, console: Console) -> None:
    """Print a result: medians, spreads, targets, and how they stand to their floors and peers.

    Parameters
    ----------
    result : Result
        What was measured.
    console : Console
        Where to print it.

    Examples
    --------
    >>> from pse.bench import Figure, describe_machine
    >>> result = Result("hop", (Figure("hop", "µs", "<=", 4.0, (3.0, 2.5, 3.5)),), describe_machine())
    >>> print_result(result, Console(width=110))
    pse bench hop
    ...
    │ hop    │ 3.00 µs │      2.50 – 3.50 │ ≤ 4.00 µs │ holds │         │          │       │
    ...
    """
    table = Table(title=f"pse bench {result.bench}", title_justify="left")
    for heading in HEADINGS:
        wide = heading in ("figure", "against")
        table.add_column(heading, justify="left" if wide else "right", no_wrap=not wide)
    for figure in result.figures:
        table.add_row(*cells(figure))
    console.print(table)
    console.print(place(result), style="dim", highlight=False)
    warning = busy_warning(result)
    if warning:
        console.print(f"warning: {warning}", style="yellow", highlight=False)


def cells(figure: Figure) -> tuple[str, ...]:
    """Give a figure's row: name, median, spread, target, verdict, peer, its median, the ratio to it."""
    low, high = figure.spread
    own = (
        figure.name,
        f"{number_text(figure.value)} {figure.unit}",
        f"{number_text(low)} – {number_text(high)}",
        f"{'≤' if figure.sense == '<=' else '≥'} {number_text(figure.target)} {figure.unit}",
        "holds" if figure.holds else "missed",
    )
    if figure.against is None:
        return (*own, "", "", "")
    peer, ratio = figure.against, figure.ratio
    measured = f"{number_text(peer.value)} {peer.unit}"
    return (*own, peer.name, measured, "" if ratio is None else f"{number_text(ratio)} ×")


def place(result: Result) -> str:
    """Say in a line where and with what it was measured."""
    e = result.environment
    repeats = max(len(figure.samples) for figure in result.figures)
    return (
        f"{e['cpu']}, {e['cores']} cores, Linux {e['kernel']}, Python {e['python']}, NumPy {e['numpy']}, "
        f"{e['mpi']}, mpi4py {e['mpi4py']}, pse {e['pse']}; load {e['load']} at the start; "
        f"{repeats} repetitions, floors and peers in turn with the subject"
    )


def busy_warning(result: Result) -> str | None:
    """Say so if somebody else was computing when the bench started."""
    in_use = result.environment["in_use"]
    if in_use < BUSY_SHARE:
        return None
    return (
        f"{share_text(in_use)} of this machine's cores were in use before the bench started; "
        "times are worth little, ratios something"
    )
