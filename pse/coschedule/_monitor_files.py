"""What programs under PSE_BCS_MMDS and PSE_BCS_EMDS wrote into a folder, and what it comes to."""

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pse._abi.coschedule import SLICE_DTYPE
from pse.coschedule._monitor import Report
from pse.errors import UsageError
from pse.text import damage_text


def load_reports(folders: Path | Sequence[Path], communicator: int = 0) -> list[Report]:
    """Read the reports of a communicator's processes.

    Parameters
    ----------
    folders : Path or sequence of Path
        What PSE_BCS_MMDS named: one folder for all nodes, or that of each.
    communicator : int, optional
        Which one of the program's: they are counted from 0 as they are made.

    Returns
    -------
    list of Report
        By ranks; empty if there are none.

    Raises
    ------
    UsageError
        One of them can't be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from pse import bcs
    >>> bcs.load_reports(Path("."))
    []
    """
    name = re.compile(rf"mmds-{communicator}-(\d+)\.npy")
    paths = (path for one in _each(folders) for path in sorted(one.glob("mmds-*.npy")))
    found = {int(match[1]): path for path in paths if (match := name.fullmatch(path.name))}
    return [Report.load(found[rank]) for rank in sorted(found)]


def load_slices(
    folders: Path | Sequence[Path], communicator: int = 0, node: int | None = None
) -> "NDArray[Any] | None":
    """Read the slices of a communicator.

    Parameters
    ----------
    folders : Path or sequence of Path
        What PSE_BCS_EMDS named: one folder for all nodes, or that of each.
    communicator : int, optional
        Which one of the program's: they are counted from 0 as they are made.
    node : int, optional
        Only what this node's ranks did; else all nodes' together: a slice takes as long as on the slowest,
        and descriptors, messages and blocked ranks are added up.

    Returns
    -------
    ndarray or None
        As `Comm.slices` gives them; None if there are none.

    Raises
    ------
    UsageError
        A file can't be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from pse import bcs
    >>> bcs.load_slices(Path(".")) is None
    True
    """
    if node is not None:
        return _of_node(folders, communicator, node)
    parts = [_of_node(folders, communicator, one) for one in nodes_of_slices(folders, communicator)]
    return merge_slices([one for one in parts if one is not None])


def nodes_of_slices(folders: Path | Sequence[Path], communicator: int = 0) -> list[int]:
    """Find the nodes whose slices are there.

    Parameters
    ----------
    folders : Path or sequence of Path
        What PSE_BCS_EMDS named.
    communicator : int, optional
        Which one of the program's.

    Returns
    -------
    list of int
        Their numbers.

    See Also
    --------
    load_slices
    """
    return sorted(_files(folders, communicator))


def _files(folders: Path | Sequence[Path], communicator: int) -> dict[int, Path]:
    name = re.compile(rf"emds-{communicator}(?:-(\d+))?\.npy")
    paths = (path for one in _each(folders) for path in sorted(one.glob("emds-*.npy")))
    return {int(match[1] or 0): path for path in paths if (match := name.fullmatch(path.name))}


def _each(folders: Path | Sequence[Path]) -> Sequence[Path]:
    return [folders] if isinstance(folders, Path) else folders


def _of_node(folders: Path | Sequence[Path], communicator: int, node: int) -> "NDArray[Any] | None":
    path = _files(folders, communicator).get(node)
    if path is None:
        return None
    try:
        slices: NDArray[Any] = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(
            f"{path} has no slices: {damage_text(error)}",
            help="the file is damaged or unfinished: record the run again",
        ) from None
    if slices.dtype != SLICE_DTYPE:
        raise UsageError(
            f"{path} has no slices: its rows are of another kind",
            help="name the folder of a run with PSE_BCS_EMDS; another pse may have written this one",
        )
    return slices


_LOCAL: Final = ("np2pdem", "np2pmsm", "ncolldem", "bpts")
"""Metrics of one node's ranks; the others are those of the slice."""
_ROUTINE: Final = "ltr_"
"""Begins the names of the times of routines on a node: LTRi of the paper's table 5.2."""
_ROUTINES: Final = tuple(name for name in SLICE_DTYPE.names or () if name.startswith(_ROUTINE))


