"""What `pse run`, `pse resume` and `python -m pse` have in common: their options, and what becomes of them.

Without ``--tools``, modules that have communicators wait by the tool `coopwait`, so that a rank that waits in
MPI leaves its core to the others.  The launcher tells ranks so by a word of their command line, since nobody
else can: not every mpiexec hands variables on to other machines.
"""

import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import click

from pse._abi.environment import TOOLS_VARIABLE
from pse.cli._options.defines import defines_option
from pse.cli.completion import directories, files, options, words
from pse.errors import UsageError
from pse.language import parse_defines
from pse.runtime.request import Request, recorded_changes

if TYPE_CHECKING:
    from pse.runtime.launch import Hosts
    from pse.toolstack import Coopwait

OFF = "off"
"""What ``--tools`` says for no tools at all."""

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Processors(click.ParamType[int]):
    """A number of processors."""

    name = "P"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a whole number from 1."""
        if re.fullmatch(r"0*[1-9][0-9]{0,8}", value):
            return int(value)
        self.fail(f"{value} is not a number of processors; expected a whole number of at least 1", param, ctx)


_RUN = (
    click.option("-p", "--processors", metavar="P", type=Processors(), help="How many processors."),
    defines_option,
    click.option(
        *("-o", "--option", "options"),
        metavar="NAME=VALUE",
        multiple=True,
        shell_complete=options,
        help="Set an option of the run, whatever the program says: queue_depth=4.",
    ),
    click.option(
        "--every",
        metavar="N|SECONDSs",
        help="How often checkpoints are written: every N rounds of loops, or so many seconds (30s).",
    ),
    click.option(
        "--trace",
        metavar="DIR",
        shell_complete=directories,
        help="Record the run in the directory DIR, for `pse trace`.",
    ),
    click.option(
        "--report", type=click.Choice(["text", "json"]), default="text", help="The form of the report."
    ),
    click.option(
        "--debug", is_flag=True, help="Find what overruns its arrays: -O1 -g, guard pages around all buffers."
    ),
    click.option(
        "--prefix",
        is_flag=True,
        help="Begin lines that modules print with [processor, thread, loops].",
    ),
    click.option(
        "--tools",
        metavar="TOOL,…|CONF",
        envvar=TOOLS_VARIABLE,
        show_envvar=True,
        shell_complete=files,
        help=f"MPI tools to load (see `pse tools`), by names or a file that lists them; {OFF}: none.",
    ),
    click.option("--live", is_flag=True, help="Show loops, threads, queues and memory while it runs."),
    click.option(
        "--serial", is_flag=True, help="Execute all calls in one rank, in order: pdb and breakpoint() work."
    ),
    click.option(
        "--sanitize",
        metavar="address,undefined",
        shell_complete=words("address", "undefined", "address,undefined"),
        help="Build modules with sanitizers, which watch what modules allocate (--debug watches the arrays"
        " of the program): the first error that they find ends the run.",
    ),
    click.option(
        "--gdb",
        metavar="RANK|crash",
        shell_complete=words("crash"),
        help="Attach gdb to the rank RANK when it starts, or to any when it crashes.",
    ),
    click.option(
        "--control",
        metavar="NAME",
        help="Let `pse ctl NAME` and `pse watch NAME` pause, change and look into the run while it goes on.",
    ),
    click.option(
        "--changes",
        metavar="DIR",
        shell_complete=directories,
        help="Change live parameters as `pse ctl` did in the run whose trace is in DIR, at the same pauses.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="Print what modules print and errors, nothing else."),
)


def _refuse_ranks(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Lead those who know mpiexec to the option that is meant."""
    if value is not None:
        about = "how many ranks run follows from the program and its processors"
        ctx.fail(f"`{ctx.command_path}` takes no number of ranks: {about}; did you mean `-p {value}`?")


_RANK = (click.option("--coopwait/--no-coopwait", default=None, hidden=True),)
_LAUNCH = (
    click.option("--hosts", metavar="A,B", help="The machines to run on."),
    click.option(
        *("-f", "--hostfile"),
        metavar="FILE",
        shell_complete=files,
        help="A file that names the machines, one on each line.",
    ),
    click.option(
        "--watch",
        metavar="TAG=FILE",
        multiple=True,
        help="Record the tag while the program runs: heat.gif, heat.mp4, frames/ (PNG) or heat.npz.",
    ),
    click.option("-n", "-np", "--np", hidden=True, expose_value=False, callback=_refuse_ranks),
)


def rank_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a rank."""
    return _with(function, *_RUN, *_RANK)


def launch_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of what starts ranks."""
    return _with(function, *_RUN, *_LAUNCH)


def _with(function: Callable[..., Any], *options: Decorator) -> Callable[..., Any]:
    for option in reversed(options):
        function = option(function)
    return function


def make_request(
    program: str,
    *,
    defines: tuple[str, ...],
    sanitize: str | None = None,
    changes: str | None = None,
    **given: Any,
) -> Request:
    """Put together what the command line says."""
    if sanitize is not None:
        from pse.modules.build import parse_sanitizers

        given["sanitize"] = parse_sanitizers(sanitize)
    if changes is not None:
        given["changes"] = recorded_changes(changes)
    return Request(program, parse_defines(defines), **given)


def launch(
    program: str, *, hosts: str | None, hostfile: str | None, watch: tuple[str, ...] = (), **given: Any
) -> NoReturn:
    """Start the ranks that the command line asks for, and leave with their exit code."""
    from pse.runtime.launch import Hosts

    request, where = make_request(program, **given), Hosts.chosen(hosts, hostfile, os.environ)
    sys.exit(_launch_watched(request, where, watch) if watch else _launch(request, where))


def _launch(request: Request, where: "Hosts") -> int:
    from pse.runtime.launch import launch_job

    if (tools := _tools(request)) is not None:
        from pse.toolstack import preload_tools

        preload_tools(tools, request.trace)
    return launch_job(request, where, lambda: coopwait(request))


def _launch_watched(request: Request, where: "Hosts", asked: tuple[str, ...]) -> int:
    """Run it, and record tags meanwhile."""
    from pse.cli._options.watch import name_of_run, parse_watches, write_recordings
    from pse.runtime.control import Recording

    if request.serial:
        raise UsageError("--watch and --serial exclude each other", help="give only one of the two")
    watches = parse_watches(asked)
    request = replace(request, control=name_of_run(request.control), watch=tuple(watches))
    recordings = [Recording(str(request.control), tag) for tag in watches]
    try:
        code = _launch(request, where)
    except BaseException:
        for recording in recordings:
            recording.finish()
        raise
    write_recordings(recordings, tuple(watches.values()), quiet=request.quiet)
    return code


def restart_with_preloads(request: Request) -> None:
    """Have this rank begin again with the tools and sanitizers of its command line, which come before MPI."""
    from pse.toolstack import restart_preloaded

    restart_preloaded(_tools(request), request.trace, request.sanitize)


def _tools(request: Request) -> str | None:
    if request.tools is None or request.tools == OFF:
        return None
    from pse.toolstack import configuration_of

    return configuration_of(request.tools)


def coopwait(request: Request) -> "Coopwait | None":
    """Give what modules that have communicators wait by; None if there are other tools, or shall be none."""
    if not request.may_use_coopwait:
        return None
    from pse.toolstack import Coopwait  # It takes a while, and `runtime` can't import it.

    return Coopwait()
