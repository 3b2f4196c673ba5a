"""Where the cells of a picture lie on the earth: taken from one file of geodata, given to another."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pse.modules._errors import ModuleError
from pse.modules.std._endings import package
from pse.modules.std._formats import ArrayFile
from pse.records import dataclass

NETCDF_LOCK: Final = threading.Lock()
"""netCDF4 lets go of the interpreter, though its library is not made for threads."""

_DEGREES: Final = "EPSG:4326"
"""What the coordinates of a NetCDF file are where it doesn't say."""


@dataclass(frozen=True)
class Georeference:
    """Coordinates of cells.

    Attributes
    ----------
    crs : str
        The coordinate system: WKT, or its code.
    transform : tuple of float
        ``(a, b, c, d, e, f)``: the outer corner of the first cell is at (c, f), the next column is (a, d)
        further on, the next row (b, e).
    names : tuple of str
        Of the bands.
    """

    crs: str
    transform: tuple[float, float, float, float, float, float]
    names: tuple[str, ...] = ()

    def middles(self, rows: int, columns: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Give y of the rows' and x of the columns' middles."""
        a, _, c, _, e, f = self.transform
        return f + e * (np.arange(rows) + 0.5), c + a * (np.arange(columns) + 0.5)


@contextmanager
def rasterio_for(file: str) -> Iterator[Any]:
    """Give rasterio, which neither warns of files without a georeference nor logs what it raises anyway."""
    rasterio = package(file, "rasterio")
    logging.getLogger("rasterio").addHandler(logging.NullHandler())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        yield rasterio


def georeference(array: ArrayFile) -> Georeference:
    """Give that of the file which the array is to lie like; files of another size are refused."""
    read = _of_netcdf if array.like.lower().endswith(".nc") else _of_geotiff
    (rows, columns), found = read(array.like)
    if (rows, columns) != array.shape[-2:]:
        due = " × ".join(map(str, array.shape[-2:]))
        raise ModuleError(
            f"{array.file} can't lie where {array.like} lies: that has {rows} × {columns} cells, "
            f"the array {due}",
            help="name a file of the array's size",
        )
    return found


def _of_geotiff(file: str) -> tuple[tuple[int, int], Georeference]:
    with rasterio_for(file) as rasterio, rasterio.open(file) as other:
        crs = other.crs.to_wkt() if other.crs else ""
        names = tuple(name or "" for name in other.descriptions)
        return other.shape, Georeference(crs, tuple(other.transform)[:6], names)


def _of_netcdf(file: str) -> tuple[tuple[int, int], Georeference]:
    """Take that of the first variable whose last two axes have coordinates."""
    with NETCDF_LOCK, package(file, "netCDF4").Dataset(file) as content:
        known = content.variables
        axes = [found.dimensions[-2:] for found in known.values() if found.ndim >= 2]
        with_coordinates = [pair for pair in axes if set(pair) <= set(known)]
        if not with_coordinates:
            raise _without_coordinates(file, "there is no variable whose last two axes have some")
        y, x = (np.asarray(known[axis][:], float) for axis in with_coordinates[0])
        crs = getattr(known.get("crs"), "crs_wkt", _DEGREES)
    dy, dx = (_step(file, places) for places in (y, x))
    return (y.size, x.size), Georeference(crs, (dx, 0.0, x[0] - dx / 2, 0.0, dy, y[0] - dy / 2))


def _step(file: str, places: NDArray[Any]) -> float:
    """Give the distance of evenly spaced coordinates."""
    steps = np.diff(places)
    if not steps.size or not np.allclose(steps, steps.mean(), rtol=1e-3):
        raise _without_coordinates(file, "those of an axis are not evenly spaced")
    return float(places[-1] - places[0]) / steps.size


def _without_coordinates(file: str, reason: str) -> ModuleError:
    help = "name a file with coordinates that are evenly spaced, or leave `like` out"
    return ModuleError(f"{file} has no coordinates that another file could get: {reason}", help=help)
