"""``pse analyze``: how long ranks waited for each other, where, and for what."""

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypedDict

import click

from pse.analysis import (
    METRICS,
    Cube,
    analyze,
    analyze_parallel,
    cube_text,
    export_cubex,
    open_repaired,
    remedies,
    severities_json,
    write_cube,
)
from pse.cli._selection import METAHOSTS, NO_REPAIR
from pse.errors import PseError, UsageError
from pse.runtime.faults import ending_the_job
from pse.runtime.supervise import Backoff, inside_mpi_job
from pse.text import count_text, ending_text, share_text
from pse.trace import TraceError

if TYPE_CHECKING:
    from mpi4py import MPI

    from pse.advise import Advice

_REMEDIES = 3
_SUFFIXES = (".npz", ".cubex", ".html")


def _checked(_context: click.Context, _parameter: click.Parameter, output: Path | None) -> Path | None:
    if output is not None and output.suffix not in _SUFFIXES:
        raise click.UsageError(ending_text(str(output), _SUFFIXES))
    return output


TOP = click.option(
    "--top", type=click.IntRange(0), default=10, show_default=True, metavar="N", help="Lines by call path."
)
OUTPUT = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=_checked,
    help="Write metrics by call path and rank to a file too: .html, .npz, or .cubex for Cube's browser.",
)


def write(cube: Cube, output: Path, *, old: Cube | None = None, timeline: str = "") -> None:
    """Write a cube in the format that the name of the file says.

    `old` is what a difference changed; `timeline` is the name of the page beside it with the time line.
    """
    if output.suffix == ".html":
        from pse.views.cube import write_cube_page

        roots = [metric.name for metric in METRICS if not metric.parent]
        reference = {name: old.total(name) for name in roots} if old else None
        write_cube_page(cube, output, reference, timeline)
    else:
        (write_cube if output.suffix == ".npz" else export_cubex)(cube, output)


def _write_timeline(source: Path, output: Path, *, repair: bool) -> str:
    """Write the time line that the page of a cube links to; give its name."""
    if output.suffix != ".html":
        return ""
    from pse.views.page import write_html

    name = f"{output.stem}-timeline.html"
    with contextlib.suppress(TraceError):  # Of several nodes, this one may have no events.
        with open_repaired(source, repair=repair) as opened:
            write_html(opened, output.with_name(name))
        return name
    return ""


@click.command("analyze")
@click.argument("source", metavar="DIR|traces.otf2", type=click.Path(path_type=Path))
@click.option(
    "--report", "form", type=click.Choice(["text", "json"]), default="text", help="How to print it."
)
@TOP
@OUTPUT
@METAHOSTS
@NO_REPAIR
@click.option(
    "--root-causes/--no-root-causes",
    default=None,
    help="Search delay costs and the critical path; by default in traces of up to 2 million events.",
)
@click.option(
    "-n",
    "processes",
    type=click.IntRange(1),
    metavar="N",
    help="Analyze by N processes, which mpiexec starts.",
)
def command(
    source: Path,
    form: str,
    top: int,
    output: Path | None,
    metahosts: Path | None,
    no_repair: bool,
    root_causes: bool | None,
    processes: int | None,
) -> None:
    """Say how long ranks waited for each other, in which call paths, and in which way.

    Several processes do it together with -n N, or inside an MPI job: mpirun -n N python -m pse analyze DIR.
    """
    if processes is not None:
        paths = {"-o": output, "--metahosts": metahosts}
        given = [word for name, path in paths.items() if path is not None for word in (name, str(path))]
        given += ["--no-repair"] if no_repair else []
        given += [] if root_causes is None else ["--root-causes" if root_causes else "--no-root-causes"]
        _restart(processes, ["--report", form, "--top", str(top), *given, "--", str(source)])
    how = _How(metahosts=metahosts, repair=not no_repair, root_causes=root_causes)
    with _analyzed(source, how) as cube:
        if cube is None:
            return
        for problem in cube.problems:
            click.echo(f"warning: {problem}", err=True)
        if root_causes is None and "critical_path" not in cube.values:
            click.echo("note: root causes are not searched in so long a trace: --root-causes", err=True)
        if output is not None:
            write(cube, output, timeline=_write_timeline(source, output, repair=not no_repair))
        if form == "json":
            click.echo(json.dumps(severities_json(cube), indent=1, ensure_ascii=False))
        else:
            click.echo("\n".join([*cube_text(cube, top), *_remedy_lines(cube, source, top)]))


class _How(TypedDict):
    """What `analyze` and `analyze_parallel` are given."""

    metahosts: Path | None
    repair: bool
    root_causes: bool | None


@contextlib.contextmanager
def _analyzed(source: Path, how: _How) -> Iterator[Cube | None]:
    """Analyze a trace, together with the other processes of the job if this one is in an MPI job.

    Yields
    ------
    Cube or None
        The cube; None on other ranks than 0, which sleep until it is done with the cube.
    """
    if not inside_mpi_job():
        yield analyze(source, **how)
        return
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with contextlib.ExitStack() as kept:
        kept.callback(lambda: Backoff().sleep_until(comm.Ibarrier().Test))
        cube = _together(source, how, comm)
        if cube is not None and (spare := comm.size - len(cube.locations)) > 0:
            streams = count_text(len(cube.locations), "stream")
            click.echo(
                f"note: {comm.size} processes for {streams} of events: {spare} had nothing to read", err=True
            )
        yield cube


def _together(source: Path, how: _How, comm: "MPI.Intracomm") -> Cube | None:
    failed = None
    with ending_the_job():
        try:
            return analyze_parallel(source, comm, **how)
        except UsageError as error:  # On all ranks.
            failed = error
    assert failed is not None
    if comm.rank == 0:
        raise failed
    sys.exit(failed.exit_code)  # Rank 0 says why.


def _restart(processes: int, arguments: Sequence[str]) -> NoReturn:
    """Start so many processes instead of this one, by mpiexec on this machine."""
    from pse.runtime.launch import find_mpiexec, rank_environment

    if inside_mpi_job():
        raise click.UsageError("-n: inside an MPI job, the processes of the job analyze; leave it out")
    mpiexec = find_mpiexec()
    python = [sys.executable, "-P", "-m", "pse"]  # -P: files here are not modules, whatever their names are
    line = [mpiexec.path, "-n", str(processes), *python, "analyze", *arguments]
    sys.stdout.flush()
    os.execve(line[0], line, rank_environment(os.environ, mpiexec, local=True))


def _remedy_lines(cube: Cube, source: Path, top: int) -> list[str]:
    """What usually helps against the longest waits, and what other threads are predicted to bring."""
    lines = [*remedies(cube, min(top, _REMEDIES))]
    if lines and cube.total("waiting"):
        from pse.advise import advise  # It takes as long to import as all else here.

        with contextlib.suppress(PseError):  # Not every run can be simulated.
            found = advise(source)
            lines += [f"{_gain(found)} (pse advise {source})."] if found.proposal else []
    return ["", "what may help", *lines] if lines else []


def _gain(found: "Advice") -> str:
    changes = count_text(len(found.proposal), "change")
    return f"With {changes} of its threads the program takes {share_text(found.gain)} less time, as simulated"
