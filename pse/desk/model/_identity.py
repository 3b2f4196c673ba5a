"""Names of nodes and frames that stay over edits: what did not change keeps its id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher

from pse.desk.model._elements import Element
from pse.desk.model._text import change_between

_MOST = 1000
"""Elements beside the change that are compared in order; of more, only those that are alike are found."""


class Names:
    """Gives ids to the elements of one text after the other.

    See Also
    --------
    perform
    """

    def __init__(self) -> None:
        self._text = ""
        self._known: list[Element] = []
        self._last = 0

    def copy(self) -> Names:
        """Give the same state, for texts that are perhaps not taken."""
        made = Names()
        made._text, made._known, made._last = self._text, self._known, self._last
        return made

    def give(self, text: str, elements: Sequence[Element]) -> None:
        """Give each element the id of the one that it was in the text before, or a new one."""
        kept = self._at_same_place(text, elements)
        rest = [e for e in elements if e not in kept]
        taken = set(kept.values())
        lost = [e for e in self._known if e.id not in taken]
        kept |= _alike(lost, rest)
        for element in elements:
            element.id = kept.get(element) or self._new(element)
        self._text, self._known = text, list(elements)

    def _new(self, element: Element) -> str:
        self._last += 1
        return f"{'f' if element.block is not None else 'n'}{self._last}"

    def _at_same_place(self, text: str, elements: Sequence[Element]) -> dict[Element, str]:
        """Find the elements that begin before or behind what changed."""
        before, behind, end = change_between(self._text, text)
        there = {(element.start, element.kind): element for element in elements}
        kept = {}
        for element in self._known:
            start = element.start if element.start < before else element.start + end - behind
            if before <= element.start < behind:
                continue
            if (found := there.get((start, element.kind))) is not None and found.label == element.label:
                kept[found] = element.id
        return kept


def _alike(old: Sequence[Element], new: Sequence[Element]) -> dict[Element, str]:
    """Pair what is called alike in the same order, then in any order, then what is of one kind in order."""
    kept: dict[Element, str] = {}
    if max(len(old), len(new), 1) <= _MOST:
        matcher = SequenceMatcher(None, [_key(e) for e in old], [_key(e) for e in new], autojunk=False)
        for one, other, length in matcher.get_matching_blocks():
            kept |= {new[other + i]: old[one + i].id for i in range(length)}
    for key in (_key, lambda element: (element.kind,)):
        taken, waiting = set(kept.values()), defaultdict(list)
        for element in old:
            if element.id not in taken:
                waiting[key(element)].append(element.id)
        for element in new:
            if element not in kept and waiting[key(element)]:
                kept[element] = waiting[key(element)].pop(0)
    return kept


def _key(element: Element) -> tuple[str, ...]:
    return element.kind, element.label
