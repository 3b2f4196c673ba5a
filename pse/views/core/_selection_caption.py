"""What was selected and when the run was, in words for the head of a picture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pse.trace import Selection


def selection_text(selection: Selection | None) -> str:
    """Say what was selected, but for the time, which axes show.

    Examples
    --------
    >>> selection_text(Selection(processors=frozenset({1, None}), tphs=frozenset({3})))
    'only processor root, 1; TPH 3'
    """
    chosen = selection or Selection()
    ranks = (("processor", chosen.processors), ("", chosen.threads), ("rank", chosen.ranks))
    kinds: tuple[tuple[str, Any], ...] = (*ranks, ("", chosen.modules), ("TPH", chosen.tphs))
    parts = [f"{kind} {_some(items)}".strip() for kind, items in kinds if items is not None]
    return f"only {'; '.join(parts)}" if parts else ""


def start_text(started: str) -> str:
    """When a run started, to the minute; archives of others may not know it, and then it was never.

    Examples
    --------
    >>> start_text("2025-01-31T12:00:00+01:00")
    '2025-01-31 12:00'
    >>> start_text("1970-01-01T00:00:00+00:00")
    ''
    """
    return "" if started.startswith("1970-01-01") else started[:16].replace("T", " ")


def _some(items: Iterable[Any]) -> str:
    ordered = sorted(items, key=lambda item: (item is not None, str(type(item)), item))
    names = ["root" if item is None else str(item) for item in ordered]
    return ", ".join(names[:6]) + (f", … ({len(names)})" if len(names) > 6 else "")
