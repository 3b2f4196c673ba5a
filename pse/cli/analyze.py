"""``pse analyze``: how long ranks waited for each other, where, and for what."""

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pse.analysis import (
    Cube,
    analyze_in_job,
    cube_text,
    export_cubex,
    open_repaired,
    remedies,
    severities_json,
    write_cube,
)
from pse.cli._options.selection import METAHOSTS, NO_REPAIR
from pse.errors import PseError
from pse.runtime.launch import run_command_on_ranks
from pse.runtime.supervise import inside_mpi_job
from pse.text import count_text, ending_text, share_text
from pse.trace import TraceError

if TYPE_CHECKING:
    from pse.advise import Advice

_REMEDIES = 3
_SUFFIXES = (".npz", ".cubex", ".html")


def _checked(_context: click.Context, _parameter: click.Parameter, output: Path | None) -> Path | None:
    if output is not None and output.suffix not in _SUFFIXES:
        raise click.UsageError(ending_text(str(output), _SUFFIXES))
    return output


TOP = click.option(
    "--top",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    metavar="N",
    help="How many call paths are listed.",
)
OUTPUT = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=_checked,
    help="Write metrics by call path and rank to a file too: .html, .npz, or .cubex for Cube's browser.",
)


def write(cube: Cube, output: Path, *, timeline: str = "") -> None:
    """Write a cube in the format that the name of the file says; `timeline` is a page beside it."""
    if output.suffix == ".html":
        from pse.views.cube import write_cube_page

        write_cube_page(cube, output, timeline)
    else:
        (write_cube if output.suffix == ".npz" else export_cubex)(cube, output)


def _write_both(cube: Cube, source: Path, output: Path, *, repair: bool) -> None:
    """Write a cube, and the time line that its page links to; without the page, that is not left behind."""
    timeline = _write_timeline(source, output, repair=repair)
    try:
        write(cube, output, timeline=timeline)
    except PseError:
        if timeline:
            output.with_name(timeline).unlink()
        raise


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
    "--report",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="The form of what is printed.",
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
        if inside_mpi_job():
            raise click.UsageError("-n: inside an MPI job, the processes of the job analyze; leave it out")
        paths = {"-o": output, "--metahosts": metahosts}
        given = [word for name, path in paths.items() if path is not None for word in (name, str(path))]
        given += ["--no-repair"] if no_repair else []
        given += [] if root_causes is None else ["--root-causes" if root_causes else "--no-root-causes"]
        words = ["analyze", "--report", form, "--top", str(top), *given, "--", str(source)]
        sys.exit(run_command_on_ranks(processes, words))
    job = analyze_in_job(source, metahosts=metahosts, repair=not no_repair, root_causes=root_causes)
    with job as (cube, idle):
        if cube is None:
            return
        if idle:
            streams, all = count_text(len(cube.locations), "stream"), idle + len(cube.locations)
            click.echo(f"note: {all} processes for {streams} of events: {idle} had nothing to read", err=True)
        for problem in cube.problems:
            click.echo(f"warning: {problem}", err=True)
        if root_causes is None and "critical_path" not in cube.values:
            click.echo("note: root causes are not searched in so long a trace: --root-causes", err=True)
        if output is not None:
            _write_both(cube, source, output, repair=not no_repair)
        if form == "json":
            click.echo(json.dumps(severities_json(cube), indent=1, ensure_ascii=False))
        else:
            click.echo("\n".join([*cube_text(cube, top), *_remedy_lines(cube, source, top)]))


def _remedy_lines(cube: Cube, source: Path, top: int) -> list[str]:
    """What usually helps against the longest waits, and what other threads are predicted to bring."""
    lines = [*remedies(cube, min(top, _REMEDIES))]
    if lines and cube.total("waiting"):
        from pse.advise import advise  # It takes as long to import as all else here.

        with contextlib.suppress(PseError):  # Not every run can be simulated.
            found = advise(source)
            lines += [_gain(found, source)] if found.proposal else []
    return ["", "what may help", *lines] if lines else []


def _gain(found: "Advice", source: Path) -> str:
    changes = f"{count_text(len(found.proposal), 'change')}, which pse advise {source} shows,"
    return f"With {changes} the program takes {share_text(found.gain)} less time, as simulated."
