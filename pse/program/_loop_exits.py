"""Hand-overs at the exits of loops: what is defined in every round, but read elsewhere only after the last.

The same goes for an `if` or `while` by which partitions decide for themselves: the root, which doesn't know
how they have decided, gets whatever each of them has in the end.

Pushed to its readers as it is defined, such a tag would travel in every round for nothing.  So where a loop
ends one thread, which has whatever version is the last, hands it over to those who don't read it inside.  The
readers then need nothing of the loop at all, unless they do for other reasons.

Which thread that is follows from the program alone: it makes the tag inside, and all other versions from
inside that may be the last come to it anyway.  Where there is no such thread, the tag is pushed as it is
defined.  Scalars always are: they are small, and conditions are made of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from pse.language.check import CallSite, For, ResolvedProgram, Swap, Tag, While
from pse.language.types import Element
from pse.program._liveness import Liveness, LoopExit
from pse.program._liveness_solver import analyse_liveness, solve_liveness
from pse.program._placement import Placement, ThreadKey
from pse.program._reaching_definitions import Origins, Reaching
from pse.program._walk import Walk, defined_tags


def analyse_run_liveness(
    program: ResolvedProgram, placement: Placement | None = None, *, together: bool = False
) -> Liveness:
    """Solve liveness as programs are run: with hand-overs at the exits of loops.

    Parameters
    ----------
    program : ResolvedProgram
        A checked program.
    placement : Placement, optional
        Which thread executes what; as the program says if not given.
    together : bool
        Whether every thread follows the loops of the program itself; see `solve_liveness`.

    Returns
    -------
    Liveness
        With what is handed over where each loop ends in `Liveness.exits`.

    Examples
    --------
    >>> liveness = analyse_run_liveness(program)
    >>> [(exit.tag, str(exit.maker)) for exits in liveness.exits.values() for exit in exits]
    [('u', 'thread_B in PARALLEL')]
    """
    pure = analyse_liveness(program, placement)
    exits = _candidates(pure)
    while True:
        live = solve_liveness(pure.walk, pure.placement, pure.tags, exits, together=together)
        useful = tuple(_useful(live, exits))
        if useful == exits:
            return live
        exits = useful


def loop_exit_sites(walk: Walk, tags: Mapping[str, Tag]) -> dict[tuple[int, str], int]:
    """Give what might be handed over where loops end.

    Parameters
    ----------
    walk : Walk
        The program's statements.
    tags : mapping of str to Tag
        The program's, by unique name.

    Returns
    -------
    dict of (int, str) to int
        By the loop's number and the tag's name, the call for which it is counted.

    Examples
    --------
    >>> from pse.program import number_statements
    >>> sorted(loop_exit_sites(number_statements(program), program.tags).items())
    [((3, 'u'), 2), ((3, 'v'), 2)]
    """
    names = SwappedNames(walk)
    found: dict[tuple[int, str], int] = {}
    for step in walk.steps:
        moved = [tag for tag in defined_tags(step.statement) if _is_handed(tags[tag])]
        loops = [around for around in walk.ancestors(step.id) if _ends_once(walk, around)]
        if isinstance(step.statement, CallSite):
            found |= {
                (loop, name): step.statement.id for loop in loops for t in moved for name in names.of(t)
            }
    return found


def _is_handed(tag: Tag) -> bool:
    return not tag.type.scalar or tag.type.element is Element.OBJECT


def _ends_once(walk: Walk, step: int) -> bool:
    """Whether it is a loop whose rounds follow each other, or a branch of the partition's own."""
    is_loop = isinstance(walk.steps[step].statement, For | While) and not walk.is_inflight(step)
    return is_loop or walk.decides_apart(step)


