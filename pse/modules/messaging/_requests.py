"""What modules in Python post to other partitions: requests, and the engine's functions behind them.

The engine's functions are those of ``coven.h``; `loader.serve` says where they are.  What a module posts is
kept in a list by whoever calls the module (`pse.runtime.rank._python_calls`), until it is complete.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pse._abi.coven import CollectiveKind, Reduction
from pse._abi.elements import TYPE_CODES
from pse._abi.services import Collective, Services
from pse.language.types import block_range
from pse.modules.load import _loader as loader

Array = np.ndarray[Any, Any]
Operation = str | Callable[[Array, Array], Any]
OPERATIONS = {op.name.lower(): op for op in Reduction}
CLOSURE: Any = dict(Collective._fields_)["closure"]  # type: ignore[arg-type]


class Request:
    """Something posted: a send, a receive or a collective.  A generator may yield it.

    Attributes
    ----------
    data : array or None
        Where what comes is put; valid once the request is complete.
    scalar : bool, optional
        Whether `data` holds a single value.

    See Also
    --------
    send, allreduce
    """

    def __init__(self, data: Array | None = None, *, scalar: bool = False) -> None:
        self.data = data
        self.ticket = 0
        self.error: BaseException | None = None
        self._scalar = scalar
        self._kept: list[Any] = []
        self._copies: list[tuple[Array, Array]] = []

    def keep(self, *things: Any) -> None:
        """Keep things alive until it is complete."""
        self._kept.extend(things)

    def place(self, array: Array) -> Array:
        """Give memory in which the engine can put what belongs into an array: itself, or a copy."""
        if array.flags.c_contiguous:
            return array
        place = np.ascontiguousarray(array)
        self._copies.append((array, place))
        return place

    def result(self) -> Any:
        """Finish it, and give what came: an array, a scalar, or None.

        Raises
        ------
        Exception
            What a function that combines raised.
        """
        for array, place in self._copies:
            array[...] = place
        self._copies.clear()
        self._kept.clear()
        if self.error is not None:
            raise self.error
        return self.data[()] if self.data is not None and self._scalar else self.data


class PiecesRequest(Request):
    """Of alltoallv: what comes is a list of arrays of so many elements each."""

    def __init__(self, counts: Sequence[int]) -> None:
        super().__init__()
        self._ends = np.cumsum(counts, dtype=np.intp)

    def result(self) -> Any:
        """Finish it, and give the pieces."""
        return np.split(super().result(), self._ends[:-1])


class _Module(threading.local):
    """What the module that runs in this thread has posted; None while none runs."""

    posted: list[Request] | None = None


_module = _Module()


def enter_call(posted: list[Request]) -> None:
    """A module runs in this thread; what it posts is added to a list.

    Parameters
    ----------
    posted : list of Request
        What the module posts is appended to it.

    Examples
    --------
    >>> posted = []
    >>> enter_call(posted)  # What a module posts from here on is appended to the list.
    >>> leave_call()
    """
    _module.posted = posted


def leave_call() -> None:
    """It waits, or has returned.

    See Also
    --------
    enter_call
    """
    _module.posted = None


def wait_for(requests: Sequence[Request]) -> None:
    """Let the partition rest until just these are complete.

    Parameters
    ----------
    requests : sequence of Request
        Posted by this partition.

    See Also
    --------
    enter_call
    """
    tickets = [request.ticket for request in requests]
    services().wait((ctypes.c_int64 * len(tickets))(*tickets), len(tickets))


def services() -> Services:
    """Give the engine's functions; raises RuntimeError while no module runs."""
    if _module.posted is None or not loader.services():
        raise RuntimeError("partitions exist only inside a module that the engine is running")
    return Services.from_address(loader.services())


def partition_index() -> int:
    """Give the partition that the module runs for, from 0; 0 outside the engine.

    Returns
    -------
    int
        At least 0.

    Examples
    --------
    >>> partition_index(), partition_count()  # No module runs here.
    (0, 1)
    """
    return int(services().partition()) if _module.posted is not None else 0


def partition_count() -> int:
    """Give the number of partitions of the region; 1 outside the engine.

    Returns
    -------
    int
        At least 1.

    See Also
    --------
    partition_index
    """
    return int(services().partitions()) if _module.posted is not None else 1


