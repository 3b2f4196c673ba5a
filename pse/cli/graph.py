"""``pse graph``: a picture of a program; nothing is run."""

import sys
from pathlib import Path

import click

from pse import trace
from pse.cli.completion import directories, files
from pse.errors import UsageError
from pse.files import write_file
from pse.language.diagnostics import print_diagnostics
from pse.language.io import check_file
from pse.modules import Finder
from pse.program import build_graph
from pse.views.core import check_writable
from pse.views.graph import FORMATS, PICTURES, choose_graph_format, export_graph, measured_graph


@click.command("graph")
@click.argument("program", metavar="PROGRAM", shell_complete=files)
@click.option(
    "-o",
    "output",
    metavar="FILE",
    shell_complete=files,
    help="The file to draw into: .svg, .png, .dot or .mmd.",
)
@click.option(
    "--trace",
    "directory",
    metavar="DIR",
    shell_complete=directories,
    help="The trace of a run of this program: show the time of calls, and the bytes of tags.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="The format, where the ending of FILE doesn't say it.",
)
def command(program: str, output: str | None, directory: str | None, form: str | None) -> None:
    """Draw a program's graph without running anything, or with what a recorded run measured.

    Threads are colours, tags with their distributions are on the edges, loops and PARALLEL are boxes, and
    each call says which tags it frees.  Without -o, text goes to the terminal (dot, unless --format
    mermaid).
    """
    if output is not None:
        check_writable(output)
    form = choose_graph_format(output, form)
    if output is None and form in PICTURES and sys.stdout.isatty():
        message = f"a picture of format {form} can't be written to the terminal"
        raise UsageError(message, help=f"name a file: -o {Path(program).stem}.{form}")
    file = check_file(program, Finder())
    checked = file.required()
    print_diagnostics(file.diagnostics, file.sources, sys.stderr)
    measured = None if directory is None else measured_graph(trace.open(directory), file.text)
    data = export_graph(build_graph(checked), form, measured)
    if output is not None:
        write_file(data, output)
    else:
        sys.stdout.buffer.write(data)
