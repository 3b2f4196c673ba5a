"""The experiment of the paper on ACE: errors of predicted run times by nodes, load and cross traffic.

    sudo .venv/bin/python examples/experiments/variability.py

Pairs of nodes of emulated clusters exchange messages; the cross traffic is a second emulated application,
whose ranks are on the same nodes.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console

from pse import ace, views
from pse.bench import Figure, Result, comparison_table, describe_machine, print_result, write_tables
from pse.cluster import Cluster
from pse.text import size_text, time_text

KIB, MIB = 1 << 10, 1 << 20
CYCLES = {KIB: 60, MIB: 4}
PAIRS, CROSS = "pairs", "cross traffic"
CONFIGURATION = """\
[run]
ranks = {ranks}
launches = {launches}
most_launches = {launches}
waits = "sleep"

[exchanges]
sizes = ["1 KiB", "64 KiB", "1 MiB"]
repetitions = 10

[[applications]]
name = "pairs"
pattern = "pairwise"
ranks = {nodes}
placement = "spread"
blocking = {blocking}
sizes = {size}
loads = {loads}
cycles = {cycles}

[[applications]]
name = "cross traffic"
pattern = "circular"
blocking = false
ranks = {nodes}
placement = "spread"
sizes = "256 KiB"
loads = 100
cycles = {traffic}
"""
HEADINGS = ("exchange", "nodes", "cross traffic")
Key = tuple[int, int, bool]
"""Size, number of nodes, and whether messages are blocking."""


def measure(cluster: Cluster, key: Key, given: argparse.Namespace, folder: Path) -> ace.Results:
    """Measure pairs of nodes, beside the cross traffic and alone, in some launches."""
    size, nodes, blocking = key
    name = f"{size}-{nodes}-{'blocking' if blocking else 'nonblocking'}"
    text = CONFIGURATION.format(
        ranks=2 * nodes,
        nodes=nodes,
        launches=given.launches,
        blocking=str(blocking).lower(),
        size=size,
        loads=given.loads,
        cycles=CYCLES[size],
        traffic=given.traffic,
    )
    (folder / f"{name}.toml").write_text(text)
    command = [sys.executable, "-m", "pse", "ace", "run", f"{name}.toml", "-o", f"{name}.ace"]
    done = cluster.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{name}.toml: {done.stdout}{done.stderr}")
    return ace.Results.load(folder / f"{name}.ace")


def errors(results: ace.Results, name: str) -> dict[float, float]:
    """Give by load the error of the run time that communication makes: computing counts as calculated."""
    cycles = of_application(results, name)
    found = {}
    for load in np.unique(cycles["load"]).tolist():
        own = cycles[cycles["load"] == load]
        launches = [own[own["launch"] == launch] for launch in np.unique(own["launch"])]
        ratios = [
            (one["calculated"] + one["communication"]).sum() / one["predicted"].sum() for one in launches
        ]
        found[load] = float(np.median(ratios)) - 1
    return found


def of_application(results: ace.Results, name: str) -> np.ndarray:
    """Give the cycles of an application by its name."""
    names = [one["name"] for one in results.metadata["applications"]]
    return results.cycles[results.cycles["application"] == names.index(name)]


def error_rows(found: dict[Key, ace.Results]) -> Iterator[tuple[str, ...]]:
    """Give the errors of each exchange and number of nodes, a column for each load."""
    for size, nodes, blocking in sorted(found, key=lambda key: (key[0], not key[2], key[1])):
        results = found[size, nodes, blocking]
        way = f"{'blocking' if blocking else 'non-blocking'}, {size_text(size, zeros=False)}"
        for name, traffic in ((f"{PAIRS} alone", "no"), (PAIRS, "yes")):
            values = (f"{100 * error:+.1f} %" for error in errors(results, name).values())
            yield way, str(nodes), traffic, *values


def dispersion_rows(results: ace.Results) -> list[tuple[str, ...]]:
    """Give what table 1 of the paper has, without and with cross traffic, at the middle load."""
    loads = np.unique(results.cycles["load"][results.cycles["load"] < 100])
    sides = []
    for name in (f"{PAIRS} alone", PAIRS):
        cycles = of_application(results, name)
        sides.append(cycles[cycles["load"] == loads[len(loads) // 2]])
    rows = []
    for column in ("communication", "barrier"):
        for what, function in (("mean", np.mean), ("σ", np.std)):
            values = [float(function(side[column])) for side in sides]
            ratio = f"{values[1] / values[0]:.1f}"
            rows.append((f"{column}, {what}", *(time_text(1e9 * one) for one in values), ratio))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Errors of predicted run times on emulated clusters.")
    parser.add_argument("--nodes", type=int, nargs="+", default=[4, 8, 16])
    parser.add_argument("--loads", type=int, nargs="+", default=[20, 40, 80])
    parser.add_argument("--rate", default="400mbit", help="of the nodes' links")
    parser.add_argument("--launches", type=int, default=1)
    parser.add_argument(
        "--traffic", type=int, default=400, help="cycles of the cross traffic, to last as long as pairs"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[KIB, MIB], choices=[KIB, MIB])
    parser.add_argument("--keep", type=Path, help="keep the measurements here, for pse ace report")
    parser.add_argument("--picture", type=Path, help="draw errors against loads into this file")
    parser.add_argument("--update", metavar="PAGE", type=Path, help="write the tables into a page")
    given = parser.parse_args()
    environment, console = describe_machine(), Console(width=200)
    found: dict[Key, ace.Results] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for nodes in given.nodes:
            with Cluster(nodes=str(nodes), rate=given.rate) as cluster:
                for size in given.sizes:
                    for blocking in (True, False):
                        key = size, nodes, blocking
                        found[key] = measure(cluster, key, given, folder)
                        for row in error_rows({key: found[key]}):
                            console.print(*row, markup=False)
    report(found, given, environment, console)


def report(
    found: dict[Key, ace.Results], given: argparse.Namespace, environment: dict[str, object], console: Console
) -> None:
    """Print the tables, and write them into a page if asked."""
    largest = found[max(key for key in found if key[2])]
    together, alone = (of_application(largest, name) for name in (PAIRS, f"{PAIRS} alone"))
    ratios = tuple(
        float(
            together["communication"][together["launch"] == launch].std()
            / alone["communication"][alone["launch"] == launch].std()
        )
        for launch in np.unique(alone["launch"])
    )
    figure = Figure("σ of communication with cross traffic over without", "×", ">=", 1.0, ratios)
    result = Result("variability", (figure,), environment)
    headings = (*HEADINGS, *(f"error at {load} %" for load in given.loads))
    tables = {
        "variability": comparison_table(result, headings, list(error_rows(found))),
        "dispersion": comparison_table(
            result, ("", "alone", "with cross traffic", "ratio"), dispersion_rows(largest)
        ),
    }
    print_result(result, console)
    for table in tables.values():
        console.print(table, markup=False)
    if given.picture:
        views.save(views.draw_measurements(list(found.values()), "error"), given.picture)
    if given.update:
        write_tables(given.update, tables)


if __name__ == "__main__":
    main()
