"""``pse bcs simulate``: how the overhead of time slices grows with the number of nodes."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Literal

import click
from rich.console import Console
from rich.table import Table

from pse import coschedule
from pse._abi.coschedule import DEFAULT_SLICE
from pse.bench import fit_growth
from pse.cli.completion import files
from pse.coschedule import Costs, Simulated
from pse.emulate import Model
from pse.errors import UsageError
from pse.text import share_text, time_text

_NODES = "1,2,4,16,64,256,1024,4096,10000"


@click.command("simulate")
@click.option("--nodes", default=_NODES, show_default=True, metavar="N,N,…", help="Numbers of nodes.")
@click.option("--ranks", default=1, show_default=True, metavar="N", help="Ranks of each node.")
@click.option(
    "--workload",
    "workloads",
    type=click.Choice(["barrier", "sage", "sweep"]),
    multiple=True,
    default=("barrier", "sage", "sweep"),
    help="The program that is simulated; each of them if none is given.",
)
@click.option("--steps", default=20, show_default=True, metavar="N", help="Steps that it takes.")
@click.option(
    "--slice", default=DEFAULT_SLICE / 1e3, show_default=True, metavar="µs", help="Length of a time slice."
)
@click.option(
    "--alpha",
    default=2.0,
    show_default=True,
    metavar="µs",
    help="What a message between nodes takes to start.",
)
@click.option(
    "--beta", default=0.1, show_default=True, metavar="ns", help="What each byte of a message takes."
)
@click.option(
    "--network",
    metavar="MODEL.json",
    type=click.Path(path_type=Path),
    shell_complete=files,
    help="Take alpha and beta from what pse ace fit -o wrote.",
)
@click.option(
    "--slices",
    "by",
    type=click.Choice(["tree", "multicast"]),
    default="tree",
    show_default=True,
    help="Nodes agree on slices by messages along a tree, or by switches that multiply messages.",
)
@click.option("--adapt", is_flag=True, help="Slices become longer where more than 1 % of them begin late.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    nodes: str,
    ranks: int,
    workloads: Sequence[str],
    steps: int,
    slice: float,
    alpha: float,
    beta: float,
    network: Path | None,
    by: Literal["tree", "multicast"],
    adapt: bool,
    as_json: bool,
) -> None:
    """Simulate strict slices on many nodes: the protocol itself, by a virtual clock.

    What the protocol's own work takes is measured on this machine; what the network takes is given.
    """
    model = Model.load(network) if network else Model(alpha / 1e6, beta / 1e9)
    costs = Costs.of_network(model.alpha, model.beta, by, **coschedule.measure_costs())
    run = partial(
        coschedule.simulate, costs=costs, ranks_per_node=ranks, steps=steps, slice=slice / 1e6, adapt=adapt
    )
    found = {name: [run(name, number) for number in _numbers(nodes)] for name in workloads}
    if as_json:
        runs = {name: [_row(one) for one in some] for name, some in found.items()}
        click.echo(json.dumps({"costs": asdict(costs), "runs": runs, "laws": _laws(found)}, indent=1))
    else:
        _print(costs, found)


def _numbers(text: str) -> list[int]:
    words = text.split(",")
    if not all(word.isdecimal() and int(word) for word in words):
        raise UsageError(
            f"--nodes is {text!r}; it must be numbers from 1 with commas between them",
            help="for example: --nodes 1,10,100",
        )
    return [int(word) for word in words]


def _row(one: Simulated) -> dict[str, Any]:
    return {
        "nodes": one.nodes, "slices": len(one.slices), "coordination": one.coordination,
        "overhead": one.overhead, "seconds": one.seconds, "ideal": one.ideal, "messages": one.messages,
    }  # fmt: skip


def _laws(found: dict[str, list[Simulated]]) -> dict[str, dict[str, Any]]:
    """Fit how the coordination of a slice grows, in seconds, where there are several nodes."""
    laws = {}
    for name, some in found.items():
        several = [one for one in some if one.nodes > 1]
        if len({one.nodes for one in several}) < 2:
            continue
        law = fit_growth([one.nodes for one in several], [[one.coordination] for one in several])
        laws[name] = {"first": law.first, "added": law.added, "law": law.law}
    return laws


def _print(costs: Costs, found: dict[str, list[Simulated]]) -> None:
    console = Console() if sys.stdout.isatty() else Console(width=100)
    times = {name: time_text(1e9 * value) for name, value in asdict(costs).items() if name != "fan"}
    multicast = f"to n nodes {times['first']} + {times['level']} × log n to the base {costs.fan}"
    along = f"along the tree {times['message']} at each end, and {times['packet']} per packet"
    console.print(
        f"a message takes {times['alpha']} and {1e9 * costs.beta:.3g} ns per byte; "
        f"{multicast if costs.fan else along}; a node's work "
        f"{times['slice']} per slice, {times['descriptor']} per descriptor, {times['match']} per receive; "
        f"waking {times['wake']}",
        soft_wrap=True,
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("workload", "nodes", "slices", "coordination", "of a slice", "run", "over ideal"):
        table.add_column(name, justify="left" if name == "workload" else "right")
    for name, some in found.items():
        for one in some:
            cells = (f"{one.nodes:,}", f"{len(one.slices):,}", time_text(1e9 * one.coordination))
            shares = (
                share_text(one.overhead / 100, 2),
                time_text(1e9 * one.seconds),
                f"{one.seconds / one.ideal:.3f}",
            )
            table.add_row(name, *cells, *shares)
    console.print(table)
    for name, law in _laws(found).items():
        first, added = time_text(1e9 * law["first"]), time_text(1e9 * law["added"])
        text = f"{name}: a slice's coordination takes {first} + {added} × {law['law']}"
        console.print(text, soft_wrap=True)
