"""The command ``pse`` from its first moment: a Ctrl-C while it loads ends it with one line."""

import _signal  # type: ignore[import-not-found]  # As in `pse._interrupt`: `signal` would load other modules.

from pse import _loading
from pse._interrupt import stop_at_once


def main() -> None:
    """Load the commands and run the one that is named."""
    _signal.signal(_signal.SIGINT, stop_at_once)
    _loading.begin()
    from pse.cli import main as commands

    try:
        commands()
    finally:
        _loading.end()  # What was loaded need not be looked through as the process ends.
