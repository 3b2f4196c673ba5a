"""``pse ace fit``: the cost of messages, fitted to what was measured, and the file of that model."""

import dataclasses
import json
from pathlib import Path

import click

from pse.cli.completion import files
from pse.emulate import Results, fit, loggp_parameters, print_model, report_console


@click.command("fit")
@click.argument("results", metavar="RESULTS.ace", type=click.Path(path_type=Path))
@click.option(
    "--paper",
    is_flag=True,
    help="One line by ordinary least squares for each rank, their parameters averaged.",
)
@click.option("--pairs", is_flag=True, help="Give a line for each pair of ranks, too.")
@click.option(
    "-o",
    "output",
    metavar="MODEL.json",
    type=click.Path(path_type=Path),
    shell_complete=files,
    help="Where to write it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(results: Path, paper: bool, pairs: bool, output: Path | None, as_json: bool) -> None:
    """Fit the cost of messages to measured exchanges: startup time and time per byte, for ranges of sizes.

    The parameters of LogGP are added if they were measured.  The model's file is what pse advise --network
    and pse ace sensitivity take.
    """
    measured = Results.load(results)
    model = fit(measured.exchanges, "paper" if paper else "piecewise", pairs=pairs)
    model = dataclasses.replace(model, loggp=loggp_parameters(measured))
    if output is not None:
        model.save(output)
    if as_json:
        click.echo(json.dumps(model.to_json(), indent=1))
        return
    print_model(model, report_console())
    if output is not None:
        click.echo(f"{output}: written", err=True)
