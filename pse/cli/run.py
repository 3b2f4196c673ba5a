"""``pse run``: run a program on ranks that mpiexec starts."""

from typing import Any

import click

from pse.cli._options.run import launch, launch_options, make_request, rank_options
from pse.cli.completion import directories, files
from pse.runtime.request import Request

_PROGRAM = click.argument("program", metavar="PROGRAM", shell_complete=files)
_CHECKPOINT = click.option(
    "--checkpoint",
    metavar="DIR",
    shell_complete=directories,
    help="Write checkpoints into the directory DIR, for `pse resume`.",
)


@click.command("python -m pse")
@_PROGRAM
@_CHECKPOINT
@rank_options
def rank_command(**given: Any) -> Request:
    """Run PROGRAM as one rank of the MPI job that started this process."""
    return make_request(**given)


@click.command("run")
@_PROGRAM
@_CHECKPOINT
@launch_options
def command(**given: Any) -> None:
    """Run PROGRAM and report where its time went.

    The number of MPI ranks follows from the program's threads and the number of processors (1 if -p isn't
    given).  Inside an MPI job that runs already, use: mpirun -n N python -m pse PROGRAM.
    """
    launch(**given)
