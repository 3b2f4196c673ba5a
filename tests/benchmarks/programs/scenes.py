"""Scenes as a network's disk gives them: `scenes.py FOLDER SCENES` is the plain script, one after the other.

The script and the program read by the same function and compute by that of ``programs/scenes``.  A stream of
the disk has a rate of its own, and each request waits for an answer.
"""

import json
import sys
import time
import zlib
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[3] / "programs" / "scenes"))

RATE, LATENCY = 40e6, 0.005  # bytes a second, and seconds
BRIGHT = 0.35


def read_window(folder, scene, band, first, rows):
    """Read some rows of a band, calibrated, when they have come."""
    import rasterio
    from rasterio.windows import Window

    with rasterio.open(Path(folder, f"scene-{scene:02d}.tif")) as file:
        time.sleep(LATENCY + rows * file.width * 2 / RATE)
        stored = file.read(band, window=Window(0, first, file.width, rows))
        return (stored * file.scales[band - 1] + file.offsets[band - 1]).astype(np.float32)


# @ coven module warm(in string folder, out f64 ready)
def warm(folder):
    """Load the library, and open a file."""
    read_window(folder, 0, 1, 0, 1)
    return 0.0


# @ coven module numbers(in i64 n, out i64 number[n])
def numbers(n):
    """Give the numbers of rows."""
    return np.arange(n)


# @ coven module begun(in f64 red, in f64 infrared, out f64 now)
def begun(red, infrared):
    """Say when all threads are ready."""
    return time.monotonic()


# @ coven module read(in string folder, in i64 scene, in i64 band, in i64 row[m], in i64 columns, in f64 go,
# @     out f32 values[m, columns])
def read(folder, scene, band, row, columns, go, values):
    """Read a band in our rows."""
    values[...] = read_window(folder, scene, band, int(row[0]), len(row))


# @ coven module ended(in f64 begun, in f32 best[m, n], out f64 found[2])
def ended(begun, best):
    """Say how long it took, and what was found."""
    return np.array([time.monotonic() - begun, checksum(best)])


def checksum(best):
    """Give a number that depends on all bits."""
    return zlib.crc32(best.tobytes())


def main(folder, scenes):
    """Take one scene after the other."""
    import rasterio
    from vegetation import keep_highest, vegetation_index

    warm(folder)
    with rasterio.open(Path(folder, "scene-00.tif")) as file:
        best, index = np.full(file.shape, -2, np.float32), np.empty(file.shape, np.float32)
    begin = time.monotonic()
    for scene in range(scenes):
        red, infrared = (read_window(folder, scene, band, 0, len(best)) for band in (1, 2))
        vegetation_index(red, infrared, BRIGHT, index)
        keep_highest(index, best)
    print(json.dumps([time.monotonic() - begin, checksum(best)]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
