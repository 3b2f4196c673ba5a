"""The nodes' shares of the CPU: a control group for each with a quota, a core to run on, or both.

A share of at most one core is also pinned to one core, turn by turn: a node is one processor, and two
processes of it never run at the same time.  Quotas are given out in short periods, or a node would stand
still for most of a tenth of a second.  Version 1 and version 2 of control groups; where neither is to be
had, a whole core each can still be had by pinning alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pse.cluster._plan import PIN, Plan
from pse.errors import UsageError
from pse.runtime.supervise import Backoff
from pse.text import time_text

PERIOD = 10_000
"""Microseconds in which a node gets its share once, if that is enough for the least quota."""

LEAST_QUOTA = 1_000
"""Microseconds; the kernel takes no less."""

_REMOVE_PATIENCE = 2.0
_MARKED = re.compile(r"pse-[0-9a-f]{6}")


@dataclass(frozen=True)
class Share:
    """What a node gets.

    Attributes
    ----------
    group : str
        Path of the control group that its processes belong to; empty if there is none.
    core : int or None
        The core on which they run.
    """

    group: str = ""
    core: int | None = None


class _NoQuota(Exception):
    """A machine that can't limit a share; the text says why."""


def share_out(mark: str, plan: Plan) -> tuple[list[Share], str]:
    """Make every node's share.

    Returns
    -------
    list of Share
        For each node.
    str
        How it was done, in words.

    Raises
    ------
    UsageError
        If this machine can't.
    """
    if plan.cpus[0] is None:
        return [Share()] * plan.nodes, "all nodes share all cores"
    cores = sorted(os.sched_getaffinity(0))
    pinned: list[int | None] = [cores[index % len(cores)] for index in range(plan.nodes)]
    if plan.cpus[0] == PIN:
        words = f"pinned to cores {_listed(cores)} in turn"
        if plan.nodes > len(cores):
            words += f"; {plan.nodes} nodes on {len(cores)} cores have less than one each"
        return [Share(core=core) for core in pinned], words
    shares = [float(cpu or 0) for cpu in plan.cpus]
    try:
        groups, words = _groups(mark, plan, shares)
    except _NoQuota as reason:
        if set(shares) == {1} and plan.nodes <= len(cores):
            return [Share(core=core) for core in pinned], f"pinned, each node to a core ({reason})"
        raise UsageError(
            f"cpu {_listed(sorted(set(shares)))}: this machine can't limit a share: {reason}",
            help=f"cpu {PIN} gives every node a core",
        ) from None
    pinned = [core if share <= 1 else None for core, share in zip(pinned, shares, strict=True)]
    if min(shares) <= 1:
        words += f", pinned to cores {_listed(cores)} in turn"
    if sum(shares) > len(cores):
        words += f"; {plan.nodes} nodes want {sum(shares):g} cores together, there are {len(cores)}"
    return [Share(group, core) for group, core in zip(groups, pinned, strict=True)], words


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


def _groups(mark: str, plan: Plan, shares: list[float]) -> tuple[list[str], str]:
    """Make a control group for each node, in the first hierarchy that will have them."""
    reasons = []
    period = max(PERIOD, round(LEAST_QUOTA / min(shares)))
    for version, top in _hierarchies():
        whole = os.path.join(top, mark)
        groups = [os.path.join(whole, host) for host in plan.hosts]
        try:
            _make_whole(version, whole, plan.nodes)
            for group, share in zip(groups, shares, strict=True):
                os.mkdir(group)
                _limit(version, group, round(share * period), period)
        except OSError as error:
            remove_groups(mark)
            reasons.append(f"{error.filename}: {error.strerror}")
            continue
        words = _listed(sorted(set(shares)))
        return groups, f"{words} of a core by cgroup v{version}, every {time_text(1e3 * period, zeros=False)}"
    raise _NoQuota("; ".join(reasons) or "there is no control group that limits the CPU")


def _make_whole(version: int, group: str, nodes: int) -> None:
    """Make the group of all nodes; each weighs as much as ten processes outside, or shares wouldn't hold."""
    if version == 2:
        _delegate(os.path.dirname(group))
    os.mkdir(group)
    if version == 2:
        _delegate(group)
        _write(f"{group}/cpu.weight", str(min(10_000, 1_000 * nodes)))
    else:
        _write(f"{group}/cpu.shares", str(min(262_144, 10_240 * nodes)))


def _limit(version: int, group: str, quota: int, period: int) -> None:
    if version == 2:
        _write(f"{group}/cpu.max", f"{quota} {period}")
    else:
        _write(f"{group}/cpu.cfs_period_us", str(period))
        _write(f"{group}/cpu.cfs_quota_us", str(quota))


def _delegate(group: str) -> None:
    """Have the groups inside a group limit the CPU (version 2)."""
    with open(f"{group}/cgroup.subtree_control", encoding="ascii") as file:
        if "cpu" not in file.read().split():
            _write(f"{group}/cgroup.subtree_control", "+cpu")


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    except OSError as error:
        error.filename = path
        raise


def _hierarchies() -> Iterator[tuple[int, str]]:
    """Find where control groups that limit the CPU are mounted: version and path."""
    with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
        mounts = [line.split() for line in file]
    for _, place, kind, options, *_ in mounts:
        if kind == "cgroup" and "cpu" in options.split(","):
            yield 1, place
        elif kind == "cgroup2" and _has_cpu(place):
            yield 2, place


def _has_cpu(place: str) -> bool:
    with contextlib.suppress(OSError), open(f"{place}/cgroup.controllers", encoding="ascii") as file:
        return "cpu" in file.read().split()
    return False


def existing_marks() -> set[str]:
    """Find the marks of all clusters that have control groups."""
    found = set()
    for _, top in _hierarchies():
        found |= {name for name in os.listdir(top) if _MARKED.fullmatch(name)}
    return found


def remove_groups(mark: str) -> None:
    """Take away a cluster's control groups, and kill what is left in them."""
    for _, top in _hierarchies():
        group = os.path.join(top, mark)
        if os.path.isdir(group):
            for name in os.listdir(group):
                if os.path.isdir(os.path.join(group, name)):
                    _remove(os.path.join(group, name))
            _remove(group)


def _remove(group: str) -> None:
    """Remove one control group; the kernel refuses that while a process is in it."""

    def gone() -> bool:
        with contextlib.suppress(OSError), open(f"{group}/cgroup.procs", encoding="ascii") as file:
            for pid in file.read().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.rmdir(group)
        return not os.path.exists(group)

    if not Backoff(shortest=2e-3).sleep_until(gone, _REMOVE_PATIENCE):
        os.rmdir(group)  # What the kernel says against it is the error.
