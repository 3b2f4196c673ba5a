"""Colours of threads: the palette of Okabe and Ito, which people with colour-blindness tell apart.

A thread has the same colour in every picture of a program: its place in `Placement.keys` chooses it.

References
----------
.. [1] M. Okabe, K. Ito, "Color Universal Design", 2008, https://jfly.uni-koeln.de/color/
"""

from __future__ import annotations

import colorsys
from collections.abc import Iterable

PALETTE = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#CC79A7", "#D55E00", "#0072B2")
GREY = "#BBBBBB"


def colour(thread: int | None) -> str:
    """Give the colour of a thread by its place; they repeat after seven, None is grey."""
    return GREY if thread is None else PALETTE[thread % len(PALETTE)]


def ink(background: str) -> str:
    """Give black or white, whichever is legible on a background.

    Examples
    --------
    >>> ink("#F0E442"), ink("#0072B2")
    ('#000000', '#FFFFFF')
    """
    return "#000000" if _luminance(background) > 0.2 else "#FFFFFF"


def darker(shade: str, factor: float = 0.72) -> str:
    """Darken a colour, so that a thin line in it shows on white."""
    return "#" + "".join(f"{int(part * factor):02X}" for part in _parts(shade))


def distinct(count: int, taken: Iterable[str]) -> list[str]:
    """Give strong colours that are as far as possible from those that are taken, and from each other.

    Examples
    --------
    >>> distinct(2, PALETTE)
    ['#7F00FF', '#40FF00']
    """
    used, found = [*taken, "#FFFFFF"], list[str]()
    hues = [(hue / 24, lightness) for lightness in (0.5, 0.35, 0.2) for hue in range(24)]
    parts = ([round(255 * part) for part in colorsys.hls_to_rgb(*hue, 1.0)] for hue in hues)
    candidates = ["#" + "".join(f"{part:02X}" for part in own) for own in parts]
    for _ in range(count):
        found.append(max(candidates, key=lambda one: min(_distance(one, other) for other in used)))
        used.append(found[-1])
    return found


def _distance(one: str, other: str) -> float:
    """How different two colours look, as `CompuPhase`_ estimates it.

    .. _CompuPhase: https://www.compuphase.com/cmetric.htm
    """
    first, second = _parts(one), _parts(other)
    red = (first[0] + second[0]) / 512
    return sum(
        weight * (a - b) ** 2 for weight, a, b in zip((2 + red, 4, 3 - red), first, second, strict=True)
    )


def _parts(shade: str) -> tuple[int, int, int]:
    return int(shade[1:3], 16), int(shade[3:5], 16), int(shade[5:7], 16)


def _luminance(shade: str) -> float:
    """Relative luminance as the WCAG defines it, 0 to 1."""
    linear = [
        (part / 255 / 12.92 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4)
        for part in _parts(shade)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
