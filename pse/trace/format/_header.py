"""How a file of events that is written from Python begins."""

import numpy as np
from numpy.typing import NDArray

from pse.trace.format._events import BYTE_ORDER, EVENT_DTYPE, HEADER_DTYPE, MAGIC, SCHEMA_VERSION

HEADER_SIZE = 4096
"""Bytes before the first record: a page."""
_MONOTONIC = 1


def new_header(rank: int, start_real: int, start_clock: int, host: str) -> NDArray[np.void]:
    """Make the header of a file to which a rank has written nothing yet.

    Parameters
    ----------
    rank : int
        Who writes.
    start_real, start_clock : int
        When recording began, by both clocks.  ns.
    host : str
        Where; what is too long is cut.

    Returns
    -------
    ndarray of HEADER_DTYPE, shape (1,)
        The header.

    See Also
    --------
    header_bytes : It as a file begins with it.
    """
    header = np.zeros(1, HEADER_DTYPE)
    header["magic"], header["version"], header["byte_order"] = MAGIC.encode(), SCHEMA_VERSION, BYTE_ORDER
    header["header_size"], header["record_size"] = HEADER_SIZE, EVENT_DTYPE.itemsize
    header["rank"], header["clock_id"] = rank, _MONOTONIC
    header["start_real"], header["start_clock"] = start_real, start_clock
    header["host"] = host.encode()[: HEADER_DTYPE["host"].itemsize - 1]
    return header


def header_bytes(header: NDArray[np.void]) -> bytes:
    """Give what a file begins with: a header, and zeros up to the first record.

    Parameters
    ----------
    header : ndarray of HEADER_DTYPE, shape (1,)
        The header.

    Returns
    -------
    bytes
        As many as the header says.

    Examples
    --------
    >>> from pse.trace.format import header_bytes, new_header
    >>> header = new_header(rank=3, start_real=0, start_clock=0, host="node1")
    >>> len(header_bytes(header))
    4096
    """
    return header.tobytes().ljust(int(header["header_size"][0]), b"\0")
