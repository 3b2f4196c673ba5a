"""What the first rank says of a meeting, one meeting before it: nobody waits there for the slowest rank.

A rank that comes to a meeting has its word already, unless it is further ahead of the first one than the way
between two meetings; the first one goes on as soon as all have been at the meeting before.
"""

from __future__ import annotations

from mpi4py import MPI

from pse.runtime.pause._pause_collectives import MpiPeers

_HERE_TAG, _WORD_TAG = 9, 10
_NOTHING = bytearray()


class WordAhead:
    """One rank's part.

    Parameters
    ----------
    peers : MpiPeers
    first : bytes
        The word of the first meeting.
    """

    def __init__(self, peers: MpiPeers, first: bytes) -> None:
        self._peers, self._word, self._has_met = peers, first, False
        self._leaving: list[MPI.Request] = []

    def come(self) -> bytes:
        """Give the word of this meeting, where all ranks come once."""
        word = self._taken()
        self._has_met = True
        if self._peers.comm.Get_rank():
            self._send(_NOTHING, 0, _HERE_TAG)
        return word

    def say(self, word: bytes) -> None:
        """Say the word of the next meeting: on the first rank, once at each."""
        self._word = word
        for rank in self._peers.others:
            self._send(word, rank, _WORD_TAG)

    def finish(self) -> None:
        """Receive what is still under way: there are no more meetings."""
        self._taken()
        self._peers.wait_for(self._leaving)

    def _taken(self) -> bytes:
        """Give the word of this meeting when it is said; on the first rank when all were at the last one."""
        peers = self._peers
        if not self._has_met:
            return self._word
        if peers.comm.Get_rank():
            return peers.message(0, _WORD_TAG)
        peers.wait_for([peers.comm.Irecv(_NOTHING, rank, _HERE_TAG) for rank in peers.others])
        return self._word

    def _send(self, data: bytes | bytearray, rank: int, tag: int) -> None:
        self._leaving = [request for request in self._leaving if not request.Test()]
        self._leaving.append(self._peers.comm.Isend([data, MPI.BYTE], rank, tag))
        self._peers.board.ring(rank)
