"""The graph as data for the page: frames, nodes with ports, edges, items and diagnostics.

Offsets are those of JavaScript, which counts characters beyond the basic plane twice.
"""

from __future__ import annotations

import functools
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pse.desk.model._call_edits import behind_shape
from pse.desk.model._elements import Element, heads
from pse.desk.model._flow import Flow, names
from pse.desk.model._ports import Port, tag_type
from pse.desk.model._program import ProgramModel
from pse.language import Diagnostic, Span
from pse.language.syntax import ast as sx
from pse.language.types import (
    Type,
    render_distribution,
    render_expression,
    render_shape,
)
from pse.modules import module_comment

Json = dict[str, Any]

_MOST_TYPES = 4096
"""Types that are kept with their texts, since one graph follows another."""


class Offsets:
    """Turns offsets of a text into the page's, and back.

    Parameters
    ----------
    text : str
        The text.

    Examples
    --------
    >>> from pse.desk.model import Offsets
    >>> Offsets("𝄞 = 1").shown(2), Offsets("𝄞 = 1").own(3)
    (3, 2)
    """

    def __init__(self, text: str) -> None:
        self._wide = [] if text.isascii() else [i for i, c in enumerate(text) if ord(c) > 0xFFFF]
        self._shown = [place + number for number, place in enumerate(self._wide)]

    def shown(self, offset: int) -> int:
        """Give an offset as the page counts."""
        return offset + bisect_left(self._wide, offset)

    def own(self, offset: int) -> int:
        """Give an offset of the page as the text counts."""
        return offset - bisect_left(self._shown, offset)

    def range(self, start: int, end: int) -> Json:
        """Give a range for the page."""
        return {"start": self.shown(start), "end": self.shown(end)}


