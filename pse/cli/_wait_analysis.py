"""``pse trace why``, ``follow`` and ``critical``: the debugger's view of a recorded run."""

import json
from collections.abc import Iterable
from typing import Any

import click

from pse import trace
from pse.analysis import (
    _critical_path_text as critical_text,
    _tph_history_text as follow_text,
    _why_text as why_text,
    critical_path,
    follow as life_of,
    moment,
    shares,
    why as ask,
)

FORM = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print it."
)


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--rank", type=int, required=True, metavar="R", help="The rank.")
@click.option(
    "--at",
    "time",
    required=True,
    metavar="T",
    help="When: seconds since the run's first event, 250ms, 50% or end.",
)
@FORM
def why(directory: str, rank: int, time: str, form: str) -> None:
    """Say what a rank was waiting for at a moment, and for whom, along the chain."""
    opened = trace.open(directory)
    chain = ask(opened, rank, moment(opened, time))
    _print(opened, form, chain.to_json(), why_text.tell(chain))


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--tph", required=True, metavar="K", help="Its number, or its loop's counter: k=2.")
@click.option("--from", "begin", type=float, metavar="S", help="Seconds since the run's first event.")
@click.option("--until", "end", type=float, metavar="S", help="Seconds since the run's first event.")
@click.option("--limit", type=click.IntRange(0), default=200, show_default=True, help="Steps; 0: all.")
@FORM
def follow(directory: str, tph: str, begin: float | None, end: float | None, limit: int, form: str) -> None:
    """Tell the life of one TPH: its calls, waits and hand-overs on all ranks."""
    opened = trace.open(directory)
    life = life_of(opened, tph, begin=begin, end=end, limit=limit)
    _print(opened, form, life.to_json(), follow_text.tell(life))


@click.command()
@click.argument("directory", metavar="DIR")
@FORM
def critical(directory: str, form: str) -> None:
    """Say what the end of a run waited for, back to its begin, and where that time went."""
    opened = trace.open(directory)
    path = critical_path(opened)
    counted = shares(opened, path)
    _print(
        opened, form, critical_text.to_json(opened, path, counted), critical_text.tell(opened, path, counted)
    )


def _print(opened: trace.Trace, form: str, values: dict[str, Any], lines: Iterable[str]) -> None:
    for problem in opened.problems:
        click.echo(f"warning: {problem}", err=True)
    if form == "json":
        click.echo(json.dumps(values, indent=1, ensure_ascii=False))
    else:
        click.echo("\n".join(lines))
