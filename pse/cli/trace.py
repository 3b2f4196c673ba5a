"""``pse trace``: look at what a run recorded."""

import json

import click

from pse import trace
from pse.cli import _exports, _wait_analysis
from pse.cli._group import Group
from pse.cli._selection import options
from pse.cli.completion import directories
from pse.trace.summary import print_summary


@click.group("trace", cls=Group)
def command() -> None:
    """Look at what a run recorded (pse run PROGRAM --trace DIR)."""


command.add_command(_wait_analysis.why)
command.add_command(_wait_analysis.follow)
command.add_command(_wait_analysis.critical)
command.add_command(_exports.export_command)
command.add_command(_exports.import_command)


@command.command()
@click.argument("directory", metavar="DIR", shell_complete=directories)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print it."
)
@options
def summary(directory: str, form: str, selection: trace.Selection) -> None:
    """Say where the time of a run went, what moved, and who waited for what."""
    counted = trace.summarize(trace.open(directory), selection)
    for problem in counted.problems:
        click.echo(f"warning: {problem}", err=True)
    if form == "json":
        click.echo(json.dumps(counted.to_json(), indent=1, ensure_ascii=False))
    else:
        print_summary(counted)
