"""Python modules of the random programs: in place, filled, returned, kept; and what the root notes down."""

import collections

import numpy as np

MODULUS = 8191
sink = None  # the harness puts a function here: (label, k, value) -> None; without one, arrays are saved
kept = []
saved = collections.Counter()


def put(label, k, value):
    """Note down an array: the n-th under its label and counter."""
    if sink is not None:
        sink(label, k, value)
        return
    np.save(f"{label}.{k}.{saved[label, k]}.npy", value)
    saved[label, k] += 1


# @ coven module pystep(in ELEMENT a[m, n], in f64 s, out ELEMENT b[m, n])
def pystep(a, s, b):
    b[...] = (3 * whole(a) + int(s % MODULUS)) % MODULUS


# @ coven module pyback(in ELEMENT a[m, n], out ELEMENT b[m, n], out f64 t)
def pyback(a):
    return ((whole(a) + 5) % MODULUS).astype(a.dtype), float(a.real.sum() % MODULUS)


# @ coven module pybump(inout ELEMENT a[m, n])
def pybump(a):
    a[...] = (whole(a) * 2 + 1) % MODULUS


# @ coven module pykeep(in ELEMENT a[m, n], out f64 t)
def pykeep(a):
    """Keep the array for three calls more, and see that it never changes meanwhile."""
    kept.append((a, a.copy()))
    assert all((now == then).all() for now, then in kept)
    del kept[:-3]
    return float(a.real.sum() % MODULUS)


# @ coven module note(in string label, in i64 k, in T a[...])
def note(label, k, a):
    put(label, k, np.array(a))


# @ coven module note_value(in string label, in i64 k, in c128 x)
def note_value(label, k, x):
    put(label, k, np.array(complex(x)))


# @ coven module note_flag(in string label, in i64 k, in bool x)
def note_flag(label, k, x):
    put(label, k, np.array(x))


def whole(a):
    return a.real.astype(np.int64)
