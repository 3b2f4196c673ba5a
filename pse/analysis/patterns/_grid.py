"""Grid versions of wait states: those in which ranks on different metahosts take part.

After D. Becker, F. Wolf, W. Frings, M. Geimer, B. Wylie, B. Mohr: Automatic trace-based performance analysis
of metacomputing applications, IPDPS 2007.  M is the number of the metahost that a rank ran on.
"""

from __future__ import annotations

import numpy as np

from pse.trace import NONE
from pse.trace.format import Array


def between_metahosts(sender: Array, receiver: Array) -> Array:
    """Tell messages between metahosts, ``M_send != M_recv``: waiting for them is the pattern's grid version.

    Parameters
    ----------
    sender, receiver : array of uint32, shape (messages,)
        M_send and M_recv; NONE: not known, which does not count as another metahost.

    Returns
    -------
    array of bool, shape (messages,)
        Whether the message is between metahosts.
    """
    found: Array = (sender != receiver) & (sender != NONE) & (receiver != NONE)
    return found


def spans_metahosts(metahost: Array, starts: Array) -> Array:
    """Tell collective operations of several metahosts: ``min M_i != max M_i`` over all their ranks i.

    All waiting times in such an operation are those of the pattern's grid version.

    Parameters
    ----------
    metahost : array of uint32, shape (rows,)
        M_i of each row; a row for each rank of each operation.
    starts : array of int64, shape (operations,)
        The first row of each operation.

    Returns
    -------
    array of bool, shape (rows,)
        Whether the row's operation is one of several metahosts.
    """
    if not len(starts):
        return np.zeros(len(metahost), bool)
    several = np.maximum.reduceat(metahost, starts) != np.minimum.reduceat(metahost, starts)
    return np.repeat(several, np.diff(np.append(starts, len(metahost))))
