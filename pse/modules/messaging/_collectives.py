"""Collective operations among partitions for modules in Python, as ``pse.partition`` offers them.

All partitions of a region post the same ones in the same order.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from pse._abi.services import Rows
from pse.modules.messaging._messages import check_integer, place_for, writable
from pse.modules.messaging._requests import (
    OPERATIONS,
    Array,
    Operation,
    PiecesRequest,
    Request,
    closure_of,
    describe,
    keep_posted,
    partition_count,
    partition_index,
    services,
    start,
)


def barrier() -> Request:
    """Post a barrier: complete when all partitions have come to it.

    Returns
    -------
    Request
        Complete when all partitions have come.

    Examples
    --------
    >>> @pse.module("phase(inout f64 x[n])")
    ... def phase(x):
    ...     yield partition.barrier()
    ...     x += 1
    """
    return _collective("barrier", Request(), None, None)


def bcast(array: Array, root: int = 0) -> Request:
    """Post a broadcast of the root's array into everybody's.

    Parameters
    ----------
    array : array
        What goes out at the root, and where it is put elsewhere: of one shape and element type everywhere.
    root : int
        The partition that has it.

    Returns
    -------
    Request
        Its result is the root's array.

    Raises
    ------
    ValueError
        If there is no such partition, or the array can't be written.

    Examples
    --------
    >>> @pse.module("agree(inout f64 table[n])")
    ... def agree(table):
    ...     partition.bcast(table, root=0)
    """
    request = Request(writable(np.asarray(array)))
    place = request.place(np.asarray(array))
    return _collective("bcast", request, place, place, root=root)


def reduce(array: Any, op: Operation = "sum", root: int = 0, into: Array | None = None) -> Request:
    """Post a reduction, element by element, to the root.

    Parameters
    ----------
    array : array or scalar
        This partition's contribution.
    op : str or callable
        sum, prod, min, max, all, any, hypot, or a function of two flat arrays (left, right) that gives their
        combination; it must be associative.  Partitions are combined in their order, in the same way wherever
        they live.
    root : int
        Who gets the result.
    into : array, optional
        Where the root wants it.

    Returns
    -------
    Request
        Its result is the combination at the root, None elsewhere.

    Examples
    --------
    >>> @pse.module("mean(in f64 x[n], out f64 mean)")
    ... def mean(x):
    ...     total = yield partition.reduce(x.mean(), "sum", root=0)
    ...     return total / partition.count if partition.index == 0 else 0.0
    """
    data = np.asarray(array, order="C")
    request = place_for(into, data, None, None) if partition_index() == root else Request()
    return _reduction("reduce", request, data, op, root)


def allreduce(array: Any, op: Operation = "sum", into: Array | None = None) -> Request:
    """Post a reduction whose result everybody gets, with the same bits.

    Parameters
    ----------
    array, op, into
        As for `reduce`; everybody may say where it wants the result.

    Returns
    -------
    Request
        Its result is the reduced array.

    Examples
    --------
    >>> @pse.module("normalize(in f64 x[n], out f64 y[n])")
    ... def normalize(x):
    ...     largest = yield partition.allreduce(abs(x).max(), "max")
    ...     return x / largest
    """
    data = np.asarray(array, order="C")
    return _reduction("allreduce", place_for(into, data, None, None), data, op)


def scan(array: Any, op: Operation = "sum", into: Array | None = None) -> Request:
    """Post a reduction of the partitions from 0 up to this one.

    Parameters
    ----------
    array, op, into
        As for `reduce`; everybody may say where it wants the result.

    Returns
    -------
    Request
        Its result is the reduced array.

    Examples
    --------
    >>> @pse.module("offsets(in f64 x[n], out f64 before)")
    ... def offsets(x):
    ...     return float((yield partition.scan(len(x))) - len(x))
    """
    data = np.asarray(array, order="C")
    return _reduction("scan", place_for(into, data, None, None), data, op)


def gather(array: Any, root: int = 0, into: Array | None = None) -> Request:
    """Post a gather: the root gets an array with everybody's, by index, along a new first axis.

    Parameters
    ----------
    array : array or scalar, shape (…)
        This partition's; of one shape and element type everywhere.
    root : int
        Who gets them.
    into : array, shape (count, …), optional
        Where the root wants them.

    Returns
    -------
    Request
        Its result is the array at the root, and None elsewhere.

    Examples
    --------
    >>> @pse.module("largest_part(in f64 x[n], out f64 part)")
    ... def largest_part(x):
    ...     sums = yield partition.gather(x.sum(), root=0)
    ...     return float(sums.argmax()) if partition.index == 0 else 0.0
    """
    data = np.asarray(array, order="C")
    request = (
        place_for(into, None, (partition_count(), *data.shape), data.dtype)
        if partition_index() == root
        else Request()
    )
    return _collective("gather", request, data, request.data, root=root, size=data.size)


def allgather(array: Any, into: Array | None = None) -> Request:
    """Post a gather whose result everybody gets.

    Parameters
    ----------
    array : array or scalar, shape (…)
        This partition's; of one shape and element type everywhere.
    into : array, shape (count, …), optional
        Where this partition wants them.

    Returns
    -------
    Request
        Its result is the array of all partitions' arrays, by index.

    Examples
    --------
    >>> @pse.module("counts(in f64 x[n], out i64 lengths[m])")
    ... def counts(x, lengths):
    ...     partition.allgather(len(x), into=lengths)
    """
    data = np.asarray(array, order="C")
    request = place_for(into, None, (partition_count(), *data.shape), data.dtype)
    return _collective("allgather", request, data, request.data, size=data.size)


def scatter(
    array: Array | None,
    root: int = 0,
    into: Array | None = None,
    *,
    like: Any = None,
    shape: int | tuple[int, ...] | None = None,
    dtype: Any = None,
) -> Request:
    """Post a scatter: everybody gets its part of the root's array along the first axis.

    Parameters
    ----------
    array : array, shape (count, …), or None
        The parts, at the root; None elsewhere.
    root : int
        Who has them.
    into : array, shape (…), optional
        Where this partition wants its part.
    like, shape, dtype
        What partitions other than the root expect, as for `receive`.

    Returns
    -------
    Request
        Its result is this partition's part.

    Raises
    ------
    ValueError
        If the root's array has not one part for each partition.

    Examples
    --------
    >>> @pse.module("seed(out f64 x[n])")
    ... def seed(x):
    ...     table = np.eye(partition.count, len(x)) if partition.index == 0 else None
    ...     partition.scatter(table, into=x)
    """
    data = None if array is None or partition_index() != root else np.asarray(array, order="C")
    if data is not None:
        _check_parts(data, "scatter")
        shape, dtype = data.shape[1:], data.dtype
    request = place_for(into, like if data is None else None, shape, dtype)
    assert request.data is not None
    return _collective("scatter", request, data, request.data, root=root, size=request.data.size)


def alltoall(array: Array, into: Array | None = None) -> Request:
    """Post an exchange: part p of this partition's array goes to partition p, whose part comes here.

    Parameters
    ----------
    array : array, shape (count, …)
        The parts; of one shape and element type everywhere.
    into : array, shape (count, …), optional
        Where this partition wants what comes.

    Returns
    -------
    Request
        Its result is the array of the parts that came here, by index.

    Raises
    ------
    ValueError
        If the array has not one part for each partition along its first axis.

    Examples
    --------
    >>> @pse.module("exchange_parts(in f64 x[m, n], out f64 y[m, n])")
    ... def exchange_parts(x, y):
    ...     partition.alltoall(x, into=y)
    """
    data = np.asarray(array, order="C")
    _check_parts(data, "alltoall")
    request = place_for(into, None, data.shape, data.dtype)
    return _collective("alltoall", request, data, request.data, size=data.size // max(partition_count(), 1))


def alltoallv(pieces: Sequence[Any], counts: Sequence[int]) -> Request:
    """Post an exchange of flat pieces of any size.

    Parameters
    ----------
    pieces : sequence of array
        What goes to each partition; of one element type.
    counts : sequence of int
        How many elements come from each partition.

    Returns
    -------
    Request
        Its result is a list of arrays, one from each partition.

    Raises
    ------
    ValueError
        If there is not one piece and one count for each partition.

    Examples
    --------
    >>> @pse.module("deal(in f64 x[n], out f64 size)")
    ... def deal(x):
    ...     pieces = np.array_split(x, partition.count)
    ...     counts = yield partition.alltoall(np.array([len(piece) for piece in pieces]))
    ...     came = yield partition.alltoallv(pieces, counts)
    ...     return float(sum(map(len, came)))
    """
    if len(pieces) != partition_count() or len(counts) != partition_count():
        raise ValueError(
            f"alltoallv of {len(pieces)} pieces and {len(counts)} counts: "
            f"expected {partition_count()} of each"
        )
    flat = [np.asarray(piece).ravel() for piece in pieces]
    data = np.concatenate(flat) if flat else np.empty(0)
    return exchange_pieces(data, [piece.size for piece in flat], counts, PiecesRequest(counts))


def exchange_pieces(
    data: Array, sizes: Sequence[int], counts: Sequence[int], request: Request | None = None
) -> Request:
    """Post an exchange of pieces that lie one behind the other.

    Parameters
    ----------
    data : array, shape (n,)
        What goes to partitions, by their index.
    sizes, counts : sequence of int
        How many elements go to each partition, and how many come from it.
    request : Request, optional
        What to post; by default its result is one array, of all that came.

    Returns
    -------
    Request
        What was posted.

    See Also
    --------
    alltoallv
    """
    lists = np.array([sizes, counts], np.uintp)
    offsets = np.cumsum(lists, axis=1, dtype=np.uintp) - lists
    request = request or Request()
    request.data = np.empty(int(lists[1].sum()), data.dtype)
    what = describe("alltoallv", data, request.data, 0, 0)
    what.counts, what.received_counts = (row.ctypes.data for row in lists)
    what.offsets, what.received_offsets = (row.ctypes.data for row in offsets)
    return start(request, what, data, lists, offsets)


def exchange_rows(rows: Array, listed: Array, into: Array, period: Array | None = None) -> Request:
    """Post an exchange of rows with the partitions of a list; on one node each is written once.

    Parameters
    ----------
    rows : array, shape (n, …)
        All rows that this partition has, contiguous.
    listed : array of int64, shape (k, at least 2)
        ``[i, p, …]``: row i goes to partition p; behind those, ``[-n, p, …]``: n rows come from partition p.
        Both ascend by p.
    into : array, shape (m, …)
        Where what comes is put, by partition, in the order of its list; contiguous.
    period : array of float64, optional
        Rows are positions: the third and further numbers say how many periods are added along each axis.

    Returns
    -------
    Request
        Its result is `into`.

    Examples
    --------
    >>> @pse.module("swap_ends(in f64 x[n], out f64 y[1])")  # Of two partitions.
    ... def swap_ends(x, y):
    ...     other = 1 - partition.index
    ...     yield messaging.exchange_rows(x, np.array([[0, other], [-1, other]]), y)
    """
    request = Request(into)
    what = Rows(
        data=rows.ctypes.data,
        result=into.ctypes.data,
        list=listed.ctypes.data,
        period=period.ctypes.data if period is not None else None,
        width=rows.dtype.itemsize * int(np.prod(rows.shape[1:])),
        entries=len(listed),
        stride=listed.shape[1],
        axes=listed.shape[1] - 2,
    )
    request.keep(rows, listed, period)
    request.ticket = services().exchange_rows(ctypes.byref(what))
    return keep_posted(request)


def _check_root(kind: str, root: int) -> None:
    check_integer(root, f"{kind} with root")
    if not 0 <= root < partition_count():
        raise ValueError(
            f"{kind}: root {root}: there is no such partition; expected 0 to {partition_count() - 1}"
        )


def _check_parts(array: Array, name: str) -> None:
    if array.ndim == 0 or array.shape[0] != partition_count():
        raise ValueError(
            f"{name} of an array of shape {array.shape}: "
            f"its first axis must have the {partition_count()} partitions"
        )


def _collective(
    kind: str,
    request: Request,
    data: Array | None,
    result: Array | None,
    *,
    root: int = 0,
    size: int | None = None,
) -> Request:
    _check_root(kind, root)
    if size is None:
        size = data.size if data is not None else 0
    _fits(kind, request, data, size)
    place = result if result is None or result is data else request.place(result)
    return start(request, describe(kind, data, place, root, size), data, place)


def _fits(kind: str, request: Request, data: Array | None, size: int) -> None:
    """Refuse an array for the result that is not of the right size and type."""
    into = request.data
    if into is None or data is None:
        return
    wide = kind in ("gather", "allgather", "alltoall")
    expected = size * partition_count() if wide else size
    if into.size != expected or into.dtype != data.dtype:
        raise ValueError(
            f"{kind} into {into.size} elements of {into.dtype}: expected {expected} of {data.dtype}"
        )


def _reduction(kind: str, request: Request, data: Array, op: Operation, root: int = 0) -> Request:
    _check_root(kind, root)
    _fits(kind, request, data, data.size)
    place = None if request.data is None else request.place(request.data)
    what = describe(kind, data, place, root, data.size)
    if callable(op):
        what.closure = closure_of(op, data.dtype, request)
        return start(request, what, data, place, what.closure)
    if op not in OPERATIONS:
        raise ValueError(
            f"{kind} by {op!r}: expected one of {', '.join(OPERATIONS)}, or a function of two arrays"
        )
    if data.dtype.kind == "c" and op not in ("sum", "prod"):
        raise TypeError(
            f"{kind} by {op!r} of complex numbers: expected sum, prod, or a function of two arrays"
        )
    if data.dtype.kind != "f" and op == "hypot":
        raise TypeError(f"{kind} by 'hypot' of {data.dtype}: expected real numbers, float32 or float64")
    what.op = OPERATIONS[op]
    return start(request, what, data, place)
