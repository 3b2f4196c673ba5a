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

    Examples
    --------
    >>> pse.trace.create("recorded")
    >>> with Recorder("recorded", rank=0) as recorder:
    ...     recorder.record(pse.trace.EventType.PHASE, a=pse.trace.Phase.START)
    ...     recorder.count
    1
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
        """Append one event that happens now.  docs/trace.md says what the fields mean for each type.

        Parameters
        ----------
        type : int
            An `EventType`, other than 0.
        site : int, optional
            Call site; the default means none.
        tph : int, default 0
            TPH that it concerns.
        a, b, c : int, default 0
            The event's own fields.
        flags : int, default 0
            Bits of the event's type.

        Raises
        ------
        ValueError
            The recorder is closed, or the type is 0.
        """
        self.check()
        if type == 0:
            raise ValueError("event type 0 would end the trace")
        pse_recorder_add_at(self.recorder, pse_clock(), type, flags, site, tph, a, b, c)

    def record_at(self, uint64_t time, uint16_t type, uint32_t site=0xffffffff, uint64_t tph=0, uint64_t a=0,
                  uint64_t b=0, uint64_t c=0, uint16_t flags=0):
        """Append one event that happened before.

        Parameters
        ----------
        time : int
            When, as `clock` gave it (ns).
        type, site, tph, a, b, c, flags : int
            As for `record`.

        Raises
        ------
        ValueError
            The recorder is closed, or the type is 0.
        """
        self.check()
        if type == 0:
            raise ValueError("event type 0 would end the trace")
        pse_recorder_add_at(self.recorder, time, type, flags, site, tph, a, b, c)

    def text(self, uint16_t kind, uint32_t number, str name):
        """Give something a name; before the first event that mentions it.

        Parameters
        ----------
        kind : int
            A `TextKind`.
        number : int
            Which thing of this kind.
        name : str
            At least one character.

        Raises
        ------
        ValueError
            The recorder is closed, or the name is empty or has a zero byte.
        """
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
    """Read the clock of the records.

    Returns
    -------
    int
        CLOCK_MONOTONIC, in ns.

    Examples
    --------
    >>> clock() <= clock()
    True
    """
    return pse_clock()


def pair(uint32_t low, uint32_t high):
    """Put two numbers into one field of an event.

    Parameters
    ----------
    low, high : int
        At most 32 bits each.

    Returns
    -------
    int
        `low` in the lower half, `high` in the upper one.

    Examples
    --------
    >>> pair(2, 1) == (1 << 32) + 2
    True
    """
    return <uint64_t>high << 32 | low
