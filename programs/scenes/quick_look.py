"""Pictures of scenes: `python programs/scenes/quick_look.py scene.tif look.png nir red red`."""

import sys
import warnings

import numpy as np
from raster import open_raster
from read import grid_of

LARGEST = 1500  # rows or columns of a picture


#@ coven module quick_look(in string file, in u8 picture[3, m, n])
def quick_look(file, picture):
    """Write red, green and blue as PNG, every second or third cell where there are many."""
    import rasterio

    step = 1 + max(picture.shape) // LARGEST
    small = picture[:, ::step, ::step]
    profile = {"height": small.shape[1], "width": small.shape[2], "count": 3, "dtype": "uint8"}
    with (
        warnings.catch_warnings(action="ignore", category=rasterio.errors.NotGeoreferencedWarning),
        rasterio.open(file, "w", driver="PNG", **profile) as made,
    ):
        made.write(small)


#@ coven module north_up(in string like, inout u8 picture[3, m, n])
def north_up(like, picture):
    """Turn a picture over if the grid's first row is the southern one."""
    if grid_of(like).down[1] > 0:
        picture[...] = picture[:, ::-1].copy()


def stretched(values):
    """Make bytes of values: all but the lowest and highest fiftieth get the whole range."""
    low, high = np.nanpercentile(values, (2, 98))
    return np.nan_to_num(np.clip((values - low) / (high - low), 0, 1) * 255).astype(np.uint8)


def whole(file, band):
    """Read all of a band."""
    with open_raster(file, band) as raster:
        return raster.read((0, raster.grid.rows), (0, raster.grid.columns), [])


if __name__ == "__main__":
    file, look, *bands = sys.argv[1:]
    quick_look(look, np.array([stretched(whole(file, band)) for band in bands]))
