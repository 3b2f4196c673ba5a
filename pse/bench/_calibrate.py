"""How much work a core does alone in a second, for the benches whose work is an amount.

Work that is an amount takes longer where others use the core too, which is what they measure; what it takes
alone is measured here, right before.
"""

from __future__ import annotations

import ctypes
import time

from pse.bench._kernels import Native, call, native
from pse.bench._running import confined_to

_TRIES = 3


def steps_in(seconds: float, core: int) -> int:
    """Steps of ``burn`` that a core does in some time with nobody else on it; takes about 0.1 s.

    CPU time is what counts, so others on the core don't; and of three tries the fastest.
    """
    burn = native("burn.c", "burn")
    steps = 1 << 24
    with confined_to([core]):
        fastest = min(_timed(burn, steps) for _ in range(_TRIES))
    return max(int(seconds / fastest * steps), 1)


def _timed(burn: Native, steps: int) -> float:
    begin = time.thread_time()
    call(burn, ctypes.c_int64(steps))
    return time.thread_time() - begin
