"""Modules in Python: what a function may look like.

Inputs come in the directive's order, arrays as NumPy arrays (an `in` array can't be written to).  Outputs are
returned, or filled where the function has a parameter of that name, which saves a copy.
"""

import numpy as np

import pse


#@ coven module describe(in f64 x[n], out f64 mean, out f64 deviation)
def describe(x):
    """Return several outputs as a tuple, in the directive's order."""
    return x.mean(), x.std()


#@ coven module standardise(in f64 x[n], out f64 z[n])
def standardise(x, z):
    """Fill an output that the engine has allocated."""
    np.subtract(x, x.mean(), out=z)
    z /= x.std()


@pse.module("clip(inout f64 x[n], in f64 limit = 3.0, out i64 clipped)")
def clip(x, limit):
    """Change an array in place, and count; the decorator says the same as a directive above the function."""
    clipped = np.count_nonzero(np.abs(x) > limit)
    np.clip(x, -limit, limit, out=x)
    return clipped