class SwappedNames:
    """The names that a version may come to have by swaps.

    Parameters
    ----------
    walk : Walk
        The program's statements.

    Examples
    --------
    >>> from pse.program import number_statements
    >>> sorted(SwappedNames(number_statements(program)).of("u"))
    ['u', 'v']
    """

    def __init__(self, walk: Walk) -> None:
        self._shared: dict[str, frozenset[str]] = {}
        for step in walk.steps:
            if isinstance(step.statement, Swap):
                together = self.of(step.statement.left) | self.of(step.statement.right)
                self._shared |= dict.fromkeys(together, together)

    def of(self, tag: str) -> frozenset[str]:
        """Give the names of what a tag stands for, its own among them."""
        return self._shared.get(tag, frozenset((tag,)))


def _candidates(live: Liveness) -> tuple[LoopExit, ...]:
    """Find tags that one thread has at a loop's exit, and the others that read them afterwards."""
    counted = loop_exit_sites(live.walk, live.tags)
    if not counted:
        return ()
    reaching = _Last(live)
    reaching.solve()
    found = []
    for loop, known in reaching.at_exits.items():
        for tag in sorted(tag for tag in known if (loop, tag) in counted):
            origins = frozenset((s, name) for s, name, _ in known[tag] if reaching.is_inside(s, loop))
            maker = _maker(live, loop, tag, origins)
            readers = frozenset(k for k, s in live.threads.items() if tag in s.after[loop]) - {maker}
            if maker and readers:
                found.append(LoopExit(loop, tag, counted[loop, tag], maker, readers, origins))
    return tuple(found)


class _Last(Reaching):
    """Which definitions inside a loop may be the last, of the tags that are read after it."""

    def __init__(self, live: Liveness) -> None:
        super().__init__(live)
        self.at_exits: dict[int, Origins] = {}
        loops = {step.id for step in self.walk.steps if _ends_once(self.walk, step.id)}
        self._outermost = {loop for loop in loops if not loops & set(self.walk.ancestors(loop))}

    def leave(self, step: int) -> None:
        super().leave(step)
        if _ends_once(self.walk, step):
            self.at_exits[step] = dict(self.here)
        if step in self._outermost:
            self.here = {}  # It is inside no other loop: what is known would only grow.


def _maker(live: Liveness, loop: int, tag: str, origins: Iterable[tuple[int, str]]) -> ThreadKey | None:
    """Choose the thread that has the last version of a tag where a loop ends.

    Where partitions decide for themselves there must be one: it is handed the versions of others.
    """
    sites = live.walk.sites
    makers = {live.placement.thread_of(sites[site]) for site, _ in origins}
    for key in (key for key in live.placement.keys if key in makers):
        # A root thread has no pieces to give: it has cut them, or was sent them.
        whole = key.region == "parallel" or not live.tags[tag].type.distribution.distributed
        if whole and all(_has(live, key, sites[site], name) for site, name in origins):
            return key
    if live.walk.decides_apart(loop):
        return min(makers, key=live.placement.keys.index, default=None)
    return None


def _has(live: Liveness, key: ThreadKey, site: CallSite, tag: str) -> bool:
    """Whether a thread has what a call makes of a tag, on each of its processors."""
    reduced = any(output.reduction and output.reduction.target == tag for output in site.outputs)
    makes = live.placement.thread_of(site) == key and not reduced
    return makes or key in live.readers(site, tag)


def _useful(live: Liveness, exits: Iterable[LoopExit]) -> Iterator[LoopExit]:
    """Leave out readers that get the tag inside as well, or at the exit of a loop around this one."""
    for handed in exits:
        readers = frozenset(key for key in handed.readers if _waits_for(live, handed, key))
        if readers:
            yield replace(handed, readers=readers)


def _waits_for(live: Liveness, handed: LoopExit, key: ThreadKey) -> bool:
    solved, sites = live.threads[key], live.walk.sites
    inside = all(key in live.readers(sites[site], name) for site, name in handed.origins)
    return not inside and handed.tag in solved.settled[handed.loop] - solved.head[handed.loop]
