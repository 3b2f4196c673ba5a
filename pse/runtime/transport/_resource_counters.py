"""Resources of a rank, for readers of its trace: its cores, its share of them, and the CPU time it took.

Modules' CPU time is in their calls; what engine and transfers take is the difference to the process's.  The
records are samples of counters.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from pse.trace import Recorder
from pse.trace.format import EventType, TextKind, ValueKind, bits_of

CPU_TIME, CPU_SHARE, CORES, LINK_RATE = 1, 2, 3, 4
NAMES = {
    CPU_TIME: ("CPU time of the process", "ns"),
    CPU_SHARE: ("share of a core that control groups leave", "cores"),
    CORES: ("cores that the rank may use, a bit for each", "mask"),
    LINK_RATE: ("rate of the link to another node, before the program began", "bytes/s"),
}


def record_footing(recorder: Recorder) -> None:
    """Name the counters, and record what does not change."""
    for number, (name, unit) in NAMES.items():
        recorder.text(TextKind.COUNTER, number, name)
        recorder.text(TextKind.COUNTER_UNIT, number, unit)
    allowed = sorted(os.sched_getaffinity(0))
    mask = sum(1 << core for core in allowed if core < 64)
    recorder.record(EventType.COUNTER, a=CORES, b=mask, flags=ValueKind.UNSIGNED)
    share = min([float(len(allowed)), *_quotas()])
    recorder.record(EventType.COUNTER, a=CPU_SHARE, b=bits_of(share), flags=ValueKind.FLOATING)


def record_cpu_time(recorder: Recorder) -> None:
    """Record the CPU time that this process has taken so far."""
    recorder.record(EventType.COUNTER, a=CPU_TIME, b=time.process_time_ns(), flags=ValueKind.UNSIGNED)


def _quotas() -> Iterator[float]:
    """Give the shares, in cores, of all control groups around this process that limit the CPU."""
    with contextlib.suppress(OSError), open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            names = controllers.split(",")
            if controllers and "cpu" not in names:
                continue
            for top in (f"/sys/fs/cgroup/{controllers}", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"):
                yield from _upwards(top, path)


def _upwards(top: str, path: str) -> Iterator[float]:
    while True:
        yield from _quota(top + path)
        if path in ("", "/"):
            return
        path = os.path.dirname(path)


def _quota(group: str) -> Iterator[float]:
    """Give the share of one control group, of either version, if it has one."""
    with contextlib.suppress(OSError, ValueError):
        yield _share(*_words(f"{group}/cpu.max"))
    with contextlib.suppress(OSError, ValueError):
        (quota,), (period,) = _words(f"{group}/cpu.cfs_quota_us"), _words(f"{group}/cpu.cfs_period_us")
        yield _share(quota, period)


def _words(path: str) -> list[str]:
    with open(path, encoding="ascii") as file:
        return file.read().split()


def _share(quota: str, period: str) -> float:
    """Quota over period; ``max`` and -1 stand for no limit, a `ValueError` here."""
    if int(quota) <= 0:
        raise ValueError(quota)
    return int(quota) / int(period)
