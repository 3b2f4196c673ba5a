"""C-level declarations of the node's board: what the sequencer's face cimports."""

from libc.stdint cimport uint32_t, uint64_t

from pse._abi.channel cimport pse_site_statistics, pse_slot

cdef extern from "board.h" nogil:
    ctypedef struct pse_board
    ctypedef struct pse_board_size:
        uint32_t ranks
        uint32_t sites
        uint32_t edges
        uint32_t loops

    int pse_board_create(pse_board **out, pse_board_size size)
    int pse_board_attach(pse_board **out, int pid, int fd)
    void pse_board_detach(pse_board *board)
    int pse_board_fd(const pse_board *board)
    pse_board_size pse_board_get_size(const pse_board *board)
    pse_slot *pse_board_slot(const pse_board *board, uint32_t rank)
    pse_site_statistics *pse_board_statistics(const pse_board *board, uint32_t rank, uint32_t site)
    int pse_board_claim_report(pse_board *board)

cdef extern from "doorbell.h" nogil:
    bint pse_channel_bell_wait(pse_board *board, uint32_t rank, uint32_t seen, uint64_t timeout,
                               uint64_t *slept)
    uint32_t pse_channel_bell_read(pse_slot *slot)
    void pse_channel_bell_ring(pse_slot *slot)


cdef class Board:
    cdef pse_board *board  # NULL once closed.
    cdef readonly uint32_t ranks
    cdef readonly uint32_t sites

    cdef pse_board *open_board(self) except NULL
    cdef pse_slot *_slot(self, uint32_t rank) except NULL
