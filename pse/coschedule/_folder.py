"""What programs under PSE_BCS_MMDS and PSE_BCS_EMDS wrote into a folder."""

import re
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
