"""Typing rules of the standard operations that move data: keyed by name, because no directive can say them.

`scatter` makes a root array distributed, `transpose` swaps the last two axes, `zero` takes its type from the
declared tag, and so on.  Where an operation is allowed (outside or inside PARALLEL) is part of its rule.
The signatures come from the module finder; only their parameters' names and directions are used here.
"""

from __future__ import annotations

import functools

from pse.language.check._call_check import CallCheck
from pse.language.check._context import REPLICATED, ROOT, Context, no_such_axis
from pse.language.check._distribution_check import (
    dynamic_misplaced,
    has_dynamic_extent,
    match_distribution,
    refuse_dynamic,
)
from pse.language.check._ir import Argument, Output
from pse.language.check._output_typing import finish
from pse.language.check._remedies import declaration, output_text
from pse.language.check._scalars import bound, grid_axes
from pse.language.check._scope import TagEntity
from pse.language.check._targets import REDUCTIONS, SHARING_ROWS, TURNING_ROWS, Target
from pse.language.check.standard._std_arrays import (
    COMPUTING,
    DECIDING_ROWS,
    Operation,
    anywhere,
    declared,
    mismatch,
    piece_type,
    source_type,
    told,
    unplaced,
)
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.types import _symbolic_extents as extents
from pse.language.types._elements import fits
from pse.language.types._expressions import (
    Apply,
    Expression,
    Name,
    Number,
    names_in,
    read_position,
    render_expression,
)
from pse.language.types._symbolic_extents import Extent
from pse.language.types._types import Direction, Distribution, Element, Parameter, Pattern, Type
from pse.records import replace


def check_standard(check: CallCheck, found: list[Target | None]) -> list[Output]:
    """Check a call of one of `OPERATIONS`; everything wrong is reported."""
    operation = OPERATIONS[check.signature.name]
    if not _in_region(check, operation.region):
        return []
    entity = _inputs(check, operation.scalars)
    if check.failed:
        return []
    goal = found[0] if found else None
    type = operation.rule(check, entity, goal)
    if not found or check.failed:
        return []
    if goal is not None and type is not None and goal.unplaced and not _placed(check, goal, type):
        return []
    if goal is None or type is None or not _axes_fit(check, goal, type) or not told(check, goal, type):
        check.failed = True
        return []
    output = finish(check, check.signature.outputs[0], goal, type)
    check.failed |= output is None
    return _with_types(check, [output]) if output is not None else []


def _placed(check: CallCheck, goal: Target, type: Type) -> bool:
    """Say where an output of a stated type lies, if the operation tells."""
    if type.distribution.pattern is Pattern.ANY:
        unplaced(check, goal)
        return False
    assert goal.entity is not None, "its type is stated"
    check.context.locate(goal.entity, type.distribution)
    return True


def _with_types(check: CallCheck, outputs: list[Output]) -> list[Output]:
    """Put the types of this call into the interface of a module that computes: it is called as that."""
    name = check.reference.name
    if name not in (
        *COMPUTING,
        SHARING_ROWS,
        TURNING_ROWS,
        "fill",
        "random",
        "random_normal",
        "save",
        "load",
    ):
        return outputs
    types = {a.parameter.name: check.context.tags[a.tag].type for a in check.inputs if a.tag}
    types |= {output.parameter.name: output.type for output in outputs}
    decides = name in (*DECIDING_ROWS, SHARING_ROWS, TURNING_ROWS, "load")
    parameters = {p.name: _with_type(p, types.get(p.name), decides) for p in check.signature.parameters}
    signature = replace(check.signature, parameters=tuple(parameters.values()))
    made = replace(check.reference, signature=signature)
    check.reference = check.context.references.setdefault(made, made)
    check.inputs = [replace(a, parameter=parameters[a.parameter.name]) for a in check.inputs]
    return [replace(output, parameter=parameters[output.parameter.name]) for output in outputs]


