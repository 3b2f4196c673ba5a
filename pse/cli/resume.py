"""``pse resume``: go on from a run's last checkpoint.  The work is done by ``pse.runtime.launch``."""

from typing import Any

import click

from pse.cli._options.run import launch, launch_options, make_request, rank_options
from pse.cli.completion import directories
from pse.runtime.request import Request

_DIRECTORY = click.argument("checkpoint", metavar="DIR", shell_complete=directories)


@click.command("python -m pse resume")
@_DIRECTORY
@rank_options
def rank_command(**given: Any) -> Request:
    """Go on from the checkpoint in DIR as one rank of the MPI job that started this process."""
    return make_request("", resume=True, **given)


@click.command("resume")
@_DIRECTORY
@launch_options
def command(**given: Any) -> None:
    """Go on from the checkpoint in DIR, which `pse run --checkpoint DIR` wrote.

    What isn't given is as the run was begun with.  Parameters can't change; the number of processors can, and
    the program's options.  Inside an MPI job that runs already, use: mpirun -n N python -m pse resume DIR.
    """
    launch("", resume=True, **given)
