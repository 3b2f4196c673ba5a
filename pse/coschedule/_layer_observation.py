"""Layers of running programs, looked at from outside: what ranks do, what was posted, and what moved."""

import contextlib
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pse import _proc
from pse._abi.coschedule import ENDED, MATCH_DTYPE, NONE, Collective, Decision, DescriptorKind
from pse.coschedule._coschedule import Observer, node_of, root_of
from pse.coschedule._monitor import names_of_routines
from pse.errors import UsageError

_MEMORY: Final = re.compile(r"/memfd:pse-coschedule\b")
_ANY: Final = -1


@dataclass(frozen=True)
class Operation:
    """What a rank has posted and has not got yet.

    Attributes
    ----------
    kind : DescriptorKind
    owner : int
        The rank that posted it.
    peer, tag : int
        The other rank, or -1 for any.
    collective : Collective
        Which one, if it is one.
    size : int
        Bytes of the buffer.
    sequence, number : int
        How many operations, and how many collective ones, the rank had posted before.
    is_new : bool
        No slice has seen it yet.
    is_matched : bool
        Its bytes move.
    is_awaited : bool
        The rank waits for it.
    """

    kind: DescriptorKind
    owner: int
    peer: int
    tag: int
    collective: Collective
    size: int
    sequence: int
    number: int
    is_new: bool
    is_matched: bool
    is_awaited: bool


@dataclass(frozen=True)
class RankView:
    """What a rank does: `doing` is computing, blocked, left or ended."""

    rank: int
    node: int
    process: int
    doing: str
    routine: str
    place: str


@dataclass(frozen=True)
class Match:
    """A message that found its receive, or its probe."""

    source: int
    receiver: int
    tag: int
    size: int


@dataclass(frozen=True)
class State:
    """A layer at a moment: between two slices, or while ranks compute; `is_in_slice`: one isn't over yet."""

    begun: int
    slice: int
    is_held: bool
    is_in_slice: bool
    is_moving: bool
    failure: int
    culprit: int
    ranks: tuple[RankView, ...]
    operations: tuple[Operation, ...]

    @property
    def ended(self) -> list[RankView]:
        """The ranks whose processes have ended before they left."""
        return [rank for rank in self.ranks if rank.doing == "ended"]

    @property
    def is_over(self) -> bool:
        """All ranks have left, or ended."""
        return all(rank.doing in ("left", "ended") for rank in self.ranks)


def _doing(process: int, is_elsewhere: bool, has_left: bool, is_blocked: bool) -> str:
    if has_left:
        return "left"
    is_known = process != 0 and not is_elsewhere  # 0: it has yet to enter.
    if process == ENDED or (is_known and not _proc.status(process)):
        return "ended"
    return "blocked" if is_blocked else "computing"


def _operations(seen: Sequence[tuple[Any, ...]], nodes: Sequence[int]) -> tuple[Operation, ...]:
    """Give what ranks have posted: of messages between nodes the receiver's node knows whether they wait."""
    found: dict[tuple[int, int], Operation] = {}
    waiting: set[tuple[int, int]] = set()
    for kind, owner, peer, tag, operation, *rest, is_owner_asked in seen:
        one = Operation(DescriptorKind(kind), owner, peer, tag, Collective(operation), *rest)
        key = one.owner, one.sequence
        if is_owner_asked:
            far = one.kind == DescriptorKind.SEND and nodes[peer] != nodes[owner]
            found[key] = replace(one, is_matched=True) if far and not one.is_new else one
        else:
            waiting.add(key)
            found.setdefault(key, one)
    for key in waiting:
        found[key] = replace(found[key], is_matched=False)
    return tuple(found[key] for key in sorted(found))


