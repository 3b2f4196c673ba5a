"""The TPHs of a run: the loop each is an iteration of, its counter, when it lived on which rank."""

from __future__ import annotations

import re

import numpy as np

from pse.records import dataclass
from pse.text import called_name
from pse.trace.format._errors import TraceError
from pse.trace.format._events import EventType
from pse.trace.format._field_values import Array, low32
from pse.trace.store._trace_files import TraceFiles

PROGRAM_TPH = 1
"""The TPH that is the program itself."""

COMMA = re.compile(r",(?![^[]*\])")
"""A comma, but none of those in `smooth [l = 2, s = 0]`."""

COUNTER = r"\s*([^\W\d]\w*(?: \[[^]]*\])?)\s*="
"""The counter of a loop, of which iterations of unrolled loops around it may be named: `k [l = 2] =`."""

SHOWN = 8  # TPHs in a message.


@dataclass(frozen=True)
class Tph:
    """What a TPH is.

    Parameters
    ----------
    number : int
        Its number in the trace.
    parent : int or None
        TPH in which it came into being; None for the program itself.
    counter : str
        Name of the loop's counter, as `LoopDefinition` has it, "" if the definitions are missing.
    value : int or None
        The counter's value in it.
    place : str
        ``file:line:col`` of the loop.

    See Also
    --------
    Tphs

    Examples
    --------
    >>> Tphs(trace)[2].counter, Tphs(trace)[2].value
    ('k', 1)
    """

    number: int
    parent: int | None = None
    counter: str = ""
    value: int | None = None
    place: str = ""

    @property
    def names(self) -> frozenset[str]:
        """What a user may call its loop."""
        return frozenset((called_name(self.counter), self.counter))


