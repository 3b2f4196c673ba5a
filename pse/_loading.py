"""Python's garbage collector while the package is loaded.

What is loaded stays: to look through it again and again is a tenth of the time that a command or a rank takes
until it begins.
"""

import gc

_USUAL = gc.get_threshold()
_ROOM = 100_000
"""New objects between two collections: more than loading makes, a few megabytes."""


def begin() -> None:
    """Let the collector wait, in a process that is about to load the package."""
    gc.set_threshold(_ROOM, *_USUAL[1:])


def end() -> None:
    """Give what runs from here on the usual collector, which leaves alone what was loaded before."""
    gc.freeze()
    gc.set_threshold(*_USUAL)