class Layer:
    """A layer of ranks, none of whose slices begins before it is allowed.

    Parameters
    ----------
    process, file : int
        A process that has its memory, and the number of the file there.

    Raises
    ------
    UsageError
        Another process steps it already, or it can't be opened.
    """

    def __init__(self, process: int, file: int) -> None:
        try:
            self._observer = Observer(process, file)
        except OSError as error:
            raise UsageError(
                f"the ranks of process {process} can't be stepped: {os.strerror(error.errno or 0)}",
                help="another pse bcs step may have them, or the process is another user's",
            ) from None
        self._routines = names_of_routines()

    def state(self) -> State:
        """Look at it."""
        seen = self._observer.state()
        ranks = tuple(self._rank(rank, *found) for rank, found in enumerate(seen["ranks"]))
        if ranks[0].doing in ("left", "ended"):  # Nobody tells of other nodes any more.
            ranks = tuple(replace(one, doing=ranks[0].doing) if one.node else one for one in ranks)
        ordered = _operations(seen["operations"], [rank.node for rank in ranks])
        begun, slice, failure, culprit = (
            int(seen[name]) for name in ("begun", "slice", "failure", "culprit")
        )
        held, in_slice, moving = (bool(seen[name]) for name in ("held", "in_slice", "moving"))
        return State(begun, slice, held, in_slice, moving, failure, culprit, ranks, ordered)

    def _rank(
        self, rank: int, node: int, process: int, left: bool, blocked: bool, call: int, place: str
    ) -> RankView:
        doing = _doing(process, node > 0, left, blocked)
        return RankView(rank, node, process, doing, self._routines[call] if call != NONE else "", place)

    def allow(self, slices: int | None) -> None:
        """Let slices begin, up to the n-th; None: all."""
        self._observer.allow(2**64 - 1 if slices is None else slices)

    def hold(self) -> None:
        """Let no more slices begin."""
        self._observer.hold()

    def new_matches(self) -> list[Match]:
        """Give the messages that were matched since this was last asked, if the layer keeps a schedule."""
        found: NDArray[Any] = np.frombuffer(self._observer.new_matches(), MATCH_DTYPE)
        found = found[found["kind"] == Decision.MATCH]
        return [Match(*(int(row[name]) for name in ("source", "receiver", "tag", "bytes"))) for row in found]

    def close(self) -> None:
        """Let it go on without anybody who looks."""
        del self._observer


class Listener:
    """Where new layers of a job are told, before their first slice."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="pse-step-")
        path = os.path.join(self._folder, "step")
        self.place = f"{socket.gethostname()}:{path}"
        """As ranks are told: the machine, and the socket."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(path)
        self._socket.listen(64)
        self._socket.setblocking(False)

    def accept(self) -> Iterator[Layer]:
        """Open the layers that were told since the last time; their ranks go on then."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except BlockingIOError:
                return
            with connection:
                process, file = map(int, connection.makefile().readline().split())
                yield Layer(process, file)
                connection.sendall(b"1")

    def close(self) -> None:
        """Tell those who ask from now on that nobody is here."""
        self._socket.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _memory_files(process: int) -> Iterator[tuple[int, int]]:
    """Give inode and number of a process's files that are the memory of layers."""
    for file, path in _proc.open_files(process):
        with contextlib.suppress(OSError):
            if _MEMORY.match(path):
                yield os.stat(f"/proc/{process}/fd/{file}").st_ino, file


def layers_of(process: int) -> list[Layer]:
    """Open the layers of a running program, given one of its ranks or what started them.

    Raises
    ------
    UsageError
        There are none, or another process steps them.
    """
    found: dict[int, tuple[int, int]] = {}
    for one in [process, *_proc.descendants(process)]:
        for inode, file in _memory_files(one):
            found.setdefault(inode, (one, file))
    places = [place for _, place in sorted(found.items()) if node_of(*place) == 0]
    if not places:
        raise _nothing_to_step(process, sorted(found.values()))
    return [Layer(*place) for place in places]


def _nothing_to_step(process: int, places: Sequence[tuple[int, int]]) -> UsageError:
    """Say where rank 0 is of layers that are seen at these places: slices are held there."""
    if not places:
        return UsageError(
            f"process {process} has no coscheduled ranks",
            help="give the process of a rank, or of the mpiexec that started the ranks",
        )
    host, root = root_of(*places[0])
    return UsageError(
        f"the coscheduled ranks of process {process} are led by rank 0, which is process {root} on {host}",
        help=f"slices are held there; on {host} run:  pse bcs step --attach {root}",
    )


def waiting_for(operations: Sequence[Operation], ranks: int) -> dict[int, tuple[Operation, list[int]]]:
    """Give the collective operations that have begun, by number: a call of each, and who has yet to call."""
    called: dict[int, list[Operation]] = {}
    for one in operations:
        if one.kind == DescriptorKind.COLLECTIVE:
            called.setdefault(one.number, []).append(one)
    return {
        number: (calls[0], sorted(set(range(ranks)) - {one.owner for one in calls}))
        for number, calls in sorted(called.items())
    }
