"""Which process of the analysis reads which rank's stream of events: one that is on the node of its files.

A directory may be one that all nodes share, or another one on each node.  Only the first process of each node
looks into it.  Where several nodes have a file, streams are spread evenly in the order of their ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pse.analysis.replay._peers import Peers
from pse.trace.format import Array, distinct

MINUTE = 60 * 10**9  # ns


@dataclass
class Streams:
    """The streams of a trace.

    Parameters
    ----------
    owner : array of int32, shape (ranks of the job,)
        Which process of the analysis reads each rank's stream; -1: its file is not there.
    hosts : list of str
        Names of all hosts.
    host : array of int32, shape (ranks of the job,)
        The host of each rank, as an index; -1 where no file tells.
    began : array of int64, shape (ranks of the job,)
        When the clock of the rank's host began, in minutes since 1970: the same for ranks of one host.
    """

    owner: Array
    hosts: list[str] = field(default_factory=list)
    host: Array = field(default_factory=lambda: np.empty(0, "<i4"))
    began: Array = field(default_factory=lambda: np.empty(0, "<i8"))

    @property
    def ranks(self) -> Array:
        """All ranks with a stream, ascending."""
        return np.flatnonzero(self.owner >= 0)

    def of(self, process: int) -> list[int]:
        """The ranks of which a process reads the streams, ascending."""
        found: list[int] = np.flatnonzero(self.owner == process).tolist()
        return found

    def owners(self, ranks: Array, otherwise: int) -> Array:
        """The processes that read the streams of ranks; `otherwise` where nobody does."""
        known = ranks < len(self.owner)
        found = np.full(len(ranks), -1, "<i4")
        found[known] = self.owner[ranks[known]]
        return np.where(found < 0, otherwise, found)

    def lose(self, peers: Peers, kept: Mapping[int, object]) -> None:
        """Forget streams that turned out not to be readable: all but those that their processes keep."""
        is_kept = np.zeros(len(self.owner), "<i4")
        is_kept[list(kept)] = -1
        self.owner = np.where(peers.least(is_kept) < 0, self.owner, -1).astype("<i4")

    def share_hosts(self, peers: Peers, files: Mapping[int, Any], hosts: Iterable[str]) -> None:
        """Tell all processes the hosts of all ranks; `files` are this process's `RankFile`s.

        `hosts` has the names of all hosts, in any order that is the same for all processes.
        """
        own = {rank: file.host for rank, file in files.items()}
        began = np.full(len(self.owner), np.iinfo("<i8").max)
        for rank, file in files.items():
            began[rank] = (file.start_real - file.start_clock) // MINUTE
        self.began = peers.least(began)
        self.hosts = list(dict.fromkeys(hosts))
        number = {host: place for place, host in enumerate(self.hosts)}
        host = np.full(len(self.owner), len(self.hosts), "<i4")
        for rank, name in own.items():
            host[rank] = number[name]
        host = peers.least(host)
        self.host = np.where(host == len(self.hosts), -1, host).astype("<i4")


def place_streams(peers: Peers, listed: Sequence[int]) -> Streams:
    """Find out who reads which stream; `listed` are the ranks of which files are on this process's node."""
    count = int(-peers.least(np.array([-max(listed, default=-1) - 1], "<i8"))[0])
    number_of_nodes = 1 + int(peers.nodes.max())
    preferred = peers.nodes[np.arange(count) * peers.size // max(count, 1)]
    distance = np.full(count, number_of_nodes, "<i4")
    here = np.array(listed, "<i8")
    distance[here] = (peers.nodes[peers.rank] - preferred[here]) % number_of_nodes
    distance = peers.least(distance)
    node = np.where(distance < number_of_nodes, (preferred + distance) % number_of_nodes, -1)
    return Streams(_spread(peers.nodes, node))


def _spread(nodes: Array, node: Array) -> Array:
    """Spread the streams of each node over the processes on it, in equal blocks."""
    owner = np.full(len(node), -1, "<i4")
    for number in distinct(node[node >= 0]).tolist():
        processes, streams = np.flatnonzero(nodes == number), np.flatnonzero(node == number)
        owner[streams] = processes[np.arange(len(streams)) * len(processes) // len(streams)]
    return owner
