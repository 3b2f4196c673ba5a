"""Modules of controlled.coven: what they add is exact, so that a sum says what was added how often."""

import math
import time
from pathlib import Path

import numpy as np


def held_from():
    """Give the round in which the test holds the run, which may take that back while it is read."""
    try:
        return int(Path("hold").read_text() or "0")
    except FileNotFoundError:
        return math.inf


# @ coven module begin(in i64 n, out f64 start[n, n])
def begin(n):
    return np.arange(float(n * n)).reshape(n, n)


# @ coven module step(inout f64 u[m, n], in i64 k, in f64 dt, out f64 here)
def step(u, k, dt):
    while held_from() <= k:
        time.sleep(0.002)
    time.sleep(0.0005)
    u += dt
    return float(u.max())
