"""The interactive view: a trace as one HTML file that needs nothing else, no network and no server.

``assets`` has the page's body and its look as written by hand, and its script, made of ``web/timeline``.
"""

from __future__ import annotations

import os
from typing import Any

from pse.files import write_file
from pse.trace import Trace
from pse.trace.query import Selection
from pse.views.core._html_page import html_page
from pse.views.page._data import MOST_ENTRIES, page_data


def write_html(
    trace: Trace,
    path: str | os.PathLike[str],
    selection: Selection | None = None,
    *,
    most: int = MOST_ENTRIES,
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
    selection = selection or Selection()
    selection.check(trace)
    write_file(_page(*page_data(trace, selection, most)).encode("utf-8", "replace"), path)


def _page(head: dict[str, Any], columns: str) -> str:
    return html_page("pse.views.page", "page", title=head["title"], head=head, data=columns)
