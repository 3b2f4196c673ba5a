"""Segments: reusable blocks, inlined where they are called.  Bundles: tags that travel under one name.

An array goes in and comes out by name: inside, the segment's names stand for the caller's tags.  A scalar
input is named once at the call.  Everything else inside has names of its own (`ring#2.visiting`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pse.language.check._call_check import named_tag
from pse.language.check._context import Context
from pse.language.check._distribution_check import in_one_place
from pse.language.check._ir import Assign, Statement, call_sites
from pse.language.check._remedies import call_help, conversion, output_text, shown, slot_of
from pse.language.check._scalars import scalar
from pse.language.check._scope import (
    BundledTags,
    BundleEntity,
    Frame,
    SegmentEntity,
    TagArray,
    TagEntity,
)
from pse.language.check._targets import Target, may_write, target
from pse.language.check._type_resolution import ELEMENTS, written_shape, written_type
from pse.language.check.arrays._tag_arrays import index_range, members
from pse.language.diagnostics._diagnostic import Diagnostic, error_at, has_errors
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.types._elements import fits
from pse.language.types._expressions import Name
from pse.language.types._types import Direction, Element, Type
from pse.records import replace
from pse.text import count_text

Walk = Callable[[Context, sx.Block], tuple[Statement, ...]]
"""Checks the statements of a block (handed in by ``statements``, which calls this file)."""


def inline(context: Context, node: sx.Call, entity: SegmentEntity, kind: str, walk: Walk) -> list[Statement]:
    """Check one use of a segment and give its statements."""
    known = len(context.diagnostics)
    statements = _inlined(context, node, entity, kind, walk)
    if entity.home.installed and not context.globals.installed:
        context.diagnostics[known:] = [_at_call(found, node) for found in context.diagnostics[known:]]
    return statements


def _at_call(found: Diagnostic, node: sx.Call) -> Diagnostic:
    """Report at the call what is wrong in the segment: a line of an installed package is not the user's."""
    if found.span.path == node.span.path:
        return found
    inside = (found.span, found.label or f"in the segment `{node.callee.text}`")
    return replace(found, span=node.span, label="", notes=(inside, *found.notes))


def _inlined(
    context: Context, node: sx.Call, entity: SegmentEntity, kind: str, walk: Walk
) -> list[Statement]:
    segment = segment_with_members(entity)
    if not _callable(context, node, entity) or not _counts(context, node, segment):
        _declare_poison(context, node, kind)
        return []
    outputs = list(zip(segment.outputs, node.outputs, strict=True))
    goals = [target(context, output, kind) for field, output in outputs if field.indices is None]
    caller = context.frame
    inner = _frame(context, entity, _partition_of(context, node))
    name_bundles(context, inner, entity)
    before: list[Statement] = []
    for field, argument in zip(segment.inputs, node.arguments, strict=True):
        before += _input(context, caller, inner, field, argument)
    for field, output in outputs:
        if field.indices is None:
            _output(context, caller, inner, field, goals.pop(0))
        else:
            _tags(context, inner, field, output.name, "output")
    body = _called(context, node, inner, entity, walk)
    _check_marks(context, node, body)
    return [*before, *body]


def _check_marks(context: Context, node: sx.Call, body: tuple[Statement, ...]) -> None:
    """Report inputs that are marked as changed, but no call of the segment changes."""
    inputs = [argument for site in call_sites(body) for argument in site.inputs]
    changed = {a.tag for a in inputs if a.parameter.direction is Direction.INOUT}
    for argument in node.arguments if not has_errors(context.diagnostics) else ():
        tags = _tags_of(context, argument) if argument.inout else []
        if tags and changed.isdisjoint(tags):
            message = f"segment `{node.callee.text}` does not change this input"
            context.report(error_at("E0325", message, argument.span, help="leave out `inout`"))


def _tags_of(context: Context, argument: sx.CallArgument) -> list[str]:
    """Give the unique names of the tags that an input of a segment names."""
    array = context.frame.find(argument.value.id) if isinstance(argument.value, Name) else None
    if isinstance(array, TagArray):
        entities = [context.frame.find(name) for name in array.members]
        return [entity.unique for entity in entities if isinstance(entity, TagEntity)]
    tag = named_tag(context, argument)
    return [tag.unique] if tag is not None else []


