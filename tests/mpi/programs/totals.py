"""Modules with a communicator of mpi4py's."""

import numpy as np
from mpi4py import MPI


# @ coven module numbers(in i64 n, in i64 k, out f64 x[n])
def numbers(n, k):
    return np.arange(n, dtype=float) + k


# @ coven module summed(in f64 x[n], in comm c, out f64 sum) collective
def summed(x, c):
    result = np.empty(1)
    c.Allreduce(np.array([x.sum()]), result, MPI.SUM)
    return result[0]


# @ coven module alone(in comm c, out i64 n)
def alone(c):
    return c.size


# @ coven module equal(in f64 a, in f64 b)
def equal(a, b):
    assert a == b, (a, b)


# @ coven module meet(in i64 number, in f64 x[n], out i64 place)
def meet(number, x):
    c = MPI.Comm.f2py(number)
    assert c.name.startswith("handle:")
    return c.rank
