"""A program graph as text: for graphviz (``dot``) and for mermaid, which most documentation sites draw.

Both say the same as the picture: calls in the colour of their thread, boxes around loops, branches and
PARALLEL, tags with their distributions on the edges, and at each call the tags that it frees.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pse.language.check import CallSite, For, If, Parallel
from pse.program import Mark, ProgramGraph, Role, display_name, display_names, graph_node, heading_text
from pse.views.core._palette import GREY, colour, darker, ink
from pse.views.graph._measured import Measured


class Piece(NamedTuple):
    """One line of a graph as text: a box that opens (``open``) or closes (``close``), or a ``node``."""

    kind: str
    name: str = ""
    text: tuple[str, ...] = ()
    thread: int | None = None
    parallel: bool = False


def dot(graph: ProgramGraph, measured: Measured) -> str:
    """Write a graph in graphviz's language."""
    lines = [f"digraph {_quoted(graph.name)} {{", "  rankdir=TB", "  compound=true"]
    lines += [
        '  node [shape=box, style="rounded,filled", fontname="Helvetica"]',
        '  edge [fontname="Helvetica"]',
    ]
    depth = 1
    for piece in (*pieces(graph, measured), *_legend(graph)):
        depth -= piece.kind == "close"
        lines += ["  " * depth + line for line in _dot_lines(piece)]
        depth += piece.kind == "open"
    lines += [f"  {line}" for line in _dot_edges(graph, measured)]
    return "\n".join([*lines, "}", ""])


def mermaid(graph: ProgramGraph, measured: Measured) -> str:
    """Write a graph as a mermaid flowchart."""
    lines, depth = ["flowchart TB"], 1
    for piece in (*pieces(graph, measured), *_legend(graph)):
        depth -= piece.kind == "close"
        lines.append("  " * depth + _mermaid_line(piece))
        depth += piece.kind == "open"
    lines += [f"  {line}" for line in _mermaid_edges(graph, measured)]
    for thread, _ in enumerate(graph.placement.keys):
        fill = colour(thread)
        lines.append(f"  classDef t{thread} fill:{fill},stroke:{darker(fill)},color:{ink(fill)}")
    return "\n".join([*lines, f"  classDef control fill:#FFFFFF,stroke:{GREY},color:#000000", ""])


def pieces(graph: ProgramGraph, measured: Measured) -> Iterator[Piece]:
    """Give the boxes and nodes in the order of the program, boxes without any call left out."""
    walked = graph.walk
    calls = [step.id for step in walked.steps if isinstance(step.statement, CallSite)]
    drawn = {around for step in calls for around in walked.ancestors(step)}
    holding = {walked.steps[step].block for step in (*calls, *drawn)}
    for event in walked.events:
        if event.mark in (Mark.STEP_ENTER, Mark.STEP_LEAVE):
            if event.id in drawn:
                yield from _box(graph, event.id, event.mark is Mark.STEP_ENTER)
            elif event.mark is Mark.STEP_ENTER and event.id in calls:
                yield _node(graph, event.id, measured)
        elif event.id in holding and walked.blocks[event.id].role in (Role.THEN, Role.OTHERWISE):
            yield from _branch(graph, event.id, event.mark is Mark.BLOCK_ENTER)


def _box(graph: ProgramGraph, step: int, opens: bool) -> Iterator[Piece]:
    if not opens:
        yield Piece("close")
        return
    statement = graph.walk.steps[step].statement
    lines, freed = [heading_text(statement, graph.tags)], graph.liveness.frees_at_exit(step)
    lines += [f"then frees {display_names(freed, graph.tags)}"] if freed else []
    yield Piece("open", f"step{step}", tuple(lines), parallel=isinstance(statement, Parallel))
    if graph_node(graph.walk, step) in graph.nx:
        yield Piece("node", f"c{step}", ("bounds" if isinstance(statement, For) else "condition",))


