"""What was selected, in words for the head of a picture.

May touch: nothing.  Next rooms: ``figure.py`` and ``page_data.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pse.trace import Selection


def selected_text(selection: Selection | None) -> str:
    """Say what was selected, but for the time, which axes show.

    Examples
    --------
    >>> selected_text(Selection(processors=frozenset({1, None}), tphs=frozenset({3})))
    'only processor root, 1; TPH 3'
    """
    chosen = selection or Selection()
    ranks = (("processor", chosen.processors), ("", chosen.threads), ("rank", chosen.ranks))
    kinds: tuple[tuple[str, Any], ...] = (*ranks, ("", chosen.modules), ("TPH", chosen.tphs))
    parts = [f"{kind} {_some(items)}".strip() for kind, items in kinds if items is not None]
    return f"only {'; '.join(parts)}" if parts else ""


def _some(items: Iterable[Any]) -> str:
    ordered = sorted(items, key=lambda item: (item is not None, str(type(item)), item))
    names = ["root" if item is None else str(item) for item in ordered]
    return ", ".join(names[:6]) + (f", … ({len(names)})" if len(names) > 6 else "")
