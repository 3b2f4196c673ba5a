"""Where `pse` keeps what it can make again: built modules, the tables of its grammar."""

import os
from pathlib import Path


def directory() -> Path:
    """Give the cache directory: `PSE_CACHE`, else the user's cache directory of the system."""
    chosen = os.environ.get("PSE_CACHE")
    if chosen:
        return Path(chosen).absolute()
    import platformdirs

    return platformdirs.user_cache_path("pse")