def _with_type(parameter: Parameter, type: Type | None, decides: bool) -> Parameter:
    """Put a type into a parameter, and its shape where the module `decides` how many rows there are."""
    if type is None:
        return parameter
    shape = () if type.scalar else parameter.type.shape
    if decides and parameter.direction is Direction.OUT and has_dynamic_extent(type):
        shape = type.shape
    return replace(parameter, type=replace(parameter.type, element=type.element, shape=shape))


def _in_region(check: CallCheck, region: str) -> bool:
    inside = check.context.partition is not None
    if region == ("outside" if inside else "inside"):
        where, why, help = "inside", "every partition takes part in it", _into_block(check)
        if region == "outside":
            where, why, help = "outside", "it works on whole arrays", "move the call out of the block"
        message = f"`{check.node.callee.text}` is allowed only {where} PARALLEL: {why}"
        check.fail("E0316", message, check.node.span, help=help, directive=False)
        return False
    return True


def _into_block(check: CallCheck) -> str:
    """Say how a call gets into PARALLEL, where what lies on the root has to be scattered before."""
    first = next((a.value for a in check.node.arguments if isinstance(a.value, Name)), None)
    entity = check.context.frame.find(first.id) if first is not None else None
    type = entity.type if isinstance(entity, TagEntity) else None
    if type is None or type.scalar or type.distribution.distributed:
        return "move the call into a PARALLEL block"
    assert isinstance(entity, TagEntity)
    name, thread = entity.display, check.context.root_thread
    if check.signature.name == "redistribute" and (output := next(iter(check.node.outputs), None)):
        written = output_text(check.context, output)
        return f"`{name}` is not distributed yet, scatter it:  {thread}scatter({name}) {written}"
    scatter = f"{thread}scatter({name}) -> pieces @ block(0)"
    return f"scatter `{name}` first:  {scatter}   and move the call, with `pieces`, into a PARALLEL block"


def _inputs(check: CallCheck, scalars: bool) -> TagEntity | None:
    """Check the inputs: arrays by the rules here, scalars as for any module; give the first array."""
    arguments = check.arguments()
    if arguments is None:
        return None
    first: TagEntity | None = None
    checked = {}
    for parameter in check.signature.inputs:
        argument = arguments.get(parameter.name)
        if parameter.type.scalar or argument is None:
            result = _setting(check, parameter, argument)
        else:
            entity = check.tag(argument)
            result = None
            typed = entity is not None and entity.type is not None
            if entity is not None and typed and (scalars or _is_array(check, entity, argument.span)):
                name = Name(entity.unique, argument.value.span)
                result = Argument(parameter, name, entity.unique, argument.span)
                first = first or entity
        check.failed |= result is None
        checked[parameter.name] = result
    check.inputs = [result for result in checked.values() if result is not None]
    return first


def _setting(check: CallCheck, parameter: Parameter, argument: sx.CallArgument | None) -> Argument | None:
    """Check an input that is not one of the arrays on which the operation works."""
    if argument is None:
        return check.default(parameter)
    if parameter.name in ("periodic", "axis"):
        return _axes_given(check, parameter, argument)
    word = argument.value.id if isinstance(argument.value, Name) else ""
    known = isinstance(check.context.frame.find(word), TagEntity)
    if parameter.name == "op" and word in REDUCTIONS and not known:
        message = f"the operation of `{check.node.callee.text}` is a string, not a name"
        check.fail("E0319", message, argument.span, help=f'write it in quotes:  "{word}"', directive=False)
        return None
    return check.check_input(parameter, argument)


def _is_array(check: CallCheck, entity: TagEntity, span: Span) -> bool:
    assert entity.type is not None, "checked by the caller"
    if entity.type.scalar:
        message = f"`{check.node.callee.text}` works on arrays; `{entity.display}` is a scalar"
        help = "give an array; a scalar is copied by  let y = x"
        check.fail("E0304", message, span, label=check.context.show(entity.type), help=help, directive=False)
        return False
    return True