def check_alone(
    context: Context, entity: SegmentEntity, walk: Walk
) -> tuple[list[TagEntity], tuple[Statement, ...]]:
    """Check a segment that nobody calls, for any inputs of its types; give these and its body."""
    inner, caller = _frame(context, entity), context.frame
    segment = segment_with_members(entity)
    name_bundles(context, inner, entity)
    context.frame = inner
    given = []
    for field, kind in [
        *((f, "input") for f in segment.inputs),
        *((f, "output") for f in segment.outputs),
    ]:
        made = _given(context, field, kind)
        given += made if kind == "input" else []
    context.frame = caller
    return given, _body(context, inner, entity, walk)


def _given(context: Context, field: sx.Field, kind: str) -> list[TagEntity]:
    """Declare an input or output of a segment that nobody calls."""
    context.globals.used.add(field.name.span)
    if field.indices is not None:
        return _given_array(context, field, kind)
    tag = context.new_tag(field.name, written_type(context, field.type), kind)
    if kind == "input" and tag.type is not None and tag.type.scalar:  # Extents may be made of it.
        context.tags[tag.unique] = replace(context.tags[tag.unique], loop_counter=True)
        context.open_inputs.add(tag.unique)
    return [tag]


def _given_array(context: Context, field: sx.Field, kind: str) -> list[TagEntity]:
    """Declare an array of tags that a segment takes or gives; without its tags if their number is open."""
    assert field.indices is not None, "checked by the caller"
    found = index_range(context, field.indices)
    if found is None:
        context.frame.declare(TagEntity(field.name.id, field.name.id, field.name.span, None, kind))
        return []
    made = []
    for member in members(context, field, found):
        made.append(context.new_tag(member.name, written_type(context, member.type), kind))
    context.frame.declare(TagArray(field.name.id, field.name.span, found))
    return made


def _partition_of(context: Context, node: sx.Call) -> str | None:
    """Give the partition of the first input that is cut; None if none is."""
    for argument in node.arguments:
        for name in _with_members(context, argument.value.id) if isinstance(argument.value, Name) else ():
            entity = context.frame.find(name)
            if (
                isinstance(entity, TagEntity)
                and entity.type is not None
                and entity.type.distribution.partition
            ):
                return entity.type.distribution.partition
    return None


def _frame(context: Context, entity: SegmentEntity, partition: str | None = None) -> Frame:
    name = entity.name
    count = context.segment_uses[name] = context.segment_uses.get(name, 0) + 1
    prefix = f"{context.frame.prefix}{name}#{count}."
    return Frame(entity.home, prefix, entity.node.body, partition)


def _called(
    context: Context, node: sx.Call, inner: Frame, entity: SegmentEntity, walk: Walk
) -> tuple[Statement, ...]:
    """Check the body of a segment for one call of it."""
    called, place = context.called, (node.span.path, node.span.line, node.span.column)
    context.called = (*called, place)
    try:
        return _body(context, inner, entity, walk)
    finally:
        context.called = called


def _body(context: Context, inner: Frame, entity: SegmentEntity, walk: Walk) -> tuple[Statement, ...]:
    caller, segments, loop = context.frame, context.segments, context.loop
    context.frame, context.segments, context.loop = inner, (*segments, entity.node), None
    context.depth += 1
    try:
        return walk(context, entity.node.body)
    finally:
        context.depth -= 1
        context.frame, context.segments, context.loop = caller, segments, loop


def _callable(context: Context, node: sx.Call, entity: SegmentEntity) -> bool:
    around = [segment is entity.node for segment in context.segments]
    if any(around):
        again = [*context.segments[around.index(True) :], entity.node]
        chain = " → ".join(segment.name.id for segment in again)
        message = f"segment `{entity.name}` calls itself ({chain})"
        context.report(error_at("E0207", message, node.span, help="segments are inlined: use a loop"))
        return False
    if node.label is not None:
        message = "a segment cannot be given a thread: the calls in it have their own"
        context.report(error_at("E0210", message, node.label.span, help=f"remove `{node.label.id}`"))
        return False
    fields = (*entity.node.inputs, *entity.node.outputs)  # How many it has is not known without its bundles.
    return not any(entity.home.is_missing(field.type.element.id) for field in fields)


