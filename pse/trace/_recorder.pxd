# C-level declarations of the recorder's face: what other rooms' faces cimport.

from libc.stdint cimport uint16_t, uint32_t, uint64_t

from pse._abi.events cimport pse_event

cdef extern from "recorder.h" nogil:
    ctypedef struct pse_recorder:
        pse_event *next
        pse_event *limit

    int pse_recorder_open(pse_recorder **out, const char *directory, uint32_t rank)
    int pse_recorder_close(pse_recorder *recorder)
    uint64_t pse_recorder_count(const pse_recorder *recorder)
    int pse_recorder_error(const pse_recorder *recorder)
    void pse_recorder_text(pse_recorder *recorder, uint16_t kind, uint32_t number, const char *text)
    uint64_t pse_clock()
    uint64_t pse_pair(uint32_t low, uint32_t high)
    void pse_recorder_add_at(pse_recorder *recorder, uint64_t time, uint16_t type, uint16_t flags,
                             uint32_t site, uint64_t tph, uint64_t a, uint64_t b, uint64_t c)
    void pse_recorder_add(pse_recorder *recorder, uint16_t type, uint16_t flags, uint32_t site, uint64_t tph,
                          uint64_t a, uint64_t b, uint64_t c)


cdef class Recorder:
    cdef pse_recorder *recorder  # NULL once closed; valid as long as the object lives and isn't closed.
    cdef readonly uint32_t rank
    cdef int check(self) except -1
