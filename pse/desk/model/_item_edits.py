"""Edits at the head of a program: parameters, partitions, options, imports."""

from __future__ import annotations

from pse.desk.model._call_edits import Edits
from pse.desk.model._fields import Operation, optional_text, text_of
from pse.desk.model._placing import insert_item, removed
from pse.desk.model._program import ProgramModel
from pse.desk.model._text import Edit
from pse.errors import UsageError
from pse.language import Span
from pse.language.syntax import ast as sx, require_name
from pse.text import free_name


def _item(model: ProgramModel, kind: type, name: str, what: str) -> sx.Item:
    for item in model.items(kind):
        written = item.path if isinstance(item, sx.Import) else item.name.id  # type: ignore[union-attr]
        if written == name:
            return item
    raise UsageError(f"there is no {what} {name}", help="load the graph again")


def _end(model: ProgramModel, span: Span | None) -> int:
    assert span is not None
    return model.text.range(span)[1]


def set_parameter(model: ProgramModel, operation: Operation) -> Edits:
    """Change the type, the default or the condition of a parameter."""
    item = _item(model, sx.Param, text_of(operation, "name"), "parameter")
    assert isinstance(item, sx.Param)
    field, value = operation.get("field"), optional_text(operation, "value")
    name, end = _end(model, item.name.span), _end(model, item.span)
    middle = _end(model, item.default.span) if item.default is not None else name
    if field == "type" and value:
        return [Edit(*model.text.range(item.element.span), value)]
    if field == "default":
        return [Edit(name, middle, f" = {value}" if value else "")]
    if field == "where":
        return [Edit(middle, end, " live" * item.live + (f" where {value}" if value else ""))]
    raise UsageError(f"a parameter needs a {field}", help="give a text for it")


def set_partition(model: ProgramModel, operation: Operation) -> Edits:
    """Change the count or the grid of a partition."""
    item = _item(model, sx.PartitionNode, text_of(operation, "name"), "partition")
    assert isinstance(item, sx.PartitionNode)
    field, value = operation.get("field"), optional_text(operation, "value")
    count, end = _end(model, item.count.span), _end(model, item.span)
    if field == "count" and value:
        assert item.count.span is not None
        return [Edit(*model.text.range(item.count.span), value)]
    if field == "grid":
        return [Edit(count, end, f" as grid({value})" if value else "")]
    raise UsageError(f"a partition needs a {field}", help="give a text for it")


def set_option(model: ProgramModel, operation: Operation) -> Edits:
    """Set, add or remove an option."""
    name, thread = text_of(operation, "name"), optional_text(operation, "thread")
    value = optional_text(operation, "value")
    blocks = [item for item in model.items(sx.Options) if isinstance(item, sx.Options)]
    for entry in (entry for block in blocks for entry in block.entries):
        if entry.name.id == name and (entry.thread.id if entry.thread else None) == thread:
            if value:
                return [Edit(*model.text.range(entry.value_span), value)]
            return [removed(model.text, *model.text.range(entry.span))]
    if not value:
        return []
    new = f"{name} {thread} = {value}" if thread else f"{name} = {value}"
    if not blocks:
        return [insert_item(model, sx.Options, f"options {{ {new} }}")]
    return [_new_entry(model, blocks[-1], new)]


def _new_entry(model: ProgramModel, block: sx.Options, new: str) -> Edit:
    """Put an option behind the last one of its block, on a line of its own if that one is."""
    text = model.text
    start, end = text.range(block.span)
    if not block.entries:
        return Edit(text.index("{", start) + 1, end - 1, f" {new} ")
    first, place = text.range(block.entries[-1].span)
    if text.leads(first):
        place = text.line_end(place) or place
        return Edit(place, place, f"\n{text.indent(first)}{new}")
    return Edit(place, place, f"  {new}")


def add_parameter(model: ProgramModel, operation: Operation) -> Edits:
    """Declare a parameter."""
    name = _new_name(model, operation, "parameter")
    default, where = optional_text(operation, "default"), optional_text(operation, "where")
    item = f"param {text_of(operation, 'type')} {name}"
    item += f" = {default}" if default else ""
    return [insert_item(model, sx.Param, item + (f" where {where}" if where else ""))]


def add_partition(model: ProgramModel, operation: Operation) -> Edits:
    """Declare a partition."""
    name, grid = _new_name(model, operation, "partition"), optional_text(operation, "grid")
    item = f"partition {name} = {text_of(operation, 'count')}" + (f" as grid({grid})" if grid else "")
    return [insert_item(model, sx.PartitionNode, item)]


def _new_name(model: ProgramModel, operation: Operation, kind: str) -> str:
    name = text_of(operation, "name")
    require_name(name, kind)
    if any(symbol.name == name and symbol.scope is None for symbol in model.drawn.symbols.all):
        raise UsageError(f"`{name}` is in use", help="choose another name")
    return name


_KINDS = {
    "parameter": sx.Param,
    "partition": sx.PartitionNode,
    "import": sx.Import,
    "segment": sx.Segment,
}


def remove(model: ProgramModel, operation: Operation) -> Edits:
    """Take an item out."""
    kind = text_of(operation, "kind")
    if kind not in _KINDS:
        raise UsageError(f"a {kind} can't be removed", help=f"what can be removed: {', '.join(_KINDS)}")
    item = _item(model, _KINDS[kind], text_of(operation, "name"), kind)
    return [removed(model.text, *model.text.range(item.span))]


def imported_name(model: ProgramModel, file: str, name: str) -> tuple[str, Edits]:
    """Give the name by which calls name a module of a file, and the edits that import it."""
    items = [i for i in model.items(sx.Import) if isinstance(i, sx.Import) and i.path == file]
    for item in items:
        for local in item.names or ():
            if local.name.id == name:
                return (local.alias or local.name).id, []
        if item.names is None:
            alias = item.alias.id if item.alias else file.rpartition("/")[2].partition(".")[0]
            return f"{alias}.{name}", []
    taken = {symbol.name for symbol in model.drawn.symbols.all if symbol.span is not None}
    free = free_name(name, taken)
    written = name if free == name else f"{name} as {free}"
    if items and items[-1].names:
        end = _end(model, items[-1].names[-1].span)
        return free, [Edit(end, end, f", {written}")]
    return free, [insert_item(model, sx.Import, f'import "{file}" {{ {written} }}')]
