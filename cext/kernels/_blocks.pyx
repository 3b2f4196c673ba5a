"""Python's face of the level of detail (blocks.c): records in, blocks and shares of pixels out.

The arrays that the kernel fills are made larger here while it works.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc

from pse.trace._recorder cimport pse_event


cdef extern from "blocks.h" nogil:
    enum:
        PSE_BLOCKS_TAIL

    ctypedef struct pse_kernels_block:
        pass

    ctypedef struct pse_kernels_share:
        pass

    ctypedef struct pse_kernels_blocks:
        const int64_t *edges
        uint32_t pixels
        int64_t narrow
        const uint32_t *site_categories
        uint64_t sites
        uint32_t other
        const uint64_t *tphs
        uint64_t tph_count
        uint32_t sample
        pse_kernels_block *blocks
        uint64_t block_count, block_room
        pse_kernels_share *shares
        uint64_t share_count, share_room
        pse_event *picked
        uint64_t picked_count, picked_room
        uint64_t sends, mpi_sends, merged, deeper

    uint64_t pse_kernels_blocks_take(pse_kernels_blocks *found, const pse_event *events, uint64_t count)
    void pse_kernels_blocks_finish(pse_kernels_blocks *found)


cdef int grow(void **array, uint64_t *room, uint64_t used, uint64_t size) except -1:
    """Have room for at least PSE_BLOCKS_TAIL more than what is used."""
    if room[0] >= used + PSE_BLOCKS_TAIL:
        return 0
    cdef uint64_t wanted = 2 * room[0] + 2 * PSE_BLOCKS_TAIL
    cdef void *larger = realloc(array[0], wanted * size)
    if larger == NULL:
        raise MemoryError()
    array[0] = larger
    room[0] = wanted
    return 0


cdef class Collector:
    """Collects the blocks of one rank.

    Parameters
    ----------
    edges : buffer of int64, shape (pixels + 1,)
        Begins of pixels and the end of the last one, ascending, ns of the rank's clock.
    narrow : int
        Shorter blocks are merged, ns; at most the width of the narrowest pixel.
    site_categories : buffer of uint32, shape (sites,)
        Category of the calls of each site.
    other : int
        Category of calls of other sites, and of other TPHs than those of `tphs`.
    tphs : buffer of uint64, ascending; None: all.
    sample : int
        Of messages, pick this share: from 0 to 4294967295, which are all.
    """

    cdef pse_kernels_blocks *found
    cdef const int64_t[::1] edges
    cdef const uint32_t[::1] site_categories
    cdef const uint64_t[::1] tphs

    def __cinit__(self, const int64_t[::1] edges, int64_t narrow, const uint32_t[::1] site_categories,
                  uint32_t other, tphs, uint32_t sample):
        if edges.shape[0] < 2:
            raise ValueError("at least one pixel is expected")
        self.found = <pse_kernels_blocks *>calloc(1, sizeof(pse_kernels_blocks))
        if self.found == NULL:
            raise MemoryError()
        self.edges, self.site_categories = edges, site_categories
        self.found.edges, self.found.pixels = &edges[0], <uint32_t>(edges.shape[0] - 1)
        self.found.narrow, self.found.other, self.found.sample = narrow, other, sample
        self.found.sites = site_categories.shape[0]
        if site_categories.shape[0]:
            self.found.site_categories = &site_categories[0]
        if tphs is not None:
            self.tphs = tphs
            self.found.tphs, self.found.tph_count = &self.tphs[0], self.tphs.shape[0]
        self.make_room()

    def __dealloc__(self):
        if self.found != NULL:
            free(self.found.blocks)
            free(self.found.shares)
            free(self.found.picked)
            free(self.found)

    cdef int make_room(self) except -1:
        grow(<void **>&self.found.blocks, &self.found.block_room, self.found.block_count,
             sizeof(pse_kernels_block))
        grow(<void **>&self.found.shares, &self.found.share_room, self.found.share_count,
             sizeof(pse_kernels_share))
        grow(<void **>&self.found.picked, &self.found.picked_room, self.found.picked_count,
             sizeof(pse_event))
        return 0

    def take(self, events):
        """Take a contiguous array of records in."""
        cdef Py_buffer view
        cdef uint64_t count, done = 0
        cdef const pse_event *records
        PyObject_GetBuffer(events, &view, PyBUF_SIMPLE)
        try:
            records, count = <const pse_event *>view.buf, view.len // sizeof(pse_event)
            while done < count:
                with nogil:
                    done += pse_kernels_blocks_take(self.found, records + done, count - done)
                self.make_room()
        finally:
            PyBuffer_Release(&view)

    def finish(self):
        """End what is open, as the last record's time has it; once, after all records."""
        self.make_room()
        pse_kernels_blocks_finish(self.found)

    @property
    def blocks(self):
        """What was found, as bytes of `pse_kernels_block`."""
        return (<const char *>self.found.blocks)[:self.found.block_count * sizeof(pse_kernels_block)]

    @property
    def shares(self):
        """Shares of pixels, as bytes of `pse_kernels_share`."""
        return (<const char *>self.found.shares)[:self.found.share_count * sizeof(pse_kernels_share)]

    @property
    def picked(self):
        """Texts, markers, messages and begins of contexts that were picked, as bytes of records."""
        return (<const char *>self.found.picked)[:self.found.picked_count * sizeof(pse_event)]

    @property
    def counts(self):
        """How many sends there are, sends of MPI, merged blocks, and regions that are nested too deep."""
        return self.found.sends, self.found.mpi_sends, self.found.merged, self.found.deeper
