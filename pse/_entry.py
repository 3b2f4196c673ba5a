"""The command ``pse`` from its first moment: a Ctrl-C while it loads ends it with one line."""

from pse import _loading
from pse._interrupt import stop_on_interrupt


def main() -> None:
    """Load the commands and run the one that is named."""
    stop_on_interrupt()
    _loading.begin()
    from pse.cli import main as commands

    try:
        commands()
    finally:
        _loading.end()  # What was loaded need not be looked through as the process ends.