def _counts(context: Context, node: sx.Call, segment: sx.Segment) -> bool:
    """Check how many inputs and outputs are given."""
    name, wanted, given = segment.name.id, segment.inputs, node.arguments
    notes = [(segment.name.span, "the segment is declared here")]
    for argument in given:
        if argument.name is not None:
            message = "the inputs of a segment are given by position"
            help = _help(context, segment, node)
            context.report(error_at("E0307", message, argument.span, notes=notes, help=help))
            return False
    if len(wanted) != len(given):
        number = f"{len(given)} {'is' if len(given) == 1 else 'are'} given"
        message = f"segment `{name}` takes {count_text(len(wanted), 'input')}; {number}"
        context.report(error_at("E0301", message, node.span, notes=notes, help=_help(context, segment, node)))
        return False
    if len(segment.outputs) != len(node.outputs):
        outputs = count_text(len(segment.outputs), "output")
        number = f"{len(node.outputs)} {'is' if len(node.outputs) == 1 else 'are'} named"
        message = f"segment `{name}` gives {outputs}; {number}"
        context.report(error_at("E0302", message, node.span, notes=notes, help=_help(context, segment, node)))
        return False
    return _distinct(context, node)


def _help(context: Context, segment: sx.Segment, node: sx.Call) -> str:
    """Say how to write the call of a segment."""
    records = context.globals.records()
    slots = [slot_of(f.name.id, _outline(f.type, records)) for f in segment.inputs]
    return call_help(context, node, slots, [f.name.id for f in segment.outputs])


def _outline(node: sx.TypeNode, records: Mapping[str, Element | None]) -> Type:
    """Give the type of an input as far as its declaration alone tells."""
    element = {**ELEMENTS, **records}.get(node.element.id)
    shape = written_shape(node, element)
    return Type(element, () if shape is None else (shape or None))


def _distinct(context: Context, node: sx.Call) -> bool:
    """An output cannot be an input too: inside, both names would stand for one tag."""
    values = [argument.value for argument in node.arguments]
    used = {name for value in values if isinstance(value, Name) for name in _with_members(context, value.id)}
    for output in node.outputs:
        names = _with_members(context, output.name.id)
        if not used.isdisjoint(names):
            message = f"`{output.name.id}` is both an input and an output of the segment"
            help = f"copy it first:  copy({output.name.id}) -> before"
            context.report(error_at("E0203", message, output.name.span, help=help))
            return False
        if output.reduction is not None:
            message = "the outputs of a segment cannot be reduced where it is called"
            context.report(
                error_at("E0319", message, output.reduction.span, help="reduce inside the segment")
            )
            return False
        used.update(names)
    return True


def _with_members(context: Context, name: str) -> list[str]:
    """Give a name, and the names of its tags if it is an array of them."""
    array = context.frame.find(name)
    return [name, *array.members] if isinstance(array, TagArray) else [name]


def _declare_poison(context: Context, node: sx.Call, kind: str) -> None:
    for output in node.outputs:
        if context.frame.find(output.name.id) is None:
            context.new_tag(output.name, None, kind)


def _in(context: Context, frame: Frame, do: Callable[[], object]) -> object:
    """Do something while another frame is open."""
    caller, context.frame = context.frame, frame
    try:
        return do()
    finally:
        context.frame = caller


def _field_type(context: Context, inner: Frame, field: sx.Field) -> Type | None:
    """Read the type of an input or output, in which the segment's scalar inputs may stand."""
    found = _in(context, inner, lambda: written_type(context, field.type))
    assert found is None or isinstance(found, Type), "written_type gives nothing else"
    return found


