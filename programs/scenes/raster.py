"""Rasters in files, GeoTIFF or NetCDF: where their cells lie, and the calibrated values of windows.

Values are f32, scaled as the file says; cells without data are NaN.
"""

import logging
import threading
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

SMALL = 32  # rows and columns; smaller windows are damaged as a whole
MISSING = ("_FillValue", "missing_value")  # attributes of NetCDF variables
NETCDF = threading.Lock()  # netCDF4 lets threads run beside it, for which its library is not made.
logging.getLogger("rasterio").addHandler(logging.NullHandler())  # It raises what it logs.


@dataclass(frozen=True)
class Grid:
    """Cells in rows and columns: (x, y) = origin + column * across + row * down in the system `crs`."""

    rows: int
    columns: int
    crs: str
    origin: tuple[float, float]
    across: tuple[float, float]
    down: tuple[float, float]

    def coordinates(self, row, column):
        """Give x and y of places, in cells from the outer corner of the first one."""
        (x, y), (a, b), (d, e) = self.origin, self.across, self.down
        return x + column * a + row * d, y + column * b + row * e

    def places(self, x, y):
        """Give row and column of coordinates: the inverse of `coordinates`."""
        (a, b), (d, e) = self.across, self.down
        x, y = x - self.origin[0], y - self.origin[1]
        return (a * y - b * x) / (a * e - b * d), (e * x - d * y) / (a * e - b * d)


@dataclass(frozen=True)
class Raster:
    """A band of an open file: `stored` reads a window of rows and columns, (first, beyond) each."""

    band: str
    grid: Grid
    stored: object
    scale: float = 1.0
    offset: float = 0.0
    missing: tuple = ()

    def cells(self, grid, rows, columns):
        """Give the row and column, here, of the cells of another grid."""
        row, column = np.meshgrid(rows + 0.5, columns + 0.5, indexing="ij")
        if grid == self.grid:
            return np.floor(row).astype(int), np.floor(column).astype(int)
        x, y = transformer(grid.crs, self.grid.crs).transform(*grid.coordinates(row, column))
        if is_geographic(self.grid.crs):  # Longitudes may count from 0 or from -180.
            west = min(self.grid.origin[0], self.grid.coordinates(0, self.grid.columns)[0])
            x = west + (x - west) % 360
        return tuple(np.floor(place).astype(int) for place in self.grid.places(x, y))

    def read(self, rows, columns, damaged):
        """Read a window; parts that can't be read are NaN, and are added to `damaged` with the reason."""
        try:
            stored = self.stored(rows, columns)
        except Exception as failure:  # rasterio's and netCDF4's own have no base in common.
            return self.in_parts(rows, columns, damaged, failure.__cause__ or failure)
        values = (stored * self.scale + self.offset).astype(np.float32)
        values[np.isin(stored, self.missing)] = np.nan
        return values

    def in_parts(self, rows, columns, damaged, reason):
        """Read the halves of a window that is damaged somewhere."""
        (top, bottom), (left, right) = rows, columns
        if max(bottom - top, right - left) <= SMALL:
            damaged.append((*rows, *columns, reason))
            return np.full((bottom - top, right - left), np.nan, np.float32)
        if bottom - top >= right - left:
            middle = inside(top, bottom)
            halves = [(top, middle), (middle, bottom)]
            return np.concatenate([self.read(half, columns, damaged) for half in halves])
        middle = inside(left, right)
        halves = [(left, middle), (middle, right)]
        return np.concatenate([self.read(rows, half, damaged) for half in halves], axis=1)


def inside(first, beyond):
    """Give a place near the middle, where tiles begin if one does."""
    middle = (first + beyond) // 2
    return max(middle - middle % SMALL, first + 1)


@lru_cache
def transformer(source, target):
    """Give what takes coordinates of one system to another one."""
    import pyproj

    return pyproj.Transformer.from_crs(source, target, always_xy=True)


