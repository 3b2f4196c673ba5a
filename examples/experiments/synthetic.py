"""Experiment (a) of the multithreading paper: compute and communicate, on one thread and on two.

    sudo .venv/bin/python examples/experiments/synthetic.py --processors 2 4 8 16 --units 16

The programs are pse/bench/programs/synthetic_1.coven and synthetic_2.coven; they differ in one word.
"""

import argparse
from pathlib import Path

from rich.console import Console

from pse.bench import (
    Result,
    comparison_table,
    describe_machine,
    print_result,
    write_tables,
)
from pse.bench.subjects import synthetic
from pse.text import number_text

PAPER = {2: 27.7, 4: 26.7, 8: 25.5, 16: 24.1}
"""Percent of the time that two threads saved, by processors."""

HEADINGS = (
    *("processors", "the paper: less time than one thread", "here"),
    *("here: of the pipeline's bound", "here: less time than with MPI's waits"),
)


def table(result: Result, processors: list[int]) -> str:
    """Set the paper's figures beside ours."""
    found = {figure.name: figure for figure in result.figures}
    rows = []
    for count in processors:
        mine = {name.partition(":")[2]: f for name, f in found.items() if f"; {count} " in name}
        cells = [str(count), f"{PAPER[count]} %" if count in PAPER else ""]
        for word in ("less time than one;", "of the pipeline", "MPI's own waits"):
            figure = next((figure for name, figure in mine.items() if word in name), None)
            cells.append(f"{number_text(figure.value)} %" if figure else "")
        rows.append(cells)
    return comparison_table(result, HEADINGS, rows)


def main() -> None:
    defaults = synthetic.Sizes()
    parser = argparse.ArgumentParser(description="Two threads against one, on emulated nodes.")
    parser.add_argument("--processors", type=int, nargs="+", default=list(defaults.processors))
    parser.add_argument("--units", type=int, default=defaults.units)
    parser.add_argument("--seconds", type=float, default=defaults.seconds, help="of each half of a unit")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--update", metavar="PAGE", type=Path, help="write the comparison into a page")
    given = parser.parse_args()
    sizes = synthetic.Sizes(tuple(given.processors), given.units, given.seconds)
    environment, console = describe_machine(), Console(width=200)
    result = Result("synthetic", tuple(synthetic.measure(given.repeats, sizes, console.print)), environment)
    print_result(result, console)
    console.print(table(result, given.processors), markup=False)
    if given.update:
        write_tables(given.update, {"synthetic": table(result, given.processors)})


if __name__ == "__main__":
    main()