def _branch(graph: ProgramGraph, block: int, opens: bool) -> Iterator[Piece]:
    """Draw boxes for the branches of an ``if`` that has both."""
    walked = graph.walk
    owner = walked.steps[walked.blocks[block].owner or 0]
    if not isinstance(owner.statement, If) or not owner.statement.otherwise:
        return
    freed = graph.liveness.frees_at_entry(block)
    lines = ["then" if walked.blocks[block].role is Role.THEN else "else"]
    lines += [f"frees {display_names(freed, graph.tags)} on entry"] if freed else []
    yield Piece("open", f"block{block}", tuple(lines)) if opens else Piece("close")


def _node(graph: ProgramGraph, step: int, measured: Measured) -> Piece:
    site = graph.walk.steps[step].statement
    assert isinstance(site, CallSite)
    data = graph.nx.nodes[site.id]
    lines = [site.label, f"{data['thread']} · line {graph.walk.line(site)}"]
    lines += [f"frees {display_names(data['frees'], graph.tags)}"] if data["frees"] else []
    lines += filter(None, [measured.calls.get(site.id)])
    return Piece("node", f"n{site.id}", tuple(lines), graph.placement.keys.index(data["key"]))


def _legend(graph: ProgramGraph) -> Iterator[Piece]:
    yield Piece("open", "legend", ("threads",))
    for number, key in enumerate(graph.placement.keys):
        yield Piece("node", f"thread{number}", (str(key),), number)
    yield Piece("close")


def _edges(graph: ProgramGraph, measured: Measured) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Give source, target, label and attributes of each edge."""
    for source, target, data in graph.nx.edges(data=True):
        name, before = display_name(data["tag"], graph.tags), display_name(data["source_tag"], graph.tags)
        label = name if name == before else f"{before} ⇄ {name}"
        scalar = "[" not in data["type"] and data["distribution"] in ("@ replicated", "@ root")
        label += "" if scalar else f" {data['distribution']}"
        label += " (in place)" if data["inout"] else ""
        moved = measured.tags.get((source, before))
        label += f" · {moved}" if moved else ""
        end = f"n{target}" if isinstance(target, int) else f"c{graph.nx.nodes[target]['step']}"
        yield f"n{source}", end, label, data


def _dot_lines(piece: Piece) -> list[str]:
    label = _quoted("\n".join(piece.text))
    if piece.kind == "close":
        return ["}"]
    if piece.kind == "open":
        style = 'style="rounded,filled", fillcolor="#EDEFF2"' if piece.parallel else 'style="rounded,dashed"'
        return [f"subgraph cluster_{piece.name} {{", f"  graph [label={label}, labeljust=l, {style}]"]
    fill = "#FFFFFF" if piece.thread is None else colour(piece.thread)
    return [f'{piece.name} [label={label}, fillcolor="{fill}", fontcolor="{ink(fill)}"]']


def _dot_edges(graph: ProgramGraph, measured: Measured) -> Iterator[str]:
    for source, end, label, data in _edges(graph, measured):
        place = graph.placement.keys.index(graph.nx.nodes[int(source[1:])]["key"])
        style = ["style=dashed", "constraint=false"] if data["loop"] is not None else []
        style += ["penwidth=2"] if data["crosses"] else []
        style += ["arrowhead=diamond"] if data["inout"] else []
        given = ", ".join([f"label={_quoted(label)}", f'color="{darker(colour(place))}"', *style])
        yield f"{source} -> {end} [{given}]"


def _mermaid_line(piece: Piece) -> str:
    label = '"' + "<br/>".join(map(_escaped, piece.text)) + '"'
    if piece.kind == "close":
        return "end"
    if piece.kind == "open":
        return f"subgraph {piece.name}[{label}]"
    return f"{piece.name}({label}):::{'control' if piece.thread is None else f't{piece.thread}'}"


def _mermaid_edges(graph: ProgramGraph, measured: Measured) -> Iterator[str]:
    for source, end, label, data in _edges(graph, measured):
        arrow = "-.->" if data["loop"] is not None else "==>" if data["crosses"] else "-->"
        yield f'{source} {arrow}|"{_escaped(label)}"| {end}'


def _quoted(text: str) -> str:
    """Quote a string for graphviz."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _escaped(text: str) -> str:
    """Write what mermaid would take for its own as character codes."""
    return "".join(character if character not in '#"<>&`\\' else f"#{ord(character)};" for character in text)
