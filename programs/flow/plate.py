"""Heat sources of a plate, from a file; and its picture."""

from pathlib import Path

import numpy as np

from pse import partition


#@ coven module heat(in string file, in f64 length, in f64 width, in f64 thickness, in i64 NY, in i64 NX,
#@     out f64 q[l, m, n])
def heat(file, length, width, thickness, NY, NX, q):
    """Give what the cells of the partition are heated with, in W/m³."""
    q[:] = 0.0
    layers, rows, columns = range(len(q)), partition.block(NY), partition.block(NX, axis=1)
    for x, y, z, power in [] if file == "none" else read(file, (length, width, thickness)):
        along_z, along_y = share(z, layers, thickness / len(q)), share(y, rows, width / NY)
        within = np.einsum("i,j,k->ijk", along_z, along_y, share(x, columns, length / NX))
        q += power / (np.ptp(x) * np.ptp(y) * np.ptp(z)) * within


def share(box, cells, step):
    """Give which part of each cell lies between the ends of a box, along one axis."""
    left = np.array(cells) * step
    return np.clip(np.minimum(box[1], left + step) - np.maximum(box[0], left), 0, None) / step


def read(file, sides):
    """Give the boxes of a file, and their powers; each must lie in the plate."""
    path = Path(file) if file else Path(__file__).with_name("sources.csv")
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.partition("#")[0].strip()
        if text:
            yield source(text, sides, f"{path}:{number}")


def source(text, sides, place):
    """Give the three pairs of ends, and the power, that a line says."""
    try:
        *ends, power = map(float, text.split(","))
        x, y, z = zip(ends[::2], ends[1::2], strict=True)
    except ValueError:
        expected = "seven numbers are expected, with commas: ends along x, y, z, and the power"
        raise ValueError(f"{place}: {expected}") from None
    if not all(0 <= a < b <= side * (1 + 1e-12) for (a, b), side in zip((x, y, z), sides, strict=True)):
        plate = " × ".join(f"{side:g} m" for side in sides)
        raise ValueError(f"{place}: the box is not inside the plate of {plate}")
    return x, y, z, power


#@ coven module draw(in string file, in f64 T[l, m, n], in f64 length, in f64 width)
def draw(file, T, length, width):
    """Draw the temperature in the middle of the plate, seen from above."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    view = {"extent": (0, length, width, 0), "cmap": "inferno", "interpolation": "bilinear"}
    figure.colorbar(axes.imshow(T[len(T) // 2], **view), label="K above the surroundings", shrink=0.9)
    axes.set(xlabel="x (m)", ylabel="y (m)", title="Temperature in the middle of the plate")
    figure.savefig(file)
    plt.close(figure)
