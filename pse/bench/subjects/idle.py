"""``pse bench idle``: CPU time of ranks that wait, while one rank of four computes.

Two wait for what it computes; one has nothing left to do and waits for the end of the run.  Beside it: ranks
that wait in MPI_Recv, with MPI's default settings.  Reads the CPU time of every rank from /proc, so all that
a rank does counts.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from errno import ESRCH
from pathlib import Path

from pse import _proc
from pse.bench._figures import Against, Figure
from pse.bench._running import (
    TIME_LIMIT,
    Samples,
    confined_to,
    finish,
    in_turn,
    peer_command,
    program_command,
    start,
    stop,
    usable_cores,
)
from pse.errors import RunError
from pse.text import duration_text

RANKS = 4
SETTLE_SECONDS = 0.4
"""What ranks that have just started get to come to rest."""


@dataclass(frozen=True)
class Sizes:
    """Seconds that ranks are watched in one repetition."""

    seconds: float = 2.0


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure both, in turn, all ranks on two cores."""
    computing = sizes.seconds + 2 * SETTLE_SECONDS + 0.5
    measurers = [
        lambda: _shares(program_command("idle.coven", {"seconds": computing}), sizes.seconds, "ours"),
        lambda: _shares(peer_command("wait", RANKS, [computing]), sizes.seconds, "mpi"),
    ]
    return _figures(in_turn(repeats, measurers, say))


def _figures(samples: Samples) -> list[Figure]:
    against = Against("a rank in MPI_Recv, 4 ranks on 2 cores", "% CPU", tuple(samples["mpi waiting"]))
    return [
        Figure("rank that waits for input", "% CPU", "<=", 1.0, tuple(samples["ours waiting"]), against),
        Figure("rank that waits for the end", "% CPU", "<=", 1.0, tuple(samples["ours ended"]), against),
    ]


def _shares(command: list[str], seconds: float, who: str) -> dict[str, float]:
    """Percent of a core that ranks 1 and 2 (the larger) and rank 3 use while rank 0 computes."""
    what = f"what {who} waits in"
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory:
        with confined_to(usable_cores()[:2]):
            process = start(command, directory)
        try:
            ranks = _ranks_when(what, process, Path(directory) / "begun")
            time.sleep(SETTLE_SECONDS)
            used = _used_during(ranks, seconds)
            finish(what, process)  # An MPI that is ended early leaves shared memory behind.
        finally:
            stop(process)
    return {f"{who} waiting": max(used[1], used[2]), f"{who} ended": used[3]}


def _ranks_when(what: str, process: subprocess.Popen[str], begun: Path) -> dict[int, int]:
    """Process ids by rank, as soon as computing has begun."""
    until = time.monotonic() + TIME_LIMIT
    while not begun.exists():
        if process.poll() is not None:
            finish(what, process)
            raise RunError(
                f"{what} ended before it began to compute",
                help="run `pse doctor`: it looks for what is missing here",
            )
        if time.monotonic() > until:
            raise RunError(
                f"{what} did not begin to compute within {duration_text(TIME_LIMIT)}",
                help="look whether something else keeps the machine busy (top), then run it again",
            )
        time.sleep(0.02)
    ranks = _proc.ranks_below(process.pid)
    if sorted(ranks) != list(range(RANKS)):
        raise RunError(f"the processes started should be ranks 0 to {RANKS - 1}, but are {sorted(ranks)}")
    return ranks


def _used_during(ranks: dict[int, int], seconds: float) -> dict[int, float]:
    """Percent of a core that each rank's process uses in the next seconds."""
    try:
        before, begin = {rank: cpu_seconds(pid) for rank, pid in ranks.items()}, time.monotonic()
        time.sleep(seconds)
        after, passed = {rank: cpu_seconds(pid) for rank, pid in ranks.items()}, time.monotonic() - begin
    except OSError as error:
        raise RunError(
            f"a rank ended while it was watched ({error.strerror})",
            help="run it again; if it ends so every time, `pse doctor` looks for what is missing",
        ) from error
    return {rank: 100 * (after[rank] - before[rank]) / passed for rank in ranks}


def cpu_seconds(pid: int) -> float:
    """CPU time that all threads of a process have used: to the ns where the kernel tells, else to a tick."""
    try:
        threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9
    except (OSError, IndexError):
        status = _proc.status(pid)
        if status is None:
            raise ProcessLookupError(ESRCH, os.strerror(ESRCH)) from None
        return status.cpu_seconds