@lru_cache
def is_geographic(crs):
    """Say whether coordinates are longitudes and latitudes."""
    import pyproj

    return pyproj.CRS(crs).is_geographic


@contextmanager
def open_raster(file, band=""):
    """Open a band of a GeoTIFF, or a variable of a NetCDF file; its first one where none is named."""
    with (open_netcdf if file.endswith(".nc") else open_geotiff)(file, band) as raster:
        yield raster


@contextmanager
def open_geotiff(file, band):
    """Open a band by its number, or by its description."""
    import rasterio

    with warnings.catch_warnings(action="ignore", category=rasterio.errors.NotGeoreferencedWarning):
        opened = rasterio.open(file)
    with opened as content:
        names = [name or str(number) for number, name in enumerate(content.descriptions, 1)]
        numbers = {name: number for number, name in enumerate(names, 1)}
        numbers |= {str(number): number for number in content.indexes}
        if band and band not in numbers:
            raise ValueError(f"there is no band {band}; it has {', '.join(names)}")
        if content.crs is None:
            raise ValueError("it has no coordinate system: give it one, with rio edit-info for example")
        number = numbers[band] if band else 1
        a, b, c, d, e, f = content.transform[:6]
        yield Raster(
            band or names[0],
            Grid(*content.shape, content.crs.to_wkt(), (c, f), (a, d), (b, e)),
            lambda rows, columns: content.read(number, window=(rows, columns)),
            content.scales[number - 1],
            content.offsets[number - 1],
            () if content.nodata is None else (content.nodata,),
        )


@contextmanager
def open_netcdf(file, band):
    """Open a variable over latitudes and longitudes; `name:2` is its third time."""
    import netCDF4

    with NETCDF, netCDF4.Dataset(file) as content:
        content.set_auto_maskandscale(False)
        fields = [name for name, found in content.variables.items() if found.ndim >= 2]
        located = [name for name in fields if set(content[name].dimensions[-2:]) <= set(content.variables)]
        name, _, time = (band or (located or fields)[0]).partition(":")
        if name not in fields:
            raise ValueError(f"there is no variable {name}; it has {', '.join(fields)}")
        variable = content[name]
        first = (int(time or 0),) + (0,) * (variable.ndim - 3) if variable.ndim > 2 else ()
        yield Raster(
            band or name,
            latitudes_and_longitudes(content, variable),
            lambda rows, columns: variable[(*first, slice(*rows), slice(*columns))],
            getattr(variable, "scale_factor", 1.0),
            getattr(variable, "add_offset", 0.0),
            tuple(getattr(variable, key) for key in MISSING if key in variable.ncattrs()),
        )


@lru_cache
def times_of(file, band):
    """Say how many times there are of a variable in a NetCDF file."""
    import netCDF4

    with NETCDF, netCDF4.Dataset(file) as content:
        if band not in content.variables:
            raise ValueError(f"{file} has no variable {band}; it has {', '.join(content.variables)}")
        return content[band].shape[0] if content[band].ndim > 2 else 1


def latitudes_and_longitudes(content, variable):
    """Make the grid of a variable whose last two axes have evenly spaced coordinates."""
    (y, dy), (x, dx) = (evenly_spaced(content, axis) for axis in variable.dimensions[-2:])
    crs = getattr(content.variables.get("crs"), "crs_wkt", "EPSG:4326")
    return Grid(*variable.shape[-2:], crs, (x - dx / 2, y - dy / 2), (dx, 0.0), (0.0, dy))


def evenly_spaced(content, axis):
    """Give the first coordinate of an axis, and their distance."""
    if axis not in content.variables:
        raise ValueError(f"its axis {axis} has no coordinates: only latitudes and longitudes are read")
    places = content[axis][:].astype(float)
    step = (places[-1] - places[0]) / (len(places) - 1)
    if not np.allclose(np.diff(places), step, rtol=1e-3):
        raise ValueError(f"the coordinates of its axis {axis} are not evenly spaced")
    return float(places[0]), float(step)
