"""Names that a rank gives to what it numbers itself, put together from its TEXT records."""

from __future__ import annotations

import numpy as np

from pse.text import printable_text
from pse.trace.format._events import TextKind
from pse.trace.format._field_values import Array, high32, low32

_TEXTS = (TextKind.NOTE, TextKind.MARKER)
"""What may be a text of several lines; all others are names."""


def decode_texts(parts: Array) -> dict[tuple[int, int], str]:
    """Put together what TEXT records of one rank name, by (`TextKind`, number).

    Parameters
    ----------
    parts : structured array, shape (parts,)
        TEXT records of one rank, in order.

    Returns
    -------
    dict of (int, int) to str
        Names by kind and number, each in one line: a name is to tell things apart on any screen.

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
    kinds, numbers = parts["flags"][begins].tolist(), low32(parts["a"][begins]).tolist()
    return {
        (kind, number): _decoded(kind, data[16 * begin : 16 * end])
        for kind, number, begin, end in zip(kinds, numbers, begins.tolist(), ends.tolist(), strict=False)
    }


def _decoded(kind: int, data: bytes) -> str:
    text = data.rstrip(b"\0").decode(errors="replace")
    return text if kind in _TEXTS else printable_text(text)
