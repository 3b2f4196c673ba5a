"""Rounds that take a while, on the partitions alone."""

import os
import time
from pathlib import Path

import numpy as np


# @ coven module begin(out f64 start[4])
def begin():
    return np.zeros(4)


# @ coven module linger(in f64 u[n], in i64 k)
def linger(u, k):
    time.sleep(0.02)
    if k == 20:
        Path("at20").touch()


# @ coven module hang(in f64 u[n], in i64 k)
def hang(u, k):
    if k == 4:
        Path(f"hung-{os.getpid()}").touch()
    while k == 4:  # All meet after round 2, and next after round 6, which there isn't.
        time.sleep(0.01)


# @ coven module linger_to_the_end(in f64 start[n], in i64 k)
def linger_to_the_end(start, k):
    while k == 5 and not Path("go").exists():
        time.sleep(0.01)
