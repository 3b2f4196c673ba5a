"""Pressures in which storms move on known paths: `python programs/scenes/generate_storms.py FILE`.

One NetCDF file has all times, three hours apart. Centres of storms are cells, and move by whole cells.
"""

import argparse

import numpy as np
from generate import smooth_noise
from generate_sea import begin

HOURS, STEP, OFFSET = 3, 2.0**-4, 1000.0  # hPa
ROWS, COLUMNS, TIMES = 90, 180, 12
WIDTH = 3.0  # cells from the centre to where a storm has lost 40 % of its depth
# First time and number of times, row and column of the first centre, cells on from time to time, depth.
STORMS = (
    (0, 12, 20, 20, 1, 3, 40),  # It crosses the path of the next one, later.
    (0, 9, 28, 36, -2, 1, 30),
    (2, 7, 70, 120, -1, -3, 36),
    (3, 4, 62, 60, 0, 2, 28),  # Where it ends, one begins at the next time, too far away to be the same one.
    (7, 5, 62, 80, 1, 2, 32),
    (5, 1, 30, 150, 0, 0, 24),  # It is seen once only.
)


def paths():
    """Give the track of each storm: rows of time, row, column."""
    for first, number, row, column, down, right, _ in STORMS:
        step = np.arange(number)
        yield np.stack([first + step, row + down * step, column + right * step], axis=1)


def pressure(time, seed=0):
    """Make the field of a time in whole steps."""
    field = 1013 + 1.5 * smooth_noise(ROWS, COLUMNS, 12, seed + time)
    y, x = np.mgrid[:ROWS, :COLUMNS]
    for storm, path in zip(STORMS, paths(), strict=True):
        for _, row, column in path[path[:, 0] == time]:
            field -= storm[-1] * np.exp(-((y - row) ** 2 + (x - column) ** 2) / (2 * WIDTH**2))
    return np.rint((field - OFFSET) / STEP).astype(np.int16)


def generate(file, seed=0):
    """Write all times."""
    with begin(file, ROWS, COLUMNS, TIMES, HOURS) as made:
        variable = made.createVariable("pressure", "i2", ("time", "lat", "lon"))
        variable.set_auto_maskandscale(False)
        variable.units, variable.scale_factor, variable.add_offset = "hPa", STEP, OFFSET
        for time in range(TIMES):
            variable[time] = pressure(time, seed)


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("file")
    words.add_argument("--seed", type=int, default=0)
    generate(**vars(words.parse_args()))
