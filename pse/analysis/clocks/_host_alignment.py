"""Clocks of hosts set by what happened before what: for each host a line that its times are corrected by.

What went from one host to another bounds from one side how far their clocks are apart, what came back from
the other side.  A clock that runs evenly is off by a line between these bounds; the one in their middle is
taken (A. Duda et al.: Estimating global time in distributed systems, ICDCS 1987; R. Hofmann, U. Hilgers:
Theory and tool for estimating global time in parallel and distributed systems, PDP 1998).  So times of one
host keep their distances, which no shift of single events can do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from pse.analysis.clocks._clock_condition import senders_and_receivers
from pse.analysis.patterns._collective import Operations
from pse.trace.format import Array, distinct
from pse.trace.store import Comparison

_MOST = 1 << 61
"""ns: times of damaged traces may be anything; those beyond 73 years prove nothing."""
ORDER_DTYPE = np.dtype(
    [
        ("host", "<i4"),  # on which something happened
        ("time", "<f8"),  # ns: when
        ("later_host", "<i4"),  # on which something needed that
        ("later_time", "<f8"),  # ns: when that happened
        ("least", "<f8"),  # ns that lie between them at least
    ]
)
"""Of two events on different hosts the first one happened before the other."""
DRIFT = 1e-3
"""No clock is faster than another by more than this."""
_PARTS = 4096  # Of each of so many parts of the run the strictest counts.
_LOOKS = 2  # At what is strictest, again by the times of the first look.
_SWEEPS = 10  # After which clocks that were set one after the other are set again by all others.
_STEPS = 80  # Of a search: each makes an interval 1.6 times smaller.
_SLOPES = 101  # For which all lines are looked at.
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class Alignment:
    """How the clock of a host was set.

    Parameters
    ----------
    host : int
        Whose.
    line : Comparison
        What its times are corrected by.
    bound : float
        How far that may be off if the clock runs evenly, ns.
    """

    host: int
    line: Comparison
    bound: float


def orders_of_operations(operation: Array, host: Array, rows: Operations) -> Array:
    """What collective operations prove, as ORDER_DTYPE: of each between its lowest host and the others.

    Those between two groups, and scans, are left out.  `host` is that of each row, -1: not known.
    """
    senders, receivers = senders_and_receivers(operation, rows)
    known = (host >= 0) & (rows.partners_of_row == rows.of_row)
    hosts, operations = int(host.max(initial=-1)) + 1, int(rows.of_row[-1]) + 1
    lowest = np.full(operations, hosts)
    np.minimum.at(lowest, rows.of_row[known], host[known])
    begin, end = np.full((operations, hosts), -np.inf), np.full((operations, hosts), np.inf)
    for extreme, table, times, counted in (
        (np.maximum, begin, rows.begin, senders & known),
        (np.minimum, end, rows.end, receivers & known),
    ):
        extreme.at(table, (rows.of_row[counted], host[counted]), times[counted])
    found = [np.empty(0, ORDER_DTYPE)]
    there = np.flatnonzero(lowest < hosts)
    first = lowest[there]
    for other in range(hosts):
        for one, two in ((first, np.full(len(first), other)), (np.full(len(first), other), first)):
            found.append(orders_of(one, begin[there, one], two, end[there, two], 1))
    return np.concatenate(found)


def orders_of(host: Array, time: Array, later_host: Array, later_time: Array, least: Array | int) -> Array:
    """Rows of ORDER_DTYPE: of those with known times, which make sense, on two known hosts."""
    found = np.empty(len(time), ORDER_DTYPE)
    columns = (host, time, later_host, later_time, least)
    for name, values in zip(ORDER_DTYPE.names or (), columns, strict=True):
        found[name] = values
    kept = (np.abs(time) < _MOST) & (np.abs(later_time) < _MOST) & (host != later_host)
    kept &= np.minimum(host, later_host) >= 0
    rows: Array = found[kept]
    return rows


def align_hosts(orders: Array, compared: Collection[int]) -> list[Alignment]:
    """Set the clocks of hosts by what happened before what, where that contradicts their times.

    Parameters
    ----------
    orders : array of ORDER_DTYPE
        What is known.
    compared : collection of int
        Hosts whose clocks were compared while they ran: they are corrected no more than necessary.

    Returns
    -------
    list of Alignment
        Of hosts that have to be corrected.  One that only sends to those before it, or only gets something
        from them, is left as it is.
    """
    at_work = _Alignments(orders, compared)
    left = at_work.hosts[1:]
    while left:
        known = [host for host in at_work.hosts if host not in left]
        left.remove(host := max(left, key=lambda one: min(map(len, _between(at_work.orders, one, known)))))
        at_work.align(host, known)
    for _ in range(_LOOKS):
        at_work.look()
        for host in _SWEEPS * at_work.hosts[1:]:
            at_work.align(host, [other for other in at_work.hosts if other != host])
    return at_work.found()


class _Alignments:
    """Clocks that are being set, and what is known of times by them."""

    def __init__(self, orders: Array, compared: Collection[int]) -> None:
        self._all, self._compared = orders, compared
        self.hosts: list[int] = distinct(np.append(orders["host"], orders["later_host"])).tolist()
        both = np.append(orders["time"], orders["later_time"])
        self._ends = np.array([both.min(initial=0), both.max(initial=1) + 1]).astype("<i8")
        self._shown: dict[int, Array] = {}  # What the ends of all times are by the clocks of hosts.
        self.look()

    def look(self) -> None:
        """Look for what is strictest by the times so far."""
        corrected = self._all.copy()
        for host in self._shown:
            _correct(corrected, host, self._line(host))
        self.orders = _strictest(corrected)

    def _line(self, host: int) -> Comparison:
        return Comparison("", tuple(self._ends.tolist()), tuple((self._shown[host] - self._ends).tolist()))

    def align(self, host: int, others: Collection[int]) -> None:
        """Set the clock of a host by those of others, again if it was set before."""
        came, went = _between(self.orders, host, others)
        line = _aligned(came, went, is_compared=host in self._compared, is_set=host in self._shown)
        if line is None:
            return
        self._shown[host] = line.convert(self._shown.get(host, self._ends))
        _correct(self.orders, host, line)

    def found(self) -> list[Alignment]:
        """What came of it."""
        made = list[Alignment]()
        for host in sorted(self._shown):
            others = [other for other in self.hosts if other != host]
            corridor = _Corridor(*_bounds(*_between(self.orders, host, others)))
            made.append(Alignment(host, self._line(host), corridor.widest()))
        return made


def _correct(orders: Array, host: int, line: Comparison) -> None:
    for name in ("", "later_"):
        own = orders[f"{name}host"] == host
        orders[f"{name}time"][own] = line.convert(orders[f"{name}time"][own])


def _strictest(orders: Array) -> Array:
    """Of each two hosts, and each of some parts of the run, what leaves the least time."""
    first, last = orders["time"].min(initial=np.inf), orders["time"].max(initial=-np.inf)
    part = ((orders["time"] - first) / max(last - first, 1.0) * (_PARTS - 1)).astype("<i8")
    names = ("host", "later_host")
    order = np.lexsort(
        (orders["later_time"] - orders["time"] - orders["least"], part, *(orders[n] for n in names))
    )
    is_first = np.ones(len(order), bool)
    is_first[1:] = part[order[1:]] != part[order[:-1]]
    for name in names:
        is_first[1:] |= orders[name][order[1:]] != orders[name][order[:-1]]
    found: Array = orders[order[is_first]]
    return found


def _between(orders: Array, host: int, others: Collection[int]) -> tuple[Array, Array]:
    """What a host needed of others, and what they needed of it."""
    known = list(others)
    came = orders[(orders["later_host"] == host) & np.isin(orders["host"], known)]
    went = orders[(orders["host"] == host) & np.isin(orders["later_host"], known)]
    return came, went


def _aligned(came: Array, went: Array, *, is_compared: bool, is_set: bool) -> Comparison | None:
    """The line of a host; None: its clock is right, or nothing can be said."""
    if not len(came) or not len(went):
        return None
    least, most = _bounds(came, went)
    if least.strictest(0.0, 0.0) <= 0 <= most.strictest(0.0, 0.0) and (is_compared or not is_set):
        return None
    corridor = _Corridor(least, most)
    slope = corridor.slope()
    offset = corridor.middle(slope)
    part = corridor.least_part(slope, offset) if is_compared else 1.0
    times = corridor.ends
    lines = (part * (offset + slope * (time - corridor.center)) for time in times)
    offsets = tuple(round(min(max(line, -_MOST), _MOST)) for line in lines)
    return Comparison("", times, offsets)


def _bounds(came: Array, went: Array) -> tuple[_Bounds, _Bounds]:
    """What is to be added to a clock at least and at most."""
    least = _Bounds(came["later_time"], came["time"] + came["least"] - came["later_time"], -1)
    return least, _Bounds(went["time"], went["later_time"] - went["least"] - went["time"], 1)


class _Bounds:
    """Bounds of one side of what is to be added to a clock: times and values, ns, side 1 (upper) or -1."""

    def __init__(self, times: Array, values: Array, side: int) -> None:
        self.times, self.values, self.side = times, values, side

    def strictest(self, slope: float, center: float) -> float:
        """How much a line of this slope may add at a time."""
        at_center = self.side * (self.values - slope * (self.times - center))
        return float(self.side * at_center.min())


class _Corridor:
    """Lines between lower and upper bounds."""

    def __init__(self, least: _Bounds, most: _Bounds) -> None:
        self._least, self._most = least, most
        both = np.concatenate([least.times, most.times])
        first, last = (int(time) for time in np.clip([both.min(), both.max()], -_MOST, _MOST))
        self.ends = (first, max(last, first + 1))
        self.center = sum(self.ends) / 2

    def _room(self, slope: float) -> float:
        """The distance of the bounds for lines of a slope; below 0 there is no such line."""
        return self._most.strictest(slope, self.center) - self._least.strictest(slope, self.center)

    def middle(self, slope: float) -> float:
        """What the line in the middle adds at the center."""
        return (self._most.strictest(slope, self.center) + self._least.strictest(slope, self.center)) / 2

    def slope(self) -> float:
        """That with the most room; where bounds don't tell, the least one for which there is room."""
        best = _highest(self._room, -DRIFT, DRIFT)
        steepest = [_last(self._room, best, end) for end in (-DRIFT, DRIFT)]
        if self._room(best) < 0 or all(abs(slope) < DRIFT for slope in steepest):
            return best
        return min(max(0.0, steepest[0]), steepest[1])

    def least_part(self, slope: float, offset: float) -> float:
        """The least part of a line that is between the bounds; 1 if the line is not."""
        part = 0.0
        for bounds in (self._least, self._most):
            line = offset + slope * (bounds.times - self.center)
            outside = bounds.side * bounds.values < 0
            with np.errstate(divide="ignore", invalid="ignore"):
                needed = np.where(outside, bounds.values / line, 0.0)
            part = max(part, float(np.nan_to_num(needed, nan=1.0, posinf=1.0, neginf=1.0).max(initial=0.0)))
        return min(part, 1.0)

    def widest(self) -> float:
        """How far a line between the bounds is at most from no correction."""
        best = _highest(self._room, -DRIFT, DRIFT)
        steepest = [_last(self._room, best, end) for end in (-DRIFT, DRIFT)]
        found = abs(min(self._room(best), 0.0))
        for slope in np.linspace(steepest[0], steepest[1], _SLOPES).tolist():
            for bounds in (self._least, self._most):
                at_center = bounds.strictest(slope, self.center)
                found = max(found, *(abs(at_center + slope * (end - self.center)) for end in self.ends))
        return found


def _highest(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a concave function is highest."""
    for _ in range(_STEPS):
        one, other = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if function(one) >= function(other):
            high = other
        else:
            low = one
    return (low + high) / 2


def _last(function: Callable[[float], float], inside: float, end: float) -> float:
    """The last place towards an end where a concave function is not below 0; `inside` if it is there."""
    if function(end) >= 0:
        return end
    for _ in range(_STEPS):
        middle = (inside + end) / 2
        inside, end = (middle, end) if function(middle) >= 0 else (inside, middle)
    return inside
