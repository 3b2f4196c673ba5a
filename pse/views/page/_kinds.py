"""Kinds of blocks: what the page says of each call site, wait and routine, and groups of the legend."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from pse._abi.waiting import WAIT_TEXTS
from pse.analysis import METRICS
from pse.text import called_name
from pse.trace import NONE, Trace, WaitReason
from pse.trace.format import Array
from pse.trace.query import Names
from pse.views.core._colours import (
    OTHER,
    Style,
    module_styles,
    routine_family,
    routine_styles,
    wait_colours,
    wait_text,
)
from pse.views.core._palette import ink

HATCHES = ("", "..", "oo", "**")


class Kinds:
    """All kinds of blocks that were asked for, numbered from 0.

    Parameters
    ----------
    trace : Trace
        Whose names and colours they have.

    Attributes
    ----------
    groups : dict of str to dict
        The legend's rows by their id.
    modules : dict of str to Style
        All modules of the program, in the order of their first call sites.
    """

    def __init__(self, trace: Trace) -> None:
        self._kinds: list[dict[str, Any]] = []
        self.groups: dict[str, dict[str, Any]] = {}
        self._numbers: dict[Hashable, int] = {}
        self._names = Names(trace)
        self.modules = module_styles(trace)
        self._waits = wait_colours()
        self._edges = trace.definitions.edges if trace.definitions else ()
        sites = trace.definitions.sites if trace.definitions else ()
        self._nodes = {site.id: number for number, site in enumerate(sites)}

    def calls(self, sites: Array) -> Array:
        """The kind of each call, by its call site."""
        return self._each([sites], self._call)

    def waits(self, reasons: Array, sites: Array, edges: Array) -> Array:
        """The kind of each wait, by its reason, call site and edge."""
        return self._each([reasons, sites, edges], self._wait)

    def routines(self, names: list[str]) -> Array:
        """The kind of each routine."""
        return np.array([self._number(self._routine, name) for name in names], "<u4")

    def states(self, metrics: Array) -> Array:
        """The kind of each wait state of MPI, by its metric."""
        return self._each([metrics], self._state)

    def adopt(self, other: Kinds, nodes: Mapping[int, int]) -> int:
        """Add the kinds of another run, and give the number that its first one has here.

        `nodes` gives places of its call sites among those of this run.
        """
        for key, group in other.groups.items():
            self.groups.setdefault(key, group)
        first = len(self._kinds)
        self._kinds += [kind | {"node": nodes.get(kind["node"], -1)} for kind in other._kinds]
        return first

    def described(self) -> list[dict[str, Any]]:
        """What the page says of each kind, ready for JSON; when all routines are known, they have colours."""
        routines = {key: row["name"] for key, row in self.groups.items() if row["category"] == "routine"}
        styles = routine_styles(routines.values())
        for key, name in routines.items():
            self.groups[key] |= _look(styles[name])
        return [
            kind | {name: self.groups[kind["group"]][name] for name in ("colour", "ink", "hatch")}
            for kind in self._kinds
        ]

    def look(self, module: str) -> dict[str, Any]:
        """The colours of a module."""
        return _look(self.modules.get(module, Style(OTHER)))

    def _each(self, columns: list[Array], make: Callable[..., dict[str, Any]]) -> Array:
        """Number rows by what they have in all columns."""
        if not len(columns[0]):
            return np.empty(0, "<u4")
        keys, places = columns[0].astype("<u8"), None
        for column in columns[1:]:
            _, keys = np.unique(keys, return_inverse=True)
            keys = keys.astype("<u8") << np.uint64(32) | column.astype("<u8")
        _, firsts, places = np.unique(keys, return_index=True, return_inverse=True)
        found = [tuple(int(column[first]) for column in columns) for first in firsts]
        return np.array([self._number(make, *key) for key in found], "<u4")[places]

    def _number(self, make: Callable[..., dict[str, Any]], *key: Hashable) -> int:
        """The number of the kind that is made of a key."""
        known = (make.__name__, *key)
        if known not in self._numbers:
            self._numbers[known] = len(self._kinds)
            self._kinds.append(make(*key))
        return self._numbers[known]

    def _call(self, site: int) -> dict[str, Any]:
        number, label, place = self._names.site(site)
        module = self._names.module(site) or label
        style = self.modules.get(module, Style(OTHER))
        group = self._group("call", module, called_name(label), style)
        reads = [edge.tag for edge in self._edges if number in edge.targets]
        defines = [edge.tag for edge in self._edges if edge.source == number]
        return self._kind(
            "call", group, label, module=module, place=place, reads=_listed(reads), defines=_listed(defines),
            tags=_listed(reads + defines, " "), short=self._names.spoken_site(site),
            node=self._nodes.get(site, -1),
        )  # fmt: skip

    def _wait(self, reason: int, site: int, edge: int) -> dict[str, Any]:
        name = self._names.reason(reason)
        group = self._group("wait", name, wait_text(name), Style(self._waits.get(name, OTHER)))
        place = self._names.site(site)[2]
        tag = self._names.tag(edge) if edge != NONE else ""
        words = WAIT_TEXTS.get(WaitReason(reason), "") if reason in WaitReason.__members__.values() else ""
        call = self._names.spoken_site(site) if site != NONE else ""
        return self._kind(
            "wait", group, wait_text(name), module=self._names.module(site), place=place, tag=tag, tags=tag,
            reason=words, call=call, short=wait_text(name), source=self._source(edge),
            node=self._nodes.get(site, -1),
        )  # fmt: skip

    def _source(self, edge: int) -> str:
        """What defines the tag of an edge."""
        source = next((one.source for one in self._edges if one.id == edge), None)
        return "" if source is None else self._names.spoken_site(source)

    def _routine(self, name: str) -> dict[str, Any]:
        group = self._group("routine", name, name, Style(OTHER))
        family = routine_family(name) if name.startswith("MPI_") else ""
        return self._kind("routine", group, name, module=family, short=name)

    def _state(self, number: int) -> dict[str, Any]:
        metric = METRICS[number]
        group = self._group("state", metric.name, metric.title, Style(OTHER))
        return self._kind("state", group, metric.title, reason=metric.meaning, short=metric.title)

    def _kind(self, category: str, group: str, label: str, **more: str | int) -> dict[str, Any]:
        """A kind; `node` is the place of its call site among all of the program, -1 for none."""
        empty = dict.fromkeys(
            ("module", "place", "reads", "defines", "tags", "tag", "reason", "call", "source"), ""
        )
        return {"category": category, "group": group, "label": label, "node": -1} | empty | more

    def _group(self, category: str, name: str, label: str, style: Style) -> str:
        """Find or make a row of the legend; a module is called as its first call site does."""
        key = f"{category}:{name}"
        self.groups.setdefault(key, {"id": key, "category": category, "name": label} | _look(style))
        return key


def _look(style: Style) -> dict[str, Any]:
    return {"colour": style.colour, "ink": ink(style.colour), "hatch": HATCHES.index(style.hatch)}


def _listed(tags: list[str], separator: str = ", ") -> str:
    return separator.join(dict.fromkeys(tags))
