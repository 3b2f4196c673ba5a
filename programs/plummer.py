"""Plummer's model of a star cluster in standard units: total mass 1, energy -1/4, G = 1.

Sampled as in Aarseth, Henon and Wielen, Astronomy and Astrophysics 37 (1974) 183-187.
"""

import numpy as np

SCALE = 3 * np.pi / 16


#@ coven module plummer(in i64 n, in i64 seed = 0, out f64 xm[n, 4], out f64 vel[n, 3])
def plummer(n, seed):
    """Draw positions and masses, and velocities, of `n` bodies of equal mass."""
    draw = np.random.default_rng(seed)
    radius = SCALE / np.sqrt(draw.uniform(1e-10, 0.999, n) ** (-2 / 3) - 1)
    xm = np.empty((n, 4))
    xm[:, :3] = radius[:, None] * _directions(draw, n)
    xm[:, 3] = 1 / n
    escape = np.sqrt(2 / np.sqrt(radius**2 + SCALE**2))
    return xm, (_fractions(draw, n) * escape)[:, None] * _directions(draw, n)


def _directions(draw, n):
    """Unit vectors, evenly over the sphere."""
    vectors = draw.normal(size=(n, 3))
    return vectors / np.linalg.norm(vectors, axis=1)[:, None]


def _fractions(draw, n):
    """Speeds as fractions of the escape speed, by rejection from q² (1 - q²)^(7/2)."""
    found = np.empty(0)
    while found.size < n:
        q, height = draw.uniform(0, 1, 4 * n), draw.uniform(0, 0.1, 4 * n)
        found = np.concatenate([found, q[height < q**2 * (1 - q**2) ** 3.5]])
    return found[:n]
