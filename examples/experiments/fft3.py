"""Experiment (b) of the multithreading paper: 2-D FFTs, beside FFTW's MPI transform.

    sudo env PSE_FFTW_MPI=$PWD/fftw/lib/libfftw3_mpi.so .venv/bin/python examples/experiments/fft3.py

examples/experiments/build_fftw_mpi.sh builds that library; without it the same calls by hand are the peer.
The programs are pse/bench/programs/fft3_1.coven and fft3_2.coven; they differ in the label of `transpose`.
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
from pse.bench.subjects import fft3
from pse.text import number_text

PAPER = (
    "4,000²: 1 to 5 %; 10,000²: 6.6 and 5.1 % (8, 16 processors)",
    "15.7 and 18.2 %",
    "–",
    "7.0 and 5.7 %",
)
"""For the figures in turn: longer than one of FFTW's; less time than three, on one thread, three at once."""


def table(result: Result) -> str:
    """Set the paper's figures beside ours."""
    rows = [
        (figure.name, paper, f"{number_text(figure.value)} %", figure.against.name)
        for figure, paper in zip(result.figures, PAPER * (len(result.figures) // len(PAPER)), strict=True)
    ]
    return comparison_table(result, ("", "the paper", "here", "against"), rows)


def main() -> None:
    defaults = fft3.Sizes()
    parser = argparse.ArgumentParser(description="2-D FFTs on emulated nodes.")
    parser.add_argument("--processors", type=int, nargs="+", default=list(defaults.processors))
    parser.add_argument("--n", type=int, nargs="+", default=list(defaults.sides), help="points of a side")
    parser.add_argument("--megabits", type=float, default=defaults.megabits, help="of the links of two nodes")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--update", metavar="PAGE", type=Path, help="write the comparison into a page")
    given = parser.parse_args()
    sizes = fft3.Sizes(tuple(given.processors), tuple(given.n), given.megabits)
    environment, console = describe_machine(), Console(width=200)
    result = Result("fft3", tuple(fft3.measure(given.repeats, sizes, console.print)), environment)
    print_result(result, console)
    console.print(table(result), markup=False)
    if given.update:
        write_tables(given.update, {"fft3": table(result)})


if __name__ == "__main__":
    main()
