"""The run's time: what the clocks of all hosts show, made comparable.

Ranks of one host share its clock, so only hosts differ.  Where the run compared two clocks (CLOCK_SYNC), the
offset between them is interpolated linearly: t' = t + o1 + (o2 - o1) / (l2 - l1) * (t - l1).  Offsets may
form a chain: a host compared with a host that was compared with another.  Hosts that nobody compared keep
their wall clocks, which is said.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from pse.records import dataclass
from pse.text import time_text
from pse.trace.format._events import EventType
from pse.trace.format._field_values import Array, low32
from pse.trace.store._moved_times import MovedTimes
from pse.trace.store._rank_file import RankFile

ONE_CLOCK = 1_000_000  # ns; what is more isn't the error of a comparison with itself.
DRIFT = 100  # One n-th: clocks that drift apart faster than this are not compared right.


@dataclass(frozen=True)
class Comparison:
    """One host's clock beside another's.

    Parameters
    ----------
    reference : str
        Name of the other host.
    times : tuple of int
        When they were compared, ns of this host's clock, ascending.
    offsets : tuple of int
        What to add to this host's time then, ns.
    bound : int
        How far the offsets may be off, ns.
    latency : int
        Half of the fastest round trip of a message between the hosts, ns; 0: not known.

    Examples
    --------
    >>> Comparison("node0", (0, 1000), (50, 60)).convert(np.array([0, 500, 1000])).tolist()
    [50, 555, 1060]
    """

    reference: str
    times: tuple[int, ...]
    offsets: tuple[int, ...]
    bound: int = 0
    latency: int = 0

    def convert(self, times: Array) -> Array:
        """Times of this host by the other's clock, int64."""
        offset = np.empty(len(times), "<i8")
        for begin, at_begin, slope in self._pieces():
            here = times >= begin if begin is not None else slice(None)
            since = times[here] - np.int64(self.times[0] if begin is None else begin)
            with np.errstate(invalid="ignore"):  # Damaged times may be anything.
                offset[here] = at_begin + np.rint(slope * since).astype("<i8")
        converted: Array = times + offset
        return converted

    def _pieces(self) -> Iterator[tuple[int | None, int, float]]:
        """From when on (None: always), the offset then, and its slope: before and after all, the mean one."""
        points = list(zip(self.times, self.offsets, strict=True))
        mean = _slope(points[0], points[-1])
        yield None, self.offsets[0], mean
        for one, other in itertools.pairwise(points):
            yield *one, _slope(one, other)
        yield *points[-1], mean

    def runs_backwards(self) -> bool:
        """Whether a later time of this host would be an earlier one of the other's."""
        shown = [time + offset for time, offset in zip(self.times, self.offsets, strict=True)]
        return any(later <= earlier for earlier, later in itertools.pairwise(shown))

    def drift(self) -> tuple[int, int]:
        """The largest change of the offset that no two clocks have, or 0, and the time that it took."""
        changes = [
            (abs(other - one), until - since)
            for (since, one), (until, other) in itertools.pairwise(zip(self.times, self.offsets, strict=True))
        ]
        allowed = ONE_CLOCK + 2 * self.bound
        return max((row for row in changes if row[0] > row[1] // DRIFT + allowed), default=(0, 0))


class RunClock:
    """Converts the times of each rank's host into the run's: ns since its earliest event.

    Parameters
    ----------
    files : mapping of int to RankFile
        The usable files by rank.
    named : mapping of int to str
        Hosts of ranks, also of those whose files are missing.

    Attributes
    ----------
    origin : int
        The earliest event of all ranks, ns since 1970 (UTC).
    span : int
        From the earliest event to the latest, ns.
    problems : tuple of str
        What makes times of different hosts hard to compare, a sentence each.

    Examples
    --------
    >>> clock = RunClock(trace.files, {})
    >>> clock.span / 1e6  # ms
    30.0
    >>> clock.times(0, trace.files[0].events["time"])[-1].item() / 1e6
    30.0
    """

    def __init__(self, files: Mapping[int, RankFile], named: Mapping[int, str]) -> None:
        self._moved: Mapping[int, MovedTimes] = {}
        self._aligned: Mapping[str, Comparison] = {}
        self._hosts = {**named, **{rank: file.host for rank, file in files.items()}}
        self._anchors = _anchors(files)
        problems: list[str] = []
        self._comparisons = _comparisons(files, self._hosts, problems)
        self.origin = 0
        ends = [end for rank, file in files.items() if len(file.events) for end in self._ends(rank, file)]
        self.origin = min(ends, default=0)
        self.span = max(ends, default=0) - self.origin
        self.problems = (*problems, *self._uncompared())

    def times(self, rank: int, raw: Array) -> Array:
        """Times of a rank's clock as the run's, int64 ns, shape as given."""
        times = np.asarray(raw).astype("<i8")
        host = self._hosts[rank]
        for comparison in self._chain(host):
            times = comparison.convert(times)
        shifted: Array = times + np.int64(_signed(self._anchor(self._root(host)) - self.origin))
        if host in self._aligned:
            shifted = self._aligned[host].convert(shifted)
        return self._moved[rank].of(shifted) if rank in self._moved else shifted

    def aligned(self, lines: Mapping[str, Comparison], earlier: int, span: int) -> RunClock:
        """The same with times of hosts corrected by lines; after that time 0 is so many ns earlier."""
        other = copy.copy(self)
        other.origin, other.span = self.origin - earlier, span
        other._aligned = {
            host: replace(line, times=tuple(time + earlier for time in line.times))
            for host, line in lines.items()
        }
        return other

    def moved(self, moved: Mapping[int, MovedTimes]) -> RunClock:
        """The same with events of ranks at later times."""
        other = copy.copy(self)
        other._moved = moved
        ends = [int(own.are[-1]) for own in moved.values() if len(own.are)]
        other.span = max([self.span, *ends])
        return other

    def shift(self, rank: int) -> int | None:
        """What `times` adds to all times of a rank, ns; None if that isn't the same for all."""
        host = self._hosts[rank]
        steps = list(self._chain(host))
        steps += [self._aligned[host]] if host in self._aligned else []
        if rank in self._moved or any(len(set(step.offsets)) > 1 for step in steps):
            return None
        added = sum(step.offsets[0] for step in steps)
        return _signed(added + self._anchor(self._root(host)) - self.origin)

    def is_compared(self, host: str) -> bool:
        """Whether a host's clock was compared with another's, or another's with it."""
        return host in self._comparisons or any(host == to.reference for to in self._comparisons.values())

    def least_latency(self, host: str, other: str) -> int:
        """What a message between two hosts takes at least, as far as comparisons of clocks show, ns; else 0.

        It is that of the fastest link between hosts that were compared on the way from one to the other.
        """
        one, two = ({(at, to.reference): to.latency for at, to in self._links(end)} for end in (host, other))
        return min(((one | two)[link] for link in one.keys() ^ two.keys()), default=0)

    def _links(self, host: str) -> Iterator[tuple[str, Comparison]]:
        """The hosts on the way to a reference, each with its comparison with the next one."""
        for step in self._chain(host):
            yield host, step
            host = step.reference

    def _chain(self, host: str) -> Iterator[Comparison]:
        while host in self._comparisons:
            yield self._comparisons[host]
            host = self._comparisons[host].reference

    def _root(self, host: str) -> str:
        """The host whose clock is the reference in the end."""
        return next(reversed([host, *(step.reference for step in self._chain(host))]))

    def _anchor(self, host: str) -> int:
        """What makes a reference's clock a wall clock; where its files are missing, what others say of it."""
        if host not in self._anchors:
            other = next(other for other in self._anchors if self._root(other) == host)
            offset = sum(step.offsets[0] for step in self._chain(other))
            return self._anchors[other] - offset
        return self._anchors[host]

    def _ends(self, rank: int, file: RankFile) -> list[int]:
        return [int(time) for time in self.times(rank, np.array(file.times, "<u8"))]

    def _uncompared(self) -> Iterator[str]:
        roots = sorted({self._root(host) for host in self._anchors})
        if len(roots) > 1:
            yield (
                f"the clocks of {', '.join(roots)} were not compared: "
                "times of different hosts are those of their wall clocks"
            )
        for host, comparison in self._comparisons.items():
            if len(comparison.times) == 1:
                yield f"the clock of {host} was compared only once: how much it drifted later is not known"


def _slope(one: tuple[int, int], other: tuple[int, int]) -> float:
    return (other[1] - one[1]) / (other[0] - one[0]) if other != one else 0.0


def _anchors(files: Mapping[int, RankFile]) -> dict[str, int]:
    """What to add to each host's clock to have its wall clock, by its lowest rank."""
    anchors: dict[str, int] = {}
    for rank in sorted(files):
        anchors.setdefault(files[rank].host, files[rank].start_real - files[rank].start_clock)
    return anchors


def _comparisons(
    files: Mapping[int, RankFile], hosts: Mapping[int, str], problems: list[str]
) -> dict[str, Comparison]:
    """How each host's clock compares with another's; hosts that were compared with none are left out."""
    found: dict[str, Comparison] = {}
    for rank in sorted(files):
        for reference, made in _compared(files[rank], hosts):
            host = hosts[rank]
            if made.reference != host and host not in found:
                _keep(host, made, found, problems)
            elif made.reference == host and (off := max(map(abs, made.offsets))) > ONE_CLOCK:
                problems.append(
                    f"ranks {reference} and {rank} both call their host {host}, but its clock differs by "
                    f"{time_text(off)}: times of its ranks can't be compared"
                )
    return found


def _compared(file: RankFile, hosts: Mapping[int, str]) -> Iterator[tuple[int, Comparison]]:
    """The ranks that one has compared its clock with."""
    if not file.counts[EventType.CLOCK_SYNC]:
        return
    syncs = file.events[file.types == EventType.CLOCK_SYNC]
    references = low32(syncs["c"])
    for reference in np.unique(references).tolist():
        host = hosts.get(reference, f"the host of rank {reference}")
        yield reference, _comparison(host, syncs[references == reference])


def _comparison(reference: str, syncs: Array) -> Comparison:
    columns = syncs["time"].astype("<i8"), syncs["a"].astype("<i8")
    points = dict(zip(*(column.tolist() for column in columns), strict=True))
    offsets, bounds = tuple(points[time] for time in sorted(points)), syncs["b"].astype("<i8")
    return Comparison(
        reference, tuple(sorted(points)), offsets, max(int(bounds.max()), 0), max(int(bounds.min()), 0)
    )


def _keep(host: str, made: Comparison, found: dict[str, Comparison], problems: list[str]) -> None:
    """Take a comparison that leads to a reference; of one by which time runs backwards, the first offset."""
    seen, step = {host}, made.reference
    while step in found and step not in seen:
        seen.add(step)
        step = found[step].reference
    if step in seen:
        problems.append(f"the clock of {host} was compared in a circle; that comparison is left out")
        return
    change, time = made.drift()
    if made.runs_backwards() or change:
        wrong = (
            "would make time run backwards"
            if made.runs_backwards()
            else f"differ by {time_text(change)} within {time_text(time)}, as no clocks do"
        )
        problems.append(
            f"the comparisons of the clock of {host} with that of {made.reference} {wrong}; "
            "only the first is used"
        )
        made = Comparison(made.reference, made.times[:1], made.offsets[:1])
    found[host] = made


def _signed(value: int) -> int:
    """A number modulo 2**64 as int64 has it: damaged headers hold anything."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
