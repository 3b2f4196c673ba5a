"""``pse run``: run a program on ranks that mpiexec starts."""

import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from pse.cli import _tools_option as under
from pse.cli.completion import directories, files
from pse.runtime.request import Request, parse_defines


class Processors(click.ParamType[int]):
    """A number of processors."""

    name = "P"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a whole number from 1."""
        if re.fullmatch(r"0*[1-9][0-9]{0,8}", value):
            return int(value)
        self.fail(f"{value} is not a number of processors; expected a whole number of at least 1", param, ctx)


_OPTIONS = (
    click.argument("program", metavar="PROGRAM", shell_complete=files),
    click.option("-p", "--processors", metavar="P", type=Processors(), help="How many processors."),
    click.option("-D", "defines", metavar="NAME=VALUE", multiple=True, help="The value of a parameter."),
    click.option(
        "-o", "--option", "options", metavar="NAME=VALUE", multiple=True, help="Over the program's options."
    ),
    click.option(
        "--checkpoint", metavar="DIR", shell_complete=directories, help="Write checkpoints, for `pse resume`."
    ),
    click.option("--every", metavar="N|SECONDSs", help="How often (30s if it isn't given)."),
    click.option(
        "--trace", metavar="DIR", shell_complete=directories, help="Record what happens, for `pse trace`."
    ),
    click.option(
        "--report", type=click.Choice(["text", "json"]), default="text", help="The form of the report."
    ),
    click.option("-q", "--quiet", is_flag=True, help="Print what modules print and errors, nothing else."),
)


live_option = click.option(
    "--live", is_flag=True, help="Show loops, threads, queues and memory while it runs."
)


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command what `pse run` and `python -m pse` have in common."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def make_request(
    program: str,
    processors: int | None,
    defines: tuple[str, ...],
    options: tuple[str, ...],
    trace: str | None,
    report: str,
    checkpoint: str | None,
    every: str | None,
    quiet: bool,
) -> Request:
    """Put together what the command line says."""
    given = parse_defines(defines)
    return Request(program, given, options, trace, report, processors, checkpoint, every, quiet=quiet)


@click.command("python -m pse")
@run_options
@under.rank_option
def rank_command(coopwait: bool, **given: Any) -> Request:
    """Run PROGRAM as one rank of the MPI job that started this process."""
    return replace(make_request(**given), coopwait=coopwait)


@click.command("run")
@run_options
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
    """Run PROGRAM and report where its time went.

    The number of MPI ranks follows from the program's threads and the number of processors (1 if -p isn't
    given).  Inside an MPI job that runs already, use: mpirun -n N python -m pse PROGRAM.
    """
    from pse.runtime.launch import Hosts, launch_job

    where = Hosts.chosen(hosts, hostfile, os.environ)
    sys.exit(launch_job(make_request(**given), where, under.put_under(tools, given["trace"]), live=live))
