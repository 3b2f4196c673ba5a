"""Reaching definitions: which calls a tag may stem from, at every point of a program.

Forwards over `Walk.events` (Aho, Lam, Sethi, Ullman, *Compilers*, section 9.2.4).  Assignments and swaps
define nothing: a scalar that is computed from a tag carries on where the tag came from, and a swap renames.
`build_graph` draws edges from it, `analyse_run_liveness` finds out who has what when a loop ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pse.language.check import Assign, CallSite, For, If, Swap, While
from pse.program._liveness import Liveness
from pse.program._walk import Mark, Role, condition_names, defined_tags, entry_names, read_names

Origin = tuple[int, str, int]
"""A definition: the call's id, the tag's name there, and the loop that brings it round (or `DIRECT`)."""

DIRECT = -1

Origins = Mapping[str, frozenset[Origin]]
"""The definitions that each tag may stem from, at one point of the program."""


class Reaching:
    """Passes forwards until what comes back around the loops does not change.

    At loops and branches, tags that no thread will read are forgotten: what is merged there stays small.
    """

    def __init__(self, liveness: Liveness) -> None:
        self.walk = liveness.walk
        inner = [step.id for step in self.walk.steps if step.blocks]
        self.live_before = {step: liveness.live_anywhere("before", step) for step in inner}
        self.live_after = {step: liveness.live_anywhere("after", step) for step in inner}
        self.live_head = {step: liveness.live_anywhere("head", step) for step in inner}
        self.here: dict[str, frozenset[Origin]] = {}
        self.before: dict[int, Origins] = {}  # by compound statement
        self.back: dict[int, Origins] = {}  # by loop: the end of its body
        self.ends: dict[int, list[Origins]] = {}  # by branch: the ends of its blocks
        self.found: dict[int, Origins] = {}
        self.last = self._last_inside()

    def _last_inside(self) -> dict[int, int]:
        """Give the number of the last statement inside each statement, itself if it is a simple one."""
        last = {step.id: step.id for step in self.walk.steps}
        for step in reversed(self.walk.steps):
            around = self.walk.owner(step.id)
            if around is not None:
                last[around] = max(last[around], last[step.id])
        return last

    def uses(self) -> Iterable[tuple[int, Origins]]:
        """Give what each statement reads and where that may stem from, by number."""
        self.solve()
        return self.found.items()

    def is_inside(self, site: int, loop: int) -> bool:
        """Tell whether a call is inside a loop."""
        return loop < self.walk.step_of_site[site] <= self.last[loop]

    def solve(self) -> None:
        """Pass until nothing changes."""
        known: dict[int, Origins] | None = None
        while known != self.back:
            known = dict(self.back)
            self._pass()

    def _pass(self) -> None:
        self.here = {}
        for event in self.walk.events:
            match event.mark:
                case Mark.STEP_ENTER:
                    self._enter(event.id)
                case Mark.BLOCK_ENTER:
                    self._enter_block(event.id)
                case Mark.BLOCK_LEAVE:
                    self._leave_block(event.id)
                case Mark.STEP_LEAVE:
                    self.leave(event.id)

    def _enter(self, step: int) -> None:
        statement = self.walk.steps[step].statement
        if isinstance(statement, For | While | If):
            self.here = _among(self.here, self.live_before[step])
            self.before[step], self.ends[step] = dict(self.here), []
        if isinstance(statement, For | While):
            self.here = _merged(self.here, self._brought_round(step))
            once = self._known(entry_names(statement), self.before[step])
            self.found[step] = _merged(once, self._known(condition_names(statement), self.here))
        elif not isinstance(statement, Assign):
            self.found[step] = self._known(read_names(statement), self.here)

    def _brought_round(self, loop: int) -> Origins:
        """Mark what comes back from the end of a loop's body, as far as it was defined in there."""

        def marked(origin: Origin) -> Origin:
            site, tag, round_by = origin
            return (site, tag, loop) if round_by == DIRECT and self.is_inside(site, loop) else origin

        return {name: frozenset(map(marked, found)) for name, found in self.back.get(loop, {}).items()}

    def _known(self, names: Iterable[str], state: Origins) -> dict[str, frozenset[Origin]]:
        return {name: state[name] for name in names if state.get(name)}

    def _enter_block(self, block: int) -> None:
        if self.walk.blocks[block].role is Role.OTHERWISE:
            self.here = dict(self.before[self.walk.blocks[block].owner or 0])

    def _leave_block(self, block: int) -> None:
        owner, role = self.walk.blocks[block].owner, self.walk.blocks[block].role
        if owner is None or role is Role.PARALLEL:
            return
        in_flight = self.walk.is_inflight(owner)
        if role is Role.BODY and not in_flight:
            self.back[owner] = _among(self.here, self.live_head[owner])
        self.ends[owner].append({} if in_flight else _among(self.here, self.live_after[owner]))

    def leave(self, step: int) -> None:
        """Pass the end of a statement."""
        match self.walk.steps[step].statement:
            case CallSite() as site:
                self.here |= {tag: frozenset(((site.id, tag, DIRECT),)) for tag in defined_tags(site)}
            case Assign(tag=tag) as assign:
                known = (self.here.get(name, frozenset()) for name in read_names(assign))
                self.here[tag] = frozenset[Origin]().union(*known)
            case Swap(left=left, right=right):
                first, second = self.here.get(left, frozenset()), self.here.get(right, frozenset())
                self.here |= {left: second, right: first}
            case If():
                self.here = _merged(*self.ends[step])
            case For() | While():
                self.here = _unmarked(_merged(self.before[step], *self.ends[step]), step)


def _among(state: Origins, names: Iterable[str]) -> dict[str, frozenset[Origin]]:
    """Keep what is known of some tags."""
    return {name: state[name] for name in names if name in state}


def _unmarked(state: Origins, loop: int) -> dict[str, frozenset[Origin]]:
    """Forget, after a loop, that it brought anything round."""
    return {
        name: frozenset(
            (site, tag, DIRECT if round_by == loop else round_by) for site, tag, round_by in found
        )
        for name, found in state.items()
    }


def _merged(*states: Origins) -> dict[str, frozenset[Origin]]:
    """What may reach a point to which several paths lead."""
    merged: dict[str, frozenset[Origin]] = {}
    for state in states:
        for name, origins in state.items():
            merged[name] = merged.get(name, frozenset()) | origins
    return merged
