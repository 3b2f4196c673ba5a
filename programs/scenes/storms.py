"""Storms in a sequence of fields: their centres, the tracks that these make, a picture of them.

A row of `tracks` is a centre: number of the track, time, row, column, value. Rows are ordered by time.
"""

import csv
import itertools

import numpy as np
from raster import transformer
from read import grid_of

TRACK, TIME, ROW, COLUMN, VALUE = range(5)


#@ coven module centres(in f32 field[m + 2 * reach, n], in i64 row[m], in i64 rows, in i64 reach,
#@     in f64 limit, in bool highest, out f64 found[?k, 3])
def centres(field, row, rows, reach, limit, highest):
    """Find the cells that are lowest among all so near, and not above the limit: row, column and value.

    Of equal cells the first one counts. What has no value, or is beyond the edge, is not lower.
    """
    if not row.size:
        return np.empty((0, 3))
    sign = -1 if highest else 1
    # What is beyond the edges of the grid was never written: any bits may be there, and are not looked at.
    first, end = max(reach - row[0], 0), len(field) - max(row[-1] + 1 + reach - rows, 0)
    depth = np.full((len(field), field.shape[1] + 2 * reach), np.inf, field.dtype)
    depth[first:end, reach:-reach] = sign * field[first:end]
    depth[np.isnan(depth)] = np.inf
    middle = part(depth, reach, 0, 0)
    least = middle <= sign * limit
    for down, right in np.ndindex(2 * reach + 1, 2 * reach + 1):
        down, right = down - reach, right - reach
        other = part(depth, reach, down, right)
        least &= (middle < other) if (down, right) < (0, 0) else (middle <= other)
    y, x = np.nonzero(least)
    return np.stack([row[y], x, sign * middle[y, x]], axis=1).astype(float)


def part(padded, reach, down, right):
    """Give the inside of a padded array, displaced by some cells."""
    rows, columns = (extent - 2 * reach for extent in padded.shape)
    return padded[reach + down :, reach + right :][:rows, :columns]


#@ coven module keep_extreme(in f32 field[m + 2 * reach, n], in i64 time, in i64 reach, in bool highest,
#@     inout f32 extreme[m, n])
def keep_extreme(field, time, reach, highest, extreme):
    """Keep the lowest values so far, or the highest ones; NaN counts as none."""
    if time == 0:
        extreme[...] = np.nan
    own = field[reach : len(field) - reach]
    (np.fmax if highest else np.fmin)(extreme, own, out=extreme)


#@ coven module begin(out f64 tracks[?n, 5])
def begin():
    """Begin without any track."""
    return np.empty((0, 5))


#@ coven module link(in f64 found[k, 3], in f64 tracks[n, 5], in i64 time, in string like, in f64 farthest,
#@     out f64 longer[?p, 5])
def link(found, tracks, time, like, farthest):
    """Let each track go on to the nearest centre, if that is near enough; other centres begin tracks."""
    last = tracks[tracks[:, TIME] == time - 1]
    number = np.full(len(found), -1.0)
    for before, now in nearest(distances(like, last[:, ROW : COLUMN + 1], found[:, :2]), farthest):
        number[now] = last[before, TRACK]
    new = number < 0
    number[new] = tracks[:, TRACK].max(initial=-1) + 1 + np.arange(new.sum())
    return np.concatenate([tracks, np.column_stack([number, np.full(len(found), time), found])])


def nearest(distance, farthest):
    """Give pairs, those nearest to each other first; each row and column is in one of them."""
    while distance.size and distance.min() <= farthest:
        row, column = np.unravel_index(distance.argmin(), distance.shape)
        yield row, column
        distance[row], distance[:, column] = np.inf, np.inf


def distances(like, before, now):
    """Give the distances in km between each of some cells and each of some others, along the earth."""
    import pyproj

    first, second = np.broadcast_arrays(before[:, None], now[None])
    ends = (*degrees(like, first[..., 0], first[..., 1]), *degrees(like, second[..., 0], second[..., 1]))
    return pyproj.Geod(ellps="WGS84").inv(*ends)[2] / 1000


def degrees(like, row, column):
    """Give longitudes and latitudes of the middle of cells."""
    grid = grid_of(like)
    return transformer(grid.crs, "EPSG:4326").transform(*grid.coordinates(row + 0.5, column + 0.5))


#@ coven module write_tracks(in string file, in f64 tracks[n, 5], in i64 shortest, in string like,
#@     in f64 hours, out i64 written)
def write_tracks(file, tracks, shortest, like, hours):
    """Write the tracks that are long enough as a table; gives their number."""
    kept = list(long_enough(tracks, shortest))
    with open(file, "w", newline="") as opened:
        table = csv.writer(opened, lineterminator="\n")
        table.writerow(["track", "hours", "longitude", "latitude", "value"])
        for number, track in enumerate(kept):
            x, y = degrees(like, track[:, ROW], track[:, COLUMN])
            for time, *place, value in zip(track[:, TIME] * hours, x, y, track[:, VALUE], strict=True):
                table.writerow([number, f"{time:g}", *(f"{one:.4f}" for one in place), f"{value:.7g}"])
    return len(kept)


def long_enough(tracks, shortest):
    """Give the rows of each track that is seen at so many times."""
    for number in np.unique(tracks[:, TRACK]):
        track = tracks[tracks[:, TRACK] == number]
        if len(track) >= shortest:
            yield track


#@ coven module draw(in f64 tracks[n, 5], in i64 shortest, inout u8 picture[3, rows, columns])
def draw(tracks, shortest, picture):
    """Draw tracks in black, each centre as a cross."""
    for track in long_enough(tracks, shortest):
        places = track[:, ROW : COLUMN + 1]
        for start, end in itertools.pairwise(places):
            line = np.linspace(start, end, 2 + int(np.abs(end - start).max()))
            paint(picture, np.rint(line))
        for step in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            paint(picture, places + step)


def paint(picture, places):
    """Make cells black that are in the picture."""
    y, x = places.astype(int).T
    inside = (y >= 0) & (y < picture.shape[1]) & (x >= 0) & (x < picture.shape[2])
    picture[:, y[inside], x[inside]] = 0
