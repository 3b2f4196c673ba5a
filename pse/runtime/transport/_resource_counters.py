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
from pse.trace.format import (
    CORES,
    CPU_SHARE,
    CPU_TIME,
    LINK_RATE,
    EventType,
    TextKind,
    ValueKind,
    bits_of,
)

_UNITS = {CPU_TIME: "ns", CPU_SHARE: "cores", CORES: "mask", LINK_RATE: "bytes/s"}
NUMBERS = {name: number for number, name in enumerate(_UNITS, start=1)}
"""How a trace of the runtime numbers the counters."""


def record_resources(recorder: Recorder) -> None:
    """Name the counters, and record what does not change."""
    for name, number in NUMBERS.items():
        recorder.text(TextKind.COUNTER, number, name)
        recorder.text(TextKind.COUNTER_UNIT, number, _UNITS[name])
    allowed = sorted(os.sched_getaffinity(0))
    mask = sum(1 << core for core in allowed if core < 64)
    recorder.record(EventType.COUNTER, a=NUMBERS[CORES], b=mask, flags=ValueKind.UNSIGNED)
    share = min([float(len(allowed)), *_quotas()])
    recorder.record(EventType.COUNTER, a=NUMBERS[CPU_SHARE], b=bits_of(share), flags=ValueKind.FLOATING)


def record_cpu_time(recorder: Recorder) -> None:
    """Record the CPU time that this process has taken so far."""
    recorder.record(
        EventType.COUNTER, a=NUMBERS[CPU_TIME], b=time.process_time_ns(), flags=ValueKind.UNSIGNED
    )


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
