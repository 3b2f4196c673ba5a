"""The words for what goes wrong among partitions: who sent what to whom, from which call sites."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pse._abi.coven import ROOTED, CollectiveKind, Reduction
from pse._abi.elements import ELEMENT_CODES
from pse._abi.messaging import FaultKind
from pse.errors import RunError
from pse.language.check import CallSite
from pse.runtime._sequencer import Sequencer
from pse.runtime.plan._projection import Projection
from pse.runtime.plan._tables import itemsize
from pse.text import count_text

_ELEMENTS = {code: element for element, code in ELEMENT_CODES.items()}
_COLLECTIVES = {kind.value: kind.name.lower() for kind in CollectiveKind}
_OPERATIONS = {op.value: op.name.lower() for op in Reduction}


class _Side(NamedTuple):
    """One end of a message (``pse_messaging_side``); `kind` 0 is a message of the module's own."""

    partition: int
    site: int
    kind: int
    extra: int
    type: int
    bytes: int


class _Fault:
    """A fault of ``pse_messaging_fault``, with words for its parts."""

    def __init__(self, fault: Mapping[str, Any], sites: Mapping[int, CallSite]) -> None:
        self.tag, self.peer, self.partitions = fault["tag"], fault["peer"], fault["partitions"]
        self.index = fault["index"]
        self.here, self.there = _Side(**fault["here"]), _Side(**fault["there"])
        self.sites = sites

    def span(self, side: _Side) -> str:
        """Where a side's call stands."""
        site = self.sites.get(side.site)
        return str(site.span) if site else "the program"

    def label(self, side: _Side) -> str:
        """The module that a side called."""
        site = self.sites.get(side.site)
        return site.label if site else "its module"

    def amount(self, side: _Side) -> str:
        """What a side sent or expected: 3 f64."""
        element = _ELEMENTS.get(side.type)
        if element is None:
            return count_text(side.bytes, "byte")
        return f"{side.bytes // itemsize(element)} {element.label}"

    def collective(self, side: _Side) -> str:
        """Which collective a side called: allreduce(sum)."""
        operation = _OPERATIONS.get(side.extra >> 24)
        words = [operation] if operation else []
        if side.kind in ROOTED:
            words.append(f"root {side.extra & 0xFFFFFF}")
        return f"{_COLLECTIVES[side.kind]}({', '.join(words)})"

    def who(self) -> str:
        """Who noticed: call site, module, partition, and the iteration where there are some."""
        iteration = f" (iteration {self.index})" if self.index >= 0 else ""
        side = self.here
        return f"{self.span(side)}: module {self.label(side)}, partition {side.partition}{iteration},"


def partition_error(sequencer: Sequencer, projection: Projection) -> RunError:
    """Name what went wrong among partitions."""
    fault = sequencer.messaging_fault()
    kind = _KINDS[fault["kind"]]
    return kind(_Fault(fault, projection.sites))


def _no_partition(f: _Fault) -> RunError:
    what = f"calls {_COLLECTIVES[f.here.kind]} with root" if f.here.kind else "exchanges messages with"
    message = f"{f.who()} {what} partition {f.peer}, which does not exist"
    last = f.partitions - 1
    help = f"partitions are numbered from 0 to {last} here" if last else "the only partition here is 0"
    return RunError(message, help=help)


def _tag(f: _Fault) -> RunError:
    return RunError(f"{f.who()} gives a message the tag {f.tag}", help="tags are numbers from 0 on")


def _type(f: _Fault) -> RunError:
    what = f"calls {_COLLECTIVES[f.here.kind]}()" if f.here.kind in _COLLECTIVES else "posts a message"
    element, operation = _ELEMENTS.get(f.here.type), _OPERATIONS.get(f.here.extra >> 24)
    if element is None:
        wrong = f"with the element type {f.here.type}, which does not exist"
    else:
        wrong = (
            f"with elements of type {element.label}{f' and the operation {operation}' if operation else ''}"
        )
        wrong += ", which is not possible"
    return RunError(
        f"{f.who()} {what} {wrong}",
        help="use a type of coven.h, and an operation that it has (complex numbers: sum and product)",
    )


def _size(f: _Fault) -> RunError:
    return RunError(
        f"{f.who()} posts {f.here.bytes} elements, which is more than any memory holds",
        help="give the number of elements that the buffer has, not of its bytes or an address",
    )


def _mismatch(f: _Fault) -> RunError:
    what = f"in {f.collective(f.here)}" if f.here.kind else f"with tag {f.tag}"
    return RunError(
        f"{f.who()} expects "
        f"{f.amount(f.here)} {what} from partition {f.there.partition}, which sent {f.amount(f.there)}\n"
        f"  {f.span(f.there)}: sent by module {f.label(f.there)}",
        help="give both the same count and element type",
    )


def _confused(f: _Fault) -> RunError:
    return RunError(
        f"{f.who()} calls "
        f"{f.collective(f.here)} where partition {f.there.partition} calls {f.collective(f.there)}\n"
        f"  {f.span(f.there)}: called by module {f.label(f.there)}",
        help="all partitions of a region call the same collectives in the same order",
    )


def _left(f: _Fault) -> RunError:
    if f.there.kind:
        return RunError(
            f"{f.span(f.there)}: module {f.label(f.there)}, partition {f.there.partition}, calls "
            f"{f.collective(f.there)}, which partition {f.here.partition} never called",
            help="all partitions of a region call the same collectives in the same order",
        )
    return RunError(
        f"{f.span(f.there)}: module {f.label(f.there)}, partition {f.there.partition}, sent "
        f"{f.amount(f.there)} with tag {f.tag} to partition {f.here.partition}, which never received them",
        help="receive every message before its TPH ends (at the end of the iteration or the program)",
    )


def _memory(f: _Fault) -> RunError:
    return RunError(
        f"the system has no memory left for messages of partition {f.here.partition}",
        help="use smaller messages, or receive them sooner",
    )


_KINDS: Mapping[int, Callable[[_Fault], RunError]] = {
    FaultKind.NO_PARTITION: _no_partition,
    FaultKind.TAG: _tag,
    FaultKind.TYPE: _type,
    FaultKind.SIZE: _size,
    FaultKind.MISMATCH: _mismatch,
    FaultKind.CONFUSED: _confused,
    FaultKind.LEFT: _left,
    FaultKind.MEMORY: _memory,
}