class GraphWriter:
    """Writes the parts of a program's graph.

    Parameters
    ----------
    model : ProgramModel
        The program.
    root : str
        The directory to which paths are relative.
    """

    def __init__(self, model: ProgramModel, root: str) -> None:
        self.model, self.text, self.root = model, model.text, root
        self.offsets = Offsets(model.text)
        self.frames = [element for element in model.elements if element.block is not None]
        self.nodes = [element for element in model.elements if element.block is None]
        self.diagnostics = model.analysis.inspection.diagnostics

    def graph(self, version: int | None) -> Json:
        """Give the whole graph."""
        return {
            "frames": [self.frame(element) for element in self.frames],
            "nodes": [self.node(element) for element in self.nodes],
            "edges": [self.edge(flow) for flow in self.model.flows],
            "diagnostics": [self.diagnostic(diagnostic) for diagnostic in self.diagnostics],
            **self.rest(version),
        }

    def rest(self, version: int | None) -> Json:
        """Give what is told of the program as a whole."""
        model = self.model
        program = next((f for f in model.frames if f.kind == "program"), None)
        threads = set(model.threads.values()) - {None}
        return {
            "version": version,
            "name": self.text.of(program.node.name.span) if program else None,  # type: ignore[union-attr]
            "correct": model.analysis.inspection.program is not None,
            "parsed": model.parsed,
            "threads": sorted(threads),
            **self.items(),
        }

    def span(self, span: Span | None) -> Json | None:
        return self.offsets.range(*self.text.range(span)) if span is not None else None

    def _place(self, element: Element) -> Json:
        line, column = self.text.place(element.start)
        where = self.offsets.range(element.start, element.end)
        return {"span": where, "line": line, "column": column}

    # Frames and nodes.

    def frame(self, element: Element) -> Json:
        """Give a frame."""
        written = heads(element.node).items()
        fields = {name: self._field(self.text.range(span) if span else None) for name, span in written}
        node = element.node
        inputs, outputs = [], []
        if isinstance(node, sx.Segment):
            inputs = [self.field(f, "in") for f in node.inputs]
            outputs = [self.field(f, "out") for f in node.outputs]
        elif isinstance(node, sx.For | sx.While | sx.If):
            read = {f: list(dict.fromkeys(n.id for n in names(getattr(node, f)))) for f in fields}
            inputs = [{"name": f, "tags": tags} for f, tags in read.items() if tags]
        return {
            "id": element.id,
            "kind": element.kind,
            "parent": element.frame.id if element.frame else None,
            "label": element.label,
            **self._place(element),
            "fields": fields,
            "inputs": inputs,
            "outputs": outputs,
        }

    def field(self, field: sx.Field, direction: str) -> Json:
        written = self.text.of(field.type.span)
        kind, _, where = written.partition("@")
        return {
            "name": field.name.id,
            "direction": direction,
            "tag": field.name.id,
            "text": field.name.id,
            "type": kind.strip(),
            "distribution": f"@{where}" if where else "",
            "required": True,
            "span": self.span(field.span),
            "default": None,
            **self._tag(tag_type(field.name, self.model.drawn)),
        }

    def node(self, element: Element) -> Json:
        """Give a node."""
        call, node = element.call, element.node
        reference = self.model.drawn.module(element.called) if call else None
        segment = self.model.is_segment(element)
        inputs, outputs = self.model.ports(element)
        if isinstance(node, sx.Break):
            shown, made = [], []
        elif call is None:
            shown = [self.value_input(name) for name in self._read(node)]
            made = [self.value_output(node)]
        else:
            shown, made = [self.input(p) for p in inputs], [self.output(p) for p in outputs]
        return {
            "id": element.id,
            "kind": "segment" if segment else element.kind,
            "label": element.label,
            "module": element.called if call else None,
            "language": reference.language if reference else None,
            "source": self.source(reference) if reference and reference.source else None,
            "doc": module_comment(reference) if reference else "",
            "frame": element.frame.id if element.frame else None,
            "thread": self.model.thread(element),
            "labelled": isinstance(node, sx.Call) and node.label is not None,
            "call": isinstance(node, sx.Call) and not segment and not self.model.is_swap(element),
            "text": self.text[element.start : element.end],
            **self._place(element),
            **({"fields": self.value_fields(node)} if element.kind in ("let", "var", "assign") else {}),
            "inputs": shown,
            "outputs": made,
        }

    def source(self, reference: Any) -> Json:
        path = Path(reference.source)
        shown = path.relative_to(self.root) if path.is_relative_to(self.root) else path
        return {"path": shown.as_posix(), "line": reference.line, "uri": path.as_uri()}

    def value_fields(self, node: Any) -> Json:
        """Give the parts of a let, a var or an assignment."""
        spans = {"name": self.text.range(node.name.span)}
        if isinstance(node, sx.Var):
            spans["type"] = self.text.range(node.type.span)[0], behind_shape(self.model, node.type)
            if (written := node.type.distribution) is not None:  # Without its `@`.
                spans["distribution"] = (
                    self.text.range(written.pattern.span)[0],
                    self.text.range(written.span)[1],
                )
        if node.value is not None and node.value.span is not None:
            spans["value"] = self.text.range(node.value.span)
        names = ("name", "type", "distribution", "value") if isinstance(node, sx.Var) else ("name", "value")
        return {name: self._field(spans.get(name)) for name in names}

    def _field(self, place: tuple[int, int] | None) -> Json:
        if place is None:
            return {"text": None, "span": None}
        return {"text": self.text[place[0] : place[1]], "span": self.offsets.range(*place)}

    # Ports.

    def _read(self, node: Any) -> Iterator[Any]:
        yield from {name.id: name for name in names(node.value)}.values()

    def value_input(self, name: Any) -> Json:
        identifier = sx.Identifier(name.id, name.span)
        return {
            "name": name.id,
            "direction": "in",
            "type": None,
            "distribution": "",
            "required": True,
            "default": None,
            "text": name.id,
            "span": self.span(name.span),
            "tag": name.id,
            **self._tag(tag_type(identifier, self.model.drawn)),
        }

    def value_output(self, node: Any) -> Json:
        written = node.type.distribution if isinstance(node, sx.Var) else None
        return {
            "name": node.name.id,
            "direction": "out",
            "type": None,
            "text": node.name.id,
            "span": self.span(node.name.span),
            "tag": node.name.id,
            "reduce": None,
            "written": self.text.of(written.span) if written else None,
            **self._tag(tag_type(node.name, self.model.drawn)),
        }

    def input(self, port: Port) -> Json:
        value = port.argument.value if port.argument else None
        name = next(names(value), None)
        whole = name is not None and value is name
        return {
            **self._port(port),
            "required": not port.optional,
            "default": render_expression(port.default) if port.default is not None else None,
            "text": self.text.of(value.span) if value is not None and value.span else None,
            "span": self.span(value.span if value is not None else None),
            "tag": name.id if whole and name else None,
            **self._tag(
                tag_type(sx.Identifier(name.id, name.span), self.model.drawn)
                if whole and name and name.span
                else None
            ),
        }

    def output(self, port: Port) -> Json:
        output = port.output
        if output is None:
            return {**self._port(port), "text": None, "span": None, "tag": None, "written": None} | {
                "reduce": None,
                **self._tag(None),
            }
        reduced = output.reduction
        return {
            **self._port(port),
            "text": self._named(output),
            "span": self.span(output.span),
            "tag": output.name.id,
            "written": self.text.of(output.distribution.span) if output.distribution else None,
            "reduce": {"target": reduced.target.id, "operation": reduced.operation.id} if reduced else None,
            **self._tag(tag_type(output.name, self.model.drawn)),
        }

    def _named(self, output: sx.OutputNode) -> str | None:
        """Give the name of an output as it is written, with its index."""
        index = output.index
        if index is None or index.span is None:
            return output.name.id
        return f"{output.name.id}[{self.text.of(index.span)}]"

    def _port(self, port: Port) -> Json:
        kind = port.type
        return {
            "name": port.name,
            "direction": port.direction,
            "type": _element_and_shape(kind) if kind else None,
            "distribution": render_distribution(kind.distribution) if kind else "",
        }

    def _tag(self, kind: Type | None) -> Json:
        if kind is None:
            return {"tagType": None, "tagDistribution": ""}
        return {"tagType": _element_and_shape(kind), "tagDistribution": _where(kind)}

    # Edges.

    def edge(self, flow: Flow) -> Json:
        """Give an edge."""
        source, target = flow.source.element, flow.target
        tag = self._tag(self.model.drawn.type_of(flow.symbol))
        return {
            "from": {"id": source.id, "port": flow.source.port},
            "to": {"id": target.id, "port": flow.port},
            "tag": flow.symbol.name,
            "type": tag["tagType"],
            "distribution": tag["tagDistribution"],
            "crosses": self.crosses(source, target),
            "loop": flow.source.loop.id if flow.source.loop else None,
        }

    def crosses(self, source: Element, target: Element) -> bool:
        """Whether a tag goes to another thread, or into PARALLEL or out of it."""
        threads = self.model.thread(source), self.model.thread(target)
        return None not in threads and (threads[0] != threads[1] or source.parallel != target.parallel)

    # Items.

    def items(self) -> Json:
        model, text = self.model, self.text
        entries = [e for item in model.items(sx.Options) for e in item.entries]  # type: ignore[union-attr]
        return {
            "parameters": [self.parameter(item) for item in model.items(sx.Param)],
            "imported_parameters": self.imported_parameters(),
            "partitions": [self.partition(item) for item in model.items(sx.PartitionNode)],
            "options": [
                {
                    "name": e.name.id,
                    "thread": e.thread.id if e.thread else None,
                    "value": text.of(e.value_span),
                    "span": self.span(e.span),
                }
                for e in entries
            ],
            "imports": [self.imported(item) for item in model.items(sx.Import)],
            "segments": [
                {"name": text.of(f.node.name.span), "frame": f.id}  # type: ignore[union-attr]
                for f in model.frames
                if f.kind == "segment"
            ],
        }

    def parameter(self, item: Any) -> Json:
        return {
            "name": item.name.id,
            "type": item.element.id,
            "default": self.text.of(item.default.span) if item.default is not None else None,
            "where": self.text.of(item.where.span) if item.where is not None else None,
            "live": item.live,
            "span": self.span(item.span),
            "line": item.span.line,
        }

    def imported_parameters(self) -> list[Json]:
        """Give the parameters of files that are imported, which a run can set, too."""
        program, path = self.model.analysis.inspection.program, self.model.analysis.path
        return [
            {
                "name": p.name,
                "type": p.element.label,
                "default": render_expression(p.default) if p.default is not None else None,
            }
            for p in (program.parameters if program is not None else ())
            if p.span.path != path
        ]

    def partition(self, item: Any) -> Json:
        grid = ", ".join(self.text.of(extent.span) for extent in item.grid)
        return {
            "name": item.name.id,
            "count": self.text.of(item.count.span),
            "grid": grid or None,
            "span": self.span(item.span),
            "line": item.span.line,
        }

    def imported(self, item: Any) -> Json:
        named = [(local.alias or local.name).id for local in item.names] if item.names is not None else None
        alias = item.alias.id if item.alias else None
        return {"path": item.path, "alias": alias, "names": named, "span": self.span(item.span)}

    # Diagnostics.

    def diagnostic(self, diagnostic: Diagnostic) -> Json:
        """Give a diagnostic."""
        return diagnostic_json(diagnostic, self.root) | {
            "span": self.span(diagnostic.span) if diagnostic.span.path == self.model.analysis.path else None,
            "node": self.holder(diagnostic),
        }

    def holder(self, diagnostic: Diagnostic) -> str | None:
        """Give the id of the innermost node or frame that a diagnostic is about."""
        if diagnostic.span.path != self.model.analysis.path:
            return None
        found = self.model.innermost(self.text.range(diagnostic.span)[0])
        return found.id if found is not None else None


