"""Modules of controlled.coven: what they add is exact, so that a sum says what was added how often."""

import time
from pathlib import Path

import numpy as np


# @ coven module begin(in i64 n, out f64 start[n, n])
def begin(n):
    return np.arange(float(n * n)).reshape(n, n)


# @ coven module step(inout f64 u[m, n], in i64 k, in f64 dt, out f64 here)
def step(u, k, dt):
    while Path("hold").exists() and int(Path("hold").read_text()) <= k:
        time.sleep(0.002)
    time.sleep(0.0005)
    u += dt
    return float(u.max())
