"""The images and arrays of a directory, which `source` reads round and round.

They are in natural order (`frame2` before `frame10`); `samples` names the photographs and elevation models
that come with matplotlib.  Loads no NumPy: the launcher of a run asks before there are ranks.
"""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path
from typing import Final

from pse.modules._errors import ModuleError

SAMPLES: Final = "samples"
_SAMPLE_NAMES: Final = (
    "grace_hopper.jpg",
    "jacksboro_fault_dem.npz",
    "Minduka_Present_Blue_Pack.png",
    "topobathy.npz",
)
PICTURES: Final = {".png", ".jpg", ".jpeg", ".tif", ".tiff"}
_ARRAYS: Final = {".npy", ".npz"}


def require_pillow(where: str, k: int | None) -> None:
    """Refuse to read the k-th file of a directory if it is a picture and pillow is not installed.

    Parameters
    ----------
    where : str
        A directory, or ``samples``.
    k : int or None
        Which one; None if only the run can tell: then all of them must be pictures.

    Raises
    ------
    ModuleError
        With what to do.

    Examples
    --------
    >>> require_pillow("made_by_a_module_of_the_program", 0)
    """
    try:
        found = listing(where)
    except ModuleError:
        if where == SAMPLES:
            raise
        return  # A module of the program may make what is missing.
    read = found if k is None else [found[k % len(found)]]
    if all(path.suffix.lower() in PICTURES for path in read) and importlib.util.find_spec("PIL") is None:
        raise pillow_missing(read[0])


def pillow_missing(path: Path) -> ModuleError:
    """Give the error of a picture that can't be read."""
    return ModuleError(f"source: {path} needs the package pillow", help="pip install 'pse[views]'")


def listing(where: str) -> list[Path]:
    """List a directory's images and arrays in natural order.

    Raises
    ------
    ModuleError
        If it isn't a directory, or holds none.
    """
    if where == SAMPLES:
        return _samples()
    folder = Path(where).expanduser()
    help = f"name a directory with .png, .jpg, .tif, .npy or .npz files, or {SAMPLES}"
    try:
        names = os.listdir(folder)
    except OSError as failure:
        message = f"source: {where} can't be read as a directory: {failure.strerror}"
        raise ModuleError(message, help=help) from None
    known = [name for name in names if os.path.splitext(name)[1].lower() in PICTURES | _ARRAYS]
    if not known:
        raise ModuleError(
            f"source: there are no images or arrays in {where} ({len(names)} other files)", help=help
        )
    return [folder / name for name in sorted(known, key=_natural)]


def _natural(name: str) -> list[tuple[int, int | str]]:
    """Sort key in which numbers count as numbers."""
    parts = re.split(r"(\d+)", name.lower())
    return [(1, int(part)) if part.isdecimal() else (0, part) for part in parts if part]


def _samples() -> list[Path]:
    spec = importlib.util.find_spec("matplotlib")  # Found, not imported: it takes half a second.
    folder = Path(spec.origin).parent / "mpl-data" / "sample_data" if spec and spec.origin else Path()
    found = [folder / name for name in _SAMPLE_NAMES if (folder / name).is_file()]
    if not found:
        message = "source: the sample images, which come with matplotlib, are not installed"
        raise ModuleError(message, help="pip install 'pse[views]', or name a directory of images")
    return found
