"""The command ``pse`` from its first moment: a Ctrl-C while it loads ends it with one line."""

import os
import signal
from types import FrameType


def main() -> None:
    """Load the commands and run the one that is named."""
    signal.signal(signal.SIGINT, stop_at_once)
    from pse.cli import main as commands

    commands()


def stop_at_once(number: int, frame: FrameType | None) -> None:
    """End this process, which has nothing to tidy up yet."""
    os.write(2, b"stopped by SIGINT\n")
    os._exit(128 + number)
