"""What lowering gives: frozen descriptions of what a rank does, which name tags, edges and partitions.

`PlanBuilder` turns them into rows, which have numbers of slots, edges and other rows instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pse._abi.plan import ArgumentKind, CallKind
from pse.language.check import CallSite
from pse.language.types import Element, Expression
from pse.runtime.distribution._strided_copies import StridedCopy
from pse.runtime.plan._edges import Edge
from pse.runtime.plan._lowering_position import Position


class Part(NamedTuple):
    """What one buffer gives to another: strided copies, and the shape of the array that travels."""

    copies: Sequence[StridedCopy]
    element: Element
    shape: Sequence[int]


class Push(NamedTuple):
    """One hand-over of a call: the value of a tag, or a part of it, to one rank.

    `index` says which piece it is, for receivers that get one from every partition; `lane` for which
    partition it is, where each has a value of its own.  `part` is an index into the call's parts, or,
    where `blocks` is not 0, into the blocks that the rows are cut into which there are when it runs.
    """

    tag: str
    edge: Edge
    rank: int
    index: int = 0  # type: ignore[assignment]  # Hides tuple.index, which nobody calls.
    lane: int | None = None
    part: int = -1
    contiguous: bool = False
    depth: int | None = None  # places in the queue; None: not bounded
    blocks: int = 0


class SharedBlock(NamedTuple):
    """The block in which all pieces of an array are made: their number, its bytes, and one piece's offset."""

    parts: int = 0
    size: int = 0
    offset: int = 0


class Argument(NamedTuple):
    """One argument of a call."""

    kind: ArgumentKind
    element: Element
    tag: str | None = None
    value: Expression | None = None
    ndim: int = 0
    shape: Sequence[Expression] = ()  # of an array that is made, or must be found
    checked: bool = False
    block: SharedBlock = SharedBlock()
    filled: int = -1  # which argument of the call says how many rows of this array are filled
    text: str | None = None
    address: int = 0


class EngineOperation(NamedTuple):
    """The engine's own operation in a call: from which tag to which, and how."""

    source: str | None = None
    target: str | None = None
    combination: int = 0
    alias: bool = False
    silent: bool = False
    clear: bool = False
    lend: bool = False


class Call(NamedTuple):
    """A call, of a module or of the engine's own operations."""

    site: CallSite
    kind: CallKind
    position: Position
    arguments: Sequence[Argument] = ()
    pushes: Sequence[Push] = ()
    releases: Sequence[str] = ()
    operation: EngineOperation = EngineOperation()
    parts: Sequence[Part] = ()
    function: int = 0


class Expect(NamedTuple):
    """A tag's value, or `count` pieces of it, will arrive along an edge.

    `partition` is the one whose slot it goes to; `lane` the one by which the edge is numbered.
    """

    tag: str
    partition: int | None
    edge: Edge
    lane: int | None = None
    count: int = 0  # type: ignore[assignment]  # Hides tuple.count.


class Assignment(NamedTuple):
    """A scalar gets the value of an expression; `folded`: it is calculated before the run where possible."""

    tag: str
    partition: int | None
    value: Expression
    folded: bool = False


class Drop(NamedTuple):
    """A tag's value is not needed any more."""

    tag: str
    partition: int | None


class Exchange(NamedTuple):
    """Two tags exchange their values."""

    left: str
    right: str
    partition: int | None


Lowered = Call | Expect | Assignment | Drop | Exchange
