"""Modules of pending_messages.coven: what one round sends, the next one receives."""

import os
import signal
from pathlib import Path

import numpy as np

from pse import partition

KINDS = [np.float64, np.int64, np.uint8, np.complex64]


# @ coven module begin(in i64 n, out f64 start[n])
def begin(n):
    return np.linspace(0, 1, n)


# @ coven module post(in i64 k, in f64 x[m])
def post(k, x):
    """Three messages to each neighbour, one of no elements; and all but partition 0 come to a sum."""
    for ahead in range(3):
        data = (np.arange(ahead * 700) + 10 * k + partition.index).astype(KINDS[(k + ahead) % 4])
        partition.send((partition.index + ahead) % partition.count, data, tag=k % 2)
    if partition.index:
        partition.reduce(x, "sum")


# @ coven module take(in i64 k, inout f64 x[m])
def take(k, x):
    if k == 7 and partition.index == 1 and not Path("failed").exists():
        Path("failed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    for ahead in range(3):
        source, kind = (partition.index - ahead) % partition.count, KINDS[(k + ahead) % 4]
        data = yield partition.receive(source, shape=ahead * 700, dtype=kind, tag=k % 2)
        assert np.array_equal(data, (np.arange(ahead * 700) + 10 * k + source).astype(kind))
        x += np.sin(k + data.sum().real)
    if partition.index == 0:
        x += np.cos((yield partition.reduce(x, "sum")))
