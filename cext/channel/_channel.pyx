# cython: language_level=3
"""Python face of the node's board (cext/channel/board.h): who runs what, and how much of it."""

import os

from libc.stdint cimport uint32_t, uint64_t

from pse._abi.channel import RankSlot, SiteStatistics
from pse.errors import LIMITS_HELP, RunError

cdef extern from *:
    """
    #include "board.h"
    static inline void slot_start(pse_slot *slot, int pid) {
      atomic_store(&slot->pid, pid);
      atomic_store(&slot->state, PSE_RANK_STARTING);
    }
    static inline void slot_state(pse_slot *slot, uint32_t state) { atomic_store(&slot->state, state); }
    static inline uint32_t queue_length(pse_board *board, uint32_t rank, uint32_t edge) {
      return atomic_load_explicit(pse_board_queued(board, rank) + edge, memory_order_relaxed);
    }
    static inline uint64_t complete_iterations(pse_board *board, uint32_t loop, uint32_t rank) {
      return atomic_load(pse_board_loop(board, loop, rank));
    }
    """
    void slot_start(pse_slot *slot, int pid) nogil
    void slot_state(pse_slot *slot, uint32_t state) nogil
    uint64_t complete_iterations(pse_board *board, uint32_t loop, uint32_t rank) nogil
    uint32_t queue_length(pse_board *board, uint32_t rank, uint32_t edge) nogil
    void pse_board_forget_taken(const pse_board *board, uint32_t consumer) nogil

cdef extern from "scheduler_hints.h":
    int pse_channel_wake_soon() nogil
    int pse_channel_sleep_exactly() nogil


def wake_soon():
    """Ask the scheduler for short slices, so that this process gets a core soon after it wakes up.

    Returns whether it could be asked; whether it helps is the kernel's affair (Linux 6.12 and later).
    """
    return pse_channel_wake_soon() == 0


def sleep_exactly():
    """Let this process's sleeps end when they should; returns whether that could be set."""
    return pse_channel_sleep_exactly() == 0


cdef class Board:
    """The board of one node; make it with `create` or `attach`."""

    def __dealloc__(self):
        if self.board is not NULL:
            pse_board_detach(self.board)

    cdef pse_board *open_board(self) except NULL:
        if self.board is NULL:
            raise ValueError("this board is closed")
        return self.board

    @staticmethod
    def create(uint32_t ranks, uint32_t sites, uint32_t edges, uint32_t loops):
        """Make a board for so many ranks, call sites, edges and inflight loops."""
        cdef pse_board_size size
        size.ranks, size.sites, size.edges, size.loops = ranks, sites, edges, loops
        cdef Board board = Board()
        cdef int code = pse_board_create(&board.board, size)
        if code != 0:
            what = "the memory by which ranks tell what they do can't be made"
            raise RunError(f"{what}: {os.strerror(-code)}", help=LIMITS_HELP)
        board.ranks, board.sites = ranks, sites
        return board

    @staticmethod
    def attach(int pid, int fd):
        """Map the board that process `pid` holds as descriptor `fd`."""
        cdef Board board = Board()
        cdef int code = pse_board_attach(&board.board, pid, fd)
        if code != 0:
            raise OSError(-code, f"cannot open the board of process {pid}: {os.strerror(-code)}")
        cdef pse_board_size size = pse_board_get_size(board.board)
        board.ranks, board.sites = size.ranks, size.sites
        return board

    @property
    def fd(self):
        """Descriptor of the board's memory file, for others to attach to."""
        return pse_board_fd(self.open_board())

    @property
    def size(self):
        """(ranks, call sites, edges, loops)."""
        cdef pse_board_size size = pse_board_get_size(self.open_board())
        return size.ranks, size.sites, size.edges, size.loops

    cdef pse_slot *_slot(self, uint32_t rank) except NULL:
        if rank >= self.ranks:
            raise IndexError(f"rank {rank} of {self.ranks}")
        return pse_board_slot(self.open_board(), rank)

    def start(self, uint32_t rank, int pid):
        """Enter a rank's process."""
        slot_start(self._slot(rank), pid)

    def set_state(self, uint32_t rank, uint32_t state):
        """Say what a rank is doing (a RankState)."""
        slot_state(self._slot(rank), state)

    def slot(self, uint32_t rank):
        """Give what the board has of a rank now.

        Parameters
        ----------
        rank : int
            A rank of the node.

        Returns
        -------
        RankSlot
            Its process and state, the call that runs (or `NO_SITE`), and since when (ns, monotonic).

        Raises
        ------
        IndexError
            The board has no such rank.
        """
        cdef pse_slot *found = self._slot(rank)
        return RankSlot(
            pid=found.pid,
            state=found.state,
            site=found.site,
            cpu=found.cpu,
            tph=found.tph,
            since=found.since,
            affinity=found.affinity,
            loop_index=found.loop_index,
            yield_after=found.yield_after,
            bell=found.bell,
            sleeping=found.sleeping,
            wants=found.wants,
        )

    def statistics(self, uint32_t rank, uint32_t site):
        """Give what a rank did at a call site: calls, times in ns, bytes by how they travelled."""
        if rank >= self.ranks or site >= self.sites:
            raise IndexError(f"rank {rank} of {self.ranks}, call site {site} of {self.sites}")
        cdef pse_site_statistics *found = pse_board_statistics(self.open_board(), rank, site)
        return SiteStatistics(
            calls=found.calls,
            wall=found.wall,
            cpu=found.cpu,
            described=found.described,
            copied=found.copied,
            remote=found.remote,
            waited=found.waited,
        )

    def iterations(self, uint32_t loop, uint32_t rank):
        """Count the iterations of an inflight loop that a rank has completed without a gap, in all runs."""
        cdef pse_board *board = self.open_board()
        if rank >= self.ranks or loop >= pse_board_get_size(board).loops:
            raise IndexError(f"rank {rank} of {self.ranks}, loop {loop}")
        return complete_iterations(board, loop, rank)

    def queues(self, uint32_t rank):
        """Give the queues of a rank in which something waits: edge to number of arrays."""
        cdef uint32_t edge, length
        cdef dict found = {}
        self._slot(rank)
        for edge in range(pse_board_get_size(self.board).edges):
            length = queue_length(self.board, rank, edge)
            if length:
                found[edge] = length
        return found

    def forget_taken(self, uint32_t consumer):
        """Note that a rank has taken nothing from any queue yet."""
        self._slot(consumer)
        pse_board_forget_taken(self.open_board(), consumer)

    def claim_report(self):
        """Claim the right to name a culprit: true for the first who asks."""
        return bool(pse_board_claim_report(self.open_board()))

    def ring(self, uint32_t rank):
        """Wake a rank that sleeps."""
        pse_channel_bell_ring(self._slot(rank))

    def bell(self, uint32_t rank):
        """Read a rank's bell, for `wait`."""
        return pse_channel_bell_read(self._slot(rank))

    def wait(self, uint32_t rank, uint32_t seen, double timeout):
        """Sleep as `rank` until its bell differs from `seen`, at most `timeout` seconds; true if it rang."""
        cdef pse_board *board = self.open_board()
        cdef uint64_t limit = <uint64_t>(timeout * 1e9)
        cdef bint rang
        self._slot(rank)
        with nogil:
            rang = pse_channel_bell_wait(board, rank, seen, limit, NULL)
        return rang