def partition_grid() -> tuple[int, ...]:
    """Give the extents of the grid in which the region's partitions are; without one they are in a row.

    Returns
    -------
    tuple of int
        Their product is the number of partitions.

    See Also
    --------
    partition_coordinates
    """
    if _module.posted is None:
        return (1,)
    extents = map(services().grid, itertools.count())
    return tuple(int(extent) for extent in itertools.takewhile(bool, extents))


def partition_coordinates() -> tuple[int, ...]:
    """Give the coordinates, on this grid, of the partition that the module runs for.

    Returns
    -------
    tuple of int
        One for each axis, from 0; the last axis varies fastest.

    Examples
    --------
    >>> @pse.module("corner(out f64 is_corner)")
    ... def corner():
    ...     return float(not any(partition.coordinates))
    """
    place, found = partition_index(), []
    for extent in reversed(partition_grid()):
        place, coordinate = divmod(place, extent)
        found.append(coordinate)
    return tuple(reversed(found))


def partition_block(extent: int, axis: int = 0) -> range:
    """Give the indices that the partition has of an axis which is cut into blocks.

    Parameters
    ----------
    extent : int
        How many elements the whole array has along its axis.
    axis : int, optional
        The axis of the partitions' grid along which it is cut.

    Returns
    -------
    range
        Without the halo.

    Examples
    --------
    >>> @pse.module("ramp(in i64 n, out f64 x[m] @ block(0))")
    ... def ramp(n, x):
    ...     x[:] = partition.block(n)
    """
    return block_range(extent, partition_grid()[axis], partition_coordinates()[axis])


def type_code(dtype: np.dtype[Any]) -> int:
    """Give the engine's number of an element type; raises TypeError if it has none."""
    code = TYPE_CODES.get(dtype.str[1:]) if dtype.isnative else None
    if code is None:
        known = ", ".join(TYPE_CODES)
        raise TypeError(f"elements of type {dtype} can't be sent: expected one of {known}")
    return code


def keep_posted(request: Request) -> Request:
    """Note a request as posted by the running module."""
    if request.ticket < 0:  # The engine has noted why, and ends the run.
        raise RuntimeError("the engine refused this message or collective")
    assert _module.posted is not None
    _module.posted.append(request)
    return request


def describe(kind: str, data: Array | None, result: Array | None, root: int, size: int) -> Collective:
    """Write down a collective for the engine; `size` is its count."""
    model = data if data is not None else result
    code = type_code(model.dtype) if model is not None else 0
    what = Collective(kind=CollectiveKind[kind.upper()], type=code, root=root, count=size)
    what.data = data.ctypes.data if data is not None else None
    what.result = result.ctypes.data if result is not None else None
    return what


def start(request: Request, what: Collective, *kept: Any) -> Request:
    """Post a collective; what is kept stays alive until it is complete."""
    request.keep(*kept)
    request.ticket = services().collective(ctypes.byref(what))
    return keep_posted(request)


def closure_of(op: Callable[[Array, Array], Any], dtype: np.dtype[Any], request: Request) -> Any:
    """Wrap a function so that the engine can call it; what it raises is kept for the module."""

    def combine(_: int, left: int, right: int, into: int, size: int) -> None:
        try:
            arrays = [
                np.frombuffer(
                    memoryview((ctypes.c_byte * (size * dtype.itemsize)).from_address(place)), dtype
                )
                for place in (left, right, into)
                if size
            ]
            if arrays:
                arrays[2][...] = _combined(op, arrays[0], arrays[1])
        except BaseException as failure:
            request.error = request.error or failure

    return CLOSURE(combine)


def _combined(op: Callable[[Array, Array], Any], left: Array, right: Array) -> Array:
    """Call a user's operation; NumPy would stretch or cut what doesn't fit."""
    made = np.asarray(op(left, right))
    widths = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
    if made.size != left.size or widths.get(made.dtype.kind, 4) > widths[left.dtype.kind]:
        name = getattr(op, "__name__", "the operation")
        raise TypeError(
            f"{name}(left, right) gave {made.dtype}{list(made.shape)}: "
            f"expected {left.dtype}{list(left.shape)}, as left and right are"
        )
    return made.reshape(left.shape)
