"""Figures as a table for people.  Prints to the console that it is given; measures nothing."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from pse.bench._figures import Figure, Result
from pse.bench._machine import BUSY_SHARE, STOLEN_SHARE
from pse.text import count_text, number_text, share_text

HEADINGS = ("figure", "median", "95 % interval", "target", "", "against", "measured", "ratio")


def print_result(result: Result, console: Console) -> None:
    """Print a result: medians, intervals, targets, and how they stand to their floors and peers.

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
    │ hop    │ 3.00 µs │          none │ ≤ 4.00 µs │  open │         │          │       │
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
    """Give a figure's row: name, median, interval, target, verdict, peer, its median, the ratio to it."""
    own = (
        figure.name,
        f"{number_text(figure.value)} {figure.unit}",
        " – ".join(map(number_text, figure.interval)) if figure.interval else "none",
        f"{'≤' if figure.sense == '<=' else '≥'} {number_text(figure.target)} {figure.unit}",
        figure.verdict,
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
        f"{count_text(repeats, 'repetition')}, floors and peers in turn with the subject"
    )


def busy_warning(result: Result) -> str | None:
    """Say so if others were computing when the bench started, or took the cores away while it ran."""
    in_use, stolen = result.environment["in_use"], result.environment.get("stolen", 0.0)
    said = []
    if in_use >= BUSY_SHARE:
        said.append(f"{share_text(in_use)} of this machine's cores were in use before the bench started")
    if stolen >= STOLEN_SHARE:
        said.append(f"{share_text(stolen)} of the cores' time went to other machines while it ran")
    return f"{' and '.join(said)}; times are worth little, ratios something" if said else None
