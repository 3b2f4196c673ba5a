"""Clocks of the ranks of a trace: whether its times keep the clock condition, and a trace whose times do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pse.analysis.clocks._clock_condition import ClockCondition, bounds, check_condition
from pse.analysis.clocks._clock_repair import points_of, repair_clocks
from pse.analysis.replay._collective_waits import operations_of
from pse.text import count_text, time_text
from pse.trace.format import Array
from pse.trace.query import Trace


def check_messages(receives: Array) -> ClockCondition:
    """Check that receives (END_DTYPE, with partners) end after the beginning of their sends."""
    return check_condition(receives["partner"], receives["leave"])


def check_collectives(parts: Array) -> ClockCondition:
    """Check the order of parts in complete operations (PART_DTYPE, by operation, then by place)."""
    if not len(parts):
        return ClockCondition()
    return check_condition(bounds(parts["operation"], operations_of(parts)), parts["end"])


def repaired(trace: Trace, sends: Array, receives: Array, parts: Array) -> Trace:
    """The trace with times that keep the clock condition.

    Parameters
    ----------
    trace : Trace
        The trace as it is.
    sends, receives : array of END_DTYPE, shape (messages,)
        The two ends of each message.
    parts : array of PART_DTYPE
        All parts of complete operations, by operation, then by place.
    """
    known = np.isfinite(sends["start_enter"]) & np.isfinite(receives["leave"])
    sends, receives = sends[known], receives[known]
    ends = (
        points_of(sends["sender"], sends["start_enter"], is_end=False),
        points_of(receives["receiver"], receives["leave"], is_end=True),
    )
    rows = operations_of(parts) if len(parts) else None
    moved = repair_clocks(ends, parts, rows, trace.clock.amortisation)
    return replace(trace, clock=trace.clock.moved(moved))


def clock_problems(trace: Trace, before: ClockCondition, after: ClockCondition | None) -> Iterator[str]:
    """Say what was wrong with the clocks, and what is after the repair; None: there was none."""
    if not before.violations:
        return
    looked_at = "message and collective operation", "messages and ends of collective operations"
    said = (
        f"by the clocks of their ranks, {before.violations:,} of {count_text(before.count, *looked_at)} "
        f"came before what they need, at most {time_text(before.largest)} too early"
    )
    if after is None:
        yield f"{said}; waits there are wrong"
    elif after.violations:
        yield (
            f"{said}; the controlled logical clock has moved events, and {after.violations:,} are left, "
            f"at most {time_text(after.largest)} too early"
        )
    else:
        yield f"{said}; the controlled logical clock has moved events, and none is left"
    longest = max((file.times[1] - file.times[0] for file in trace.files.values()), default=0)
    if before.largest > longest:
        yield (
            f"clocks differ by {time_text(before.largest)} or more, but no rank ran longer than "
            f"{time_text(longest)}: waits for ranks on other hosts can't be known"
        )
