"""Files of geodata: bands of GeoTIFF by rasterio, variables of NetCDF by netCDF4.

Values are as they are stored, and cells without data have the file's own value for these.  But where reals
are asked for, integers with a scale or an offset stand for what these give, and cells without data are NaN.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pse.modules._errors import ModuleError
from pse.modules.std._endings import package
from pse.modules.std._formats import DATASET, HDF5, ArrayFile, Format, no_such_array
from pse.modules.std._georeference import NETCDF_LOCK, georeference, rasterio_for

STRIP: Final = 1 << 16
"""Strips of a GeoTIFF have at most so many bytes, or one row."""

_PACKING: Final = (("scale_factor", 1), ("add_offset", 0))
_MISSING: Final = ("_FillValue", "missing_value")
"""Attributes of variables, and what they are where there are none."""

_AXES: Final = {
    "degrees": {"lat": "degrees_north", "lon": "degrees_east"},
    "metres": {"y": "m", "x": "m"},
}
"""Names and units of the axes of rows and columns."""

_NO_VARIABLE: Final = "This is a netCDF dimension but not a netCDF variable."
"""By this the format tells an axis that has no coordinates."""


@contextmanager
def _opened_geotiff(array: ArrayFile) -> Iterator[Any]:
    with rasterio_for(array.file) as rasterio, rasterio.open(array.file, driver="GTiff") as content:
        bands = _Bands(array, content, rasterio)
        which = bands.band - 1 if bands.band else slice(None)
        scale, offset = (np.array(one)[which, ..., None, None] for one in (content.scales, content.offsets))
        yield _unpacked(array, bands, scale, offset, content.nodatavals)


def _unpacked(array: ArrayFile, stored: Any, scale: Any, offset: Any, missing: Iterable[Any]) -> Any:
    """Give what is stored, or the reals that integers stand for, if the program wants these."""
    packed = np.any(np.asarray(scale) != 1) or np.any(np.asarray(offset) != 0)
    if array.dtype.kind != "f" or stored.dtype.kind not in "iu" or not packed:
        return stored
    return _Unpacked(stored, array.dtype, scale, offset, [one for one in missing if one is not None])


class _Unpacked:
    """Integers as the reals that they stand for; a scale and an offset for all, or for each band."""

    def __init__(
        self, stored: Any, dtype: np.dtype[Any], scale: Any, offset: Any, missing: list[Any]
    ) -> None:
        self.stored, self.dtype, self.shape = stored, dtype, tuple(stored.shape)
        self.scale, self.offset, self.missing = scale, offset, missing

    def __getitem__(self, box: tuple[slice, ...]) -> NDArray[Any]:
        stored = np.asarray(self.stored[box])
        scale, offset = (one[box[0]] if np.ndim(one) > 2 else one for one in (self.scale, self.offset))
        return np.where(np.isin(stored, self.missing), np.nan, stored * scale + offset).astype(self.dtype)


class _Bands:
    """The bands of a GeoTIFF, or one of them, as an array of which windows are read."""

    def __init__(self, array: ArrayFile, content: Any, rasterio: Any) -> None:
        self.array, self.content, self.errors = array, content, rasterio.errors
        self.band = _band_of(array, content)
        self.dtype = np.dtype(content.dtypes[(self.band or 1) - 1])
        self.shape = (content.height, content.width) if self.band else (content.count, *content.shape)

    def __getitem__(self, box: tuple[slice, ...]) -> NDArray[Any]:
        rows, columns = ((part.start or 0, part.stop) for part in box[-2:])
        bands = self.band or list(range(1, self.shape[0] + 1)[box[0]])
        try:
            return np.asarray(self.content.read(bands, window=(rows, columns)))
        except self.errors.RasterioIOError as failure:
            window = f"rows {rows[0]} to {rows[1] - 1} and columns {columns[0]} to {columns[1] - 1}"
            named = ", ".join(map(str, np.atleast_1d(bands)))
            message = f"{self.array.file} can't be read in {window} of band {named}: "
            raise ModuleError(
                message + str(failure.__cause__ or failure),
                help="the file is damaged or not complete: fetch it anew",
            ) from None


def _band_of(array: ArrayFile, content: Any) -> int:
    """Give the number of the band that the program wants; 0 for all of them."""
    if not array.name:
        return int(content.count == 1 and len(array.shape) == 2)
    names = [name or str(number) for number, name in enumerate(content.descriptions, 1)]
    if array.name in names:
        return names.index(array.name) + 1
    if array.name.isdecimal() and 1 <= int(array.name) <= content.count:
        return int(array.name)
    raise no_such_array(array, names, "band")


def _begin_geotiff(draft: str, array: ArrayFile) -> int:
    """Make an uncompressed GeoTIFF, one band after the other, with the georeference of another file."""
    if not 2 <= len(array.shape) <= 3 or 0 in array.shape or array.dtype.kind not in "iufc":
        raise ModuleError(
            f"{array.file}: {array.dtype}[{', '.join(map(str, array.shape))}] is no picture",
            help="a GeoTIFF has numbers in [rows, columns], or in [bands, rows, columns]; else use .npy",
        )
    bands, rows, columns = (1, *array.shape)[-3:]
    most = max(1, STRIP // (columns * array.dtype.itemsize))
    strip = next(height for height in range(min(most, rows), 0, -1) if rows % height == 0)
    with rasterio_for(array.file) as rasterio:
        profile = {"height": rows, "width": columns, "count": bands, "dtype": array.dtype.name}
        profile |= {"interleave": "band", "blockysize": strip, "BIGTIFF": "IF_SAFER", "SPARSE_OK": "FALSE"}
        with rasterio.open(draft, "w", driver="GTiff", **profile) as made:
            _place(made, array, rasterio.Affine)
        with rasterio.open(draft, driver="GTiff") as made:
            begin = int(made.get_tag_item("BLOCK_OFFSET_0_0", "TIFF", bidx=1))
    if os.path.getsize(draft) < begin + array.nbytes:
        raise AssertionError(f"GDAL laid {draft} out otherwise: {os.path.getsize(draft)} bytes from {begin}")
    return begin


def _place(made: Any, array: ArrayFile, affine: Any) -> None:
    """Give a GeoTIFF coordinate system, place and names of bands of another file."""
    if not array.like:
        return
    found = georeference(array)
    made.transform = affine(*found.transform)
    if found.crs:
        made.crs = found.crs
    for number, name in enumerate(found.names if len(found.names) == made.count else (), 1):
        made.set_band_description(number, name)


@contextmanager
def _opened_netcdf(array: ArrayFile) -> Iterator[Any]:
    with NETCDF_LOCK, package(array.file, "netCDF4").Dataset(array.file) as content:
        content.set_auto_maskandscale(False)
        names = [name for name in content.variables if name not in content.dimensions]
        name = array.name or (names[0] if len(names) == 1 else DATASET)
        if name not in content.variables:
            raise no_such_array(array, names, "variable")
        found = content.variables[name]
        scale, offset = (getattr(found, key, plain) for key, plain in _PACKING)
        missing = [getattr(found, key) for key in _MISSING if key in found.ncattrs()]
        yield _unpacked(array, found, scale, offset, missing)


def _begin_netcdf(draft: str, array: ArrayFile) -> int:
    """Make a NetCDF-4 file, which is HDF5 whose axes are named, with one variable."""
    if array.dtype.kind not in "iuf":
        apart = "save real and imaginary part apart, or " if array.dtype.kind == "c" else ""
        message = f"{array.file}: NetCDF has no elements of type {array.dtype}"
        raise ModuleError(message, help=f"{apart}save it as .npy")
    begin = HDF5.begin(draft, array)
    with package(array.file, "h5py").File(draft, "r+", locking=False) as made:
        axes = [f"axis{number}" for number in range(len(array.shape))]
        if array.like:
            axes[-2:] = _coordinates(made, array)
        for number, (axis, extent) in enumerate(zip(axes, array.shape, strict=True)):
            if axis not in made:
                made.create_dataset(axis, (extent,), ">f4").make_scale(f"{_NO_VARIABLE}{extent:10}")
            made[DATASET].dims[number].attach_scale(made[axis])
    return begin


def _coordinates(made: Any, array: ArrayFile) -> list[str]:
    """Make the coordinates of rows and columns where another file has them; gives the axes' names."""
    if len(array.shape) < 2:
        message = f"{array.file}: an array of one axis can't lie where {array.like} lies"
        raise ModuleError(message, help="save rows and columns, or leave `like` out")
    found = georeference(array)
    if any(found.transform[at] for at in (1, 3)):
        help = "save it as .tif, which may be turned"
        raise ModuleError(f"{array.file}: rows of {array.like} are not along a coordinate", help=help)
    with rasterio_for(array.file) as rasterio:
        degrees = not found.crs or rasterio.CRS.from_user_input(found.crs).is_geographic
    names = _AXES["degrees" if degrees else "metres"]
    for (name, unit), places in zip(names.items(), found.middles(*array.shape[-2:]), strict=True):
        made.create_dataset(name, data=places).make_scale(name)
        made[name].attrs["units"] = np.bytes_(unit)
    if found.crs:
        made.create_dataset("crs", data=np.int32(0)).attrs["crs_wkt"] = np.bytes_(found.crs)
        made[DATASET].attrs["grid_mapping"] = np.bytes_("crs")
    return list(names)


GEOTIFF: Final = Format(_opened_geotiff, _begin_geotiff, named=True, located=True)

NETCDF: Final = Format(_opened_netcdf, _begin_netcdf, named=True, located=True)
