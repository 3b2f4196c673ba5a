"""What the timed loop itself costs, and how exactly it computes: cycles without messages, in this process."""

from __future__ import annotations

import resource
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pse._abi.emulate import STEP_DTYPE, StepKind
from pse.emulate import _cycles
from pse.emulate.job._clock import ticks_rate

_SET_UPS = 5  # Times that the loop's set-up is measured, which belongs to no cycle.


class LoopCosts(NamedTuple):
    """How exact the timed loop is.

    Parameters
    ----------
    error : float
        Median compute time over the calculated one, less 1.
    deviation : float
        Standard deviation of compute times over the calculated time.
    overhead : float
        What a cycle takes beyond computing, s.
    reading : float
        What a reading of the hardware's clock takes, s.
    switches : int
        How often the kernel gave the core to others meanwhile.

    See Also
    --------
    loop_costs
    """

    error: float
    deviation: float
    overhead: float
    reading: float
    switches: int


def loop_costs(seconds: float = 1e-3, cycles: int = 1000) -> LoopCosts:
    """Measure the timed loop on the core that this process has.

    Parameters
    ----------
    seconds : float
        What a cycle computes.
    cycles : int
        How many.

    Returns
    -------
    LoopCosts
        By the system's clock, not by the loop's own.

    Examples
    --------
    >>> loop_costs(1e-4, 20).overhead < 1e-3
    True
    """
    rate = ticks_rate()
    names = _cycles.routine_names()
    library = _cycles.Library([0] * len(names), 0, 0, 0, 0, 8)  # No step calls MPI.
    rows = np.zeros(1, STEP_DTYPE)
    rows["kind"], rows["seconds"] = StepKind.COMPUTE, seconds
    buffer = np.ones(1, np.uint8)

    def run(count: int) -> tuple[float, NDArray[np.float64]]:
        """Seconds that so many cycles take beyond computing, and what each computes."""
        begin = time.perf_counter()
        _, times = _cycles.run_cycles(
            library,
            [0],
            rows,
            np.array([0, 1]),
            count,
            out=buffer,
            into=buffer,
            synchronous=False,
            sleeps=False,
            origin=0,
            rate=rate,
        )
        return time.perf_counter() - begin - float(times["compute"].sum()), times["compute"]

    set_up = min(run(1)[0] for _ in range(_SET_UPS))
    before = _switches()
    beyond, compute = run(cycles)
    switches = _switches() - before
    return LoopCosts(
        float(np.median(compute)) / seconds - 1,
        float(compute.std()) / seconds,
        (beyond - set_up) / max(cycles - 1, 1),
        _reading(),
        switches,
    )


def _switches() -> int:
    """Give how often this thread lost its core so far."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw


def _reading(count: int = 1000) -> float:
    """Give what a cycle of nothing but two readings takes, s: a floor for the loop's overhead."""
    begin = time.perf_counter()
    for _ in range(count):
        _cycles.ticks()
    return (time.perf_counter() - begin) / count
