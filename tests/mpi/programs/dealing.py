"""Modules of dealing.coven: numbers, sums of neighbours, a pattern."""

import numpy as np


# @ coven module numbered(in i64 n, in i64 m, out f64 x[n, m])
def numbered(n, m):
    return np.arange(n * m, dtype=float).reshape(n, m) + 1


# @ coven module box(in f64 u[n, m], out f64 v[n, m])
def box(u):
    v = np.zeros_like(u)
    v[1:-1, 1:-1] = np.lib.stride_tricks.sliding_window_view(u, (3, 3)).sum((-1, -2))
    return v


# @ coven module bump(inout f64 x[n, m])
def bump(x):
    x += 1


def by_rows(extent, partitions):
    return (np.arange(extent) * 5 + 1) % partitions
