"""Two galaxies before they meet, and a picture of them; G = 1, and both have mass 1 and radius 1."""

import numpy as np

CORE, SOFTENING = 0.8, 0.1
"""Part of a galaxy's mass that is in the middle, and the length below which gravity gets no stronger."""


#@ coven module galaxies(in i64 n, in i64 seed = 1, out f64 xm[n, 4], out f64 vel[n, 3])
def galaxies(n, seed):
    """Give positions and masses, and velocities: one galaxy lies in the plane, the other is tilted."""
    draws = np.random.default_rng(seed)
    pair = [galaxy(draws, n - n // 2, 0.0), galaxy(draws, n // 2, np.pi / 3)]
    apart, speed = np.array([2.0, 1.0, 0.0]), np.array([-0.45, 0.0, 0.0])
    xm, vel = (np.concatenate(both) for both in zip(*pair, strict=True))
    side = np.where(np.arange(n) < n - n // 2, 1, -1)[:, None]
    xm[:, :3] += side * apart
    return xm, vel + side * speed


def galaxy(draws, n, tilt):
    """Give a core and bodies that circle around it in a disc."""
    radius, angle = np.sqrt(draws.uniform(0.06, 1, n)), draws.uniform(0, 2 * np.pi, n)
    radius[0] = 0
    inside = CORE + (1 - CORE) * radius**2
    around = np.sqrt(inside * radius**2 / (radius**2 + SOFTENING**2) ** 1.5)
    xm = np.zeros((n, 4))
    xm[:, 0], xm[:, 1], xm[:, 2] = radius * np.cos(angle), radius * np.sin(angle), draws.normal(0, 0.02, n)
    xm[0, 2], xm[:, 3] = 0, (1 - CORE) / (n - 1)
    xm[0, 3] = CORE
    vel = np.stack([-around * np.sin(angle), around * np.cos(angle), np.zeros(n)], axis=1)
    turn = np.array([[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]])
    xm[:, :3] = xm[:, :3] @ turn.T
    return xm, vel @ turn.T


#@ coven module draw(in string file, in f64 xm[n, 4], in f64 time)
def draw(file, xm, time):
    """Draw the bodies from above, in the colour of the galaxy that they came from."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.6, 4.8), layout="constrained", facecolor="black")
    split = len(xm) - len(xm) // 2
    for part, colour in ((xm[:split], "#ffb070"), (xm[split:], "#80b8ff")):
        axes.scatter(part[:, 0], part[:, 1], s=0.8, color=colour, linewidths=0)
        axes.scatter(*part[0, :2], s=14, color="white")
    axes.set(xlim=(-4, 4), ylim=(-3.5, 3.5), aspect="equal", facecolor="black")
    axes.set_axis_off()
    axes.set_title(f"t = {time:g}", color="white")
    figure.savefig(file)
    plt.close(figure)
