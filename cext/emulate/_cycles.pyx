"""Python's face of the timed loop (cycles.h): the routines of MPI by their addresses, cycles of steps.

A method is: convert, call, return.  Times are seconds.
"""

from libc.stdint cimport int64_t, uint64_t, uintptr_t

from pse._abi.emulate cimport pse_emulate_step, pse_emulate_times

import numpy as np

from pse._abi.emulate import STEP_DTYPE, TIMES_DTYPE


cdef extern from "routines.h" nogil:
    int PSE_EMULATE_ROUTINES
    size_t PSE_EMULATE_STATUS_SIZE

    ctypedef struct pse_emulate_library:
        void **routines
        uintptr_t byte
        uintptr_t real
        uintptr_t sum
        uintptr_t bit_or
        size_t request_size

    const char *pse_emulate_routine_name(int routine)


cdef extern from "cycles.h" nogil:
    ctypedef struct pse_emulate_rank:
        const pse_emulate_library *mpi
        const uintptr_t *comms
        char *out
        char *in_ "in"
        char *requests
        char *statuses
        int pending
        int sleeps

    ctypedef struct pse_emulate_program:
        const pse_emulate_step *steps
        const int64_t *begins
        int64_t variants
        int64_t cycles
        int synchronous
        uint64_t origin
        double ticks_rate

    int pse_emulate_run(pse_emulate_rank *rank, const pse_emulate_program *program,
                        pse_emulate_times *times)


cdef extern from "ticks.h" nogil:
    uint64_t pse_emulate_ticks()
    void pse_emulate_read_clocks(double *seconds, uint64_t *ticks)


def ticks():
    """The hardware's clock now."""
    return pse_emulate_ticks()


def read_clocks():
    """The system's clock in seconds, as `time.monotonic` has it, and the hardware's at the same time."""
    cdef double seconds
    cdef uint64_t count
    pse_emulate_read_clocks(&seconds, &count)
    return seconds, count


def routine_names():
    """Names of the routines of MPI that the loop calls, in the order of their addresses."""
    return [pse_emulate_routine_name(routine).decode() for routine in range(PSE_EMULATE_ROUTINES)]


cdef class Library:
    """The routines and handles of the MPI library that is loaded.

    Parameters
    ----------
    addresses : sequence of int
        Of the routines, as `routine_names` lists them.
    byte, real, sum, bit_or : int
        Handles of MPI_BYTE, MPI_DOUBLE, MPI_SUM, MPI_BOR.
    request_size : int
        Bytes of an MPI_Request.
    """

    cdef pse_emulate_library library
    cdef readonly size_t request_size

    def __init__(self, addresses, uintptr_t byte, uintptr_t real, uintptr_t sum, uintptr_t bit_or,
                 size_t request_size):
        for routine in range(PSE_EMULATE_ROUTINES):
            self.library.routines[routine] = <void *><uintptr_t>addresses[routine]
        self.library.byte = byte
        self.library.real = real
        self.library.sum = sum
        self.library.bit_or = bit_or
        self.library.request_size = self.request_size = request_size


def run_cycles(Library library not None, comms, steps, begins, int64_t cycles, *,
               out, into, bint synchronous, bint sleeps, uint64_t origin, double rate):
    """Execute cycles of steps.

    Parameters
    ----------
    library : Library
        The routines of MPI.
    comms : sequence of int
        Handles of communicators, by the steps' numbers: 0 has all ranks.
    steps : numpy.ndarray
        STEP_DTYPE[n], those of all variants.
    begins : numpy.ndarray
        i8[v + 1], where each variant begins; cycle c has the steps of variant c % v.
    cycles : int
        How many.
    out, into : numpy.ndarray
        u1[n], what is sent, and where it is received.
    synchronous : bool
        Whether a barrier follows each cycle.
    sleeps : bool
        Whether waits sleep.
    origin : int
        Tick of the launch's begin.
    rate : float
        Ticks of a second.

    Returns
    -------
    tuple of int and numpy.ndarray
        MPI's error code (0 for none), and the times, TIMES_DTYPE[cycles].
    """
    times = np.ones(cycles, TIMES_DTYPE)  # Written, so that its pages are there.
    pending = max(int(np.isin(steps["kind"], (3, 4)).sum()), 1) + 1
    requests = np.zeros(pending * max(library.request_size, 16), np.uint8)
    statuses = np.zeros(pending * PSE_EMULATE_STATUS_SIZE, np.uint8)
    cdef const unsigned char[::1] step_bytes = np.ascontiguousarray(steps, STEP_DTYPE).view(np.uint8)
    cdef const uintptr_t[::1] handles = np.array(comms, np.uintp)
    cdef const int64_t[::1] places = np.ascontiguousarray(begins, np.int64)
    cdef unsigned char[::1] request_bytes = requests, status_bytes = statuses, sent = out, received = into
    cdef unsigned char[::1] time_bytes = times.view(np.uint8)
    cdef pse_emulate_rank rank
    cdef pse_emulate_program program
    cdef pse_emulate_times *noted
    cdef int error = 0
    rank.mpi, rank.comms, rank.pending, rank.sleeps = &library.library, &handles[0], 0, sleeps
    rank.out, rank.in_ = <char *>&sent[0], <char *>&received[0]
    rank.requests, rank.statuses = <char *>&request_bytes[0], <char *>&status_bytes[0]
    program.steps = <const pse_emulate_step *>&step_bytes[0] if step_bytes.shape[0] else NULL
    program.begins, program.variants, program.cycles = &places[0], places.shape[0] - 1, cycles
    program.synchronous, program.origin, program.ticks_rate = synchronous, origin, rate
    if cycles:
        noted = <pse_emulate_times *>&time_bytes[0]
        with nogil:
            error = pse_emulate_run(&rank, &program, noted)
    return error, times