def _axes_fit(check: CallCheck, goal: Target, type: Type) -> bool:
    axes, rank = type.distribution.axes, len(type.shape or ())
    if axes and axes[-1] >= rank:
        check.context.report(no_such_axis(axes[-1], rank, goal.node.span))
        return False
    return True


def _display(entity: TagEntity | None) -> str:
    assert entity is not None, "the signature has an array and _inputs found it"
    return entity.display


def _scatter(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = source_type(check, entity)
    if type.distribution.distributed:
        help = f"inside PARALLEL:  redistribute({_display(entity)}) -> pieces @ cyclic(0)"
        mismatch(check, type, "only a whole array can be scattered", help)
        return None
    distribution = declared(check, goal, "@ block(0)")
    if distribution is None or goal is None:
        return None
    type = replace(type, distribution=distribution, shape=_rows_of(check, goal, type))
    return _laid_out(check, goal, type)


def _rows_of(check: CallCheck, goal: Target, type: Type) -> tuple[Expression, ...] | None:
    """Give an array's shape, or that of a declared tag which takes as many rows as there are."""
    known, shape = goal.known, type.shape
    if known is None or known.shape is None or not has_dynamic_extent(known):
        return shape
    fits = check.context.shape(known)[1:] == check.context.shape(type)[1:]
    return known.shape if fits and not has_dynamic_extent(type) else shape


def _laid_out(check: CallCheck, goal: Target, type: Type) -> Type:
    """Check how an array is cut, if modules decide how many rows it has."""
    if fault := dynamic_misplaced(type):
        help = f"for example:  {output_text(check.context, goal.node, where='@ block(0)')}"
        check.fail("E0326", fault, goal.node.span, help=help, directive=False)
    return type


def _without_size(check: CallCheck, type: Type) -> bool:
    """Refuse to fill a tag of which nothing says how many rows it has."""
    if check.signature.name == "load":
        return False  # The file says it.
    help = "let a module make it, which says how many rows it has, or declare the number of rows"
    return refuse_dynamic(check, type, "nothing says how many rows there are", help)


def _saved(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Check `save`, which gives nothing: partitions write their rows where these belong in the file."""
    return None


def _gather(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = source_type(check, entity)
    if not type.distribution.distributed:
        mismatch(check, type, "only a distributed array can be gathered", "use the array itself: it is whole")
        return None
    return replace(type, distribution=ROOT)


def _replicate(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = source_type(check, entity)
    if type.distribution.pattern is Pattern.REPLICATED:
        mismatch(check, type, "the array is replicated already", f"use `{_display(entity)}` itself")
        return None
    if type.distribution.distributed:
        help = f"gather it first:  gather({_display(entity)}) -> whole"
        mismatch(check, type, "only a root array can be replicated", help)
        return None
    return replace(type, distribution=REPLICATED)


def _redistribute(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = piece_type(check, entity)
    if type is None or goal is None:
        return None
    ragged = has_dynamic_extent(type)
    distribution = declared(check, goal, "@ block(0)" if ragged else "@ block(1)")
    if distribution is None:
        return None
    if ragged:
        check.reference = replace(check.reference, name=SHARING_ROWS)
    return _laid_out(check, goal, replace(type, distribution=distribution))


def _reshape(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Give the type that the program states for the elements: both arrays are cut into rows."""
    type = piece_type(check, entity)
    made = _zero(check, entity, goal) if type is not None and goal is not None else None
    if type is None or made is None or goal is None:
        return None
    distribution = declared(check, goal, "@ block(0)")
    why = "which partition an element goes to depends on it"
    if distribution is None or refuse_dynamic(check, type, why, "give an array with a shape that is known"):
        return None
    made, given = replace(made, distribution=distribution), check.node.arguments[0]
    if not _in_rows(check, type, given.span) or not _in_rows(check, made, goal.node.span):
        return None
    return made if _keeps_elements(check, type, made, goal.node.span) else None


def _in_rows(check: CallCheck, type: Type, span: Span) -> bool:
    """Report an array whose pieces are not whole rows, or have ghost cells between them."""
    fits = type.distribution.axes == (0,) and not type.distribution.halo
    if not fits:
        what = f"`{check.signature.name}` works on arrays that are cut along axis 0, without a halo"
        help = "redistribute before and after:  redistribute(…) -> rows @ block(0)"
        message, label = f"distribution mismatch: {what}", check.context.show(type)
        check.fail("E0312", message, span, label=label, help=help, directive=False)
    return fits


def _keeps_elements(check: CallCheck, type: Type, made: Type, span: Span) -> bool:
    """Report a result whose elements have another type, or are not as many where all of them are kept."""
    name, label = check.signature.name, check.context.show(made)
    if made.element is not type.element:
        message = f"`{name}` keeps the elements' type"
        help = f"state it:  {check.context.show(replace(made, element=type.element))}"
        check.fail("E0303", message, span, label=label, help=help, directive=False)
    elif name == "reshape" and _elements(check, made) != _elements(check, type):
        counts = [check.show_extent(_elements(check, one)) for one in (type, made)]
        message = f"`reshape` keeps all elements: {counts[0]} are given, but the result has {counts[1]}"
        help = "state a shape of as many elements, or let `resize` leave out the last ones or add zeros"
        check.fail("E0311", message, span, label=label, help=help, directive=False)
    return not check.failed


def _elements(check: CallCheck, type: Type) -> Extent:
    """How many elements an array has."""
    return functools.reduce(extents.multiply, check.context.shape(type))


def _transpose(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = source_type(check, entity)
    shape = type.shape or ()
    if not _turnable(check, type):
        return None
    turned, outside = (
        replace(type, shape=(*shape[:-2], shape[-1], shape[-2])),
        check.context.partition is None,
    )
    if has_dynamic_extent(type):
        check.reference = replace(check.reference, name=TURNING_ROWS)
    if outside and type.distribution.distributed:
        _in_region(check, "inside")
        return None
    if outside:
        return turned
    if piece_type(check, entity) is None:
        return None
    if has_dynamic_extent(type):
        return turned
    distribution = declared(check, goal, "@ block(0)")
    return replace(turned, distribution=distribution) if distribution is not None else None


def _turnable(check: CallCheck, type: Type) -> bool:
    """Say whether an array has two axes to be exchanged that are not cut into rows of unknown number."""
    axes = len(type.shape or ())
    why = "which row goes to which partition depends on it"
    help = "only the first axis can have as many cells as modules decide: leave the rows as they are"
    if axes < 3 and refuse_dynamic(check, type, why, help):
        return False
    if axes < 2:
        message = "`transpose` exchanges the last two axes, but this array has one axis"
        help = "give an array with two axes or more"
        span, label = check.node.arguments[0].span, check.context.show(type)
        check.fail("E0304", message, span, label=label, help=help, directive=False)
    return axes > 1


def _exchange(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = piece_type(check, entity)
    if type is not None and not type.distribution.halo:
        message = f"`{check.node.callee.text}` fills the halo of a tag, but this tag has none"
        with_halo = replace(type, distribution=replace(type.distribution, halo=(Number(1),)))
        name = _display(entity)
        help = f"declare it with one before it is written:  var {check.context.show(with_halo)} {name}"
        help += f"   and leave out the distribution behind  -> {name}"
        span, label = check.node.arguments[0].span, check.context.show(type)
        check.fail("E0321", message, span, label=label, help=help, directive=False)
    elif type is not None:
        _check_periodic(check, type)
    return None


def _axes_given(check: CallCheck, parameter: Parameter, argument: sx.CallArgument) -> Argument | None:
    """Check the numbers of axes, one or a list of them: the plan is made for these."""
    node, axes = argument.value, []
    listed = node.arguments if isinstance(node, Apply) and node.function == "list" else (node,)
    if parameter.name == "axis" and len(listed) > 1:
        message, help = "one axis is expected here, not a list of them", "transform one axis after the other"
        check.fail("E0308", message, argument.span, help=help, directive=False)
        return None
    for item in listed:
        is_other = isinstance(item, Number) and type(item.value) is not int
        found = bound(check.context, item) if not is_other else None
        known = check.context.constant(found) if found is not None else None
        if is_other or (found is not None and not (isinstance(known, Number) and known.value >= 0)):
            message = f"`{parameter.name}` is the number of an axis, from 0, and must be written as one"
            check.fail(
                "E0306", message, argument.span, help=f"for example: {parameter.name} = 0", directive=False
            )
            return None
        axes += [known] if known is not None else []
    if len(axes) < len(listed):
        return None
    twice = next((axis for axis in axes if axes.count(axis) > 1), None)
    if twice is not None:
        once = ", ".join(dict.fromkeys(render_expression(axis) for axis in axes))
        message = f"axis {render_expression(twice)} is named twice in `{parameter.name}`"
        help = f"name each axis once:  {parameter.name} = ({once})"
        check.fail("E0306", message, argument.span, help=help, directive=False)
        return None
    value = axes[0] if parameter.name == "axis" else Apply("list", tuple(axes))
    return Argument(parameter, value, None, argument.span)


def _check_periodic(check: CallCheck, type: Type) -> None:
    """Only an axis that is cut has a halo."""
    given = next((a for a in check.inputs if a.parameter.name == "periodic"), None)
    if given is None or not isinstance(given.value, Apply):
        return
    for axis in given.value.arguments:
        if isinstance(axis, Number) and axis.value >= len(type.shape or ()):
            check.failed = True
            check.context.report(no_such_axis(int(axis.value), len(type.shape or ()), given.span))
        elif isinstance(axis, Number) and axis.value not in type.distribution.axes:
            message = f"axis {axis.value} is not cut, so that it has no halo that could be periodic"
            help = f"name an axis that is cut: {' or '.join(map(str, type.distribution.axes))}"
            label = check.context.show(type)
            check.fail("E0321", message, given.span, label=label, help=help, directive=False)


def _shift(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = piece_type(check, entity)
    given = next((a for a in check.inputs if a.parameter.name == "axis"), None)
    if type is None or not _distance_known(check):
        return None
    if given is None or not isinstance(given.value, Number):
        return type
    declared = check.context.globals.files.sets.get(type.distribution.partition or "")
    grid = len(declared.grid) if declared is not None else 0
    if given.value.value >= max(grid, 1):
        name = type.distribution.partition or ""
        has, help = grid_axes(check.context, name, grid)
        message = f"`axis` is one of the axes of the grid, but the partition `{name}` {has}"
        check.fail("E0322", message, given.span, help=help, directive=False)
        return None
    return type


def _distance_known(check: CallCheck) -> bool:
    """The distance of a shift is known before the run: hand-overs have fixed ends."""
    for index, given in enumerate(check.inputs):
        if given.parameter.name != "by":
            continue
        known = check.context.constant(given.value)
        names = names_in(known) if known is not None else ()
        if known is None or any(_changes(check.context, name) for name in names):
            message = "the distance of `shift` must be known before the run, and the same in all partitions"
            help = "use parameters, `procs`, partitions, and `let` of these"
            check.fail("E0317", message, given.span, help=help, directive=False)
            return False
        check.inputs[index] = replace(given, value=known)
    return True


def _changes(context: Context, name: str) -> bool:
    """Whether a value differs between rounds of a loop or partitions; an input of a segment does not."""
    if name not in context.tags:
        return read_position(name) is not None
    entity = context.frame.find(context.display(name))
    return not (isinstance(entity, TagEntity) and entity.unique == name and entity.kind == "input")


def _copy(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = source_type(check, entity)
    assert entity is not None, "source_type found it"
    inside = check.context.partition is not None
    if inside and not match_distribution(check, anywhere(check), entity, check.node.arguments[0].span):
        return None
    return type


def _zero(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    if goal is None:
        return None
    if goal.known is not None and not goal.known.scalar:
        return None if _without_size(check, goal.known) else goal.known
    if goal.entity is None:
        name = goal.node.name.id
        filling = check.node.callee.text
        message = f"nothing says what `{name}` is: `{filling}` fills a tag whose type is known"
        help = declaration(check.context, name, None, 1, goal.annotation)
        check.fail("E0318", message, goal.node.span, help=help, directive=False)
    elif goal.known is not None:
        message = f"`{check.node.callee.text}` fills arrays, and `{goal.node.name.id}` is a scalar"
        help = f"write:  {goal.node.name.id} = 0"
        check.fail("E0304", message, goal.node.span, help=help, directive=False)
    return None


def _fill(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = _zero(check, entity, goal)
    given = check.inputs[0]
    if type is None or type.element is None or check.element is None:
        return None
    if not fits(check.element, type.element, given.value):
        message = (
            f"the elements are of type {type.element.label}, but the value is of type {check.element.label}"
        )
        help = f"give a value of type {type.element.label}"
        if check.element is not Element.STRING:
            help += f", or declare the tag with elements of type {check.element.label}"
        check.fail("E0303", message, given.span, label=check.element.label, help=help, directive=False)
        return None
    return type


def _random(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = _zero(check, entity, goal)
    if type is not None and goal is not None and type.element is not Element.F64:
        have, name = type.element.label if type.element else "unknown", goal.node.name.id
        message = f"`{check.node.callee.text}` fills arrays of type f64, but `{name}` is of type {have}"
        help = f"declare it as  var {check.context.show(replace(type, element=Element.F64))} {name}"
        check.fail(
            "E0303", message, goal.node.span, label=check.context.show(type), help=help, directive=False
        )
        return None
    return type


OPERATIONS = {
    "scatter": Operation("outside", _scatter),
    "gather": Operation("outside", _gather),
    "replicate": Operation("outside", _replicate),
    "redistribute": Operation("inside", _redistribute),
    "reshape": Operation("inside", _reshape),
    "resize": Operation("inside", _reshape),
    "transpose": Operation("", _transpose),
    "exchange": Operation("inside", _exchange),
    "shift": Operation("inside", _shift),
    "copy": Operation("", _copy),
    "zero": Operation("", _zero),
    "fill": Operation("", _fill),
    "random": Operation("", _random),
    "random_normal": Operation("", _random),
    "save": Operation("outside", _saved),
    "load": Operation("outside", _zero),
    **COMPUTING,
}
"""The operations with rules of their own, by name."""

OUTSIDE_ONLY = ("save", "load", "source")
"""Standard modules that every partition must not call on its own."""


def check_print(check: CallCheck) -> None:
    """Check `print`: any number of scalars, and of arrays that are whole (or pieces) where it runs."""
    for argument in check.node.arguments:
        result = _printed(check, argument)
        check.failed |= result is None
        check.inputs += [result] if result is not None else []


def _printed(check: CallCheck, argument: sx.CallArgument) -> Argument | None:
    parameter, node = check.signature.inputs[0], argument.value
    if argument.name is not None:
        help = "write the value alone"
        check.fail("E0307", "`print` has no named inputs", argument.span, help=help)
        return None
    entity = check.context.frame.find(node.id) if isinstance(node, Name) else None
    if isinstance(entity, TagEntity) and entity.type is not None and not entity.type.scalar:
        check.tag(argument)
        whole = match_distribution(check, _free(parameter), entity, argument.span)
        return (
            Argument(parameter, Name(entity.unique, argument.span), entity.unique, argument.span)
            if whole
            else None
        )
    check.element = None  # Every value may have a type of its own.
    found = check.check_input(replace(parameter, type=Type(None), direction=Direction.IN), argument)
    return replace(found, parameter=parameter) if found is not None else None


def _free(parameter: Parameter) -> Parameter:
    return replace(parameter, type=Type(None, None, Distribution(Pattern.ANY)))
