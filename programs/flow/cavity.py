"""What is looked at in a flow: the extrema that others published, and a picture."""

import numpy as np


#@ coven module extrema(in f64 u[n, n], in f64 v[n, n],
#@     out f64 u_min, out f64 v_max, out f64 v_min, out f64 psi_min)
def extrema(u, v):
    """Give those of the velocities on the centre lines, v upwards, and of the stream function."""
    x = (np.arange(len(u)) + 0.5) / len(u)
    across, along = midway(u), -midway(v.T)
    return extreme(x, across, 1), extreme(x, along, -1), extreme(x, along, 1), stream(u).min()


def midway(u):
    """Give a velocity on the centre line between the walls that it is perpendicular to."""
    half = u.shape[1] // 2
    return u[:, half - 1] if u.shape[1] % 2 == 0 else 0.5 * (u[:, half - 1] + u[:, half])


def extreme(x, y, sign):
    """Give the least (sign 1) or greatest value (-1) of the polynomial through the five points around it."""
    at = int(np.clip((sign * y).argmin(), 2, len(x) - 3))
    fit = np.polynomial.Polynomial.fit(x[at - 2 : at + 3], sign * y[at - 2 : at + 3], 4)
    turning = fit.deriv().roots()
    inside = turning[(abs(turning.imag) < 1e-12) & (abs(turning.real - x[at]) < x[1] - x[0])].real
    return sign * min(fit(inside), default=sign * y[at])


def stream(u):
    """Give the stream function in the corners of cells: the sum of what flows between them and the floor."""
    through = np.pad(np.cumsum(u[::-1], axis=0)[::-1], ((0, 1), (1, 0)))
    return through / len(u)


#@ coven module draw(in string file, in f64 u[n, n], in f64 v[n, n], in f64 Re)
def draw(file, u, v, Re):
    """Draw stream lines over the speed: ten in the large eddy, one for each decade in the others."""
    import matplotlib.pyplot as plt

    n, psi = len(u), stream(u)
    centre_u = 0.5 * (np.pad(u, ((0, 0), (1, 0)))[:, :-1] + u)
    centre_v = 0.5 * (np.pad(v, ((1, 0), (0, 0)))[:-1] + v)
    figure, axes = plt.subplots(figsize=(5.6, 4.8), layout="constrained")
    view = {"extent": (0, 1, 0, 1), "cmap": "viridis", "interpolation": "bilinear"}
    figure.colorbar(axes.imshow(np.hypot(centre_u, centre_v), **view), label="speed")
    levels = [*np.linspace(psi.min(), 0, 12)[1:-1], 1e-6, 1e-5, 1e-4, 1e-3]
    corners = np.arange(n + 1) / n
    axes.contour(corners, 1 - corners, psi, levels, colors="white", linewidths=0.7, linestyles="solid")
    axes.set(title=f"Re = {Re:g}, {n} × {n} cells", xlabel="x", ylabel="y", aspect="equal")
    figure.savefig(file)
    plt.close(figure)
