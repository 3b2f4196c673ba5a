"""ACE, the application communication emulator, for users of Python: the names of the room `pse.emulate`."""

from typing import Any

from pse import emulate


def __getattr__(name: str) -> Any:
    """Take a name from the room when it is first used."""
    if name in dir(emulate):
        return getattr(emulate, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name what the room exports."""
    return dir(emulate)
