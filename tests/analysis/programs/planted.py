import time

import numpy as np

from pse import partition


# @ coven module numbers(in i64 k, in i64 n, in f64 seconds, out f64 x[n])
def numbers(k, n, seconds):
    time.sleep(seconds)
    return np.full(n, float(k))


# @ coven module use(in f64 x[n], in f64 seconds)
def use(x, seconds):
    time.sleep(seconds)


# @ coven module first(in f64 x[n], in f64 seconds, out f64 y[n])
def first(x, seconds):
    time.sleep(seconds if partition.index == 0 else 0)
    return x


# @ coven module ring(in f64 x[n], out f64 y[n])
def ring(x):
    partition.send((partition.index + 1) % partition.count, x[0])
    yield partition.receive((partition.index - 1) % partition.count)
    return x
