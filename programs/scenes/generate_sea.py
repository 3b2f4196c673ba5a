"""Temperatures of a sea, whose truth is known: `python programs/scenes/generate_sea.py FOLDER`.

A file for each day, as satellites' products have it: longitudes and latitudes, integers with a scale and an
offset, a value for land. Each day its own clouds hide a third of the sea; they are colder than it can be.
The scale is a binary fraction, so that temperatures are exact.
"""

import argparse
from pathlib import Path

import numpy as np
from generate import smooth_noise

STEP, OFFSET, LAND = 2.0**-6, 16.0, -32768  # °C
CLOUD = -15.0


def is_land(rows, columns, seed=0):
    """Say where there is land."""
    return smooth_noise(rows, columns, 8, seed + 7) > 0.6


def sea(day, rows, columns, seed=0):
    """Make a day's temperatures in whole steps: zones, currents that stay, and warm places of the day."""
    latitude = np.radians(latitudes(rows))[:, None]
    zones = 31 * np.cos(latitude) ** 2 - 1.5
    currents = 1.5 * smooth_noise(rows, columns, 5, seed + 11)
    warm = 0.8 * smooth_noise(rows, columns, 6, 1000 * seed + 100 + day)
    celsius = np.clip(zones + currents + warm, -1.8, 36)
    return np.rint((celsius - OFFSET) / STEP).astype(np.int16)


def clouds(day, rows, columns, seed=0):
    """Say where there are clouds on a day."""
    return smooth_noise(rows, columns, 6, 1000 * seed + day) > 0.43


def latitudes(rows):
    """Give the latitudes of rows, from the south."""
    return -90 + 180 / rows * (np.arange(rows) + 0.5)


def truth(day, rows, columns, seed=0):
    """Give the temperatures that a day shows; NaN is land or cloud."""
    celsius = (sea(day, rows, columns, seed) * STEP + OFFSET).astype(np.float32)
    celsius[is_land(rows, columns, seed) | clouds(day, rows, columns, seed)] = np.nan
    return celsius


def scene(day, rows, columns, seed=0):
    """Make a day's field as it is stored."""
    stored = sea(day, rows, columns, seed)
    stored[clouds(day, rows, columns, seed)] = np.rint((CLOUD - OFFSET) / STEP)
    stored[is_land(rows, columns, seed)] = LAND
    return stored


def begin(file, rows, columns, times, hours):
    """Make a NetCDF file with coordinates of all axes."""
    import netCDF4

    made = netCDF4.Dataset(file, "w", format="NETCDF3_CLASSIC")
    longitudes = 360 / columns * (np.arange(columns) + 0.5)
    for name, unit, values in (
        ("time", "hours since 2001-06-01", hours * np.arange(times)),
        ("lat", "degrees_north", latitudes(rows)),
        ("lon", "degrees_east", longitudes),
    ):
        made.createDimension(name, len(values))
        made.createVariable(name, "f8", (name,)).units = unit
        made[name][:] = values
    return made


def write(file, stored):
    """Write a day's field."""
    with begin(file, *stored.shape, 1, 24) as made:
        variable = made.createVariable("sst", "i2", ("time", "lat", "lon"), fill_value=LAND)
        variable.set_auto_maskandscale(False)
        variable.units, variable.scale_factor, variable.add_offset = "degree_C", STEP, OFFSET
        variable[0] = stored


def generate(folder, days=6, rows=90, columns=180, seed=0):
    """Write the fields of so many days into a folder."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for day in range(days):
        write(Path(folder, f"day-{day:02d}.nc"), scene(day, rows, columns, seed))


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("folder")
    for name, number in (("days", 6), ("rows", 90), ("columns", 180), ("seed", 0)):
        words.add_argument(f"--{name}", type=int, default=number)
    generate(**vars(words.parse_args()))
