"""The modules of `pse.std` that are Python functions, called like a user's."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from pse.modules._errors import ModuleError
from pse.modules.std._piece_layout import Pieces
from pse.modules.std._signatures import STRUCTURAL


def standard_function(name: str) -> Callable[..., Any] | None:
    """Give the Python function of a standard module; None for those that the runtime carries out.

    A program uses few of them: the files of the others stay unread.
    """
    if name in STRUCTURAL:
        return None
    found: Callable[..., Any] = _HERE[name] if name in _HERE else _elsewhere(name)
    return found


def _elsewhere(name: str) -> Any:
    if name in _MOVING_ROWS:
        from pse.modules.std import _migration

        return getattr(_migration, name)
    if name in _NEIGHBOURS:
        from pse.modules.std import _ghosts

        return getattr(_ghosts, name)
    from pse.modules.std import _numbers

    return getattr(_numbers, {"sum": "total"}.get(name, name))


def save(
    file: str, a: np.ndarray, like: str = "", *after: int, pieces: Pieces | None = None, tells: bool = False
) -> Generator[Any, Any, Any] | int | None:
    """Write an array to `file`; the file appears complete or not at all.

    `after` are the calls that it waits for; it `tells` those that wait for it by an output of its own.
    """
    from pse.modules.std import _files as files, _parallel_files as parallel_files

    if pieces is not None:
        return _telling(parallel_files.save(file, a, pieces, like), tells)
    files.save(file, a, like)
    return 0 if tells else None


def _telling(saving: Generator[Any, Any, None], tells: bool) -> Generator[Any, Any, int | None]:
    yield from saving
    return 0 if tells else None


def load(
    file: str,
    name: str = "",
    *after: int,
    a: np.ndarray | None = None,
    pieces: Pieces | None = None,
    tells: bool = False,
) -> int | np.ndarray | tuple[np.ndarray, int] | None:
    """Read an array of the expected shape and element type from `file`; see `save`.

    Without `a` it is returned: the program leaves open how many rows it has.
    """
    from pse.modules.std import _files as files, _parallel_files as parallel_files

    if a is None:
        found = files.load(file, name) if pieces is None else parallel_files.load_rows(file, pieces, name)
        return (found, 0) if tells else found
    if pieces is None:
        files.load_into(file, a, name)
    else:
        parallel_files.load(file, a, pieces, name)
    return 0 if tells else None


def source(folder: str, k: int, n: int, image: np.ndarray) -> None:
    """Read the k-th image or array of a directory, in grey and resampled to n × n."""
    from pse.modules.std import _images as images

    image[...] = images.as_elements(images.read(folder, int(k), int(n)), image.dtype)


def print_values(*value: Any) -> None:
    """Print values on one line of standard output."""
    print(*(_shown(one) for one in value), flush=True)


def _shown(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return f"{value:.10g}" if isinstance(value, float | np.floating) else value


def scan(x: Any, op: str, *, pieces: Pieces | None = None) -> Generator[Any, Any, Any]:
    """Combine what partitions 0 to the running module's own have, element by element."""
    assert pieces is not None, "it is allowed only inside PARALLEL"
    return (yield pieces.messages.scan(x, op))


def timer() -> float:
    """Give the seconds of a clock that runs evenly."""
    return time.monotonic()


def require(holds: bool, message: str) -> None:
    """End the run unless a condition holds."""
    if not holds:
        raise ModuleError(message or "what is asserted here does not hold")


_HERE: dict[str, Callable[..., Any]] = {
    "save": save,
    "load": load,
    "source": source,
    "print": print_values,
    "scan": scan,
    "timer": timer,
    "assert": require,
}

_MOVING_ROWS = ("migrate", "redistribute_rows", "transpose_rows")
_NEIGHBOURS = ("border", "ghosts", "images", "add_back")
