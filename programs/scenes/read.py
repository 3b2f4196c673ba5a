"""Scenes in a directory, brought to one grid window by window: that of the file `like`.

A window of a scene is read, calibrated and resampled to the rows of the grid that a partition has: each cell
takes the nearest cell of the scene. What can't be read is named and left out: its cells are NaN, the other
scenes go on.
"""

import re
import sys
from functools import lru_cache
from pathlib import Path

import numpy as np
from raster import open_raster, times_of

ENDINGS = {".tif", ".tiff", ".nc"}
LEAST_PEAK = 6  # of the phase correlation; pictures with nothing in common reach 4 or 5


#@ coven module numbers(in i64 n, out i64 number[n])
def numbers(n):
    return np.arange(n)


#@ coven module read(in string folder, in i64 scene, in string band, in string like, in i64 row[m],
#@     in i64 columns, in f64 shifts[scenes, 2], out f32 values[m, columns])
def read(folder, scene, band, like, row, columns, shifts, values):
    """Read a band of a scene in the cells of some rows of the grid."""
    file, grid = scene_file(folder, scene, len(shifts)), grid_of(like)
    check_size(like, row, columns)
    if np.isnan(shifts[scene]).any():  # it could not be registered, which was said then
        values[...] = np.nan
        return
    down, right = shifts[scene]
    values[...] = window(file, band, grid, row + down, np.arange(columns) + right)


#@ coven module read_field(in string folder, in i64 scene, in i64 scenes, in string band, in string like,
#@     in i64 row[m], in i64 columns, in i64 reach, out f32 values[m + 2 * reach, columns])
def read_field(folder, scene, scenes, band, like, row, columns, reach, values):
    """Read a band of a scene, which may be a time of a NetCDF file; leave so many rows at the edges alone."""
    check_size(like, row, columns)
    file, band = field_of(folder, scene, scenes, band)
    own = values[reach : len(values) - reach]
    own[...] = window(file, band, grid_of(like), row, np.arange(columns))


#@ coven module register(in string folder, in i64 scene, in i64 scenes, in string band, in string like,
#@     in i64 patch, out f64 shift[1, 2])
def register(folder, scene, scenes, band, like, patch):
    """Say by how many rows and columns a scene is displaced against `like`, by the middle of both."""
    file, grid = scene_file(folder, scene, scenes), grid_of(like)
    if patch == 0:
        return np.zeros((1, 2))
    sizes = [(min(patch, extent), extent) for extent in (grid.rows, grid.columns)]
    rows, columns = (np.arange(size) + (extent - size) // 2 for size, extent in sizes)
    reference, picture = (window(one, band, grid, rows, columns) for one in (like, file))
    if not np.isfinite(reference).any():
        raise ValueError(f"{like} has nothing in band {band} to register scenes to; pass  -D like=…")
    if not np.isfinite(picture).any():  # Why it can't be read has been said.
        return np.full((1, 2), np.nan)
    shift, peak = displacement(reference, picture)
    if peak < LEAST_PEAK:
        warn(f"{file}: the scene is left out: it looks too little like {like} to be registered to it")
        return np.full((1, 2), np.nan)
    return [shift]


def displacement(reference, picture):
    """Correlate the phases of two pictures; gives where the peak is, and its height over the noise."""
    spectra = [np.fft.fft2(tapered(one)) for one in (reference, picture)]
    cross = np.conj(spectra[0]) * spectra[1]
    peaks = np.fft.ifft2(cross / np.maximum(np.abs(cross), 1e-300)).real
    at = np.array(np.unravel_index(peaks.argmax(), peaks.shape))
    shift = np.where(at > np.array(peaks.shape) // 2, at - peaks.shape, at).astype(float)
    return shift, peaks.max() * np.sqrt(peaks.size)


def tapered(picture):
    """Remove the mean, and let a picture fade out at its edges, which would else correlate."""
    clear = np.nan_to_num(picture - (np.nanmean(picture) if np.isfinite(picture).any() else 0))
    return clear * np.outer(*(np.hanning(extent + 2)[1:-1] for extent in picture.shape))


def window(file, band, grid, rows, columns):
    """Read what a scene has in some cells of the grid, which may also lie beyond its edges."""
    values, damaged = np.full((len(rows), len(columns)), np.nan, np.float32), []
    try:
        with open_raster(file, band) as raster:
            y, x = raster.cells(grid, rows, columns)
            inside = (y >= 0) & (y < raster.grid.rows) & (x >= 0) & (x < raster.grid.columns)
            if inside.any():
                y, x = y[inside], x[inside]
                part = raster.read((y.min(), y.max() + 1), (x.min(), x.max() + 1), damaged)
                values[inside] = part[y - y.min(), x - x.min()]
    except (OSError, ValueError) as failure:
        warn(f"{file}: rows {rows[0]:.0f} to {rows[-1]:.0f} of the grid are left out: {failure}")
    if damaged:
        top, bottom, left, right, reason = zip(*damaged, strict=True)
        where = f"rows {min(top)} to {max(bottom) - 1} and columns {min(left)} to {max(right) - 1}"
        warn(f"{file}: band {band} is damaged in {where}, which are left out; fetch it anew ({reason[0]})")
    return values


def warn(text):
    """Tell of a scene that is left out, in part or as a whole."""
    sys.stderr.write(f"warning: {text}\n")
    sys.stderr.flush()


def check_size(like, row, columns):
    """Refuse rows and columns that the grid does not have."""
    grid = grid_of(like)
    if columns != grid.columns or (row.size and row[-1] >= grid.rows):
        raise ValueError(
            f"{like} has {grid.rows} rows and {grid.columns} columns; "
            f"pass  -D rows={grid.rows} -D columns={grid.columns}"
        )


@lru_cache
def grid_of(like):
    """Give the grid of a file."""
    with open_raster(like, "") as raster:
        return raster.grid


def field_of(folder, scene, scenes, band):
    """Give file and band of a scene: where `folder` is a NetCDF file, one of the times in it."""
    if not Path(folder).is_file():
        return scene_file(folder, scene, scenes), band
    if scenes > (found := times_of(folder, band)):
        raise ValueError(f"{band} in {folder} has {found} times; pass  -D scenes={found}")
    return folder, f"{band}:{scene}"


def scene_file(folder, scene, scenes):
    """Give the name of a scene: the directory's files in natural order."""
    files, known = listing(folder), ", ".join(sorted(ENDINGS))
    if not files:
        raise ValueError(f"{folder} has no scenes ({known}); pass  -D folder=…")
    if scenes > len(files):
        raise ValueError(f"{folder} has {len(files)} scenes ({known}); pass  -D scenes={len(files)}")
    return files[scene]


@lru_cache
def listing(folder):
    """List the scenes of a directory."""
    if not Path(folder).is_dir():
        raise ValueError(f"there is no directory {folder}; pass  -D folder=…")
    found = [str(path) for path in Path(folder).iterdir() if path.suffix.lower() in ENDINGS]
    return sorted(found, key=natural)


def natural(name):
    """Sort key in which numbers count as numbers."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]
