"""A timer and nothing else: ``timer PERIOD TICKS``, PERIOD in s; prints a list: how late each tick is, in s.

It sleeps from one multiple of the period to the next, with the least slack that the kernel offers.
"""

import ctypes
import json
import sys
import time

_PR_SET_TIMERSLACK = 29


def main() -> None:
    """Sleep from tick to tick."""
    period, ticks = round(1e9 * float(sys.argv[1])), int(sys.argv[2])
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    late = []
    for _ in range(ticks):
        now = time.monotonic_ns()
        due = (now // period + 1) * period
        time.sleep((due - now) / 1e9)
        late.append((time.monotonic_ns() - due) / 1e9)
    print(json.dumps(late))


if __name__ == "__main__":
    main()
