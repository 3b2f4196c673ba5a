"""Names that a rank gives to what it numbers itself, put together from its TEXT records."""

from __future__ import annotations

import numpy as np

from pse.trace.format._field_values import Array, high32, low32


def decode_texts(parts: Array) -> dict[tuple[int, int], str]:
    """Put together what TEXT records of one rank name, by (`TextKind`, number).

    Parameters
    ----------
    parts : structured array, shape (parts,)
        TEXT records of one rank, in order.

    Returns
    -------
    dict of (int, int) to str
        Names by kind and number.

    Examples
    --------
    >>> from pse.trace import EventType, TextKind
    >>> mpi = pse.trace.open("mpi1")
    >>> names = decode_texts(mpi.select(0, EventType.TEXT))
    >>> names[TextKind.REGION, 0]
    'MPI_Send'
    """
    parts = parts[np.lexsort((high32(parts["a"]), low32(parts["a"]), parts["flags"]))]
    data = np.stack([parts["b"], parts["c"]], axis=1).astype("<u8").tobytes()
    begins = np.flatnonzero(high32(parts["a"]) == 0)
    ends = np.append(begins[1:], len(parts))
    return {
        (int(parts["flags"][begin]), int(low32(parts["a"][begin]))): _decoded(data[16 * begin : 16 * end])
        for begin, end in zip(begins, ends, strict=False)
    }


def _decoded(data: bytes) -> str:
    return data.rstrip(b"\0").decode(errors="replace")
