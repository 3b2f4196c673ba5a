"""Part of a cube: a loop, a call site or a routine, with all that is called from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pse.analysis.cube._cube import CallPath, Cube
from pse.errors import UsageError
from pse.text import did_you_mean, list_text, source_line


def cube_cut(cube: Cube, name: str) -> Cube:
    """Keep the call paths that end in a name, and those below them.

    Parameters
    ----------
    cube : Cube
        The whole.
    name : str
        Name of a loop (``"loop cycle"``), call site, module or routine; its line may be left out.  Of
        routines of one name in several files, file and line say which: ``"solve (heat.c:12)"``.

    Returns
    -------
    Cube
        The same call paths and locations; what lies elsewhere is 0.

    Raises
    ------
    UsageError
        No call path ends in the name.

    Examples
    --------
    >>> cube_cut(cube, "MPI_Recv").total("time")
    3009.0
    """
    kept: list[bool] = []
    for path in cube.call_paths:
        kept.append(name in _names(path) or (path.parent >= 0 and kept[path.parent]))
    if not any(kept):
        names = sorted({known for path in cube.call_paths for known in _names(path)})
        printed = f"`pse analyze` prints the names, for example {list_text(names[:4])}"
        help = did_you_mean(name, names) or printed
        raise UsageError(f"no call path of {cube.title} ends in {name!r}", help=help)
    mask = np.array(kept)[:, None]
    values = {metric: own * mask for metric, own in cube.values.items() if (own * mask).any()}
    return replace(cube, values=values, title=f"{name} of {cube.title}")


def _names(path: CallPath) -> set[str]:
    """Give the names of what a call path ends in, with and without its line."""
    place = source_line(path.place) if path.kind == "routine" else ""
    return {path.name, path.name.partition(" (line ")[0]} | ({f"{path.name} ({place})"} if place else set())
