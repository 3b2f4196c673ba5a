"""What programs under PSE_BCS_MMDS and PSE_BCS_EMDS wrote into a folder, and what it comes to."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse._abi.coschedule import SLICE_DTYPE
from pse.coschedule._monitor import Report
from pse.errors import UsageError


def load_reports(folder: Path, communicator: int = 0) -> list[Report]:
    """Read the reports of a communicator's processes.

    Parameters
    ----------
    folder : Path
        What PSE_BCS_MMDS named.
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
    name = re.compile(rf"mmds-{communicator}-(\d+)\.npz")
    found = {int(match[1]): one for one in folder.glob("mmds-*.npz") if (match := name.fullmatch(one.name))}
    return [Report.load(found[rank]) for rank in sorted(found)]


def load_slices(folder: Path, communicator: int = 0) -> "NDArray[Any] | None":
    """Read the slices of a communicator.

    Parameters
    ----------
    folder : Path
        What PSE_BCS_EMDS named.
    communicator : int, optional
        Which one of the program's: they are counted from 0 as they are made.

    Returns
    -------
    ndarray or None
        As `Comm.slices` gives them; None if there are none.

    Raises
    ------
    UsageError
        The file can't be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from pse import bcs
    >>> bcs.load_slices(Path(".")) is None
    True
    """
    path = folder / f"emds-{communicator}.npy"
    if not path.exists():
        return None
    try:
        slices: NDArray[Any] = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(f"{path} has no slices: {error}") from None
    if slices.dtype != SLICE_DTYPE:
        raise UsageError(f"{path} has no slices: it has {slices.dtype}")
    return slices


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