def _in_order(rows: NDArray[Any]) -> NDArray[Any]:
    return np.sort(rows, order=["slice", "begin"])


def _by_slice(rows: NDArray[Any]) -> NDArray[Any]:
    """Make one row of what a node did in each slice: its ranks begin some of it before the node does."""
    numbers, begins = np.unique(rows["slice"], return_index=True)
    ends = [*begins[1:], len(rows)]
    found: NDArray[Any] = rows[np.array(ends) - 1].copy()
    for name in (*_LOCAL[:3], "ncollmsm", "gtdem", "gtmsm", "gtts", *_ROUTINES):
        found[name] = np.add.reduceat(rows[name], begins) if len(numbers) else 0
    found["begin"] = rows["begin"][begins]
    return found


def merge_slices(parts: "Sequence[NDArray[Any]]") -> "NDArray[Any] | None":
    """Put the slices of several nodes together.

    Parameters
    ----------
    parts : sequence of ndarray
        Of each node; the times are by the first one's clock.

    Returns
    -------
    ndarray or None
        Slices that all of them have; None if there are no nodes.

    See Also
    --------
    load_slices
    """
    if len(parts) < 2:
        return parts[0] if parts else None
    parts = [_by_slice(_in_order(one)) for one in parts]
    common = functools.reduce(np.intersect1d, (one["slice"] for one in parts))
    parts = [one[np.isin(one["slice"], common)] for one in parts]
    found = parts[0].copy()
    for name in SLICE_DTYPE.names or ():
        if name not in ("slice", "begin", "getts"):
            columns = np.array([one[name] for one in parts])
            found[name] = columns.sum(axis=0) if name in _LOCAL else columns.max(axis=0)
    found["getts"] = np.diff(found["begin"], prepend=found["begin"][:1])
    return found


def node_rows(nodes: "Mapping[int, NDArray[Any] | None]") -> list[dict[str, Any]]:
    """Say what the ranks of each node did (the paper's local metrics).

    Parameters
    ----------
    nodes : mapping of int to ndarray
        The slices of each node, as `load_slices` gives them.

    Returns
    -------
    list of dict
        ``node``, how many ``slices``, the median ``gtts`` (ns), sums of ``np2pdem``, ``np2pmsm`` and
        ``ncolldem``, the mean of ``bpts``.

    See Also
    --------
    load_slices
    """
    return [
        {
            "node": node, "slices": len(np.unique(one["slice"])), "gtts": float(np.median(one["gtts"])),
            "np2pdem": int(one["np2pdem"].sum()), "np2pmsm": int(one["np2pmsm"].sum()),
            "ncolldem": int(one["ncolldem"].sum()), "bpts": float(one["bpts"].mean()),
        }
        for node, one in nodes.items()
        if one is not None and len(one)
    ]  # fmt: skip


def routine_times(nodes: "Mapping[int, NDArray[Any] | None]") -> list[dict[str, Any]]:
    """Say what the layer's own routines took on each node (LTRi of the paper's table 5.2).

    Parameters
    ----------
    nodes : mapping of int to ndarray
        The slices of each node, as `load_slices` gives them.

    Returns
    -------
    list of dict
        ``node``, ``routine``, and in ns its ``total``, the ``mean`` of a slice and the ``greatest``; only of
        routines that did something.

    Examples
    --------
    >>> from pse import bcs
    >>> from pse._abi.coschedule import SLICE_DTYPE
    >>> slices = np.zeros(2, SLICE_DTYPE)
    >>> slices["slice"], slices["ltr_match"] = (7, 8), (100, 300)
    >>> bcs.routine_times({0: slices})
    [{'node': 0, 'routine': 'match', 'total': 400, 'mean': 200.0, 'greatest': 300}]
    """
    return [
        {
            "node": node, "routine": name.removeprefix(_ROUTINE), "total": int(one[name].sum()),
            "mean": float(one[name].mean()), "greatest": int(one[name].max()),
        }
        for node, rows in nodes.items()
        if rows is not None
        for one in [_by_slice(_in_order(rows))]
        for name in _ROUTINES
        if one[name].any()
    ]  # fmt: skip


