"""What the numbers in a trace stand for: the program, its call sites, edges, loops, ranks, and where it ran.

The root rank writes them once, when the run starts; the events refer to them by number.  Everything is
checked at construction, so what was read is as sound as what was made.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from pse.records import dataclass
from pse.text import called_name
from pse.trace.format._dataclass_validation import check_fields, from_values
from pse.trace.format._errors import TraceError
from pse.trace.format._events import NONE

FORMAT = "pse-trace"
FORMAT_VERSION = 1

JsonScalar = str | int | float | bool | None


@dataclass(frozen=True)
class LoopDefinition:
    """A loop: its number in CONTEXT_BEGIN, the name of its counter ("" for ``while``), its place.

    Parameters
    ----------
    id : int
        Number of the loop in CONTEXT_BEGIN; `NONE` for a loop whose iterations have no TPHs of their own.
    counter : str
        Name of its counter, with the iterations of unrolled loops around it: ``k``, ``k [l = 2]``; for
        ``while`` only these, or nothing.
    place : str
        ``file:line:col`` in the program; in a segment ``file:line:col → line:col``, calls of segments first.

    Examples
    --------
    >>> loop, = trace.definitions.loops
    >>> loop.counter, loop.place
    ('k', 'pipeline.coven:4:3')
    """

    id: int
    counter: str
    place: str

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def names(self) -> frozenset[str]:
        """What a user may call it: its counter, as the program writes it, or with the iterations around."""
        return frozenset((called_name(self.counter), self.counter))


@dataclass(frozen=True)
class SiteDefinition:
    """A call site.

    Parameters
    ----------
    id : int
        Number of the call site in the program: `site` of the events.
    label : str
        As written in the program, with the iterations of loops that are unrolled: ``fft.rows``,
        ``smooth [l = 2]``.
    module : str
        Name of the module.
    place : str
        ``file:line:col`` in the program; in a segment ``file:line:col → line:col``, calls of segments first.
    thread : str
        Label of the thread that it runs on.
    parallel : bool
        Whether it is inside PARALLEL.
    loops : tuple of LoopDefinition
        The loops around it, the outermost first.

    Examples
    --------
    >>> site = trace.definitions.site(1)
    >>> site.label, site.place, site.thread, [loop.counter for loop in site.loops]
    ('rows', 'pipeline.coven:6:14', 'thread_B', ['k'])
    """

    id: int
    label: str
    module: str
    place: str
    thread: str
    parallel: bool = False
    loops: tuple[LoopDefinition, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def names(self) -> frozenset[str]:
        """What a user may call it: its module, as the program writes it, or the label."""
        return frozenset((self.module, called_name(self.label), self.label))


@dataclass(frozen=True)
class EdgeDefinition:
    """A way that a tag takes: from the call site that defines it to those that read this definition.

    Parameters
    ----------
    id : int
        Number of the edge: field `b` of SEND and RECEIVE, high half.
    tag : str
        Name of the tag as the user wrote it.
    source : int or None
        Call site that defines it; None for what no call defines (a parameter, a ``let``).
    targets : tuple of int
        Call sites that read it.
    type : str
        Its type as the program would write it: ``c128[N, N] @ block(0)``.

    Examples
    --------
    >>> [(edge.tag, edge.source, edge.targets) for edge in trace.definitions.edges]
    [('image', 0, (1,)), ('result', 1, (2,))]
    """

    id: int
    tag: str
    source: int | None
    targets: tuple[int, ...]
    type: str = ""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class RankDefinition:
    """One rank of the job.

    Parameters
    ----------
    rank : int
        Rank of the whole job.
    region : str
        ``root`` or ``parallel``.
    thread : str
        Label of its thread.
    processor : int or None
        Its processor, None for the root's ranks.
    host : str
        Where it runs.

    Raises
    ------
    TraceError
        The region is neither ``root`` nor ``parallel``, or a field has another type.

    Examples
    --------
    >>> [(rank.rank, rank.region, rank.thread) for rank in trace.definitions.ranks]
    [(0, 'root', 'thread_A'), (1, 'root', 'thread_B')]
    """

    rank: int
    region: str
    thread: str
    processor: int | None
    host: str

    def __post_init__(self) -> None:
        check_fields(self)
        if self.region not in ("root", "parallel"):
            raise TraceError(f"rank {self.rank}: the region must be root or parallel, not {self.region!r}")


@dataclass(frozen=True)
class Definitions:
    """Everything about a run that its events refer to.

    Parameters
    ----------
    program : str
        Path of the program as the user typed it.
    text_sha256 : str
        SHA-256 of the program's text, 64 hexadecimal digits.
    parameters, options : mapping of str to str, int, float, bool or None
        What the program ran with.
    sites : tuple of SiteDefinition
        All call sites.
    edges : tuple of EdgeDefinition
        All edges.
    ranks : tuple of RankDefinition
        All ranks, in order, from 0.
    environment : mapping
        Machine and versions: JSON values.
    started : str
        When the run started, ISO 8601 with the offset from UTC.
    loops : tuple of LoopDefinition
        All loops.

    Raises
    ------
    TraceError
        A value has the wrong type, a number is used twice, or one refers to nothing.

    Examples
    --------
    >>> trace.definitions.program, trace.definitions.site(1).label
    ('pipeline.coven', 'rows')
    """

    program: str
    text_sha256: str
    parameters: Mapping[str, JsonScalar]
    options: Mapping[str, JsonScalar]
    sites: tuple[SiteDefinition, ...]
    edges: tuple[EdgeDefinition, ...]
    ranks: tuple[RankDefinition, ...]
    environment: Mapping[str, Any]
    started: str
    loops: tuple[LoopDefinition, ...] = field(default=())

    def __post_init__(self) -> None:
        check_fields(self)
        if not re.fullmatch("[0-9a-f]{64}", self.text_sha256):
            raise TraceError(f"text_sha256 must have 64 hexadecimal digits, not {self.text_sha256!r}")
        _check_time(self.started)
        sites = _unique("call site", (site.id for site in self.sites))
        _unique("edge", (edge.id for edge in self.edges))
        _unique("loop", (loop.id for loop in self.loops))
        for edge in self.edges:
            _check_ends(edge, sites)
        if [rank.rank for rank in self.ranks] != list(range(len(self.ranks))):
            raise TraceError(
                f"ranks must be listed in order from 0, not {[rank.rank for rank in self.ranks]}"
            )

    def site(self, number: int) -> SiteDefinition | None:
        """Call site of this number; None if there is none."""
        return next((site for site in self.sites if site.id == number), None)

    def to_json(self) -> str:
        """The text of ``definitions.json``."""
        head = {"format": FORMAT, "version": FORMAT_VERSION}
        return json.dumps(head | dataclasses.asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Definitions:
        """Read what `to_json` wrote.

        Raises
        ------
        TraceError
            It isn't JSON, not of this format, newer than this reader, or not sound.
        """
        values = _json_object(text)
        if values.pop("format", None) != FORMAT:
            raise TraceError(f'it isn\'t the definitions of a trace: "format": "{FORMAT}" is missing')
        version = values.pop("version", None)
        if version != FORMAT_VERSION:
            raise TraceError(
                f"its format has version {version!r}, but this pse reads version {FORMAT_VERSION}",
                help="read it with the pse that recorded it, or a newer one",
            )
        made: Definitions = from_values(cls, values, "definitions")
        return made


def digest(text: str) -> str:
    """SHA-256 of a program's text, 64 hexadecimal digits.

    Parameters
    ----------
    text : str
        Text of a program.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> digest("")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(text.encode()).hexdigest()


def _json_object(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"it isn't JSON: {error}") from error
    if not isinstance(values, dict):
        raise TraceError("it isn't a JSON object")
    return values


def _unique(what: str, numbers: Iterable[int]) -> set[int]:
    seen: set[int] = set()
    for number in numbers:
        if not 0 <= number < NONE:
            raise TraceError(f"{what} {number}: the number must be from 0 to {NONE - 1}")
        if number in seen:
            raise TraceError(f"{what} {number} is defined twice")
        seen.add(number)
    return seen


def _check_ends(edge: EdgeDefinition, sites: set[int]) -> None:
    ends = set(edge.targets) | ({edge.source} if edge.source is not None else set())
    if unknown := ends - sites:
        raise TraceError(f"edge {edge.id} ({edge.tag}) names call sites that don't exist: {sorted(unknown)}")


def _check_time(text: str) -> None:
    try:
        if datetime.fromisoformat(text).tzinfo is None:
            raise ValueError
    except ValueError:
        raise TraceError(f"started must be an ISO 8601 time with its offset from UTC, not {text!r}") from None
