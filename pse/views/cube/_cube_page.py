"""The page of a cube: metrics, call paths and the system as three linked trees, in one HTML file.

``assets`` has the page's body and its look as written by hand, and its script, made of ``web/cube``.
"""

from __future__ import annotations

import base64
import os
import zlib
from dataclasses import astuple
from typing import Any

import numpy as np

from pse.analysis import LISTED_WAITS, METRICS, Cube, Metric
from pse.files import write_file
from pse.text import count_text
from pse.views.core._html_page import html_page


def write_cube_page(cube: Cube, path: str | os.PathLike[str], timeline: str = "") -> None:
    """Write a cube as a page: one HTML file that needs nothing else, no network and no server.

    Parameters
    ----------
    cube : Cube
        What is shown.
    path : path
        The file to write; one that is there is replaced.
    timeline : str, optional
        Name of a page beside it that `pse.views.page.write_html` wrote of the same run: the longest waits are
        links into it.

    Raises
    ------
    UsageError
        The file can't be written.

    Examples
    --------
    >>> write_cube_page(pse.analysis.analyze("mpi1"), "mpi1.html")
    """
    write_file(cube_page(cube, timeline).encode("utf-8", "replace"), path)


def cube_page(cube: Cube, timeline: str = "") -> str:
    """Give the page of a cube.

    Parameters
    ----------
    cube : Cube
        What is shown.
    timeline : str, optional
        Name of a page beside it with the run's time line.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> cube_page(cube).partition("\\n")[0]
    '<!doctype html>'
    """
    names = [metric.name for metric in METRICS]
    cells = [np.flatnonzero(cube.exclusive(name)) for name in names]
    values = [cube.exclusive(name).ravel()[chosen] for name, chosen in zip(names, cells, strict=True)]
    head = {
        "title": cube.title,
        "facts": _facts(cube),
        "notes": list(cube.problems),
        "metrics": [_metric(metric, len(chosen)) for metric, chosen in zip(METRICS, cells, strict=True)],
        "paths": [astuple(path) for path in cube.call_paths],
        "locations": [astuple(location) for location in cube.locations],
        "whole": cube.wholes(),
        "difference": bool(cube.reference),
        "longest": cube.longest.tolist(),
        "timeline": timeline,
    }
    packed = _packed(np.concatenate(values), np.concatenate(cells))
    return html_page("pse.views.cube", "cube", title=cube.title, head=head, data=packed)


def _metric(metric: Metric, count: int) -> dict[str, Any]:
    """A metric, of which the page holds so many values."""
    parent = next((place for place, other in enumerate(METRICS) if other.name == metric.parent), -1)
    described = {name: getattr(metric, name) for name in ("name", "title", "meaning", "unit")}
    return described | {"parent": parent, "count": count, "wait": metric.name in LISTED_WAITS}


def _facts(cube: Cube) -> list[str]:
    machines = {location.machine for location in cube.locations}
    nodes = {(location.machine, location.node) for location in cube.locations}
    facts = [count_text(len(cube.ranks), "rank"), count_text(len(nodes), "node")]
    facts += [count_text(len(machines), "machine")] if len(machines) > 1 else []
    return [*facts, count_text(len(cube.call_paths), "call path")]


def _packed(values: Any, cells: Any) -> str:
    """All values that aren't 0, then where they are (call path times locations plus location), deflated."""
    data = values.astype("<f8").tobytes() + cells.astype("<u4").tobytes()
    return base64.b64encode(zlib.compress(data, 6)).decode("ascii")
