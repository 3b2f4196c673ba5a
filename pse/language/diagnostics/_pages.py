"""What each code of a diagnostic means: the pages of ``codes.md``, which docs/diagnostics.md is a copy of.

A code is never used again for something else.  The numbers from E0520 belong to the room ``modules``.
"""

from __future__ import annotations

import functools
import importlib.resources
import re
from collections.abc import Mapping, Sequence

from pse.errors import UsageError
from pse.records import dataclass
from pse.text import list_text, nearest_word

_SECTION = re.compile(r"^## ([EW]\d{4}): ([^\n]*)\n\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class CodePage:
    """The page of a code.

    Attributes
    ----------
    code : str
        For example ``E0312``.
    title : str
        What is wrong, in a few words.
    text : str
        Meaning, example and remedy, as Markdown.

    See Also
    --------
    find_code_page
    """

    code: str
    title: str
    text: str


@functools.cache
def code_pages() -> Mapping[str, CodePage]:
    """Give the pages of all codes, in the manual's order.

    Returns
    -------
    mapping of str to CodePage
        By code.

    Examples
    --------
    >>> code_pages()["E0312"].title
    'distribution mismatch'
    """
    manual = importlib.resources.files(__package__).joinpath("codes.md").read_text(encoding="utf-8")
    return {
        code: CodePage(code, title, text.strip() + "\n") for code, title, text in _SECTION.findall(manual)
    }


def find_code_page(code: str) -> CodePage:
    """Find the page of a code.

    Parameters
    ----------
    code : str
        For example ``E0312``, ``e312`` or ``312``; the letter may be left out where only one has the digits.

    Returns
    -------
    CodePage
        Title, meaning, example and remedy.

    Raises
    ------
    UsageError
        If there is no such code; suggests near ones.

    Examples
    --------
    >>> find_code_page("312").code
    'E0312'
    >>> find_code_page("E0312").title
    'distribution mismatch'
    """
    pages = code_pages()
    short = re.fullmatch(r"([EW]?)(\d{3,4})", code.upper())
    spelled = [f"{kind}{short[2].zfill(4)}" for kind in short[1] or "EW"] if short else [code.upper()]
    found = [pages[one] for one in spelled if one in pages]
    if len(found) == 1:
        return found[0]
    raise UsageError(f"there is no diagnostic with the code {code}", help=_advice(code.upper(), list(pages)))


_NAMED = 12
"""Codes that begin alike, of which a help names so many."""


def _advice(code: str, pages: Sequence[str]) -> str:
    """Name the codes that begin so, or have the same digits, or the nearest one; and the range of all."""
    is_start = re.fullmatch(r"[EW]\d*", code) is not None
    begun = [other for other in pages if is_start and other.startswith(code)]
    if begun:
        more = f" and {len(begun) - _NAMED} more; `pse explain` lists all" if len(begun) > _NAMED else ""
        return f"codes that begin with {code}: {', '.join(begun[:_NAMED])}{more}"
    near = [other for other in pages if other[1:] == code.lstrip("EW")]
    if not near and re.fullmatch(r"[EW]?\d{4}", code) is None:
        near = list(filter(None, [nearest_word(code, pages)]))
    guess = f"did you mean {list_text([f'pse explain {other}' for other in near], 'or')}? " if near else ""
    of_kind = ([other for other in pages if other[0] == kind] for kind in "EW")
    ranges = [f"{codes[0]} to {codes[-1]}" for codes in of_kind if codes]
    return f"{guess}codes go from {' and from '.join(ranges)}; `pse explain` lists all"
