"""Python modules of the tests of back-pressure and iterations: a producer, a gated consumer, and a log.

The tests replace `on_take` and read `log`; both are reset for every run.
"""

import threading

import numpy as np

lock = threading.Lock()
log = []
sums = {}


def on_take(k):
    """What a consumer does first; tests put a gate here."""


def write(*entry):
    with lock:
        log.append(entry)


# @ coven module produce(in i64 k, in i64 n, out i64 x[n])
def produce(k, n, x):
    """Fill x so that its sum tells k, and every page is touched."""
    write("begin", k)
    x[...] = np.arange(k, k + n)
    write("made", k)


# @ coven module consume(in i64 k, in i64 x[n])
def consume(k, x):
    write("take", k)
    on_take(k)
    sums[k] = int(x.sum())
    write("end", k)


# @ coven module middle(in i64 k, inout i64 x[n])
def middle(k, x):
    write("middle", k)
    x += 1


# @ coven module spread(in i64 k, out i64 x[n])
def spread(k, x):
    write("begin", k)
    x[...] = k


# @ coven module join(in i64 x[n], in i64 y[n], out i64 z[n])
def join(x, y, z):
    z[...] = x + y
