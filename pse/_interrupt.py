"""What a Ctrl-C does before there is anything to tidy up; loads nothing that Python has not loaded."""

import _signal  # type: ignore[import-not-found]  # `signal` loads other modules, and a Ctrl-C meanwhile would be a traceback.
import os


def stop_on_interrupt() -> None:
    """Have a Ctrl-C end this process with one line, unless it was started to ignore that."""
    if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:
        _signal.signal(_signal.SIGINT, stop_at_once)


def stop_at_once(number: int, frame: object) -> None:
    """End this process with one line."""
    _signal.signal(number, _signal.SIG_IGN)  # One line, also for whoever hits the keys twice.
    os.write(2, b"stopped by SIGINT\n")
    os._exit(128 + number)
