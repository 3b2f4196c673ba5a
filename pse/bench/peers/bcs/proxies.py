"""All proxies in one launch: ``proxies COMM SLICE STEPS SAGE SWEEP``; prints seconds per step and digests.

``barrier``: seconds from one of STEPS barriers to the next, with 1.9 ms of computing before each.

SLICE is in µs; SAGE and SWEEP are amounts of work of a step, which the bench has measured on an idle core.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from pse.bench.peers.bcs._proxy import Proxy, communicator, timed
from pse.bench.peers.bcs.barriers import synchronize
from pse.bench.peers.bcs.sage import Sage
from pse.bench.peers.bcs.sweep3d import Sweep

_WARM_UP = 3


def between_barriers(comm: Any, barriers: int) -> float:
    """Mean seconds from one barrier to the next."""
    comm.Barrier()
    begin = time.perf_counter()
    synchronize(comm, barriers)
    return (time.perf_counter() - begin) / barriers


def main() -> None:
    """Time each proxy, after some steps that don't count."""
    name, slice, steps, sage, sweep = sys.argv[1], *map(int, sys.argv[2:6])
    with communicator(name, slice / 1e6) as comm:
        makers: dict[str, Callable[[], Proxy]] = {
            "sage": lambda: Sage(comm.rank, sage),
            "sweep": lambda: Sweep(comm.rank, comm.size, sweep),
            "ahead": lambda: Sweep(comm.rank, comm.size, sweep, nonblocking=True),
        }
        printed: dict[str, dict[str, Any]] = {"barrier": {"seconds": between_barriers(comm, steps)}}
        for key, make in makers.items():
            make().advance(comm, _WARM_UP)
            found = timed(comm, make(), steps)
            printed[key] = {"seconds": found.seconds, "digest": found.digest}
        if comm.rank == 0:
            print(json.dumps(printed))


if __name__ == "__main__":
    main()
