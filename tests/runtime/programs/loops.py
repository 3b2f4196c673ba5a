"""Modules that take a little while, so that somebody can watch."""

import os
import time


# @ coven module make(out f64 x[8])
def make(x):
    x[:] = 1


# @ coven module work(in f64 x[n], out f64 s)
def work(x):
    time.sleep(float(os.environ.get("PAUSE", "0")))
    return 0.0
