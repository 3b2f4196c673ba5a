"""``pse bcs step``: a job with coscheduled communication runs slice by slice."""

import sys

import click

from pse import coschedule
from pse.errors import UsageError
from pse.runtime.launch import command_on_ranks


@click.command("step", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "-n", "ranks", type=click.IntRange(1), metavar="RANKS", help="Start RANKS ranks of the command."
)
@click.option(
    "--attach",
    "process",
    type=int,
    metavar="PID",
    help="Step a job that runs already: a rank's process, or mpiexec's.",
)
@click.option(
    "--commands", metavar="TEXT", help="What to do, instead of asking: commands with ; between them."
)
@click.option(
    "--patience",
    type=float,
    default=1.0,
    metavar="SECONDS",
    show_default=True,
    help="How long ranks that compute are waited for before a slice begins.",
)
@click.argument("words", metavar="COMMAND…", nargs=-1, type=click.UNPROCESSED)
def command(
    ranks: int | None, process: int | None, commands: str | None, patience: float, words: tuple[str, ...]
) -> None:
    """Run COMMAND, usually mpiexec, slice by slice, and look at ranks and messages between slices."""
    if bool(words) == (process is not None):
        both = "both are given, a command and the process of a running job: one of them is needed"
        raise UsageError(
            both if words else "a command or the process of a running job is needed",
            help="for example:  pse bcs step -n 2 python program.py   or  --attach PID",
        )
    if ranks is not None:
        words = command_on_ranks(ranks, words)
    stepper = coschedule.Stepper(words, process, patience)
    try:
        code = coschedule.Prompt(stepper, None if commands is None else commands.split(";")).run()
    finally:
        stepper.close()
    sys.exit(code)
