"""``pse ace sensitivity``: how much a program's run time varies with the network."""

import json
from pathlib import Path

import click

from pse.advise import sensitivity, sensitivity_text
from pse.cli.completion import directories, files
from pse.emulate import Model


@click.command("sensitivity")
@click.argument("directory", metavar="DIR", shell_complete=directories)
@click.option(
    "--network",
    metavar="MODEL.json",
    type=click.Path(path_type=Path),
    shell_complete=files,
    required=True,
    help="What messages cost and how much that varies, as pse ace fit measured it.",
)
@click.option("--program", metavar="PATH", help="The program, if it isn't where it was when it ran.")
@click.option(
    "--draws",
    type=click.IntRange(2, 100_000),
    default=200,
    show_default=True,
    help="How many runs are simulated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(directory: str, network: Path, program: str | None, draws: int, as_json: bool) -> None:
    """Say how much the run time of a recorded program varies with the network, and which call sites carry it.

    DIR is a trace of a run on several nodes (pse run PROGRAM --trace DIR), or of any MPI program (pse tools
    run, with the tool trace), whose messages are replayed: those between nodes vary, on a single node all.
    """
    found = sensitivity(directory, Model.load(network), program=program, draws=draws)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=1, ensure_ascii=False))
    else:
        click.echo("\n".join(sensitivity_text(found)))
