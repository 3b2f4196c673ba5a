"""How the overhead of coscheduled slices grows with the number of nodes: the protocol, by a virtual clock.

    .venv/bin/python examples/experiments/growth.py --update docs/performance.md

What a node's own work takes is measured, on a machine that has nothing else to do; networks are supposed.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from pse import bcs
from pse.bench import describe_machine, fit_growth, write_tables
from pse.text import time_text

NODES = (2, 16, 256, 1024, 4096, 10_000)
NETWORKS: Mapping[str, tuple[float, float, Literal["tree", "multicast"]]] = {
    "tree, 100 Gbit/s": (2e-6, 0.1e-9, "tree"),
    "tree, Gigabit Ethernet": (20e-6, 8e-9, "tree"),
    "switches multiply": (2e-6, 0.1e-9, "multicast"),
}
WORKLOADS = {"sage": "SAGE", "sweep": "SWEEP3D"}

Runs = Mapping[tuple[str, str], Sequence[bcs.Simulated]]


def simulate(work: Mapping[str, Any], nodes: Sequence[int], steps: int) -> Runs:
    """Run both programs on all numbers of nodes and all networks."""
    costs = {name: bcs.Costs.of_network(*given, **work) for name, given in NETWORKS.items()}
    return {
        (network, workload): [bcs.simulate(workload, one, costs[network], steps=steps) for one in nodes]
        for network in NETWORKS
        for workload in WORKLOADS
    }


def work_text(work: Mapping[str, float]) -> str:
    """Say what was measured."""
    times = {name: time_text(1e9 * seconds) for name, seconds in work.items()}
    return (
        f"A node's work as it was measured: {times['message']} to send a message by TCP or to take one, "
        f"{times['packet']} for what another node tells, {times['wake']} until a thread is woken, "
        f"{times['slice']} for a slice, {times['descriptor']} for a descriptor that is exchanged, "
        f"{times['match']} for one that is received."
    )


def law_text(some: Sequence[bcs.Simulated]) -> str:
    """Say how the coordination of a slice grows, by least squares."""
    law = fit_growth([one.nodes for one in some], [[one.coordination] for one in some])
    first, added = (time_text(1e9 * value) for value in (max(law.first, 0), law.added))
    grown = f"{added} · {law.law.replace('p', 'n')}"
    return f"{first} + {grown}" if law.first > 0 else grown


def table(network: str, runs: Runs) -> str:
    """Give a row for each number of nodes: coordination of a slice, and the run over the ideal one."""
    both = [runs[network, workload] for workload in WORKLOADS]
    heads = [head for name in WORKLOADS.values() for head in (f"{name}: coordination", "run")]
    lines = [("nodes", *heads), ("---:",) * (1 + len(heads))]
    for of_size in zip(*both, strict=True):
        cells = [(time_text(1e9 * one.coordination), f"{one.seconds / one.ideal:.2f} ×") for one in of_size]
        lines.append((f"{of_size[0].nodes:,}", *(cell for pair in cells for cell in pair)))
    laws = [f"{name} {law_text(some)}" for name, some in zip(WORKLOADS.values(), both, strict=True)]
    rows = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"**{network}**\n\n{rows}\n\nOn n nodes: {'; '.join(laws)}."


def page_text(work: Mapping[str, float], runs: Runs, machine: Mapping[str, object]) -> str:
    """Write the tables, the laws and where it was measured, in Markdown."""
    where = f"Measured {machine['time']} on {machine['cpu']}; load {machine['load']} at the start."
    parts = (work_text(work), *(table(network, runs) for network in NETWORKS), where)
    return "\n" + "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="How the overhead of slices grows with the nodes.")
    parser.add_argument("--nodes", type=int, nargs="+", default=NODES)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--update", metavar="PAGE", type=Path, help="write it into a page")
    given = parser.parse_args()
    machine, work = describe_machine(), bcs.measure_costs()
    text = page_text(work, simulate(work, given.nodes, given.steps), machine)
    Console(width=200).print(text, markup=False)
    if given.update:
        write_tables(given.update, {"bcs growth": text})


if __name__ == "__main__":
    main()
