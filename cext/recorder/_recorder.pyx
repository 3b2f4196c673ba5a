"""Python's face of the event recorder.

A method is: convert, call, return; the record itself is written by recorder.h.  Faces of other rooms cimport
``Recorder`` and write through its ``recorder`` without the GIL.
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t

from pse.trace._recorder cimport (
    pse_clock,
    pse_recorder_add_at,
    pse_recorder_text,
    pse_recorder_close,
    pse_recorder_count,
    pse_recorder_error,
    pse_recorder_open,
)

import os


cdef class Recorder:
    """Writes the events of one rank to ``DIRECTORY/rank-RRRRR.events``.

    Parameters
    ----------
    directory : path
        An existing directory: see `pse.trace.create`.
    rank : int
        Rank of the whole job.

    Raises
    ------
    OSError
        The file can't be made there, or there is no room for its first window (6 MiB).

    Notes
    -----
    For one thread at a time.  If the disk fills up later, recording stops, which is said once on stderr, and
    the run goes on; `error` tells.
    """

    def __cinit__(self, directory, uint32_t rank):
        path = os.fsencode(directory)
        cdef int status = pse_recorder_open(&self.recorder, path, rank)
        if status < 0:
            raise OSError(-status, os.strerror(-status), os.fsdecode(path))
        self.rank = rank

    def __dealloc__(self):
        pse_recorder_close(self.recorder)

    cdef int check(self) except -1:
        if self.recorder == NULL:
            raise ValueError("the recorder is closed")
        return 0

    def record(self, uint16_t type, uint32_t site=0xffffffff, uint64_t tph=0, uint64_t a=0, uint64_t b=0,
               uint64_t c=0, uint16_t flags=0):
        """Append one event that happens now.  What the fields mean is in docs/trace.md."""
        self.check()
        if type == 0:
            raise ValueError("event type 0 would end the trace")
        pse_recorder_add_at(self.recorder, pse_clock(), type, flags, site, tph, a, b, c)

    def record_at(self, uint64_t time, uint16_t type, uint32_t site=0xffffffff, uint64_t tph=0, uint64_t a=0,
                  uint64_t b=0, uint64_t c=0, uint16_t flags=0):
        """Append one event with a time that `clock` gave before."""
        self.check()
        if type == 0:
            raise ValueError("event type 0 would end the trace")
        pse_recorder_add_at(self.recorder, time, type, flags, site, tph, a, b, c)

    def text(self, uint16_t kind, uint32_t number, str name):
        """Name thing `number` of `kind` (`TextKind`); before the first event that mentions it."""
        self.check()
        if not name or "\0" in name:
            raise ValueError(f"a name has at least one character and no zero byte, got {name!r}")
        encoded = name.encode(errors="backslashreplace")
        pse_recorder_text(self.recorder, kind, number, encoded)

    def close(self):
        """Cut the file to what was written and mark it as closed.  Closing again does nothing."""
        if self.recorder != NULL:
            pse_recorder_close(self.recorder)
            self.recorder = NULL

    @property
    def count(self):
        """Records in the file so far."""
        self.check()
        return pse_recorder_count(self.recorder)

    @property
    def error(self):
        """The errno that ended recording early, or 0."""
        self.check()
        return pse_recorder_error(self.recorder)

    def __enter__(self):
        self.check()
        return self

    def __exit__(self, *exception):
        self.close()


def clock():
    """Now, in the time of the records: ns of CLOCK_MONOTONIC."""
    return pse_clock()


def pair(uint32_t low, uint32_t high):
    """Two 32-bit numbers in one field."""
    return <uint64_t>high << 32 | low
