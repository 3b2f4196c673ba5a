"""Frames of a run for pages, and the scripts that draw them: made of ``web/frames`` and ``web/space``."""

from __future__ import annotations

import base64
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from pse.errors import UsageError
from pse.runtime.control import Frame, RunControl

_CELLS = 192
"""Cells along an axis of an image, at most."""
_POINTS = 20_000
_AXES = 3
"""Axes that a page can show."""


def take_frame(run: RunControl, tag: str) -> dict[str, Any]:
    """Take a frame of a run as pages draw it.

    Parameters
    ----------
    run : RunControl
        The run.
    tag : str
        What to take.

    Returns
    -------
    dict
        For JSON: the shape of the tag, what a cell of the frame stands for, and the cells in single
        precision; of more than three axes the middle; how many are no finite number (``unknown``). Or
        ``error``: why the tag has no value at the next pause.

    Raises
    ------
    RunError
        If the run is over.

    Examples
    --------
    >>> with RunControl("heat") as run:  # doctest: +SKIP
    ...     take_frame(run, "u")["cells"]
    [128, 128]
    """
    try:
        return {"tag": tag, **_for_page(run.frame(tag, _CELLS, _POINTS))}
    except UsageError as error:
        return {"tag": tag, "error": error.message}


def _for_page(frame: Frame) -> dict[str, Any]:
    values = frame.values
    while values.ndim > _AXES:
        values = values[len(values) // 2]
    coloured = values[:, -1] if frame.points else values
    known = coloured[np.isfinite(coloured)]
    return {
        "title": frame.title,
        "shape": frame.shape,
        "block": frame.block,
        "pause": frame.pause,
        "place": frame.place,
        "points": frame.points,
        "cells": values.shape,
        "low": float(known.min()) if known.size else None,
        "high": float(known.max()) if known.size else None,
        "unknown": int(np.count_nonzero(~np.isfinite(values))),
        "data": base64.b64encode(values.astype("<f4").tobytes()).decode(),
    }


def frame_scripts() -> Path:
    """Give the directory of the scripts that draw frames.

    Returns
    -------
    Path
        ``frames.js`` defines the element ``<pse-frame>``, and is an anywidget; ``space.js`` it loads when
        something has three dimensions; ``licences.md`` says what is in that.

    Examples
    --------
    >>> sorted(path.name for path in frame_scripts().iterdir())
    ['frames.js', 'licences.md', 'space.js']
    """
    return Path(str(resources.files("pse.views.frames") / "assets"))
