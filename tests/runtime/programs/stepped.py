"""Modules that say when they are called; `work` stops in the debugger in one of its calls."""

import numpy as np


# @ coven module begin(in i64 n, out f64 x[n])
def begin(n):
    return np.arange(n, dtype=float)


# @ coven module work(in f64 x[n], in i64 k, out f64 y[n])
def work(x, k):
    print("work", k, x)
    if k == 1 and x[0] == 3:
        breakpoint()
    return 2 * x


# @ coven module tell(in f64 x[n], in i64 k)
def tell(x, k):
    print("tell", k, x.sum())
