"""Messages among partitions for modules in Python: what ``pse.partition`` offers, beside collectives.

Arrays and scalars of NumPy only: nothing is pickled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pse.modules.messaging._requests import (
    Array,
    Request,
    keep_posted,
    partition_count,
    partition_index,
    services,
    type_code,
)


def send(to: int, array: Any, tag: int = 0) -> Request:
    """Post a send to a partition.

    Parameters
    ----------
    to : int
        The partition.
    array : array or scalar
        Of one of the language's element types.  It must not be changed before the send is complete.
    tag : int
        At least 0; a receive with the same tag gets it.

    Returns
    -------
    Request
        Complete when the array may be changed again.

    Raises
    ------
    ValueError
        If there is no such partition, or the tag is negative.
    TypeError
        If the engine can't send such elements.

    Examples
    --------
    >>> @pse.module("shift(in f64 x[n], out f64 y[n])")
    ... def shift(x):
    ...     partition.send((partition.index + 1) % partition.count, x)
    ...     return (yield partition.receive((partition.index - 1) % partition.count, like=x))
    """
    _check_peer(to, tag, "send to")
    data, request = np.asarray(array, order="C"), Request()
    request.keep(data)
    request.ticket = services().send(to, tag, data.ctypes.data, data.size, type_code(data.dtype))
    return keep_posted(request)


def receive(
    source: int,
    into: Array | None = None,
    tag: int = 0,
    *,
    like: Any = None,
    shape: int | tuple[int, ...] | None = None,
    dtype: Any = None,
) -> Request:
    """Post a receive from a partition, into an array or into a new one.

    Parameters
    ----------
    source : int
        The partition.
    into : array, optional
        What comes is put there; it need not be contiguous.
    tag : int
        As it was sent with.
    like : array or scalar, optional
        Where there is no `into`: a new array of this shape and element type.
    shape : int or tuple of int, optional
        The shape of the new array; none for a scalar.
    dtype : dtype, optional
        Its element type, f64 where it is left out.

    Returns
    -------
    Request
        Its result is the array, or a scalar where a scalar was asked for.

    Raises
    ------
    ValueError
        If there is no such partition, or the tag is negative.
    TypeError
        If the engine can't receive such elements.

    See Also
    --------
    send
    """
    _check_peer(source, tag, "receive from")
    request = place_for(into, like, shape, dtype)
    assert request.data is not None
    place = request.place(request.data)
    request.keep(place)
    request.ticket = services().receive(source, tag, place.ctypes.data, place.size, type_code(place.dtype))
    return keep_posted(request)


def _check_peer(peer: int, tag: int, what: str) -> None:
    check_integer(peer, f"{what} partition")
    check_integer(tag, "tag")
    if not 0 <= peer < partition_count():
        raise ValueError(
            f"partition {partition_index()} can't {what} partition {peer}: there are {partition_count()}, "
            f"numbered from 0 to {partition_count() - 1}"
        )
    if not 0 <= tag < 1 << 31:
        raise ValueError(f"tag {tag}: expected a number of at least 0 and less than 2**31")


def check_integer(value: object, what: str) -> None:
    """Refuse what is not a whole number."""
    if not isinstance(value, int | np.integer):
        raise TypeError(f"{what} {value!r}: expected an integer")


def writable(array: Array) -> Array:
    """Give an array back if something can be received into it."""
    if not array.flags.writeable:
        raise ValueError("the array to receive into can't be written")
    type_code(array.dtype)
    return array


def place_for(into: Array | None, like: Any, shape: int | tuple[int, ...] | None, dtype: Any) -> Request:
    """Make a request whose result is an array that is given, or a new one like another, or of a shape."""
    if into is not None:
        return Request(writable(into))
    model = np.asarray(like) if like is not None else None
    if shape is None:
        shape = model.shape if model is not None else ()
    if dtype is None:
        dtype = model.dtype if model is not None else np.float64
    fresh = np.empty(shape, dtype)
    type_code(fresh.dtype)
    return Request(fresh, scalar=fresh.ndim == 0)
