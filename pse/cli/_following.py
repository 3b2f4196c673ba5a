"""``pse trace why`` and ``pse trace follow``: the debugger's view of a recorded run.

May touch: nothing.  Next rooms: ``pse/trace/why.py`` and ``follow.py`` find it out, ``why_text.py`` and
``follow_text.py`` word it.
"""

import json
from collections.abc import Iterable
from typing import Any

import click

from pse import trace
from pse.language.errors import UsageError
from pse.trace.why import moment
from pse.trace.why import why as ask
from pse.trace.why_text import tell

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
    try:
        opened = trace.open(directory)
        chain = ask(opened, rank, moment(opened, time))
    except trace.TraceError as error:
        raise UsageError(error.message, help=error.help) from error
    _print(opened, form, chain.to_json(), tell(chain))


def _print(opened: trace.Trace, form: str, values: dict[str, Any], lines: Iterable[str]) -> None:
    for problem in opened.problems:
        click.echo(f"warning: {problem}", err=True)
    if form == "json":
        click.echo(json.dumps(values, indent=1, ensure_ascii=False))
    else:
        click.echo("\n".join(lines))
