"""What ranks do, why they wait and how, and how they end.

Made from cext/abi/waiting.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

from enum import IntEnum

BACKOFF_SHORTEST = 20000  # The first sleep; a look at MPI from Python costs about as much.
# The longest sleep, if nothing else is said: looking then takes less than 1 % of a core.
BACKOFF_LONGEST = 5000000
# The longest sleep of a wait for a rank that is known to be at work on the answer.
BACKOFF_LONGEST_BRIEF = 1000000
# A sleep takes this part of the wait so far: what comes is seen a sixteenth of the wait late, on average.
BACKOFF_SHARE = 8
# How long a rank that fails waits, so that what lies in pipes is read before the job ends.
DRAIN_MILLISECONDS = 50
# How long it then waits for the process manager to end the job; hydra needs some ten.
ABORT_MILLISECONDS = 1000
# What modules that end their process are told.
ABORT_HELP = "a module must return its error code instead, or raise an exception: all ranks end then"
# What the end of a process by SIGKILL means.
KILLED_HELP = "somebody killed it, or the kernel did because memory ran out (see `dmesg`)"


class WaitReason(IntEnum):
    """Flags of WAIT_BEGIN and WAIT_END."""

    INPUT = 1
    EXCLUSIVE = 2
    SPACE = 3
    CREDIT = 4
    REMOTE = 5
    ORDER = 6
    START = 7
    ITERATION = 8
    PARTITIONS = 9


WAIT_TEXTS: dict[int, str] = {
    WaitReason.INPUT: "for a tag that another rank defines",
    WaitReason.EXCLUSIVE: "for the other readers of a tag that is to be written in place",
    WaitReason.SPACE: "for room in the arena",
    WaitReason.CREDIT: "for room in a bounded queue",
    WaitReason.REMOTE: "for a transfer between nodes to complete",
    WaitReason.ORDER: "for its turn in the common order of collective calls",
    WaitReason.START: "for the other ranks at start or end of the run",
    WaitReason.ITERATION: "for an earlier iteration of an inflight loop to complete on all ranks",
    WaitReason.PARTITIONS: "for messages among partitions",
}


class RankState(IntEnum):
    """What a rank is doing, on the node's board."""

    ABSENT = 0
    STARTING = 1
    RUNNING = 2
    WAIT_INPUT = 3
    WAIT_EXCLUSIVE = 4
    WAIT_SPACE = 5
    WAIT_CREDIT = 6
    WAIT_REMOTE = 7
    WAIT_ORDER = 8
    WAIT_START = 9
    WAIT_ITERATION = 10
    WAIT_PARTITIONS = 11
    DONE = 32
    FAILED = 33
    LEFT = 34


RANK_TEXTS: dict[int, str] = {
    RankState.ABSENT: "absent",
    RankState.STARTING: "starting",
    RankState.RUNNING: "running",
    RankState.WAIT_INPUT: "waiting for input",
    RankState.WAIT_EXCLUSIVE: "waiting for other readers",
    RankState.WAIT_SPACE: "waiting for shared memory",
    RankState.WAIT_CREDIT: "waiting for a place in a queue",
    RankState.WAIT_REMOTE: "waiting for a transfer between nodes",
    RankState.WAIT_ORDER: "waiting for its turn in a collective call",
    RankState.WAIT_START: "waiting for other ranks",
    RankState.WAIT_ITERATION: "waiting for an earlier iteration",
    RankState.WAIT_PARTITIONS: "waiting for other partitions",
    RankState.DONE: "done",
    RankState.FAILED: "failed",
    RankState.LEFT: "gone",
}


class ExitCode(IntEnum):
    """Exit codes of commands, and of ranks that end a run."""

    PROGRAM = 1  # the program is wrong
    USAGE = 2  # the command line or a configuration is wrong
    FAILED = 3  # a module or rank failed
