"""The aquifer, the particles at the start, and where results go."""

from pathlib import Path

import numpy as np


#@ coven module aquifer(in string medium, in i64 nx, in i64 ny, in i64 nz, out f64 k[nx, ny, nz])
def aquifer(medium, nx, ny, nz):
    """Give the conductivity of every cell."""
    k = np.ones((nx, ny, nz))
    if medium == "across":
        k[nx // 2 :] = 10.0
    elif medium == "along":
        k[:, :, nz // 2 :] = 10.0
    elif medium == "sand":
        k = np.exp(np.random.default_rng(1).normal(0.0, 0.5, k.shape))
    elif medium != "uniform":
        raise ValueError(f"medium {medium!r}: expected uniform, along, across or sand")
    return k


#@ coven module release(in i64 n, in i64 nx, in i64 ny, in i64 nz, out f64 x[n, 3])
def release(n, nx, ny, nz):
    """Put particles evenly into the first eighth of the aquifer; lengths are in cells."""
    steps = np.arange(1, n + 1)[:, None] * np.array([0.8191725134, 0.6710436067, 0.5497004779])
    return (steps % 1.0) * np.array([nx / 8, ny, nz])


_CALLED = []


#@ coven module is_new(out bool new)
def is_new():
    """Say whether this process calls it for the first time: modules keep nothing in variables yet."""
    _CALLED.append(True)
    return len(_CALLED) == 1


#@ coven module keep_results(in string path, in f64 head[nx, ny, nz], in f64 velocity[nx, ny, nz, 3],
#@     in f64 position[n, 3], in f64 history[p, cycles, 2])
def keep_results(path, head, velocity, position, history):
    """Write a file for NumPy."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, head=head, velocity=velocity, position=position, history=history[0])
