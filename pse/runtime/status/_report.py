"""The final report of a run: where its time went, what moved, and the figures that its modules reported."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field

from pse.records import dataclass
from pse.runtime.distribution._moves import Moves


@dataclass(frozen=True)
class SiteReport:
    """One call site: the sum over its ranks; `cpu_share` is CPU time over time inside the module."""

    site: int
    label: str
    place: str
    thread: str
    calls: int
    seconds: float
    cpu_seconds: float
    cpu_share: float
    waited_seconds: float
    described_bytes: int
    copied_bytes: int
    remote_bytes: int


@dataclass(frozen=True)
class ThreadReport:
    """One thread: the sum over its ranks; `cpu_share` is CPU time of its processes over their wall time."""

    thread: str
    ranks: int
    calls: int
    seconds: float
    cpu_seconds: float
    cpu_share: float
    waited_seconds: float


@dataclass(frozen=True)
class Report:
    """What a run was like.

    Attributes
    ----------
    wall_seconds : float
        From the agreement of all ranks to the end of the last one.
    peak_shared_memory_bytes : int
        Most bytes that live buffers took in the arenas of all nodes.
    figures : mapping of str to float
        What modules reported by name; the largest value of each.
    moves : Moves or None
        How partitions moved; None without the option ``balance``.
    cores : sequence of str
        The cores that each rank may use.
    program : str
        Path of the program.
    processors : int
        How many there were.
    ranks : int
        How many ranks.
    described_bytes : int
        Bytes that were handed over by descriptor.
    copied_bytes : int
        Bytes that were copied on a node.
    remote_bytes : int
        Bytes that were sent between nodes.
    sites : sequence of SiteReport
        A line for each call site.
    threads : sequence of ThreadReport
        A line for each thread.
    folded : mapping of str to str
        Threads that executed nothing, and those that executed their calls: they could not have overlapped.
    startup_seconds : float
        From the start of `pse run`, or of the first rank where there is none, to the agreement of all ranks.

    Examples
    --------
    >>> report = Report.from_json(Path("report.json").read_text())
    >>> report.ranks, report.wall_seconds, [site.label for site in report.sites]
    (5, 1.0, ['step'])
    """

    program: str
    processors: int
    ranks: int
    wall_seconds: float
    described_bytes: int
    copied_bytes: int
    remote_bytes: int
    peak_shared_memory_bytes: int
    figures: Mapping[str, float]
    sites: Sequence[SiteReport]
    threads: Sequence[ThreadReport]
    moves: Moves | None = None
    cores: Sequence[str] = ()
    startup_seconds: float = 0.0
    folded: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """Write it as one JSON object on one line; a figure that is not a finite number is null."""
        data = asdict(self)
        data["figures"] = {
            name: value if math.isfinite(value) else None for name, value in data["figures"].items()
        }
        return json.dumps(data, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Read what `to_json` wrote."""
        data = json.loads(text)
        data["figures"] = {n: math.nan if value is None else value for n, value in data["figures"].items()}
        data["sites"] = [SiteReport(**row) for row in data["sites"]]
        data["threads"] = [ThreadReport(**row) for row in data["threads"]]
        data["moves"] = Moves(**data["moves"]) if data["moves"] else None
        data["cores"] = tuple(data["cores"])
        return cls(**data)
