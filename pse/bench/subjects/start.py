"""``pse bench start``: how soon a command answers, and how long the run of a program that does nothing takes.

Each is a process of its own, from its start to its end, beside the least that such a process takes: Python
that does nothing, and for a run mpiexec whose rank imports mpi4py.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pse.bench._figures import Against, Figure
from pse.bench._running import finish, in_turn, program_command, program_path, start, stop
from pse.runtime.launch import find_mpiexec


@dataclass(frozen=True)
class Sizes:
    """On how many processors the empty program runs."""

    processors: int = 1


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Start each of the processes in turn."""
    python, empty = sys.executable, str(program_path("empty.coven"))
    commands = {
        "run": [*program_command("empty.coven", {}, sizes.processors), "-q"],
        "mpi": [find_mpiexec().path, "-n", "1", python, "-c", "from mpi4py import MPI"],
        "check": [python, "-m", "pse", "check", empty],
        "help": [python, "-m", "pse", "--help"],
        "import": [python, "-c", "import pse"],
        "python": [python, "-c", "pass"],
    }
    samples = in_turn(repeats, [partial(_seconds, name, command) for name, command in commands.items()], say)
    mpi = Against('mpiexec -n 1 python -c "from mpi4py import MPI"', "s", tuple(samples["mpi"]), bound=True)
    bare = Against("python -c pass", "s", tuple(samples["python"]), bound=True)
    return [
        Figure("pse run of an empty program", "s", "<=", 0.35, tuple(samples["run"]), mpi),
        Figure("pse check of an empty program", "s", "<=", 0.15, tuple(samples["check"]), bare),
        Figure("pse --help", "s", "<=", 0.15, tuple(samples["help"]), bare),
        Figure('python -c "import pse"', "s", "<=", 0.03, tuple(samples["import"]), bare),
    ]


def _seconds(name: str, command: Sequence[str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory:
        began = time.perf_counter()
        process = start(list(command), directory)
        try:
            finish(f"the command {' '.join(command)}", process)
        finally:
            stop(process)
        return {name: time.perf_counter() - began}
