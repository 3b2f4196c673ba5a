"""What part of a trace to look at: processors, threads, ranks, modules, TPHs, a window of time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pse.records import dataclass
from pse.text import moment_text
from pse.trace.format._definitions import RankDefinition
from pse.trace.format._errors import TraceError
from pse.trace.format._field_values import Array
from pse.trace.query._time_window import TimeWindow
from pse.trace.query._tphs import COMMA, COUNTER, Tphs
from pse.trace.store._chunked_reading import chunks
from pse.trace.store._trace_files import TraceFiles

LONGEST_RANGE = 1_000_000
SHOWN = 12  # Names in a message.
TIME_FIELDS = (("enter", "leave"), ("begin", "end"), ("sent", "received"), ("time", "time"))


@dataclass(frozen=True)
class Selection:
    """What to show; None stands for everything.

    Parameters
    ----------
    processors : frozenset of int or None, optional
        Processors; None in the set is the root.
    threads : frozenset of str, optional
        Labels of threads: ``thread_B``.
    ranks : frozenset of int, optional
        Ranks of the job.
    modules : frozenset of str, optional
        Names of modules or labels of call sites.
    tphs : frozenset of int or str, optional
        TPHs: their numbers, or what their loop's counter is in them: ``k=2``.
    begin, end : float, optional
        Seconds since the run's origin; what overlaps the time between stays whole.

    Raises
    ------
    TraceError
        The end lies before the begin.

    Examples
    --------
    >>> late = Selection(threads=frozenset({"thread_B"}), begin=0.015)
    >>> late.ranks_of(trace), len(late.of(trace, trace.module_calls()))
    ((1,), 1)
    >>> Selection.parse(rank=["0-1"], tph=["k=1"]).tphs
    frozenset({'k=1'})
    """

    processors: frozenset[int | None] | None = None
    threads: frozenset[str] | None = None
    ranks: frozenset[int] | None = None
    modules: frozenset[str] | None = None
    tphs: frozenset[int | str] | None = None
    begin: float | None = None
    end: float | None = None

    def __post_init__(self) -> None:
        TimeWindow.of_seconds(self.begin, self.end)

    @classmethod
    def parse(
        cls,
        processor: Iterable[str] = (),
        thread: Iterable[str] = (),
        rank: Iterable[str] = (),
        module: Iterable[str] = (),
        tph: Iterable[str] = (),
        begin: float | None = None,
        end: float | None = None,
    ) -> Selection:
        """Make a selection of what the command line says.

        Parameters
        ----------
        processor, rank : iterable of str
            Numbers and ranges: ``0-3,7``; a processor may be ``root``.
        thread : iterable of str
            Labels: ``B`` or ``thread_B``.
        module : iterable of str
            Names of modules or labels of call sites.
        tph : iterable of str
            Numbers and ranges, or values of a loop's counter: ``65536``, ``k=0-3``.
        begin, end : float, optional
            Seconds since the run's origin.

        Returns
        -------
        Selection
            What is not named is not limited.

        Raises
        ------
        TraceError
            Something is not a number and not a range, or the time window ends before it begins.
        """
        return cls(
            processors=_set(
                processor, lambda item: {None} if item == "root" else _numbers("processor", item)
            ),
            threads=_set(thread, lambda item: {item if "thread_" in item else f"thread_{item}"}),
            ranks=_set(rank, lambda item: _numbers("rank", item)),
            modules=_set(module, lambda item: {item}),
            tphs=_set(tph, _tphs),
            begin=begin,
            end=end,
        )

    def check(self, trace: TraceFiles) -> None:
        """Check that there is something of everything that is asked for.

        Raises
        ------
        TraceError
            A name or number isn't in the trace, no rank is left, or the window of time lies outside of the
            run; the message says what there is to choose from.
        """
        self.ranks_of(trace)
        self._sites(trace)
        self.window(trace)
        numbers = self.tph_numbers(trace)
        if numbers is not None and not _have_tph(trace, numbers):
            Tphs(trace).find(str(min(numbers, default=0)))  # Says what there is.

    def tph_numbers(self, trace: TraceFiles) -> frozenset[int] | None:
        """Numbers of the TPHs that are selected; None for all.

        Raises
        ------
        TraceError
            There is no TPH whose counter has a value that is asked for.
        """
        if self.tphs is None:
            return None
        numbers = {item for item in self.tphs if isinstance(item, int)}
        named = sorted(item for item in self.tphs if isinstance(item, str))
        return frozenset(numbers | _named_tphs(Tphs(trace), named) if named else numbers)

    def ranks_of(self, trace: TraceFiles) -> tuple[int, ...]:
        """Ranks of a trace that the selection leaves, ascending.

        Raises
        ------
        TraceError
            It leaves none, or names a rank, processor or thread that isn't there.
        """
        ranks = trace.definitions.ranks if trace.definitions else ()
        _check_known("rank", self.ranks, trace.ranks)
        _check_known("processor", self.processors, (rank.processor for rank in ranks))
        _check_known("thread", self.threads, (rank.thread for rank in ranks))
        known = {rank.rank: rank for rank in ranks}
        left = tuple(rank for rank in trace.ranks if self._has(rank, known.get(rank)))
        if not left:
            raise TraceError(
                f"no rank matches all that is selected; the trace has the ranks {_listed(trace.ranks)}",
                help="leave out one of the selections, or name one of these ranks",
            )
        return left

    def of(self, trace: TraceFiles, table: Array) -> Array:
        """Give the rows of one of a trace's tables that the selection leaves.

        A message is left if one of its ends is.  Blocks of time that overlap the window stay whole.  Of a
        table that has no column for something, that part of the selection leaves all rows.

        Parameters
        ----------
        trace : Trace
            The run.
        table : structured array, shape (n,)
            One of its tables, such as `Trace.waits` gives.

        Returns
        -------
        structured array, shape (m,)
            The rows that are left, m ≤ n.

        Raises
        ------
        TraceError
            The selection names what isn't in the trace.
        """
        if self == EVERYTHING:
            return table
        keep = np.ones(len(table), bool)
        fields = table.dtype.names or ()
        if self.ranks is not None or self.processors is not None or self.threads is not None:
            ends = [name for name in ("rank", "sender", "receiver") if name in fields]
            ranks = np.array(self.ranks_of(trace), "<u4")
            keep &= np.logical_or.reduce([np.isin(table[name], ranks) for name in ends])
        sites, edges = self._sites(trace)
        if sites is not None and "site" in fields:
            keep &= np.isin(table["site"], sites)
        elif edges is not None and "edge" in fields:
            keep &= np.isin(table["edge"], edges)
        tphs = self.tph_numbers(trace) if "tph" in fields else None
        if tphs is not None:
            keep &= np.isin(table["tph"], np.array(sorted(tphs), "<u8"))
        keep &= self._in_window(table)
        return table if keep.all() else table[keep]

    def _has(self, rank: int, known: RankDefinition | None) -> bool:
        return (
            (self.ranks is None or rank in self.ranks)
            and (self.processors is None or (known is not None and known.processor in self.processors))
            and (self.threads is None or (known is not None and known.thread in self.threads))
        )

    def _sites(self, trace: TraceFiles) -> tuple[Array | None, Array | None]:
        """Call sites of the modules, and edges that these define."""
        if self.modules is None:
            return None, None
        sites = trace.definitions.sites if trace.definitions else ()
        _check_known("module", self.modules, (name for site in sites for name in site.names))
        chosen = [site.id for site in sites if site.names & self.modules]
        edges = trace.definitions.edges if trace.definitions else ()
        return np.array(chosen, "<u4"), np.array([e.id for e in edges if e.source in chosen], "<u4")

    @property
    def limits(self) -> TimeWindow:
        """The window of time as it was asked for: all time where it has no begin or end."""
        return TimeWindow.of_seconds(self.begin, self.end)

    def window(self, trace: TraceFiles) -> TimeWindow:
        """The part of a run's time that is selected.

        Raises
        ------
        TraceError
            It lies before or after the run.
        """
        asked = self.limits
        if asked.begin > trace.span or asked.end < 0:
            span = moment_text(trace.span)
            message = f"the time window lies outside of the run, which lasts from 0 to {span}"
            raise TraceError(message, help=f"choose a window that begins before {span} and ends after 0 s")
        return TimeWindow(max(asked.begin, 0), min(asked.end, trace.span))

    def _in_window(self, table: Array) -> Array:
        first, last = next(pair for pair in TIME_FIELDS if pair[0] in (table.dtype.names or ()))
        return self.limits.overlaps(table[first], table[last])


EVERYTHING = Selection()


def _set(items: Iterable[str], values: Callable[[str], Iterable[Any]]) -> frozenset[Any] | None:
    parts = [part.strip() for item in items for part in COMMA.split(item)]
    if parts and not any(parts):
        raise TraceError(
            "an empty name was selected; give a name or a number",
            help="for example:  --module step   or  --rank 0-3",
        )
    return frozenset(value for part in parts if part for value in values(part)) or None


def _numbers(what: str, text: str) -> Iterable[int]:
    """The numbers of ``7`` or of ``0-3``."""
    found = re.fullmatch(r"(\d{1,20})(?:-(\d{1,20}))?", text, re.ASCII)
    if not found:
        choice = ", or root" if what == "processor" else ""
        raise TraceError(
            f"{what} {text!r}: expected a number or a range like 0-3{choice}",
            help=f"for example:  --{what} 2   or  --{what} 0-3",
        )
    first, last = int(found[1]), int(found[2] or found[1])
    if last >= 1 << 64:
        raise TraceError(
            f"{what} {text!r}: a number has at most 64 bits", help="`pse trace summary` lists what there is"
        )
    if not 0 <= last - first < LONGEST_RANGE:
        raise TraceError(
            f"{what} {text!r}: a range must go up, and by less than {LONGEST_RANGE:,}",
            help=f"for example:  --{what} 0-3",
        )
    return range(first, last + 1)


def _tphs(text: str) -> Iterable[int | str]:
    """The TPHs of ``7``, ``0-3``, ``k=2`` or ``k=0-3``."""
    found = re.fullmatch(rf"{COUNTER}\s*(.*)", text)
    if not found:
        return _numbers("TPH", text)
    if re.fullmatch(r"-\d{1,18}", found[2], re.ASCII):
        return [f"{found[1]}={int(found[2])}"]
    return [f"{found[1]}={value}" for value in _numbers(f"TPH {found[1]} =", found[2])]


def _named_tphs(tphs: Tphs, named: Iterable[str]) -> set[int]:
    """Numbers of the TPHs that are called ``k=2`` and so on."""
    found: set[int] = set()
    for text in named:
        counter, _, value = text.rpartition("=")
        found |= tphs.numbers_of(counter, int(value)) or {tphs.find(text).number}
    return found


def _have_tph(trace: TraceFiles, numbers: Iterable[int]) -> bool:
    wanted = np.array(sorted(numbers), "<u8")
    parts = (part for rank in trace.ranks for part in chunks(trace.events(rank)))
    return any(np.isin(part["tph"], wanted).any() for part in parts)


def _check_known(what: str, asked: frozenset[Any] | None, there: Iterable[Any]) -> None:
    """Refuse what isn't there; of a range of numbers, some suffice."""
    if asked is None:
        return
    known = set(there)
    if not known:
        raise TraceError(
            f"the trace has no definitions, so a {what} can't be selected; select ranks instead",
            help="for example:  --rank 0-3",
        )
    missing = asked - known
    if missing and (missing == asked or any(isinstance(item, str) for item in missing)):
        raise TraceError(
            f"the trace has no {what} {_listed(missing)}; it has {_listed(known)}",
            help="name one that the trace has; `pse trace summary` lists them",
        )


def _listed(items: Iterable[Any]) -> str:
    names = ["root" if item is None else str(item) for item in sorted(items, key=_in_order)]
    more = f", … ({len(names)} of them)" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _in_order(item: Any) -> tuple[bool, Any]:
    return (item is not None, item)