def _input(
    context: Context, caller: Frame, inner: Frame, field: sx.Field, argument: sx.CallArgument
) -> list[Statement]:
    """Bind one input: an array by name, a scalar by value."""
    if field.indices is not None:
        value = argument.value
        name = value.id if isinstance(value, Name) else "…"
        _tags(context, inner, field, sx.Identifier(name, argument.span), "input")
        return []
    type = _field_type(context, inner, field)
    poisoned = TagEntity(inner.unique(field.name.id), field.name.id, field.name.span, None, "input")
    inner.declare(poisoned)
    if type is None:
        return []
    if type.scalar:
        return _scalar_input(context, inner, field, replace(poisoned, type=type), argument)
    entity = named_tag(context, argument)
    if entity is None or entity.type is None:
        return []
    if agree(context, entity, type, argument.span, field):
        inner.declare(replace(entity, display=field.name.id, span=field.name.span, kind="input"))
        context.globals.used.add(field.name.span)
    return []


def _tags(context: Context, inner: Frame, field: sx.Field, name: sx.Identifier, kind: str) -> None:
    """Bind an input or output that is an array of tags: inside, its names stand for the caller's tags."""
    assert field.indices is not None, "checked by the caller"
    array, indices = context.frame.find(name.id), field.indices
    found = _in(context, inner, lambda: index_range(context, indices))
    inner.declare(TagEntity(inner.unique(field.name.id), field.name.id, field.name.span, None, kind))
    context.globals.used.add(field.name.span)
    if not isinstance(array, TagArray):
        _refuse_single(context, field, name)
    elif isinstance(found, range) and _same_indices(context, array, field, found, name):
        if kind == "input":
            context.globals.used.add(array.span)
        _alias_tags(context, inner, field, array, name, kind)


def _alias_tags(
    context: Context, inner: Frame, field: sx.Field, array: TagArray, name: sx.Identifier, kind: str
) -> None:
    """Make the tags of an array known inside a segment, each by the segment's name for it."""
    found = _in(context, inner, lambda: list(members(context, field, array.indices)))
    for given, own in zip(array.members, found, strict=True):  # type: ignore[call-overload]
        entity, wanted = context.frame.find(given), _field_type(context, inner, own)
        if not isinstance(entity, TagEntity) or entity.type is None or wanted is None:
            return
        if kind == "output" and not may_write(context, name, entity):
            return
        if not agree(context, entity, wanted, name.span, field):
            return
        inner.declare(replace(entity, display=own.name.id, span=field.name.span, kind=kind))
    inner.declare(TagArray(field.name.id, field.name.span, array.indices))


def _refuse_single(context: Context, field: sx.Field, name: sx.Identifier) -> None:
    """Report what is no array of tags where a segment takes or gives one."""
    entity = context.frame.find(name.id)
    if isinstance(entity, TagEntity) and entity.type is None:
        return
    message = f"the segment declares an array of tags, `{field.name.id}`; `{name.id}` is none"
    notes = [(field.span, "the segment declares it here")]
    help = "declare it, and give its name alone:  var f64[8] u[l in 0 .. 4]"
    context.report(error_at("E0327", message, name.span, notes=notes, help=help))


def _same_indices(
    context: Context, array: TagArray, field: sx.Field, found: range, name: sx.Identifier
) -> bool:
    """Compare the indices of the caller's array with those that a segment declares."""
    if array.indices == found:
        return True
    wanted, have = (f"{min(one)} to {max(one)}" for one in (found, array.indices))
    message = f"`{name.id}` has tags of the indices {have}, but the segment declares {wanted}"
    notes = [(field.span, "the segment declares it here")]
    help = "let an input say how many there are:  segment name(i64 L, f64[8] u[l in 0 .. L]) -> ()"
    context.report(error_at("E0327", message, name.span, notes=notes, help=help))
    return False


def _scalar_input(
    context: Context, inner: Frame, field: sx.Field, entity: TagEntity, argument: sx.CallArgument
) -> list[Statement]:
    found, type = scalar(context, argument.value), entity.type
    if found is None or type is None or type.element is None:
        return []
    if found.partition is not None or not fits(found.element, type.element, found.expression):
        wanted = f"input `{field.name.id}` of the segment is {context.show(type)}"
        message = f"{wanted}, but {found.element.label} is given"
        notes = [(field.span, "the input is declared here")]
        help = f"give a value of type {type.element.label} that is the same in all partitions"
        context.report(error_at("E0303", message, argument.span, notes=notes, help=help))
        return []
    constant = context.constant(found.expression)
    if constant is not None:
        context.constants[entity.unique] = constant
    _in(context, inner, lambda: context.declare(entity))
    return [Assign(entity.unique, found.expression, argument.span)]


