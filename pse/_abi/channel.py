"""Messages between ranks.

Made from cext/abi/channel.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

from typing import NamedTuple

NO_SITE = 0xFFFFFFFF  # No call site.

MESSAGE_BYTES = 56  # A message between two ranks.


class RankSlot(NamedTuple):
    """One rank's slot of the board.  Written by its rank, but for `bell`, which everybody rings.

    Attributes
    ----------
    pid : int
        process of the rank, 0 before it has started
    state : int
        what it does (RankState)
    site : int
        call site that runs now, or NO_SITE
    cpu : int
        core it was last seen on
    tph : int
        TPH that the call works on
    since : int
        when `state` or `site` last changed (CLOCK_MONOTONIC ns)
    affinity : int
        cores it may use, as a mask of the first 64
    loop_index : int
        loop counter of the TPH, for people
    yield_after : int
        until then, waiting for a shared core is done asleep (doorbell.c)
    bell : int
        how often it was rung
    sleeping : int
        1 while the rank sleeps
    wants : int
        PSE_WANT_*: what its blocked TPHs wait for, so that others ring when it comes
    """

    pid: int
    state: int
    site: int
    cpu: int
    tph: int
    since: int
    affinity: int
    loop_index: int
    yield_after: int
    bell: int
    sleeping: int
    wants: int


class SiteStatistics(NamedTuple):
    """What one rank did at one call site so far.

    Attributes
    ----------
    calls : int
        calls so far
    wall : int
        ns inside the module
    cpu : int
        ns of CPU time inside the module
    described : int
        bytes handed over by descriptor
    copied : int
        bytes copied on the node by the engine
    remote : int
        bytes sent through MPI
    waited : int
        ns that the rank slept before it could run this call site
    """

    calls: int
    wall: int
    cpu: int
    described: int
    copied: int
    remote: int
    waited: int
