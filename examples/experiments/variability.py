"""The experiment of the paper on ACE: errors of predicted run times by nodes, load and cross traffic.

    sudo .venv/bin/python examples/experiments/variability.py

Pairs of nodes of emulated clusters exchange messages; the cross traffic is a second emulated application,
whose ranks are on the same nodes, and which goes on as long as the pairs do.  Each launch is of the whole
matrix, so that launches of a setting are minutes apart.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console

from pse import ace, views
from pse.bench import Figure, Result, comparison_table, describe_machine, print_result, write_tables
from pse.cluster import Cluster
from pse.text import size_text, time_text

KIB, MIB = 1 << 10, 1 << 20
CYCLES = {KIB: 100, MIB: 6}
PAIRS, CROSS = "pairs", "cross traffic"
CONFIGURATION = """\
[run]
ranks = {ranks}
launches = 1
most_launches = 1
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
cycles = 20
background = true
"""
HEADINGS = ("exchange", "nodes", "cross traffic")
Key = tuple[int, int, bool]
"""Size, number of nodes, and whether messages are blocking."""


def measure(cluster: Cluster, key: Key, given: argparse.Namespace, folder: Path) -> ace.Results:
    """Measure pairs of nodes once more, beside the cross traffic and alone; give all launches so far."""
    size, nodes, blocking = key
    name = f"{size}-{nodes}-{'blocking' if blocking else 'nonblocking'}"
    text = CONFIGURATION.format(
        ranks=2 * nodes,
        nodes=nodes,
        blocking=str(blocking).lower(),
        size=size,
        loads=given.loads,
        cycles=CYCLES[size],
    )
    (folder / f"{name}.toml").write_text(text)
    command = [sys.executable, "-m", "pse", "ace", "run", f"{name}.toml", "-o", f"{name}.ace", "--append"]
    done = cluster.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{name}.toml: {done.stdout}{done.stderr}")
    return ace.Results.load(folder / f"{name}.ace")


def errors(results: ace.Results, name: str) -> dict[float, list[float]]:
    """Give by load the errors of launches' run times: of communication, with computing as calculated."""
    cycles = of_application(results, name)
    found: dict[float, list[float]] = {}
    for load in np.unique(cycles["load"]).tolist():
        own = cycles[cycles["load"] == load]
        launches = [own[own["launch"] == launch] for launch in np.unique(own["launch"])]
        found[load] = [
            float((one["calculated"] + one["communication"]).sum() / one["predicted"].sum()) - 1
            for one in launches
        ]
    return found


def error_text(launches: list[float]) -> str:
    """Give the median of launches, with the least and the greatest."""
    ends = f" ({100 * min(launches):+.0f} to {100 * max(launches):+.0f})" if len(launches) > 1 else ""
    return f"{100 * float(np.median(launches)):+.1f} %{ends}"


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
            values = (error_text(launches) for launches in errors(results, name).values())
            yield way, str(nodes), traffic, *values


def dispersion_rows(found: dict[Key, ace.Results]) -> Iterator[tuple[str, ...]]:
    """Give what table 1 of the paper has, without and with cross traffic, by nodes; at the middle load."""
    size = max(key[0] for key in found)
    for nodes in sorted({key[1] for key in found}):
        sides = [middle_load(found[size, nodes, True], name) for name in (f"{PAIRS} alone", PAIRS)]
        for column in ("communication", "barrier"):
            for what, function in (("mean", np.mean), ("σ", np.std)):
                values = [float(function(side[column])) for side in sides]
                ratio = f"{values[1] / values[0]:.1f}"
                yield str(nodes), f"{column}, {what}", *(time_text(1e9 * one) for one in values), ratio


def middle_load(results: ace.Results, name: str) -> np.ndarray:
    """Give the cycles of an application at the middle one of its loads."""
    cycles = of_application(results, name)
    loads = np.unique(cycles["load"])
    return cycles[cycles["load"] == loads[len(loads) // 2]]


def measure_all(given: argparse.Namespace, folder: Path, console: Console) -> dict[Key, ace.Results]:
    """Measure the whole matrix, launch by launch, until there are enough or the time is up."""
    found: dict[Key, ace.Results] = {}
    begin = time.monotonic()
    for launch in range(given.launches):
        spent = time.monotonic() - begin
        if launch and spent * (1 + 1 / launch) > given.time:
            console.print(f"{launch} launches in {spent:.0f} s: the time is up")
            break
        for nodes in given.nodes:
            with Cluster(nodes=str(nodes), rate=given.rate) as cluster:
                for key in ((size, nodes, blocking) for size in given.sizes for blocking in (True, False)):
                    found[key] = measure(cluster, key, given, folder)
                    for row in error_rows({key: found[key]}):
                        console.print(f"launch {launch + 1}:", *row, markup=False)
    console.print(f"measured in {time.monotonic() - begin:.0f} s")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Errors of predicted run times on emulated clusters.")
    parser.add_argument("--nodes", type=int, nargs="+", default=[4, 8, 16])
    parser.add_argument("--loads", type=int, nargs="+", default=[10, 20, 40, 60, 80])
    parser.add_argument("--rate", default="400mbit", help="of the nodes' links")
    parser.add_argument("--launches", type=int, default=3, help="of the whole matrix")
    parser.add_argument(
        "--time", type=float, default=2400, metavar="S", help="begin no launch that would end after S seconds"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[KIB, MIB], choices=[KIB, MIB])
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep measurements here, or add to them")
    parser.add_argument("--picture", type=Path, help="draw errors against loads into this file")
    parser.add_argument("--update", metavar="PAGE", type=Path, help="write the tables into a page")
    given = parser.parse_args()
    environment, console = describe_machine(), Console(width=200)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        report(measure_all(given, folder, console), given, environment, console)


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
            result, ("nodes", "", "alone", "with cross traffic", "ratio"), list(dispersion_rows(found))
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
