"""``pse trace``: look at what a run recorded."""

import json
from collections.abc import Iterable
from typing import Any

import click

from pse import trace
from pse.analysis import (
    critical_path,
    critical_path_text,
    parse_time,
    tph_history,
    tph_history_text,
    wait_chain,
    wait_chain_text,
)
from pse.cli import _exports
from pse.cli._group import Group
from pse.cli._selection import options
from pse.cli.completion import directories
from pse.trace.summary import print_summary

FORM = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print it."
)


@click.group("trace", cls=Group)
def command() -> None:
    """Look at what a run recorded (pse run PROGRAM --trace DIR)."""


command.add_command(_exports.export_command)
command.add_command(_exports.import_command)


@command.command()
@click.argument("directory", metavar="DIR", shell_complete=directories)
@FORM
@options
def summary(directory: str, form: str, selection: trace.Selection) -> None:
    """Say where the time of a run went, what moved, and who waited for what."""
    counted = trace.summarize(trace.open(directory), selection)
    for problem in counted.problems:
        click.echo(f"warning: {problem}", err=True)
    if form == "json":
        click.echo(json.dumps(counted.to_json(), indent=1, ensure_ascii=False))
    else:
        print_summary(counted)


@command.command()
@click.argument("directory", metavar="DIR", shell_complete=directories)
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
    chain = wait_chain(opened, rank, parse_time(opened, time))
    _print(opened, form, chain.to_json(), wait_chain_text(chain))


@command.command()
@click.argument("directory", metavar="DIR", shell_complete=directories)
@click.option("--tph", required=True, metavar="K", help="Its number, or its loop's counter: k=2.")
@click.option("--from", "begin", type=float, metavar="S", help="Seconds since the run's first event.")
@click.option("--until", "end", type=float, metavar="S", help="Seconds since the run's first event.")
@click.option("--limit", type=click.IntRange(0), default=200, show_default=True, help="Steps; 0: all.")
@FORM
def follow(directory: str, tph: str, begin: float | None, end: float | None, limit: int, form: str) -> None:
    """Tell the life of one TPH: its calls, waits and hand-overs on all ranks."""
    opened = trace.open(directory)
    history = tph_history(opened, tph, begin=begin, end=end, limit=limit)
    _print(opened, form, history.to_json(), tph_history_text(history))


@command.command()
@click.argument("directory", metavar="DIR", shell_complete=directories)
@FORM
def critical(directory: str, form: str) -> None:
    """Say what the end of a run waited for, back to its beginning, and where that time went."""
    opened = trace.open(directory)
    path = critical_path(opened)
    _print(opened, form, path.to_json(), critical_path_text(path))


def _print(opened: trace.Trace, form: str, values: dict[str, Any], lines: Iterable[str]) -> None:
    for problem in opened.problems:
        click.echo(f"warning: {problem}", err=True)
    if form == "json":
        click.echo(json.dumps(values, indent=1, ensure_ascii=False))
    else:
        click.echo("\n".join(lines))
