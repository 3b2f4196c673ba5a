"""The file of a cube: NumPy's ``.npz``, without pickled objects.

``cube`` is JSON in UTF-8 as an array of bytes: ``format`` (pse-cube), ``version``, ``title``, ``problems``,
``call_paths`` (parent, kind, name, place of each), ``locations`` (machine, node, rank, thread, name of each),
``reference`` (of a difference, totals of the old run), ``stored`` (names of the metrics that have arrays).
``longest`` is an array of ``INSTANCE_DTYPE``, whose metrics are places in ``metrics``, a list of names;
``causes`` is one of ``CAUSE_OF_WAIT_DTYPE``, likewise.
``metric.NAME`` is an array of float64, shape (call paths, locations), for each metric that is not all 0.
"""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from pse.analysis.cube._cube import CAUSE_OF_WAIT_DTYPE, INSTANCE_DTYPE, CallPath, Cube, Location
from pse.analysis.cube._metrics import BY_NAME, METRICS
from pse.errors import UsageError
from pse.files import draft_file, explained, require_directory
from pse.text import damage_text

FORMAT, VERSION = "pse-cube", 1
_HEAD, _METRIC, _LONGEST, _CAUSES = "cube", "metric.", "longest", "causes"


def write_cube(cube: Cube, path: str | os.PathLike[str]) -> None:
    """Write a cube to a file.

    Parameters
    ----------
    cube : Cube
        The cube.
    path : path
        The file; what was there is replaced.

    Raises
    ------
    UsageError
        Its directory does not exist, or the system refuses; what was there before stays.

    Examples
    --------
    >>> pse.analysis.write_cube(cube, "mpi1.npz")
    """
    require_directory(path)
    head = {
        "format": FORMAT,
        "version": VERSION,
        "title": cube.title,
        "problems": cube.problems,
        "call_paths": [astuple(path) for path in cube.call_paths],
        "locations": [astuple(location) for location in cube.locations],
        "metrics": [metric.name for metric in METRICS],
        "reference": dict(cube.reference),
        "stored": list(cube.values),
    }
    text = np.frombuffer(json.dumps(head, ensure_ascii=False).encode(errors="surrogateescape"), "u1")
    arrays: dict[str, Any] = {_METRIC + name: values for name, values in cube.values.items()}
    with explained(path), draft_file(path) as draft, draft.open("wb") as file:
        np.savez_compressed(file, **{_HEAD: text, _LONGEST: cube.longest, _CAUSES: cube.causes, **arrays})


def read_cube(path: str | os.PathLike[str]) -> Cube:
    """Read a cube from a file.

    Parameters
    ----------
    path : path
        What `write_cube` wrote.

    Returns
    -------
    Cube
        The cube; metrics that this pse does not know are left out.

    Raises
    ------
    UsageError
        There is no such file, it is not a cube, or it is damaged.

    Examples
    --------
    >>> pse.analysis.write_cube(cube, "mpi1.npz")
    >>> pse.analysis.read_cube("mpi1.npz").total("time") == cube.total("time")
    True
    """
    try:
        with Path(path).open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise UsageError(
                    f"{path} is not a cube, or it is damaged: it is not an .npz file", help=_HELP
                )
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                return _decoded(arrays)
    except FileNotFoundError:
        raise UsageError(f"there is no cube {path}", help=_HELP) from None
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror or error}", help=_HELP) from error
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(
            f"{path} is not a cube, or it is damaged: {damage_text(error)}", help=_HELP
        ) from error


_HELP = "write one with: pse analyze DIR -o CUBE.npz"


def _decoded(arrays: Any) -> Cube:
    head = json.loads(arrays[_HEAD].tobytes().decode(errors="surrogateescape"))
    if head["format"] != FORMAT or head["version"] > VERSION:
        raise ValueError(f"its format is {head['format']} {head['version']}, not {FORMAT} {VERSION}")
    paths = tuple(CallPath(*path) for path in head["call_paths"])
    locations = tuple(Location(*location) for location in head["locations"])
    names = [name.removeprefix(_METRIC) for name in arrays if name.startswith(_METRIC)]
    values = {name: arrays[_METRIC + name] for name in names if name in BY_NAME}
    missing = [name for name in head.get("stored", ()) if name not in names]
    if missing:
        raise ValueError(f"the array {_METRIC}{missing[0]} is missing")
    for number, path in enumerate(paths):
        if not -1 <= path.parent < number:
            raise ValueError(f"call path {number} has the parent {path.parent}")
    for name, table in values.items():
        if table.dtype != np.float64 or table.shape != (len(paths), len(locations)):
            raise ValueError(f"{name} has not {len(paths)} call paths and {len(locations)} locations")
    longest = _known(arrays, _LONGEST, INSTANCE_DTYPE, head["metrics"])
    causes = _known(arrays, _CAUSES, CAUSE_OF_WAIT_DTYPE, head["metrics"])
    if (causes["cause"] >= len(paths)).any() or (causes["location"] >= len(locations)).any():
        raise ValueError("a cause of waits has no call path or location")
    reference = {str(name): float(whole) for name, whole in head.get("reference", {}).items()}
    return Cube(paths, locations, values, head["title"], tuple(head["problems"]), longest, causes, reference)


def _known(arrays: Any, name: str, dtype: Any, names: list[str]) -> Any:
    """Rows of metrics that this pse knows, with its numbers of them; none in files without such rows."""
    rows = arrays[name] if name in arrays else np.empty(0, dtype)
    if rows.dtype != dtype:
        raise ValueError(f"the rows of {name} are of another kind")
    known = {metric.name: number for number, metric in enumerate(METRICS)}
    numbers = np.array([known.get(name, -1) for name in names], "<i8")
    rows = rows[numbers[rows["metric"]] >= 0]
    rows["metric"] = numbers[rows["metric"]]
    return rows
