"""How a run stands, and frames of it, as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pse.text import count_text, number_text, value_text

if TYPE_CHECKING:
    from pse.runtime.control._frames import Frame, Values

_BARS = " ▁▂▃▄▅▆▇█"
_SHADES = " ·░▒▓█"
_ROUNDING = 1e-15
"""What part of numbers tells them apart, at least: less is drawn as nothing."""
_ASPECT = 2
"""How much higher than wide a character is."""


def status_text(status: Mapping[str, Any]) -> str:
    """Say how a run stands.

    Parameters
    ----------
    status : mapping
        What `RunControl.status` gives.

    Returns
    -------
    str
        Lines of text.

    Examples
    --------
    >>> status = {"name": "heat", "program": "heat.coven", "processors": 2, "state": "running", "pauses": 7}
    >>> print(status_text(status | {"place": None, "live": {"dt": 0.5}, "tags": {"u": "f64[N]"}}), end="")
    heat: heat.coven on 2 processors, running, 7 pauses passed
    live: dt = 0.5
    tags: u f64[N]
    """
    where = f" at {status['place']}" if status["place"] else ""
    on = count_text(status["processors"], "processor")
    passed = count_text(status["pauses"], "pause")
    lines = [f"{status['name']}: {status['program']} on {on}, {status['state']}{where}, {passed} passed"]
    if status["live"]:
        values = (f"{name} = {value_text(value)}" for name, value in status["live"].items())
        lines.append(f"live: {', '.join(values)}")
    if status["tags"]:
        lines.append(f"tags: {', '.join(f'{name} {type}' for name, type in status['tags'].items())}")
    return "\n".join(lines) + "\n"


def frame_text(frame: Frame, width: int = 72) -> str:
    """Draw a frame: a number as it is, a line as bars, an image in shades; of more axes the middle slice.

    Parameters
    ----------
    frame : Frame
        The frame.
    width : int
        How many characters there are in a line.

    Returns
    -------
    str
        Lines of text.

    Examples
    --------
    >>> import numpy as np
    >>> from pse.runtime.control import Frame
    >>> frame = Frame("u", np.array([0.0, 1.0, 2.0]), (3,), (1,), 7, "p.coven:8:3")
    >>> print(frame_text(frame), end="")
    u at p.coven:8:3, 0 to 2
     ▄█
    """
    values = frame.values
    if values.ndim == 0:
        return f"{frame.title} at {frame.place}: {_number(frame)}\n"
    while values.ndim > 2:
        values = values[len(values) // 2]
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    if high / 2 - low / 2 <= _ROUNDING * max(abs(low), abs(high)):
        high = low
    span = f"{_end_text(low)} to {_end_text(high)}" if known.size else "no numbers"
    head = f"{frame.title} at {frame.place}, {span}"
    return "\n".join([head, *_rows(values, low, high, width)]) + "\n"


def _end_text(value: float) -> str:
    return number_text(value, zeros=False) if 1e-3 <= abs(value) < 1e6 or not value else f"{value:.3g}"


def _number(frame: Frame) -> str:
    """Write a number as the program has it."""
    value = float(frame.values)
    if frame.element == "bool":
        return value_text(bool(value))
    return value_text(value if frame.element[0] in "fc" else int(value))


def _rows(values: Values, low: float, high: float, width: int) -> list[str]:
    if values.ndim == 1:
        return [_signs(_thinned(values, width), low, high, _BARS)]
    across = _thinned(values, width, axis=1)
    rows = max(1, round(values.shape[0] * across.shape[1] / values.shape[1] / _ASPECT))
    return [_signs(row, low, high, _SHADES) for row in _thinned(across, rows, axis=0)]


def _thinned(values: Values, most: int, axis: int = 0) -> Values:
    """Take at most so many along an axis."""
    count = values.shape[axis]
    return values.take(np.arange(min(most, count)) * count // min(most, count), axis) if count else values


def _signs(row: Values, low: float, high: float, signs: str) -> str:
    """Give the sign of each value: the middle one if all are equal, `?` for what is no number."""
    known, half = np.isfinite(row), high / 2 - low / 2  # The whole range may be more than a number can be.
    shares = (row[known] / 2 - low / 2) / half if half > 0 else np.full(known.sum(), 0.5)
    steps = np.full(row.shape, -1)
    steps[known] = np.rint(shares * (len(signs) - 1)).astype(int)
    return "".join((signs + "?")[step] for step in steps.tolist())
