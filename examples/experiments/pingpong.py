"""Experiment (c) of the multithreading paper: 256 MB to and fro, with shared memory and without.

    .venv/bin/python examples/experiments/pingpong.py --rounds 8

The program is pse/bench/programs/pingpong.coven; the option `shared_memory` is all that changes.
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
from pse.bench.subjects import pingpong
from pse.text import number_text


def table(result: Result) -> str:
    """Set the paper's figures beside ours."""
    share, ratio = result.figures
    on, off = pingpong.PAPER_SECONDS
    ours, theirs = sorted(ratio.against.ours)[len(ratio.samples) // 2], ratio.against.value
    rows = (
        ("with shared memory", f"{on} s", f"{number_text(ours)} s"),
        ("without", f"{off} s", f"{number_text(theirs)} s"),
        ("with over without", number_text(on / off), number_text(ratio.value)),
        ("hand-overs with shared memory, of the run", "", f"{number_text(share.value)} %"),
        ("hand-overs without, of the run", "", f"{number_text(share.against.value)} %"),
    )
    return comparison_table(result, ("", "the paper", "here"), rows)


def main() -> None:
    defaults = pingpong.Sizes()
    parser = argparse.ArgumentParser(description="256 MB to and fro between two threads.")
    parser.add_argument("--bytes", type=int, default=defaults.bytes)
    parser.add_argument("--rounds", type=int, default=defaults.rounds)
    parser.add_argument("--passes", type=int, default=defaults.passes, help="of each thread over the array")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--update", metavar="PAGE", type=Path, help="write the comparison into a page")
    given = parser.parse_args()
    sizes = pingpong.Sizes(given.bytes, given.rounds, given.passes)
    environment, console = describe_machine(), Console(width=200)
    result = Result("pingpong", tuple(pingpong.measure(given.repeats, sizes, console.print)), environment)
    print_result(result, console)
    console.print(table(result), markup=False)
    if given.update:
        write_tables(given.update, {"pingpong": table(result)})


if __name__ == "__main__":
    main()
