"""The interactive view: a trace as one HTML file that needs nothing else, no network and no server.

``assets`` has the page's body and its look as written by hand, and its script, made of ``web/timeline``.
"""

from __future__ import annotations

import os
from importlib import resources

from pse.files import write_file
from pse.trace import Trace
from pse.trace.query import Selection
from pse.views.core._html_page import html_page
from pse.views.page._data import MOST_ENTRIES, page_data
from pse.views.page._pair import Pair


def write_html(
    trace: Trace,
    path: str | os.PathLike[str],
    selection: Selection | None = None,
    *,
    most: int = MOST_ENTRIES,
    pair: Pair | None = None,
) -> None:
    """Write the interactive view of a trace: one HTML file.

    Parameters
    ----------
    trace : Trace
        From `pse.trace.open`.
    path : path
        The file to write; one that is there is replaced.
    selection : Selection, optional
        What to show; all by default.
    most : int
        How many blocks the page holds, about; of more, short neighbours are merged, and the page says so.
    pair : Pair, optional
        A run to compare it with: its rows are below those of the trace, and a panel lists the differences.

    Raises
    ------
    TraceError
        The selection leaves nothing to show.
    UsageError
        The file can't be written.

    Examples
    --------
    >>> write_html(pse.trace.open("run1"), "trace.html")
    """
    write_file(page_html(trace, selection, most, pair), path)


def page_html(
    trace: Trace,
    selection: Selection | None = None,
    most: int = MOST_ENTRIES,
    pair: Pair | None = None,
    *,
    served: bool = False,
) -> bytes:
    """Make the interactive view of a trace.

    Parameters
    ----------
    trace, selection, most, pair
        As `write_html` has them.
    served : bool
        Whether a server makes pages of parts of it.

    Returns
    -------
    bytes
        What `write_html` writes.

    Raises
    ------
    TraceError
        The selection leaves nothing to show.

    Examples
    --------
    >>> page_html(pse.trace.open("run1"))[:15]
    b'<!doctype html>'
    """
    selection = selection or Selection()
    selection.check(trace)
    head, columns = page_data(trace, selection, most, pair)
    head |= {"served": served}
    page = html_page("pse.views.page", "page", title=head["title"], head=head, data=columns)
    return page.encode("utf-8", "replace")


def element_script() -> str:
    """Give the script that defines the element ``<pse-timeline>``: a page within another document.

    Returns
    -------
    str
        JavaScript.

    Examples
    --------
    >>> "pse-timeline" in element_script()
    True
    """
    return resources.files("pse.views.page").joinpath("assets", "element.js").read_text(encoding="utf-8")
