"""Which metahost each rank ran on: a file in the user's words, and what does not fit the trace in ours.

A line of the file is the name of a metahost, then either patterns of hosts or ``ranks`` and ranges of ranks:

    FZJ     xd1-* login?     # as in a shell
    FH-BRS  ranks 8-15 20

What is after # is a comment.  A metahost may have several lines.  Ranks that no line names stay where the
trace has them.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from pse.analysis.cube._cube import Location
from pse.errors import UsageError, system_help
from pse.text import count_text, list_text, printable_text, ranges_text

_FORM = "a line is: METAHOST HOST…, or: METAHOST ranks 0-3 7"
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


@dataclass(frozen=True)
class _Line:
    """A line of the file: hosts or ranks of a metahost."""

    number: int
    metahost: str
    hosts: tuple[str, ...] = ()
    ranks: tuple[range, ...] = field(default=())

    def has(self, location: Location) -> bool:
        names = (location.node, f"{location.machine}/{location.node}")
        return any(location.rank in ranks for ranks in self.ranks) or any(
            fnmatchcase(name, pattern) for name in names for pattern in self.hosts
        )


def assign_metahosts(
    locations: Sequence[Location], path: str | os.PathLike[str]
) -> tuple[list[Location], list[str]]:
    """Let a file say on which metahosts ranks ran.

    Parameters
    ----------
    locations : sequence of Location
        As the trace has them.
    path : path
        The file.

    Returns
    -------
    locations : list of Location
        The same with other machines.
    problems : list of str
        What the file says and the trace has not, and the other way round.

    Raises
    ------
    UsageError
        The file or a line of it can't be read, or two lines have one rank on different metahosts.
    """
    lines = _read(path)
    placed = [_placed(location, lines, path) for location in locations]
    left = sorted({location.rank for location in locations if not _claims(location, lines)})
    problems = [f"{path} names no metahost for {_ranks(left)}: the trace's is taken"] if left else []
    return placed, [*_unused(locations, lines, path), *problems]


def split_nodes(locations: Sequence[Location], nodes: Sequence[Hashable]) -> list[str]:
    """Say which nodes are in several metahosts; `nodes` tells which locations have the same one."""
    names: dict[Hashable, str] = {}
    machines: dict[Hashable, set[str]] = defaultdict(set)
    for location, node in zip(locations, nodes, strict=True):
        names[node] = location.node
        machines[node].add(location.machine)
    return [
        f"ranks of node {names[node]} are in the metahosts {list_text(sorted(found))}: they count as "
        f"{count_text(len(found), 'node')}"
        for node, found in machines.items()
        if len(found) > 1
    ]


def _read(path: str | os.PathLike[str]) -> list[_Line]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")  # Windows puts a mark before its texts.
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        help = system_help(error, path) if isinstance(error, OSError) else "save the file as UTF-8"
        raise UsageError(f"{path}: the file of metahosts can't be read: {reason}", help=help) from None
    lines = [
        _parsed(number, words, f"{path}:{number}")
        for number, line in enumerate(text.splitlines(), 1)
        if (words := line.partition("#")[0].split())
    ]
    if not lines:
        raise UsageError(f"{path} names no metahosts", help=_FORM)
    return lines


def _parsed(number: int, words: Sequence[str], where: str) -> _Line:
    metahost, *rest = map(printable_text, words)
    if rest[:1] == ["ranks"]:
        ranks = [_parsed_range(word, where) for item in rest[1:] for word in item.split(",") if word]
        rest = rest[1:]
    else:
        ranks = []
    if not rest:
        raise UsageError(f"{where}: metahost {metahost} has neither hosts nor ranks", help=_FORM)
    return _Line(number, metahost, () if ranks else tuple(rest), tuple(ranks))


def _parsed_range(word: str, where: str) -> range:
    found = _RANGE.fullmatch(word)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if last < first:
        raise UsageError(f"{where}: {word!r} is not a rank or a range of ranks", help=_FORM)
    return range(first, last + 1)


def _claims(location: Location, lines: Sequence[_Line]) -> list[_Line]:
    return [line for line in lines if line.has(location)]


def _placed(location: Location, lines: Sequence[_Line], path: str | os.PathLike[str]) -> Location:
    claims = {line.metahost: line for line in reversed(_claims(location, lines))}
    if len(claims) > 1:
        first, second = sorted(claims.values(), key=lambda line: line.number)[:2]
        raise UsageError(
            f"{path}:{second.number}: rank {location.rank} on host {location.node} is in metahost "
            f"{second.metahost}, but line {first.number} has it in {first.metahost}",
            help="take the host, or the rank, out of one of the two lines",
        )
    return replace(location, machine=next(iter(claims), location.machine))


def _unused(
    locations: Sequence[Location], lines: Sequence[_Line], path: str | os.PathLike[str]
) -> Iterator[str]:
    """What the file says of hosts and ranks that the trace has not, and metahosts that stay empty."""
    ranks = {location.rank for location in locations}
    for line in lines:
        for pattern in line.hosts:
            if not any(replace(line, hosts=(pattern,)).has(location) for location in locations):
                yield f"{path}:{line.number}: no rank of the trace ran on a host {pattern}"
        for own in line.ranks:
            there = sum(rank in own for rank in ranks)
            if there < len(own):
                of = (
                    f"{there or 'none'} of the ranks {own[0]}-{own[-1]}"
                    if len(own) > 1
                    else f"no rank {own[0]}"
                )
                yield f"{path}:{line.number}: the trace has {of}"
    named = list(dict.fromkeys(line.metahost for line in lines))
    used = {line.metahost for line in lines if any(map(line.has, locations))}
    empty = [name for name in named if name not in used]
    if empty:
        yield (
            f"{path} names {count_text(len(named), 'metahost')}, of which {list_text(empty)} "
            f"{'has' if len(empty) == 1 else 'have'} none of the trace's {count_text(len(ranks), 'rank')}"
        )


def _ranks(ranks: Sequence[int]) -> str:
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {ranges_text(ranks)}"
