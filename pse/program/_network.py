"""The program graph: call sites joined by the tags that flow between them, as a networkx graph.

`build_graph` follows each tag from the calls that define it to the calls, loops and branches that read it
(`Reaching`).  Assignments and swaps are not nodes.  `pse.views.graph` and the advisor work on the result.
"""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx

from pse.language.check import CallSite, ResolvedProgram, Tag
from pse.language.types import Type, render_distribution, render_shape
from pse.program._labels import heading_text
from pse.program._liveness import Liveness
from pse.program._liveness_solver import analyse_liveness
from pse.program._placement import Placement, ThreadKey
from pse.program._reaching_definitions import DIRECT, Origins, Reaching
from pse.program._walk import Walk, inouts_of
from pse.records import dataclass


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

    See Also
    --------
    build_graph

    Examples
    --------
    >>> graph = build_graph(program)
    >>> graph.nx.number_of_nodes(), graph.placement.ranks(2)
    (6, 5)
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


def build_graph(program: ResolvedProgram) -> ProgramGraph:
    """Make the graph of a program; nothing is run.

    Parameters
    ----------
    program : ResolvedProgram
        A checked program.

    Returns
    -------
    ProgramGraph
        Call sites joined by the tags that flow between them.

    Examples
    --------
    >>> import networkx as nx
    >>> program = ResolvedProgram("empty", "empty.coven", "", (), (), (), {}, ())
    >>> build_graph(program).nx.number_of_nodes()
    0
    """
    liveness = analyse_liveness(program)
    graph = nx.MultiDiGraph(name=program.name)
    for site in liveness.walk.sites:
        graph.add_node(site.id, **_call_attributes(site, liveness))
    for step, origins in Reaching(liveness).uses():
        _add_uses(graph, liveness, step, origins)
    return ProgramGraph(program.name, graph, liveness.placement, liveness)


def graph_node(walked: Walk, step: int) -> int | str:
    """Give the key in the graph of a call site's, a loop's or a branch's statement.

    Parameters
    ----------
    walked : Walk
        The program's statements.
    step : int
        The statement's number.

    Returns
    -------
    int or str
        `CallSite.id`, or ``step N``.

    Examples
    --------
    >>> from pse.program import number_statements
    >>> walk = number_statements(program)
    >>> [graph_node(walk, step.id) for step in walk.steps if step.id >= 5]
    [1, 2, 'step 7', 3, 4]
    """
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
    target = graph_node(liveness.walk, step)
    edges = sorted((*origin, name) for name, found in origins.items() for origin in found)
    if edges and target not in graph:
        label = heading_text(statement, liveness.tags)
        graph.add_node(target, kind="control", label=label, span=statement.span, step=step)
    changed = inouts_of(statement) if isinstance(statement, CallSite) else frozenset[str]()
    for source, tag, loop, name in edges:
        kind = _type_of(liveness, source, tag)
        graph.add_edge(
            source,
            target,
            tag=name,
            source_tag=tag,
            type=f"{kind.element.label if kind.element else 'T'}{render_shape(kind)}",
            distribution=render_distribution(kind.distribution),
            crosses=graph.nodes[source]["key"] != graph.nodes[target].get("key", graph.nodes[source]["key"]),
            inout=name in changed,
            loop=None if loop == DIRECT else loop,
        )


def _type_of(liveness: Liveness, site: int, tag: str) -> Type:
    """The type of a tag as a call defines it; its declared one for in-outs and reductions."""
    statement = liveness.walk.steps[liveness.walk.step_of_site[site]].statement
    outputs = statement.outputs if isinstance(statement, CallSite) else ()
    return next((output.type for output in outputs if output.tag == tag), liveness.tags[tag].type)
