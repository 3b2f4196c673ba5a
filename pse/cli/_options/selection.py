"""The options of commands that show a part of a trace: --processor, --thread, --rank, --module and so on."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pse import trace

METAHOSTS = click.option(
    "--metahosts",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Says which ranks ran on which machine, a line each: METAHOST HOST…, or METAHOST ranks 0-3 7.",
)
NO_REPAIR = click.option("--no-repair", is_flag=True, help="Leave times as they are where clocks are wrong.")
_OPTIONS = (
    click.option("--processor", multiple=True, metavar="P", help="Processors: 0-3,7 or root."),
    click.option("--thread", multiple=True, metavar="T", help="Threads: B stands for thread_B."),
    click.option("--rank", multiple=True, metavar="R", help="Ranks: 0-3,7."),
    click.option("--module", multiple=True, metavar="M", help="Modules or labels of call sites."),
    click.option("--tph", multiple=True, metavar="K", help="TPHs: 65536, or by their loop's counter: k=0-3."),
    click.option("--from", "begin", type=float, metavar="S", help="Seconds since the run's first event."),
    click.option("--until", "end", type=float, metavar="S", help="Seconds since the run's first event."),
)
_NAMES = ("processor", "thread", "rank", "module", "tph", "begin", "end")


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command these options; it gets them as ``selection``, a `pse.trace.Selection`."""

    @functools.wraps(function)
    def command(*args: Any, **kwargs: Any) -> Any:
        given = {name: kwargs.pop(name) for name in _NAMES}
        selection = trace.Selection.parse(**given)
        return function(*args, selection=selection, **kwargs)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command
