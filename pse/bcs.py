"""BCS-MPI, globally scheduled communication, for users of Python: the names of the room `pse.coschedule`."""

from typing import Any

from pse import coschedule


def __getattr__(name: str) -> Any:
    """Take a name from the room when it is first used."""
    if name in dir(coschedule):
        return getattr(coschedule, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name what the room exports."""
    return dir(coschedule)
