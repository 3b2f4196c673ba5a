"""Signals that would end this process at once, as exceptions: what it has started can be ended first."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class StoppedBySignal(KeyboardInterrupt):
    """A signal came that ends this process.

    Parameters
    ----------
    number : int
        The signal.

    Examples
    --------
    >>> StoppedBySignal(signal.SIGTERM).number == signal.SIGTERM
    True
    """

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number


@contextlib.contextmanager
def raised_signals(stopped: Callable[[int], BaseException] = StoppedBySignal) -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise an exception instead of ending the process, as Ctrl-C raises.

    Parameters
    ----------
    stopped : callable, optional
        Makes the exception of a signal's number.

    Yields
    ------
    None
        Outside of the main thread, and where a signal is ignored or handled already, nothing changes.

    Examples
    --------
    >>> try:
    ...     with raised_signals():
    ...         signal.raise_signal(signal.SIGTERM)
    ... except StoppedBySignal as stop:
    ...     print(stop)
    stopped by SIGTERM
    """

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise stopped(number)

    handled = threading.current_thread() is threading.main_thread()
    ending = [one for one in _SIGNALS if handled and signal.getsignal(one) is signal.SIG_DFL]
    for number in ending:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)
