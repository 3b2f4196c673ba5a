"""Scenes to try the programs on, whose truth is known: `python programs/scenes/generate.py FOLDER`.

All days show one land, of whose cells the vegetation index is known. Each day its own clouds cover a part of
it, each day the picture is displaced by some whole cells, though its georeference says otherwise, and each
day has a calibration of its own. The first day is clear and not displaced: the others are registered to it.
Calibrations are binary fractions, so that reflectances, and what is computed of them, are exact.
"""

import argparse
from pathlib import Path

import numpy as np

MARGIN = 24  # cells: the land is larger than a scene, so that a displaced one has no empty edge
SHIFTS = np.array([(0, 0), (7, -12), (-3, 5), (11, 2), (-8, -9), (0, 13), (-14, 0), (4, 4)])
STEP = 2.0**-14  # of reflectance, for one digital number
CLOUD = 0.55
PLACE = {"crs": "EPSG:32725", "west": 280_000.0, "north": 9_120_000.0, "cell": 30.0}


def land(rows, columns, seed=0):
    """Make the reflectances of a land, red and near infrared, in whole steps: u16[2, rows, columns]."""
    texture = smooth_noise(rows, columns, 6, seed) + 0.35 * smooth_noise(rows, columns, 1.5, seed + 1)
    green = 1 / (1 + np.exp(-3 * texture))  # from bare soil, 0, to forest, 1
    red, infrared = 0.2 - 0.16 * green, 0.22 + 0.26 * green
    water = smooth_noise(rows, columns, 12, seed + 2) < -1
    bands = np.where(water, [[[0.05]], [[0.02]]], [red, infrared])
    bands += 0.004 * np.random.default_rng(seed + 3).random(bands.shape)
    return np.rint(bands / STEP).astype(np.uint16)


def smooth_noise(rows, columns, width, seed):
    """Make noise with structures of so many cells, of mean 0 and variance 1."""
    spectrum = np.fft.rfft2(np.random.default_rng(seed).normal(size=(rows, columns)))
    y, x = np.fft.fftfreq(rows)[:, None], np.fft.rfftfreq(columns)
    noise = np.fft.irfft2(spectrum * np.exp(-2 * (np.pi * width) ** 2 * (y**2 + x**2)), (rows, columns))
    return (noise - noise.mean()) / noise.std()


def clouds(day, rows, columns, seed=0):
    """Say where there are clouds on a day: a third of the land, nothing on the first day."""
    return (smooth_noise(rows, columns, 10, 1000 * seed + day) > 0.43) & (day > 0)


def index(bands):
    """Give the normalised difference vegetation index of reflectances in steps."""
    red, infrared = bands.astype(np.float32) * np.float32(STEP)
    return (infrared - red) / (infrared + red)


def scene(day, rows, columns, seed=0):
    """Make a day's picture in steps, and where it is cloudy; both are displaced."""
    bands = land(rows + 2 * MARGIN, columns + 2 * MARGIN, seed)
    cloudy = clouds(day, *bands.shape[1:], seed)
    bands[:, cloudy] = np.rint(CLOUD / STEP)
    down, right = MARGIN - SHIFTS[day % len(SHIFTS)]
    window = (slice(down, down + rows), slice(right, right + columns))
    return bands[:, *window], cloudy[window]


def write(file, bands, day):
    """Write a day's picture as compressed GeoTIFF with a calibration of its own."""
    import rasterio

    Path(file).unlink(missing_ok=True)  # Whatever it is: GDAL would open it first.
    base = 100 + 16 * day  # the digital number of no light
    place = rasterio.Affine(PLACE["cell"], 0, PLACE["west"], 0, -PLACE["cell"], PLACE["north"])
    count, rows, columns = bands.shape
    profile = {"height": rows, "width": columns, "count": count, "dtype": "uint16", "crs": PLACE["crs"]}
    tiles = {"tiled": True, "blockxsize": 128, "blockysize": 128, "compress": "deflate", "interleave": "band"}
    with rasterio.open(file, "w", driver="GTiff", transform=place, **profile, **tiles) as made:
        made.write(bands + np.uint16(base))
        made.descriptions = ("red", "nir")
        made.scales, made.offsets = (STEP,) * count, (-base * STEP,) * count
        made.update_tags(TIFFTAG_DATETIME=f"2001:06:{day + 1:02d} 10:00:00")


def generate(folder, days=8, rows=256, columns=256, seed=0):
    """Write the scenes of so many days into a folder."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for day in range(days):
        bands, _ = scene(day, rows, columns, seed)
        write(Path(folder, f"scene-{day:02d}.tif"), bands, day)


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("folder")
    for name, number in (("days", 8), ("rows", 256), ("columns", 256), ("seed", 0)):
        words.add_argument(f"--{name}", type=int, default=number)
    generate(**vars(words.parse_args()))
