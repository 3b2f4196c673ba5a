"""Where particles are at the beginning, the radial distribution function, and a picture."""

from pathlib import Path

import numpy as np


#@ coven module begin(in string start, in i64 cells, in f64 density, in f64 temperature, in f64 reach,
#@     in i64 seed, out f64 x[?k, 3], out f64 v[?k, 3], out i64 n, out f64 side)
def begin(start, cells, density, temperature, reach, seed):
    """Give particles on a face-centred cubic lattice, or those of files, with velocities of a temperature."""
    x = lattice(cells) if start == "" else read(f"{start}-x.npy")
    side = (len(x) / density) ** (1 / 3)
    if side < reach:
        raise ValueError(
            f"the box is {side:.4g} wide, less than cutoff + skin = {reach:.4g}: "
            "take more particles (cells), or a smaller cutoff"
        )
    x = x * side if start == "" else x
    moves = start != "" and Path(f"{start}-v.npy").exists()
    v = read(f"{start}-v.npy") if moves else velocities(len(x), temperature, seed)
    if len(v) != len(x):
        raise ValueError(f"{start}-x.npy has {len(x)} particles, and {start}-v.npy {len(v)}")
    return x, v, len(x), side


def lattice(cells):
    """Give the sites of a face-centred cubic lattice in a box of side 1."""
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    base = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]) / 2
    return ((corners + base) / cells).reshape(-1, 3)


def velocities(n, temperature, seed):
    """Draw velocities that have just this temperature, and add up to none."""
    v = np.random.default_rng(seed).normal(size=(n, 3))
    v -= v.mean(axis=0)
    return v * np.sqrt(3 * max(n - 1, 1) * temperature / max((v**2).sum(), 1e-300))


def read(file):
    """Read an array of triples of finite numbers."""
    try:
        rows = np.load(file).astype(float)
    except (OSError, ValueError) as error:
        raise ValueError(f"-D start=NAME reads NAME-x.npy, and NAME-v.npy if there is one: {error}") from None
    if rows.ndim != 2 or rows.shape[1] != 3 or len(rows) == 0:
        raise ValueError(f"{file} has the shape {rows.shape}: three numbers are expected for each particle")
    wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    for row in wrong[:1]:
        raise ValueError(f"{file}: particle {row} has {rows[row].tolist()}: finite numbers are expected")
    return rows


#@ coven module average(inout f64 g[shells], in f64 counts[shells], in i64 samples, in i64 n,
#@     in f64 side, in f64 cutoff)
def average(g, counts, samples, n, side, cutoff):
    """Take one more sample into the radial distribution function: 1 where pairs are as in an ideal gas."""
    edges = np.linspace(0, cutoff, len(g) + 1)
    ideal = n * (n - 1) / 2 * 4 / 3 * np.pi * np.diff(edges**3) / side**3
    g += (counts / ideal - g) / samples


#@ coven module draw(in string file, in f64 x[n, 3], in f64 side, in f64 g[shells], in f64 cutoff)
def draw(file, x, side, g, cutoff):
    """Draw a slice of the box, three particles thick, and the radial distribution function."""
    import matplotlib.pyplot as plt

    figure, (box, curve) = plt.subplots(1, 2, figsize=(8.4, 4), layout="constrained")
    inside, width = x % side, 72 * 3.3 / side
    depth = np.abs(inside[:, 2] - side / 2)
    slice = [i for i in np.argsort(-depth) if depth[i] < 1.5]
    places = {"xlim": (0, side), "ylim": (0, side), "xlabel": "x", "ylabel": "y"}
    box.set(aspect="equal", title="a slice of the box, 3 thick", **places)
    looks = {"cmap": "Blues_r", "edgecolors": "black", "linewidths": 0.3}
    box.scatter(*inside[slice, :2].T, s=width**2, c=depth[slice], **looks)
    curve.plot((np.arange(len(g)) + 0.5) * cutoff / len(g), g)
    curve.axhline(1, color="grey", linewidth=0.7)
    curve.set(xlim=(0, cutoff), ylim=(0, None), xlabel="distance", title="radial distribution function")
    figure.savefig(file)
    plt.close(figure)
