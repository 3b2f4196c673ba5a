"""A program graph in the format that was asked for: text for graphviz or mermaid, or a picture.

Pictures need the extra ``views`` (matplotlib, scipy), which is imported only when one is asked for.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from pse.errors import UsageError
from pse.program import ProgramGraph
from pse.text import ending_text
from pse.views.graph._markup import dot, mermaid
from pse.views.graph._measured import Measured

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "dot", "mermaid")
PICTURES = ("svg", "png")
EXTENSIONS = {
    ".svg": "svg",
    ".png": "png",
    ".dot": "dot",
    ".gv": "dot",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
}
MOST_CALLS = 400
"""Beyond this a picture takes minutes and nobody can read it."""
DPI = 144
TALLEST = 30_000  # pixels of a png


def choose_graph_format(output: str | None, asked: str | None) -> str:
    """Decide on a format from ``--format`` and the name of the output file; ``dot`` if neither says anything.

    Parameters
    ----------
    output : str or None
        The output file; None for the terminal.
    asked : str or None
        One of `FORMATS`, if the user chose it.

    Returns
    -------
    str
        One of `FORMATS`.

    Raises
    ------
    UsageError
        If the file's extension says nothing and no format is given, or if the two disagree.

    Examples
    --------
    >>> choose_graph_format("heat.svg", None), choose_graph_format(None, None)
    ('svg', 'dot')
    """
    if output is None:
        return asked or "dot"
    extension = Path(output).suffix.lower()
    meant = EXTENSIONS.get(extension)
    if meant is None and asked is None:
        help = f"or choose the format: --format {'|'.join(FORMATS)}"
        raise UsageError(ending_text(output, EXTENSIONS), help=help)
    if meant and asked and meant != asked:
        raise UsageError(
            f"{output!r} is the name of a file in format {meant}, but --format says {asked}",
            help="leave out --format, or give the file the ending of that format",
        )
    return asked or meant or "dot"


def export_graph(graph: ProgramGraph, form: str, measured: Measured | None = None) -> bytes:
    """Write a program graph in one of `FORMATS`; the same program gives the same bytes.

    Parameters
    ----------
    graph : ProgramGraph
        From `build_graph`.
    form : str
        One of `FORMATS`.
    measured : Measured, optional
        What a run's trace says of its calls and tags.

    Returns
    -------
    bytes
        All of the file.

    Raises
    ------
    UsageError
        If a picture is asked for and matplotlib is missing, or the program is too large for one.

    Examples
    --------
    >>> from pse.program import build_graph
    >>> export_graph(build_graph(program), "dot").decode().splitlines()[0]
    'digraph "heat" {'
    """
    measured = measured or Measured()
    if form == "dot":
        return dot(graph, measured).encode()
    return mermaid(graph, measured).encode() if form == "mermaid" else _picture(graph, form, measured)


def _picture(graph: ProgramGraph, form: str, measured: Measured) -> bytes:
    calls = len(graph.walk.sites)
    if calls > MOST_CALLS:
        raise UsageError(
            f"the program is too large for a picture: it has {calls} calls, at most {MOST_CALLS} fit",
            help="write the graph as text instead: --format dot or --format mermaid",
        )
    try:
        from pse.views.graph._paint import Painter
        from pse.views.graph._scene import compose
    except ImportError as error:
        raise UsageError(
            f"pictures need {error.name}, which is not installed",
            help="install it with: pip install 'pse[views]'; or write the graph as text: --format dot or"
            " --format mermaid",
        ) from error
    return _rendered(Painter(compose(graph, measured)).run(), form)


def _rendered(figure: Figure, form: str) -> bytes:
    """Let matplotlib write; without date and version, so that equal pictures are equal files."""
    from matplotlib import rc_context

    data = io.BytesIO()
    metadata = {"Date": None, "Creator": "pse"} if form == "svg" else {"Software": None}
    resolution = min(DPI, TALLEST / max(figure.get_size_inches()))
    with rc_context({"svg.hashsalt": "pse"}):
        figure.savefig(data, format=form, dpi=resolution, metadata=metadata)
    return data.getvalue()