def slices_between(slices: NDArray[Any], first: int, last: int) -> NDArray[Any]:
    """Take some of the slices by their numbers.

    Parameters
    ----------
    slices : ndarray
        As `load_slices` gives them.
    first, last : int
        Numbers of slices.

    Returns
    -------
    ndarray
        Those from the first to the last.

    Raises
    ------
    UsageError
        There are slices, but none of these.

    Examples
    --------
    >>> from pse import bcs
    >>> from pse._abi.coschedule import SLICE_DTYPE
    >>> slices = np.zeros(4, SLICE_DTYPE)
    >>> slices["slice"] = 7, 8, 9, 10
    >>> bcs.slices_between(slices, 9, 20)["slice"].tolist()
    [9, 10]
    """
    found = slices[(slices["slice"] >= first) & (slices["slice"] <= last)]
    if not len(found) and len(slices):
        raise UsageError(
            f"there are no slices {first} to {last}",
            help=f"there are {slices['slice'][0]} to {slices['slice'][-1]}",
        )
    return found


def routine_totals(reports: Iterable[Report]) -> list[dict[str, Any]]:
    """Add up what all processes did, routine by routine.

    Parameters
    ----------
    reports : iterable of Report
        Of the processes.

    Returns
    -------
    list of dict
        Rows as `Report.rows` gives them.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> from pse import bcs
    >>> with bcs.Comm(MPI.COMM_SELF, mmds=True) as comm:
    ...     comm.Barrier()
    ...     report = comm.report()
    >>> [row["count"] for row in bcs.routine_totals([report, report]) if row["routine"] == "Barrier"]
    [2]
    """
    rows: dict[str, dict[str, Any]] = {}
    for one in (row for report in reports for row in report.rows()):
        total = rows.setdefault(one["routine"], {**one, "count": 0, "total": 0.0, "bytes": 0})
        for name in ("count", "total", "bytes"):
            total[name] += one[name]
        total["least"] = min(total["least"], one["least"])
        total["greatest"] = max(total["greatest"], one["greatest"])
        total["mean"] = total["total"] / max(1, total["count"])
    return list(rows.values())


def slice_summary(slices: NDArray[Any]) -> dict[str, Any]:
    """Say in a few figures how slices went.

    Parameters
    ----------
    slices : ndarray
        As `load_slices` gives them; at least one.

    Returns
    -------
    dict
        ``count``, ``first`` and ``last`` (numbers of slices); ``timed``: how many began at a time of their
        own, ``late_median``: by how much too late (ns); ``length_median``, ``length_p99``: what exchange and
        scheduling take (ns); ``pace``: pairs of a slice's number and the length (ns) of slices from there on;
        ``messages`` and ``collectives``.

    Examples
    --------
    >>> from pse import bcs
    >>> from pse._abi.coschedule import SLICE_DTYPE
    >>> slices = np.zeros(2, SLICE_DTYPE)
    >>> slices["slice"], slices["length"] = (7, 8), (500_000, 1_000_000)
    >>> bcs.slice_summary(slices)["pace"]
    [(7, 500000), (8, 1000000)]
    """
    timed, length = slices[slices["timed"] == 1], slices["gtts"]
    return {
        "count": len(slices), "first": int(slices["slice"][0]), "last": int(slices["slice"][-1]),
        "timed": len(timed), "late_median": float(np.median(timed["late"])) if len(timed) else 0.0,
        "length_median": float(np.median(length)), "length_p99": float(np.percentile(length, 99)),
        "pace": _pace(slices),
        "messages": int(slices["np2pmsm"].sum()), "collectives": int(slices["ncollmsm"].sum()),
    }  # fmt: skip


def _pace(slices: NDArray[Any]) -> list[tuple[int, int]]:
    begins = np.flatnonzero(np.diff(slices["length"], prepend=0))
    return [(int(slices["slice"][one]), int(slices["length"][one])) for one in begins]
