"""The experiment of the paper on SCALASCA for metacomputers: MetaTrace before and after two optimisations.

    sudo .venv/bin/python examples/experiments/metatrace.py

The program is programs/metatrace.coven; its parameter `version` is all that changes.  The metacomputer is an
emulated cluster of two metahosts.
"""

import argparse
import itertools
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from pse.analysis import Cube, analyze, cube_cut, cube_mean, difference_text, write_cube
from pse.bench import Figure, Result, comparison_table, describe_machine, print_result, write_tables
from pse.cluster import Cluster
from pse.text import number_text

PROGRAM = Path(__file__).parents[2] / "programs" / "metatrace.coven"
VERSIONS = (1, 2, 3)
PAPER = (
    ("time of all processors", ("1837.4 s", "877.9 s", "771.5 s")),
    ("MPI", ("72.1 %", "42.0 %", "34.4 %")),
    ("Wait at barrier", ("18.7 %", "8.6 %", "0.9 %")),
    ("Late sender within metahosts", ("10.6 %", "3.7 %", "1.7 %")),
    ("Wait at N×N in Trace", ("20.2 %", "7.8 %", "6.0 %")),
    ("Late sender between metahosts", ("", "", "")),
)
"""Table 4 of the paper, and the times in its text."""

HEADINGS = ("version", *(f"the paper: {n}" for n in VERSIONS), *(f"here: {n}" for n in VERSIONS))
TOOLS = "module trace\nmodule coopwait\n"


def run(cluster: Cluster, version: int, given: argparse.Namespace, folder: Path, repeat: int) -> Cube:
    """Run a version under the recorder, and analyse its cycles."""
    trace, tools = folder / f"version{version}-{repeat}", folder / "tools.conf"
    tools.write_text(TOOLS)
    values = {
        "version": version,
        "cycles": given.cycles,
        "particles": given.particles,
        "storage": 1e-3,
        "tolerance": 1e-6,
        "steps": 100,
        "dt": 0.05,
        "results": "",
    }
    definitions = [word for name, value in values.items() for word in ("-D", f"{name}={value}")]
    command = ["run", str(PROGRAM), "-p", str(len(cluster.hosts)), "-q", *definitions]
    recorded = ["--trace", str(trace), "--tools", str(tools)]
    done = cluster.run([*command, *recorded], capture_output=True, text=True)
    if done.returncode != 0:
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    return cube_cut(analyze(trace), "loop cycle")


def fractions(cube: Cube) -> list[float]:
    """Give the fractions of table 4 for a version, and late senders between metahosts."""
    between = cube.total("mpi_latesender_grid")
    times = (
        cube.total("mpi"),
        cube.total("mpi_barrier_wait"),
        cube.total("mpi_latesender") - between,
        cube_cut(cube, "solve").total("mpi_wait_nxn"),
        between,
    )
    return [time / cube.total("time") for time in times]


def shares(cube: Cube) -> list[str]:
    """Give the time of a version, and these fractions in percent."""
    whole = number_text(cube.total("time") / 1e9)
    return [f"{whole} s", *(f"{100 * fraction:.1f} %" for fraction in fractions(cube))]


def course(found: dict[int, list[Cube]]) -> Iterator[Figure]:
    """Compare the versions of each repetition: the total time halves, and no fraction of table 4 grows."""
    first, *_, last = found.values()
    times = tuple(new.total("time") / old.total("time") for old, new in zip(first, last, strict=True))
    yield Figure("time of all processors, version 3 over version 1", "×", "<=", 0.5, times)
    for old, new in itertools.pairwise(VERSIONS):
        before, after = (zip(*map(fractions, found[version]), strict=True) for version in (old, new))
        for (name, _), *both in zip(PAPER[1:-1], before, after, strict=False):
            ratios = tuple(now / then for then, now in zip(*both, strict=True))
            title = f"{name}: its share in version {new}, over that in version {old}"
            yield Figure(title, "×", "<=", 1.0, ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description="MetaTrace in three versions on two emulated metahosts.")
    parser.add_argument("--nodes", default="6,3", help="of the metahosts of Trace and Partrace")
    parser.add_argument("--rate", default="10mbit,100mbit", help="of the nodes' links")
    parser.add_argument("--cpu", default="0.25,0.15", help="share of a core that a node has")
    parser.add_argument("--between", default="20mbit", help="rate of the link between the metahosts")
    parser.add_argument("--cycles", type=int, default=3)
    parser.add_argument("--particles", type=int, default=40000)
    parser.add_argument("--repeats", type=int, default=10, help="verdicts need 10")
    parser.add_argument("--cubes", type=Path, help="keep the analyses here, for pse cube")
    parser.add_argument("--update", metavar="PAGE", type=Path, help="write the comparison into a page")
    given = parser.parse_args()
    environment, console = describe_machine(), Console(width=200)
    found: dict[int, list[Cube]] = {version: [] for version in VERSIONS}
    setup = {"nodes": given.nodes, "rate": given.rate, "cpu": given.cpu, "between": given.between}
    with Cluster(**setup) as cluster, tempfile.TemporaryDirectory() as folder:
        for repeat in range(given.repeats):
            for version in VERSIONS:
                found[version].append(run(cluster, version, given, Path(folder), repeat))
                console.print(f"version {version}:", *shares(found[version][-1]), markup=False)
    cubes = [cube_mean(found[version]) for version in VERSIONS]
    if given.cubes:
        given.cubes.mkdir(parents=True, exist_ok=True)
        for version, cube in zip(VERSIONS, cubes, strict=True):
            write_cube(cube, given.cubes / f"version{version}.npz")
    rows = [
        (name, *paper, *ours) for (name, paper), *ours in zip(PAPER, *map(shares, cubes), strict=True)
    ]
    result = Result("metatrace", tuple(course(found)), environment)
    table = comparison_table(result, HEADINGS, rows)
    if given.update:
        write_tables(given.update, {"metatrace": table})
    print_result(result, console)
    console.print(table, markup=False)
    console.print("\n".join(difference_text(cubes[0], cubes[1], 6)), markup=False)


if __name__ == "__main__":
    main()