def _output(context: Context, caller: Frame, inner: Frame, field: sx.Field, goal: Target | None) -> None:
    """Bind one output: the segment writes the caller's tag."""
    type = _field_type(context, inner, field)
    if goal is not None and type is not None and not _lies_so(context, goal, type):
        type = None
    if goal is None:
        type = None
    elif goal.entity is not None:
        if goal.unplaced and type is not None:
            context.locate(goal.entity, type.distribution)
        same = type is not None and goal.entity.type is not None
        if same and agree(context, goal.entity, type, goal.node.name.span, field):  # type: ignore[arg-type]
            _alias(context, inner, field, goal.entity)
            return
        type = None
    else:
        entity = context.new_tag(goal.node.name, type, goal.kind)
        if type is not None:
            _alias(context, inner, field, entity)
            return
    inner.declare(TagEntity(inner.unique(field.name.id), field.name.id, field.name.span, None, "output"))


def _lies_so(context: Context, goal: Target, type: Type) -> bool:
    """Compare the distribution that is written with an output with the one that the segment declares."""
    written = goal.annotation
    if written is None or in_one_place(written, type.distribution, context):
        return True
    message = f"distribution mismatch: the segment gives {shown(context, type)}"
    help = f"leave out the distribution:  {output_text(context, goal.node, where='')}"
    context.report(error_at("E0312", message, goal.node.span, help=help))
    return False


def _alias(context: Context, inner: Frame, field: sx.Field, entity: TagEntity) -> None:
    inner.declare(replace(entity, display=field.name.id, span=field.name.span, kind="output"))
    context.globals.used.add(field.name.span)


def agree(context: Context, entity: TagEntity, wanted: Type, span: Span, field: sx.Field) -> bool:
    """Compare a caller's tag with the type that the segment declares."""
    have = entity.type
    assert have is not None, "checked by the caller"
    notes = [(field.span, f"the segment declares {shown(context, wanted)}")]
    declaring = context.globals.files.read.get(field.span.path)
    ours = declaring is None or not declaring.installed
    label = shown(context, have)
    if have.scalar != wanted.scalar or len(have.shape or ()) != len(wanted.shape or ()):
        message = f"`{entity.display}` does not have the number of axes that the segment declares"
        code, help = "E0304", f"give a tag of the type {context.show(wanted)}"
    elif have.element is not wanted.element:
        code, message, help = (
            "E0303",
            f"`{entity.display}` does not have the element type that the segment declares",
            f"give a tag of the type {context.show(wanted)}" + (", or change the segment" if ours else ""),
        )
    elif have.distribution != wanted.distribution:
        code, message, help = (
            "E0312",
            f"distribution mismatch: `{entity.display}` is not distributed as the segment declares",
            conversion(context, entity, wanted.distribution),
        )
    elif context.shape(have) != context.shape(wanted):
        code, message, help = (
            "E0311",
            f"shape mismatch: `{entity.display}` does not have the shape that the segment declares",
            "give a tag of that shape, or let inputs of the segment say the shape:  "
            "segment name(i64 n, f64[n] x) -> ()"
            if ours
            else "give a tag of that shape, or the extents that the tag has",
        )
    else:
        return True
    context.report(error_at(code, message, span, label=label, notes=notes, help=help))
    return False


# Bundles: `var Fluid f` declares a tag for each member, called `f.rho`; where `f` is an input or an output of
# a call, its members are, in their order.  So nothing behind this file knows of bundles.


