"""What the workers of one test session share, so that it is made once."""

import fcntl
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

SHARED = "PSE_TEST_SHARED"
"""Environment variable: a folder of all workers, with the locks by which tests take turns, and a cache."""

Made = TypeVar("Made")


def made_once(name: str, make: Callable[[], Made]) -> Made:
    """Make something dear, unless another worker has made it; whoever comes meanwhile waits."""
    kept = Path(os.environ[SHARED]) / name
    with open(kept.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_bytes(pickle.dumps(make()))
    return pickle.loads(kept.read_bytes())
