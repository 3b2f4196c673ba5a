"""Files of pictures: their format by their name, written whole or not at all."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pse.errors import UsageError
from pse.files import require_directory, write_file
from pse.text import ending_text
from pse.views.core._mpl_defaults import mpl_defaults

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = {".png": "png", ".svg": "svg", ".pdf": "pdf"}
DPI = 150
MOST_PIXELS = 100_000_000  # of a png
_FONTS = (b"'DejaVu Sans'", b"'DejaVu Sans', Verdana, sans-serif")
"""In an .svg, what may stand in for a font that its reader hasn't got."""
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": "pse"},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "pse", "Producer": None},
}


def choose_format(output: str | os.PathLike[str], more: Sequence[str] = ()) -> str:
    """Tell the format from a file's name: one of `FORMATS`, or `more`.

    Parameters
    ----------
    output : path
        The file that will be written.
    more : sequence of str
        Formats beside those of `FORMATS`, such as ``html``.

    Returns
    -------
    str
        The format: the suffix without its dot, in lower case.

    Raises
    ------
    UsageError
        Its suffix says nothing, or it can't be written there.

    Examples
    --------
    >>> choose_format("gantt.SVG"), choose_format("run1.html", more=["html"])
    ('svg', 'html')
    """
    path = Path(output)
    suffix = path.suffix.lower()
    known = [*FORMATS, *(f".{form}" for form in more)]
    if suffix not in known:
        help = f"for example, name the picture {path.stem or 'picture'}{known[0]}"
        raise UsageError(ending_text(str(output), known), help=help)
    check_writable(output)
    return suffix[1:]


def check_writable(output: str | os.PathLike[str]) -> None:
    """Refuse an output file that cannot be written, before any work is done.

    Parameters
    ----------
    output : path
        The file that will be written.

    Raises
    ------
    UsageError
        It is a directory, or its directory does not exist.

    Examples
    --------
    >>> check_writable("nowhere/gantt.svg")
    Traceback (most recent call last):
        ...
    UsageError: cannot write nowhere/gantt.svg: there is no directory nowhere
    """
    path = Path(output)
    if os.path.isdir(path):  # Path.is_dir raises where a directory may not be searched.
        raise UsageError(
            f"cannot write {output}: it is a directory", help=f"name a file in it: {path / 'NAME.svg'}"
        )
    require_directory(output)


def save(figures: Figure | Sequence[Figure], output: str | os.PathLike[str]) -> None:
    """Write a figure to a file; several figures are the pages of one pdf.

    The same figure gives the same bytes: neither date nor versions are written.

    Parameters
    ----------
    figures : Figure or sequence of Figure
        What to write.
    output : path
        Its suffix says the format: .png, .svg, .pdf.

    Raises
    ------
    UsageError
        The suffix isn't .png, .svg or .pdf, several figures are to go into another format than pdf, or the
        file can't be written.

    Examples
    --------
    >>> pse.views.save(pse.views.draw(trace, "gantt"), "gantt.svg")
    """
    pages: Sequence[Figure] = figures if isinstance(figures, Sequence) else [figures]
    form = choose_format(output)
    if len(pages) > 1 and form != "pdf":
        raise UsageError(
            f"{output}: a {form} file holds one picture, not {len(pages)}",
            help="name a file that ends in .pdf",
        )
    write_file(_pdf(pages) if form == "pdf" else _picture(pages[0], form), output)


def _picture(figure: Figure, form: str) -> bytes:
    data = io.BytesIO()
    width, height = figure.get_size_inches()
    resolution = min(DPI, (MOST_PIXELS / (width * height)) ** 0.5)
    with mpl_defaults():
        figure.savefig(data, format=form, dpi=resolution, metadata=_METADATA[form])
    return data.getvalue().replace(*_FONTS) if form == "svg" else data.getvalue()


def _pdf(figures: Sequence[Figure]) -> bytes:
    from matplotlib.backends.backend_pdf import PdfPages

    data = io.BytesIO()
    with mpl_defaults(), PdfPages(data, metadata=_METADATA["pdf"]) as pages:
        for figure in figures:
            figure.savefig(pages, format="pdf", dpi=DPI)
    return data.getvalue()
