"""Modules that print."""

import os

import numpy as np


# @ coven module begin(in i64 n, out f64 x[n])
def begin(n):
    return np.ones(n)


# @ coven module in_python(in f64 x[n], in i64 k, out f64 y[n])
def in_python(x, k):
    print("Python prints", end="")
    os.system("echo; echo a child, too")
    print("x" * int(os.environ["LONG"]) * (k == 1))
    return x
