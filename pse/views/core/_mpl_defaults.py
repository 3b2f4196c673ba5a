"""Names as they are, and matplotlib as it comes: what every drawing and saving happens in."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def mpl_defaults() -> Iterator[None]:
    """Draw alike on every machine, whatever its matplotlibrc says.

    A ``$`` in a name begins no formula, and a letter that the font hasn't got is a box without a warning.
    Text in files stays text, so that it can be searched and copied.
    """
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        mpl.rcdefaults()
        mpl.rcParams["text.parse_math"] = False
        mpl.rcParams["svg.fonttype"] = "none"
        mpl.rcParams["svg.hashsalt"] = "pse"
        mpl.rcParams["pdf.fonttype"] = 42
        yield