def declare_bundle(context: Context, node: sx.Var, entity: BundleEntity) -> None:
    """Declare the tags of `var Fluid f`."""
    context.globals.used.add(entity.span)
    wrong = node.type.distribution or node.value
    if node.type.shape is not None or wrong is not None:
        message = f"`{entity.name}` is a bundle: its members have their own shapes, distributions and values"
        place = wrong.span if wrong is not None and wrong.span is not None else node.type.span
        help = f"write:  var {entity.name} {node.name.id}"
        context.report(error_at("E0305", message, place, help=help))
    here = context.frame
    for member in entity.node.members:
        if entity.home is not here.globals:
            context.frame = Frame(entity.home)
        type = written_type(context, member.type)
        context.frame = here
        context.new_tag(member_name(node.name, member), type, "var")
    here.declare(BundledTags(node.name.id, node.name.span, entity.node))


def member_name(name: sx.Identifier, member: sx.Field) -> sx.Identifier:
    """Name a member of what a name stands for: `fluid.rho`, where the name is written."""
    return sx.Identifier(f"{name.id}.{member.name.id}", name.span)


def bundled(context: Context, value: sx.SyntaxExpression) -> BundledTags | None:
    """Give the tags that an input stands for, if it names a bundle of them."""
    found = context.frame.find(value.id) if isinstance(value, Name) else None
    return found if isinstance(found, BundledTags) else None


def with_members(context: Context, node: sx.Call) -> sx.Call:
    """Put the members of bundles in their place, among the inputs and the outputs of a call."""
    arguments: list[sx.CallArgument] = []
    for argument in node.arguments:
        tags = bundled(context, argument.value) if argument.name is None else None
        names = [Name(name, argument.value.span) for name in tags.members] if tags is not None else []
        # Of a bundle that is marked as changed some members are, perhaps not all.
        arguments += [replace(argument, value=name, inout=False) for name in names] or [argument]
    outputs: list[sx.OutputNode] = []
    for output in node.outputs:
        tags = bundled(context, Name(output.name.id, output.name.span))
        plain = tags is not None and output.distribution is None and output.reduction is None
        members = [sx.Identifier(name, output.name.span) for name in tags.members] if tags and plain else []
        outputs += [replace(output, name=member) for member in members] or [output]
    return replace(node, arguments=tuple(arguments), outputs=tuple(outputs))


def swapped_members(context: Context, node: sx.Call) -> list[sx.Call]:
    """Give the calls of `swap` that exchange the members of two bundles of one kind; none for other calls."""
    if node.callee.text != "swap" or len(node.arguments) != 2:
        return []
    first, second = (bundled(context, argument.value) for argument in node.arguments)
    if first is None or second is None or first.bundle is not second.bundle:
        return []
    return [
        replace(node, arguments=tuple(_named(a, n) for a, n in zip(node.arguments, pair, strict=True)))
        for pair in zip(first.members, second.members, strict=True)
    ]


def _named(argument: sx.CallArgument, name: str) -> sx.CallArgument:
    return replace(argument, value=Name(name, argument.span))


def segment_with_members(entity: SegmentEntity) -> sx.Segment:
    """Give a segment whose inputs and outputs have members in the place of bundles."""
    node = entity.node
    return replace(node, inputs=_fields(entity, node.inputs), outputs=_fields(entity, node.outputs))


def _fields(entity: SegmentEntity, fields: tuple[sx.Field, ...]) -> tuple[sx.Field, ...]:
    found: list[sx.Field] = []
    for field in fields:
        bundle = _bundle_of(entity, field)
        if bundle is None or field.indices is not None:
            found.append(field)
            continue
        for member in bundle.node.members:
            found.append(sx.Field(member.type, member_name(field.name, member), field.span))
    return tuple(found)


def name_bundles(context: Context, frame: Frame, entity: SegmentEntity) -> None:
    """Make the names of bundles known inside a segment."""
    for field in (*entity.node.inputs, *entity.node.outputs):
        bundle = _bundle_of(entity, field)
        if bundle is not None:
            context.globals.used.add(bundle.span)  # Where this file declares or imports it.
            frame.declare(BundledTags(field.name.id, field.name.span, bundle.node))


def _bundle_of(entity: SegmentEntity, field: sx.Field) -> BundleEntity | None:
    found = entity.home.names.get(field.type.element.id)
    return found if isinstance(found, BundleEntity) else None