class Tphs:
    """The TPHs of a trace.

    Parameters
    ----------
    trace : TraceFiles
        Where they lived.

    Examples
    --------
    >>> tphs = Tphs(trace)
    >>> tph = tphs.find("k=1")
    >>> tph.number, tph.counter, tph.value
    (2, 'k', 1)
    >>> tphs.short(tph.number)
    'TPH 2 (k = 1)'
    """

    def __init__(self, trace: TraceFiles) -> None:
        parts = [trace.select(rank, EventType.CONTEXT_BEGIN) for rank in trace.ranks]
        begun = np.concatenate(parts)
        numbers, first = np.unique(begun["tph"], return_index=True)
        self._numbers = numbers
        self._parents = begun["a"][first]
        self._values = begun["b"][first].view("<i8")
        self._loops = low32(begun["c"])[first]
        definitions = trace.definitions
        self._known = {loop.id: loop for loop in definitions.loops} if definitions else {}
        self._trace = trace

    def __getitem__(self, number: int) -> Tph:
        """What a TPH is; of one that the trace doesn't say anything about only its number."""
        place = int(np.searchsorted(self._numbers, np.uint64(number)))
        if place == len(self._numbers) or self._numbers[place] != number:
            return Tph(number)
        loop = self._known.get(int(self._loops[place]))
        named = (
            (loop.counter, int(self._values[place]), loop.place)
            if loop
            else ("", int(self._values[place]), "")
        )
        return Tph(number, int(self._parents[place]), *named)

    def short(self, number: int) -> str:
        """A TPH in a few characters: ``TPH 65536 (k = 0)``, ``the program``."""
        if number == PROGRAM_TPH:
            return "the program"
        tph = self[number]
        if tph.value is None:
            return f"TPH {number}"
        return (
            f"TPH {number} ({tph.counter} = {tph.value})"
            if tph.counter
            else f"TPH {number} (round {tph.value})"
        )

    def find(self, text: str) -> Tph:
        """The TPH that a user means by ``65536``, ``k=2``, or ``i=1,k=2`` where loops are nested.

        Raises
        ------
        TraceError
            There is none, or there are several; the message says what there is to choose from.
        """
        if re.fullmatch(r"\d{1,20}", text.strip(), re.ASCII):
            number = int(text)
            if number == 0 or not any(
                (self._trace.events(rank)["tph"] == number).any() for rank in self._trace.ranks
            ):
                raise TraceError(f"the trace has no TPH {number}", help=self._choice())
            return self[number]
        wanted = [re.fullmatch(rf"{COUNTER}\s*(-?\d{{1,18}})\s*", part) for part in COMMA.split(text)]
        if not all(wanted):
            raise TraceError(
                f"{text!r} doesn't name a TPH: write its number (65536) or its loop's counter (k=2)",
                help=self._choice(),
            )
        return self._by_counters([(part[1], int(part[2])) for part in wanted if part], text)

    def numbers_of(self, counter: str, value: int) -> set[int]:
        """Numbers of all TPHs in which the counter of their loop has a value."""
        return set(self._numbers[self._places(counter, value)].tolist())

    def _places(self, counter: str, value: int) -> Array:
        loops = [loop.id for loop in self._known.values() if counter in loop.names]
        return np.flatnonzero(np.isin(self._loops, loops) & (self._values == value))

    def _by_counters(self, wanted: list[tuple[str, int]], text: str) -> Tph:
        name, value = wanted[-1]
        places = self._places(name, value).tolist()
        found = [tph for tph in map(self._at, places) if self._within(tph, wanted[:-1])]
        if not found:
            raise TraceError(f"the trace has no TPH with {text}", help=self._choice())
        if len(found) > 1:
            raise TraceError(
                f"{text} stands for {len(found)} TPHs", help=f"name one of them: {self._listed(found)}"
            )
        return found[0]

    def _at(self, place: int) -> Tph:
        return self[int(self._numbers[place])]

    def _within(self, tph: Tph, wanted: list[tuple[str, int]]) -> bool:
        """Whether the loops around a TPH have these counters, from the outermost on."""
        around = tph.parent
        for name, value in reversed(wanted):
            outer = self[around] if around is not None else None
            while outer is not None and not (outer.value == value and name in outer.names):
                outer = self[outer.parent] if outer.parent is not None else None
            if outer is None:
                return False
            around = outer.parent
        return True

    def _there(self) -> set[int]:
        """Numbers of all TPHs in which anything happened."""
        found = {int(number) for number in self._numbers}
        for rank in self._trace.ranks:
            found.update(np.unique(self._trace.events(rank)["tph"]).tolist())
        return found - {0}

    def _choice(self) -> str:
        there = sorted(self._there())
        if not there:
            return "in this trace nothing happened in any TPH"
        listed = self._listed([self[number] for number in there])
        if len(there) == 1:
            return f"there is {listed}; iterations have TPHs of their own where a loop is `inflight`"
        return f"there are {listed}"

    def _listed(self, tphs: list[Tph]) -> str:
        names = [f"{tph.number} ({self._words(tph)})" for tph in tphs[:SHOWN]]
        more = f" … and {len(tphs) - SHOWN:,} more" if len(tphs) > SHOWN else ""
        return ", ".join(names) + more

    def _words(self, tph: Tph) -> str:
        if tph.value is None:
            return "the program" if tph.number == PROGRAM_TPH else "its begin is not in the trace"
        own = f"{tph.counter} = {tph.value}" if tph.counter else f"round {tph.value}"
        outer = self[tph.parent] if tph.parent is not None else None
        return own if outer is None or outer.value is None else f"{self._words(outer)}, {own}"


def tph_lifetimes(trace: TraceFiles, number: int) -> list[tuple[int, int | None, int | None]]:
    """On which ranks a TPH lived: rank, begin and end there (ns; None: not in the trace), by begin.

    Parameters
    ----------
    trace : TraceFiles
        Where the records are.
    number : int
        Number of the TPH.

    Returns
    -------
    list of (int, int or None, int or None)
        Rank, begin and end, ns since the run's origin.

    Examples
    --------
    >>> tph_lifetimes(trace, 2)
    [(0, 15000000, 29000000), (1, 15000000, 28000000)]
    """
    found = []
    for rank in trace.ranks:
        begin = _time_of(trace, rank, EventType.CONTEXT_BEGIN, number)
        end = _time_of(trace, rank, EventType.CONTEXT_END, number)
        if begin is not None or end is not None:
            found.append((rank, begin, end))
    return sorted(found, key=lambda life: (life[1] is None, life[1]))


def _time_of(trace: TraceFiles, rank: int, kind: EventType, number: int) -> int | None:
    events: Array = trace.select(rank, kind)
    events = events[events["tph"] == number]
    return int(trace.run_times(rank, events["time"])[0]) if len(events) else None
