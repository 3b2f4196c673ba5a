"""``pse ace compare``: whether two measurements differ."""

import json
from pathlib import Path

import click

from pse.cli._options.group import FiniteRange
from pse.emulate import Results, compare, print_comparison, report_console

_PATH = click.Path(path_type=Path)


@click.command("compare")
@click.argument("first", metavar="A.ace", type=_PATH)
@click.argument("second", metavar="B.ace", type=_PATH)
@click.option(
    "--level",
    type=FiniteRange(0, 1, min_open=True, max_open=True),
    default=0.01,
    show_default=True,
    help="Probability that any difference is reported where there is none.",
)
@click.option(
    "--least",
    type=FiniteRange(min=0),
    default=1.0,
    show_default=True,
    metavar="PERCENT",
    help="Differences below are not reported.",
)
@click.option(
    "--top",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    metavar="N",
    help="Quantities that are listed.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(first: Path, second: Path, level: float, least: float, top: int, as_json: bool) -> None:
    """Say whether two measurements differ, in what, by how much, and how sure that is.

    Launches are the units of the test: measure 10 of each, in turn, since the machine may change meanwhile.
    """
    found = compare(Results.load(first), Results.load(second), level=level, least=least / 100)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=1, ensure_ascii=False))
    else:
        print_comparison(found, report_console(), top=top)
