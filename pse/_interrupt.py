"""What a Ctrl-C does before there is anything to tidy up; loads nothing."""

import os


def stop_at_once(number: int, frame: object) -> None:
    """End this process with one line."""
    os.write(2, b"stopped by SIGINT\n")
    os._exit(128 + number)
