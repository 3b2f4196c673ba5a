"""``pse resume``: go on from a run's last checkpoint.  The work is done by ``pse.runtime.launch._launch``."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from pse.cli import _tools_option as under
from pse.cli.completion import directories, files
from pse.cli.run import Processors, live_option
from pse.runtime.request import Request, parse_defines

_OPTIONS = (
    click.argument("directory", metavar="DIR", shell_complete=directories),
    click.option("-p", "--processors", metavar="P", type=Processors(), help="How many (as many as before)."),
    click.option("-D", "defines", metavar="NAME=VALUE", multiple=True, help="Must be what the run has."),
    click.option(
        "-o", "--option", "options", metavar="NAME=VALUE", multiple=True, help="Over the run's options."
    ),
    click.option("--every", metavar="N|SECONDSs", help="How often (as before if it isn't given)."),
    click.option(
        "--trace",
        metavar="DIR",
        shell_complete=directories,
        help="Record what happens from here on, for `pse trace`.",
    ),
    click.option(
        "--report", type=click.Choice(["text", "json"]), default="text", help="The form of the report."
    ),
    click.option("-q", "--quiet", is_flag=True, help="Print what modules print and errors, nothing else."),
)


def _resume_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def _make_request(
    directory: str,
    processors: int | None,
    defines: tuple[str, ...],
    options: tuple[str, ...],
    every: str | None,
    trace: str | None,
    report: str,
    quiet: bool,
) -> Request:
    """Put together what the command line says; the checkpoint says the rest."""
    given = parse_defines(defines)
    request = Request("", given, options, trace, report, processors, directory, every, resume=True)
    return replace(request, quiet=quiet)


@click.command("python -m pse resume")
@_resume_options
@under.rank_option
def rank_command(coopwait: bool, **given: Any) -> Request:
    """Go on from the checkpoint in DIR as one rank of the MPI job that started this process."""
    return replace(_make_request(**given), coopwait=coopwait)


@click.command("resume")
@_resume_options
@click.option("--hosts", metavar="A,B", help="The machines to run on.")
@click.option(
    "-f",
    "--hostfile",
    metavar="FILE",
    shell_complete=files,
    help="A file that names the machines, one on each line.",
)
@under.option
@live_option
def command(hosts: str | None, hostfile: str | None, tools: str | None, live: bool, **given: Any) -> None:
    """Go on from the checkpoint in DIR, which `pse run --checkpoint DIR` wrote.

    Program, parameters and options are those that the run was begun with; the number of processors may be
    another.  Inside an MPI job that runs already, use: mpirun -n N python -m pse resume DIR.
    """
    from pse.runtime.launch import Hosts, launch_job

    where = Hosts.chosen(hosts, hostfile, os.environ)
    sys.exit(launch_job(_make_request(**given), where, under.put_under(tools, given["trace"]), live=live))
