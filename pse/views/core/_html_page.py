"""Pages that are one file: a frame with marks (``@style@`` …) for style, body, data and scripts."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

_SHARED_BY_ALL = "pse.views.core"


def html_page(package: str, name: str, *, title: str, head: Mapping[str, Any], data: str) -> str:
    """Put a page together: the frame that all pages share, and what a package has in its folder ``assets``.

    The script there is made of ``web`` in the repository; its function ``start`` fills the page.

    Parameters
    ----------
    package, name : str
        The package, and the name of the page's body (``name.html``), style and script in it.
    title : str
        Of the page.
    head : mapping
        What the scripts read as JSON.
    data : str
        What they read besides: deflated, in base 64.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> page = html_page("pse.views.cube", "cube", title="a < b", head={}, data="")
    >>> page.splitlines()[9]
    '<title>a &lt; b</title>'
    """
    parts = {
        "title": html.escape(title),
        "style": "\n".join((_asset(_SHARED_BY_ALL, "common.css"), _asset(package, f"{name}.css"))),
        "body": _asset(package, f"{name}.html"),
        "head": embedded_json(head),
        "data": data,
        "script": _asset(package, f"{name}.js"),
    }
    frame = _asset(_SHARED_BY_ALL, "frame.html")
    return re.sub(f"@({'|'.join(parts)})@", lambda found: parts[found[1]], frame)


def embedded_json(data: Any) -> str:
    """Write data as JSON that can stand in an element of a page: nothing in it ends the element.

    Parameters
    ----------
    data : object
        What `json.dumps` takes.

    Returns
    -------
    str
        JSON.

    Examples
    --------
    >>> embedded_json({"name": "</script>"})
    '{"name":"\\\\u003c/script>"}'
    """
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _asset(package: str, name: str) -> str:
    return resources.files(package).joinpath("assets", name).read_text(encoding="utf-8")
