"""Python's face of the bench's floors (floors.h): what the machine itself needs, with nothing of pse.

A method is: convert, call, return.  Times are nanoseconds.
"""

from libc.stdint cimport uint64_t
from libc.stddef cimport size_t

from pse.trace._recorder cimport Recorder, pse_recorder

import os

import numpy as np


cdef extern from "floors.h" nogil:
    int pse_bench_floor_futex(int here, int there, uint64_t linger, size_t count, double *hops)
    double pse_bench_floor_call(size_t count)
    double pse_bench_floor_record(pse_recorder *recorder, size_t count)
    double pse_bench_floor_touch(char *memory, size_t bytes)


def futex_hops(int here, int there, size_t count, uint64_t linger=0):
    """Times of `count` bare futex hops between two processes on two cores (or one); waiting, they sleep.

    Parameters
    ----------
    here, there : int
        The cores.
    count : int
        How many hops.
    linger : int
        ns that each side computes before it wakes the other.

    Returns
    -------
    numpy.ndarray
        f8[count], ns, from just before the wake-up call to just after waking.

    Raises
    ------
    OSError
        A core can't be used, or the other process died.
    """
    hops = np.empty(count)
    cdef double[::1] out = hops
    cdef double *first = &out[0]
    cdef int code
    with nogil:
        code = pse_bench_floor_futex(here, there, linger, count, first)
    if code < 0:
        raise OSError(-code, f"futex ping-pong on cores {here} and {there}: {os.strerror(-code)}")
    return hops


def empty_call(size_t count):
    """Mean ns of one call of an empty compiled function."""
    with nogil:
        time = pse_bench_floor_call(count)
    return time


def record_events(Recorder recorder, size_t count):
    """Mean ns of recording one event from C, its clock included."""
    recorder.check()
    with nogil:
        time = pse_bench_floor_record(recorder.recorder, count)
    return time


def touch(unsigned char[::1] memory not None):
    """Time (ns) of writing one byte into each page."""
    cdef char *first = <char *>&memory[0]
    cdef size_t size = memory.shape[0]
    with nogil:
        time = pse_bench_floor_touch(first, size)
    return time
