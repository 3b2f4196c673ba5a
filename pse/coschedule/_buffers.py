"""What mpi4py takes as a buffer: an array, or a list of an array, counts, displacements and a type."""

import functools
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from pse.errors import UsageError
from pse.text import count_text

Piece = tuple[int, int]
"""Offset and size in bytes of what one rank has of a buffer."""


class Span(NamedTuple):
    """Contiguous memory, and what its elements are to MPI."""

    data: Any
    bytes: int
    type: MPI.Datatype

    @property
    def item(self) -> int:
        """Bytes of an element."""
        return item_of(self.type)


def item_of(kind: MPI.Datatype) -> int:
    """Say how many bytes an element takes, with those that align the next one (MPI.DOUBLE_INT has some)."""
    return kind.Get_extent()[1]


@functools.cache
def meaning_of(kind: int, operation: int, item: int) -> int:
    """Give a number for what a reduction does, the same on all ranks: handles may be addresses.

    Operations and types of the program's own have no names that all ranks must have given them.
    """
    names = {MPI._handleof(one): name for name, one in vars(MPI).items() if _is_predefined(one)}
    return zlib.crc32(f"{names.get(operation)} {names.get(kind)} {item}".encode()) >> 1


def _is_predefined(one: Any) -> bool:
    return isinstance(one, MPI.Op | MPI.Datatype) and one.is_predefined


def type_of(array: NDArray[Any]) -> MPI.Datatype:
    """Give MPI's type of an array's elements."""
    try:
        return MPI._typedict[array.dtype.char]
    except KeyError:
        raise UsageError(
            f"elements of type {array.dtype} have no type in MPI",
            help="name one: [array, MPI.BYTE], or a structure of your own",
        ) from None


def bytes_of(buffer: Any) -> NDArray[np.uint8]:
    """Give the bytes of a contiguous buffer."""
    array = np.asarray(buffer)
    flat = array.ravel(order="K")
    if array.size and not np.shares_memory(flat, array):
        raise UsageError(
            "a buffer of communication must be contiguous", help="send a copy: numpy.ascontiguousarray(array)"
        )
    return flat.view(np.uint8)


def _is_type(entry: Any) -> bool:
    return isinstance(entry, MPI.Datatype | str)


def _is_list(entry: Any) -> bool:
    return isinstance(entry, list | tuple | np.ndarray)


def _typed(array: Any, entries: Sequence[Any]) -> tuple[MPI.Datatype, list[Any]]:
    named = [entry for entry in entries if _is_type(entry)]
    others = [entry for entry in entries if entry is not None and not _is_type(entry)]
    if not named:
        return type_of(np.asarray(array)), others
    kind = MPI._typedict[named[0]] if isinstance(named[0], str) else named[0]
    if kind.Get_extent() != (0, kind.Get_size()) and not kind.is_predefined:
        raise UsageError(
            f"elements of the type {kind.Get_name() or 'given'} don't lie side by side",
            help="pack them first: MPI's Pack, or numpy.ascontiguousarray",
        )
    return kind, others


def span_of(spec: Any) -> Span:
    """Read a buffer of one message.

    Raises
    ------
    UsageError
        It is not contiguous, has no type, or is too short for the count.
    """
    if isinstance(spec, np.ndarray):
        return Span(spec, spec.nbytes, MPI._typedict.get(spec.dtype.char, MPI.BYTE))
    array, *entries = spec if isinstance(spec, list | tuple) else (spec,)
    kind, others = _typed(array, entries)
    data = bytes_of(array)
    if others:
        data = _part(data, 0, int(others[0]) * item_of(kind))
    return Span(data, data.nbytes, kind)


def data_of(spec: Any) -> Any:
    """Give the memory of one message: an array as it is."""
    return spec if isinstance(spec, np.ndarray) else span_of(spec).data


def _part(data: NDArray[np.uint8], offset: int, size: int) -> NDArray[np.uint8]:
    if offset + size > data.nbytes or offset < 0:
        raise UsageError(
            f"a buffer has {data.nbytes} bytes, and bytes up to {offset + size} of it are asked for",
            help="give a longer buffer, or smaller counts and displacements from 0 on",
        )
    return data[offset : offset + size]


def pieces_of(spec: Any, ranks: int) -> tuple[Span, list[Piece]]:
    """Read a buffer that has a piece for each rank: of the same size, or as counts and displacements say.

    Raises
    ------
    UsageError
        It can't be divided, or the counts don't fit.
    """
    if not isinstance(spec, list | tuple) or not any(_is_list(entry) for entry in spec[1:]):
        whole = span_of(spec)
        each, rest = divmod(whole.bytes, ranks)
        if rest:
            raise UsageError(
                f"a buffer of {whole.bytes} bytes can't be divided into {ranks} equal pieces",
                help=f"give a multiple of {ranks} elements, or a count for each rank: Scatterv, Gatherv, …",
            )
        return whole, [(each * rank, each) for rank in range(ranks)]
    array, *entries = spec
    kind, others = _typed(array, entries)
    counts, starts = _layout(others, ranks)
    data = bytes_of(array)
    item = item_of(kind)
    pieces = [(start * item, count * item) for start, count in zip(starts, counts, strict=True)]
    for offset, size in pieces:
        _part(data, offset, size)
    return Span(data, data.nbytes, kind), pieces


def _layout(others: Sequence[Any], ranks: int) -> tuple[list[int], list[int]]:
    """Counts and displacements, the latter one piece after the other if they are not given."""
    given = others[0] if len(others) == 1 and len(others[0]) == 2 and _is_list(others[0][0]) else others
    counts = [int(count) for count in given[0]]
    if len(counts) != ranks:
        raise UsageError(
            f"{count_text(len(counts), 'count')} given for {count_text(ranks, 'rank')}",
            help="give a count for each rank, 0 for those that get nothing",
        )
    if len(given) > 1 and given[1] is not None:
        return counts, [int(start) for start in given[1]]
    return counts, [sum(counts[:rank]) for rank in range(ranks)]
