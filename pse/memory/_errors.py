"""What can go wrong with the arena, in words: what was asked for, what there is, what to do."""

from __future__ import annotations

import os

from pse._abi.memory import ARENA_TEXTS, ArenaCode
from pse.errors import LIMITS_HELP, RunError
from pse.text import size_text


class ArenaError(RunError):
    """Something is wrong with the shared arena (exit code 3); `help` says what to do about it.

    See Also
    --------
    ArenaMemoryError, ArenaSystemError
    """


class ArenaMemoryError(ArenaError, MemoryError):
    """There is no room for a block: in the arena, or in the machine.

    Examples
    --------
    >>> from pse.memory import Arena
    >>> Arena.create(1 << 20).allocate(1 << 20, "f8")
    Traceback (most recent call last):
        ...
    ArenaMemoryError: the request is larger than the arena can ever hold: 8 MiB asked for, 0 B of 1 MiB in use
    """


class ArenaSystemError(ArenaError, OSError):
    """The system refused a call that the arena needs, or the file is not an arena.

    Examples
    --------
    >>> from pse.memory import memory_figures
    >>> memory_figures("nowhere")
    Traceback (most recent call last):
        ...
    ArenaSystemError: nowhere/proc/meminfo doesn't tell how much memory there is: No such file or directory
    """


def exact_size(count: int) -> str:
    """Write a size so precisely that two sizes in one message differ where they should."""
    return size_text(count, 4, zeros=False)


_ALLOCATION_HELP: dict[int, str] = {
    ArenaCode.FULL: "give it more room (options { arena = … }), or lower `inflight` or `queue_depth`",
    ArenaCode.NO_MEMORY: "make the program's arrays smaller, or end other programs on this machine",
    ArenaCode.TOO_LARGE: "give the arena more room (options { arena = … }), or use more partitions",
    ArenaCode.MISMATCH: "all partitions of one shared block must name the same size and number of partitions",
}


def allocation_error(code: int, asked: int, in_use: int, capacity: int, errno: int) -> ArenaError:
    """The exception for a failed allocation of `asked` bytes."""
    if code == ArenaCode.SYSTEM:
        return system_error(errno, f"no memory for a block of {exact_size(asked)}")
    said = f"{exact_size(asked)} asked for, {exact_size(in_use)} of {exact_size(capacity)} in use"
    message = f"{ARENA_TEXTS[code]}: {said}"
    if code == ArenaCode.MISMATCH:
        return ArenaError(message, help=_ALLOCATION_HELP[code])
    return ArenaMemoryError(message, help=_ALLOCATION_HELP[code])


def system_error(errno: int, what: str) -> ArenaSystemError:
    """The exception for a failed system call."""
    error = ArenaSystemError(f"{what}: {os.strerror(errno)}", help=LIMITS_HELP)
    error.errno = errno
    return error


def attach_error(code: int, pid: int, fd: int, errno: int) -> ArenaSystemError:
    """The exception for an arena of another process that can't be mapped."""
    where = f"the arena of process {pid} (descriptor {fd})"
    if code != ArenaCode.FOREIGN:
        error = system_error(errno, f"{where} can't be mapped")
        error.help = (
            "the process must be alive, belong to the same user, and hold the arena at this descriptor"
        )
        return error
    return ArenaSystemError(
        f"{where} can't be mapped: {ARENA_TEXTS[code]}",
        help="all ranks of a node must come from one job and one version of pse",
    )


def capacity_error(capacity: int, smallest: int, total: int) -> ArenaError:
    """The exception for a capacity that makes no sense on this machine."""
    if capacity < smallest:
        return ArenaError(
            f"an arena of {exact_size(capacity)} is too small: it must hold at least {exact_size(smallest)}",
            help="leave the size to the engine: options { arena = auto }",
        )
    return ArenaMemoryError(
        f"an arena of {exact_size(capacity)} is larger than the memory that this machine or its cgroup has,"
        f" {exact_size(total)}",
        help=f"ask for less than {exact_size(total)}, or leave it to the engine: options {{ arena = auto }}",
    )
