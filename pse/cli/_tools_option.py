"""The option ``--tools`` of commands that run programs: which MPI tools are under the ranks.

Without it, modules that have communicators wait by the tool `coopwait`, so that a rank that waits in MPI
leaves its core to the others.  The launcher tells ranks so by a word of their command line, since nobody
else can: not every mpiexec hands variables on to other machines.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pse.toolstack import Coopwait

OFF = "off"
"""What ``--tools`` says for no tools at all."""

option = click.option(
    "--tools", metavar="CONF", help=f"The MPI tools to put under it (see `pse tools`); {OFF}: none at all."
)
rank_option = click.option("--coopwait", is_flag=True, hidden=True)


def put_under(tools: str | None, trace: str | None) -> "Callable[[], Coopwait] | None":
    """Have ranks run under the tools that the command line names; what they record goes into the run's trace.

    Returns
    -------
    callable or None
        Gives what modules that have communicators wait by; None if there are other tools, or shall be none.
    """
    if tools is None:
        return None if "PSE_TOOLS" in os.environ else coopwait
    if tools != OFF:
        from pse.toolstack import environment, find_mpi

        os.environ.update(environment(tools, find_mpi()))
        if trace is not None:
            os.environ["PSE_TRACE_DIRECTORY"] = os.path.abspath(trace)
    return None


def coopwait() -> "Coopwait":
    """Give the tool; its room takes a while to import, and `runtime` can't."""
    from pse.toolstack import Coopwait

    return Coopwait()