def diagnostic_json(diagnostic: Diagnostic, root: str) -> Json:
    """Give a diagnostic as data for JSON, without its offsets.

    Parameters
    ----------
    diagnostic : Diagnostic
        The diagnostic.
    root : str
        The directory to which paths are relative.

    Returns
    -------
    dict
        Its severity, code, message, help and places.

    Examples
    --------
    >>> from pse.desk.model import diagnostic_json
    >>> told = diagnostic_json(wrong.diagnostics[0], "/")
    >>> told["code"], told["path"], told["line"], told["column"]
    ('E0201', 'wrong.coven', 3, 15)
    """

    def place(span: Span) -> Json:
        path = Path(span.path)
        inside = path.is_absolute() and path.is_relative_to(root)
        shown = path.relative_to(root).as_posix() if inside else span.path
        return {"path": shown, "line": span.line, "column": span.column}

    return {
        "severity": diagnostic.severity.value,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "help": diagnostic.help,
        **place(diagnostic.span),
        "related": [{"message": text, **place(span)} for span, text in diagnostic.notes],
    }


@functools.lru_cache(maxsize=_MOST_TYPES)
def _element_and_shape(kind: Type) -> str:
    element = kind.element.label if kind.element else "T"
    return f"{element}{render_shape(kind, display=_own)}"


@functools.lru_cache(maxsize=_MOST_TYPES)
def _where(kind: Type) -> str:
    plain = kind.scalar and not kind.distribution.distributed
    return "" if plain else render_distribution(kind.distribution, display=_own)


def _own(name: str) -> str:
    """Give a name as the user wrote it, without the segment's use that it is of."""
    return name.split(".")[-1]
