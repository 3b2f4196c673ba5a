"""The program graph: call sites joined by the tags that flow between them, as a networkx graph.

`build` follows each tag from the calls that define it to the calls, loops and branches that read it (reaching
definitions, forwards over `Walk.events`).  Assignments and swaps are no nodes: a scalar that is computed
from a tag carries on where the tag came from, and a swap renames.  `pictures` and the advisor work on the
result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import networkx as nx

from pse.graph.liveness import Liveness, analyse
from pse.graph.placement import Placement, ThreadKey
from pse.graph.texts import distribution_text, heading, type_text
from pse.graph.walk import Mark, Role, Walk, condition_names, defined, entry_names, inouts_of, read_names
from pse.language.resolved import Assign, CallSite, For, If, ResolvedProgram, Swap, Tag, While
from pse.language.types import Type

Origin = tuple[int, str, int]
"""A definition: the call's id, the tag's name there, and the loop that brings it round (or `DIRECT`)."""

DIRECT = -1

Origins = Mapping[str, frozenset[Origin]]
"""The definitions that each tag may stem from, at one point of the program."""


@dataclass(frozen=True)
class ProgramGraph:
    """A program as a graph.

    Attributes
    ----------
    name : str
        The program's name.
    nx : networkx.MultiDiGraph
        Nodes are call sites (key: `CallSite.id`) and those loops and branches whose bounds or condition
        read what a call made (key: ``"step N"``, N the number in `walk`).  All have ``kind`` (``"call"``,
        ``"control"``), ``label``, ``span`` and ``step``; call sites also ``thread`` (label), ``region``,
        ``key`` (`ThreadKey`), ``partition`` and ``frees`` (names of tags whose buffers nobody needs
        afterwards).  An edge runs from a definition to a use, with ``tag`` (name at the use),
        ``source_tag`` (name at the definition; another one after a swap), ``type`` and ``distribution``
        (texts), ``crosses`` (another thread uses it), ``inout`` (the use changes it in place) and
        ``loop`` (the number of the loop that brings it from one iteration to the next; None if none does).
    placement : Placement
        Threads and their ranks.
    liveness : Liveness
        Who reads what, until when; `Liveness.walk` numbers the statements.
    """

    name: str
    nx: nx.MultiDiGraph
    placement: Placement
    liveness: Liveness

    @property
    def walk(self) -> Walk:
        """The numbered statements."""
        return self.liveness.walk

    @property
    def tags(self) -> Mapping[str, Tag]:
        """The program's tags by unique name."""
        return self.liveness.tags


def build(program: ResolvedProgram) -> ProgramGraph:
    """Make the graph of a program; nothing is run.

    Examples
    --------
    >>> import networkx as nx
    >>> program = ResolvedProgram("empty", "empty.coven", "", (), (), (), {}, ())
    >>> build(program).nx.number_of_nodes()
    0
    """
    liveness = analyse(program)
    graph = nx.MultiDiGraph(name=program.name)
    for site in liveness.walk.sites:
        graph.add_node(site.id, **_call_attributes(site, liveness))
    for step, origins in _Flow(liveness).uses():
        _add_uses(graph, liveness, step, origins)
    return ProgramGraph(program.name, graph, liveness.placement, liveness)


def node_of(walked: Walk, step: int) -> int | str:
    """Give the key in the graph of a call site's, a loop's or a branch's statement."""
    statement = walked.steps[step].statement
    return statement.id if isinstance(statement, CallSite) else f"step {step}"


def _call_attributes(site: CallSite, liveness: Liveness) -> dict[str, object]:
    key: ThreadKey = liveness.placement.thread_of(site)
    return {
        "kind": "call",
        "label": site.label,
        "span": site.span,
        "step": liveness.walk.step_of_site[site.id],
        "thread": key.label,
        "region": key.region,
        "key": key,
        "partition": site.partition,
        "frees": tuple(sorted(liveness.frees(site))),
    }


def _add_uses(graph: nx.MultiDiGraph, liveness: Liveness, step: int, origins: Origins) -> None:
    """Draw the edges into one statement; a loop or branch that reads what calls made becomes a node."""
    statement = liveness.walk.steps[step].statement
    target = node_of(liveness.walk, step)
    edges = sorted((*origin, name) for name, found in origins.items() for origin in found)
    if edges and target not in graph:
        label = heading(statement, liveness.tags)
        graph.add_node(target, kind="control", label=label, span=statement.span, step=step)
    changed = inouts_of(statement) if isinstance(statement, CallSite) else frozenset[str]()
    for source, tag, loop, name in edges:
        kind = _type_of(liveness, source, tag)
        graph.add_edge(
            source,
            target,
            tag=name,
            source_tag=tag,
            type=type_text(kind),
            distribution=distribution_text(kind.distribution),
            crosses=graph.nodes[source]["key"] != graph.nodes[target].get("key", graph.nodes[source]["key"]),
            inout=name in changed,
            loop=None if loop == DIRECT else loop,
        )


def _type_of(liveness: Liveness, site: int, tag: str) -> Type:
    """The type of a tag as a call defines it; its declared one for in-outs and reductions."""
    statement = liveness.walk.steps[liveness.walk.step_of_site[site]].statement
    outputs = statement.outputs if isinstance(statement, CallSite) else ()
    return next((output.type for output in outputs if output.tag == tag), liveness.tags[tag].type)


class _Flow:
    """Reaching definitions: passes forwards until what comes back around the loops does not change.

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
        known: dict[int, Origins] | None = None
        while known != self.back:
            known = dict(self.back)
            self._pass()
        return self.found.items()

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
                    self._leave(event.id)

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
        last = self.last[loop]

        def marked(origin: Origin) -> Origin:
            site, tag, round_by = origin
            inside = loop < self.walk.step_of_site[site] <= last
            return (site, tag, loop) if inside and round_by == DIRECT else origin

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
        statement = self.walk.steps[owner].statement
        in_flight = isinstance(statement, For) and statement.inflight is not None
        if role is Role.BODY and not in_flight:
            self.back[owner] = _among(self.here, self.live_head[owner])
        self.ends[owner].append({} if in_flight else _among(self.here, self.live_after[owner]))

    def _leave(self, step: int) -> None:
        match self.walk.steps[step].statement:
            case CallSite() as site:
                self.here |= {tag: frozenset(((site.id, tag, DIRECT),)) for tag in defined(site)}
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
