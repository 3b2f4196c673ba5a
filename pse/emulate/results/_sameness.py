"""Whether results can be joined: they are of the same applications, measured with the same parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pse.errors import UsageError
from pse.text import list_text

_PLACES: Final = ("nodes", "placed")
"""What the metadata of an application say of where it ran; it may differ between launches."""
_FREE: Final = {"applications", "launches", "most_launches", "time", "precision", "source", "pattern_files"}
"""What of a configuration may differ, since it says how often is measured, or where files are."""
_FREE_OF_APPLICATIONS: Final = {"name", "nodes", "program"}
_FOUND: Final = {"waits": "waits as found here", "mpi": "the MPI library"}
_MOST: Final = 3
"""Differences that are named."""


def require_same(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> None:
    """Refuse to join what was measured of other applications, or with other parameters.

    Parameters
    ----------
    earlier : mapping
        The metadata of results.
    later : mapping
        Those of others, or `Configuration.facts`.

    Raises
    ------
    UsageError
        There are other applications, or values differ; what only one of both says doesn't count.

    Examples
    --------
    >>> require_same({"configuration": {"alpha": 2e-5}}, {"configuration": {"alpha": 3e-5}})
    Traceback (most recent call last):
        ...
    UsageError: the earlier results were measured with alpha = 2e-05, not 3e-05
    """
    names = [
        list_text(f"`{one.get('name')}`" for one in facts.get("applications", ())) or "none"
        for facts in (earlier, later)
    ]
    if names[0] != names[1]:
        raise UsageError(
            f"the earlier results are of the applications {names[0]}, not {names[1]}",
            help="choose another name with -o",
        )
    own, their = (_parameters(json.loads(json.dumps(facts))) for facts in (earlier, later))
    differing = [name for name, value in own.items() if name in their and their[name] != value]
    if differing:
        told = [f"{name} = {_text(own[name])}, not {_text(their[name])}" for name in differing[:_MOST]]
        more = f", and {len(differing) - _MOST} more" * (len(differing) > _MOST)
        raise UsageError(
            f"the earlier results were measured with {'; '.join(told)}{more}",
            help="measure with the same values, or choose another name with -o",
        )


def _parameters(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Give all values that launches of the same results share, by what they are called."""
    asked = facts.get("configuration", {})
    found = {name: value for name, value in asked.items() if name not in _FREE}
    for one in asked.get("applications", ()):
        own = {f"{name} of `{one['name']}`": one[name] for name in one if name not in _FREE_OF_APPLICATIONS}
        found |= own | {f"nodes asked for by `{one['name']}`": one.get("nodes")}
    for one in facts.get("applications", ()):
        if not one.get("alone"):
            found |= {
                f"{name} of `{one['name']}`": one[name] for name in one if name not in ("name", *_PLACES)
            }
    return found | {text: facts[name] for name, text in _FOUND.items() if name in facts}


def _text(value: Any) -> str:
    """Write a value about as a configuration does."""
    return "none" if value is None else json.dumps(value, ensure_ascii=False)
