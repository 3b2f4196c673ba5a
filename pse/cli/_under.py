"""The option ``--tools`` of commands that run programs: which MPI tools are under the ranks.

Without it, modules that have communicators wait by the tool `coopwait`, so that a rank that waits in MPI
leaves its core to the others.
"""

import os
from collections.abc import Callable, Mapping
from importlib import resources

import click

from pse.language.errors import PseError

OFF = "off"
"""What ``--tools`` says for no tools at all."""

option = click.option(
    "--tools", metavar="CONF", help=f"The MPI tools to put under it (see `pse tools`); {OFF}: none at all."
)


def put_under(tools: str | None, trace: str | None) -> Callable[[], Mapping[str, str]]:
    """Have ranks run under the tools that the command line names; what they record goes into the run's trace.

    Returns
    -------
    callable
        Gives further variables for ranks of a program whose modules have communicators.
    """
    if tools is None:
        return dict if "PSE_TOOLS" in os.environ else _coopwait
    if tools != OFF:
        from pse.toolstack.mpi import find_mpi
        from pse.toolstack.stack import environment

        os.environ.update(environment(tools, find_mpi()))
        if trace is not None:
            os.environ["PSE_TRACE_DIRECTORY"] = os.path.abspath(trace)
    return dict


def _coopwait() -> Mapping[str, str]:
    """Give the variables that put `coopwait` under ranks; where it can't be had, say so and go on without."""
    from pse.toolstack.mpi import find_mpi
    from pse.toolstack.stack import environment

    try:
        return environment(str(resources.files("pse.toolstack") / "waiting.conf"), find_mpi())
    except PseError as error:
        reason = str(error).splitlines()[0]
        click.echo(f"warning: modules wait in MPI by spinning, without the tool coopwait: {reason}", err=True)
        return {}
