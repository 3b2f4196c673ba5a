"""The rate of the hardware's clock, measured while the process starts: from the import of this module on."""

import time

from pse.emulate._cycles import read_clocks

_LEAST = 0.05  # Seconds.
_FIRST = read_clocks()


def ticks_rate() -> float:
    """Give the ticks of a second, measured since the import, and for 50 ms at least.

    Examples
    --------
    >>> ticks_rate() > 1e6
    True
    """
    time.sleep(max(_FIRST[0] + _LEAST - time.monotonic(), 0.0))
    seconds, ticks = read_clocks()
    return (ticks - _FIRST[1]) / (seconds - _FIRST[0])
