"""Pages that are one file: templates with marks (``@style@`` …) where styles, data and scripts are put in."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

_SHARED = ("number_format.js", "inflate.js")


def fill_page(template: str, parts: Mapping[str, str]) -> str:
    """Put the parts of a page in the places of its marks.

    Parameters
    ----------
    template : str
        The page, with a mark for each part: its name between two ``@``.
    parts : mapping of str to str
        By their names; marks in them stay as they are.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> fill_page("<title>@title@</title>", {"title": "a@title@b"})
    '<title>a@title@b</title>'
    """
    return re.sub(f"@({'|'.join(parts)})@", lambda found: parts[found[1]], template)


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


def page_script(package: str, names: Sequence[str]) -> str:
    """Join the scripts of a page: those that all pages share, then its own.

    Parameters
    ----------
    package : str
        Name of the package with its own.
    names : sequence of str
        Their files.

    Returns
    -------
    str
        All of them, to stand in one scope.

    Examples
    --------
    >>> page_script("pse.views.core", ()).partition("\\n")[0]
    '// Numbers and names as people read them.'
    """
    shared = [asset("pse.views.core", name) for name in _SHARED]
    return "\n".join([*shared, *(asset(package, name) for name in names)])


def asset(package: str, name: str) -> str:
    """Read a part of a page that is written by hand: a file in the folder ``assets`` of a package.

    Parameters
    ----------
    package, name : str
        The package's name, and the file's.

    Returns
    -------
    str
        The text.
    """
    return resources.files(package).joinpath("assets", name).read_text(encoding="utf-8")
