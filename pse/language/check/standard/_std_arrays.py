"""Typing rules of the standard operations that compute with arrays, and what all typing rules share.

`_std_typing` has the rules of those that move data.
"""

from __future__ import annotations

from collections.abc import Callable

from pse.language.check._call_check import CallCheck
from pse.language.check._context import REPLICATED, ROOT, Context, no_such_axis
from pse.language.check._distribution_check import has_dynamic_extent, in_one_place, match_distribution
from pse.language.check._remedies import distributed_so, output_text, shown
from pse.language.check._scope import TagEntity
from pse.language.check._targets import Target, even_shape, operation_fits, refuse_distributed_scalar
from pse.language.types import _symbolic_extents as extents
from pse.language.types._elements import COMPLEX, INTEGERS
from pse.language.types._expressions import DYNAMIC, Expression, Name, Number, Text
from pse.language.types._types import Distribution, Element, Parameter, Pattern, Type
from pse.records import dataclass, replace


@dataclass(frozen=True)
class Operation:
    """A standard operation.

    `region` is where it may stand: "outside" PARALLEL, "inside" it, or anywhere ("").  `rule` gives the type
    of the result, None if there is none or it cannot be worked out (which it reports).  `scalars`: it works
    on scalars, too.
    """

    region: str
    rule: Callable[[CallCheck, TagEntity | None, Target | None], Type | None]
    scalars: bool = False


def source_type(check: CallCheck, entity: TagEntity | None) -> Type:
    """Give the type of the first array that the operation works on."""
    assert entity is not None, "the signature has an array and _inputs found it"
    assert entity.type is not None, "the signature has an array and _inputs found it"
    return entity.type


def mismatch(check: CallCheck, type: Type, message: str, help: str) -> None:
    """Report an operand that lives where the operation can't work on it."""
    span = check.node.arguments[0].span
    label = check.context.show(type)
    check.fail("E0312", f"distribution mismatch: {message}", span, label=label, help=help, directive=False)


def declared(check: CallCheck, goal: Target | None, example: str) -> Distribution | None:
    """Give the distribution that the program names for the result; without one, report."""
    if goal is None:
        return None
    if goal.distribution is None:
        unplaced(check, goal, example)
    elif not goal.distribution.distributed:
        message = f"distribution mismatch: `{check.node.callee.text}` gives a distributed tag"
        other = "" if goal.annotation else f"{goal.node.name.id}2"
        help = distributed_so(check.context, goal.node, name=other)
        check.fail("E0312", message, goal.node.span, help=help, directive=False)
    else:
        return goal.distribution
    return None


def unplaced(check: CallCheck, goal: Target, example: str = "@ block(0)") -> None:
    """Report an output of which nothing says where it lies."""
    message = f"nothing says how `{goal.node.name.id}` is distributed"
    help = distributed_so(check.context, goal.node, example)
    check.fail("E0318", message, goal.node.span, help=help, directive=False)


def told(check: CallCheck, goal: Target, type: Type) -> bool:
    """Compare the distribution that is written with the output with what the operation gives."""
    if goal.node.distribution is not None and type.scalar:
        refuse_distributed_scalar(check, goal.node.distribution.span)
        return False
    written, name = goal.annotation, goal.node.name.id
    if written is None or in_one_place(written, type.distribution, check.context):
        return True
    if goal.known is not None and not any(not p.type.scalar for p in check.signature.inputs):
        message = f"`{name}` is declared as {shown(check.context, type)}"
        help = f"declare it so:  var {shown(check.context, replace(type, distribution=written))} {name}"
    else:
        message = f"`{check.node.callee.text}` gives {shown(check.context, type)}"
        help = f"leave out the distribution:  {output_text(check.context, goal.node, where='')}"
    check.fail("E0312", f"distribution mismatch: {message}", goal.node.span, help=help, directive=False)
    return False


def piece_type(check: CallCheck, entity: TagEntity | None) -> Type | None:
    """Give the type of an operand that must be distributed over the block's partition."""
    type = source_type(check, entity)
    assert entity is not None, "source_type found it"
    if not match_distribution(check, anywhere(check), entity, check.node.arguments[0].span):
        return None
    if not type.distribution.distributed:
        help = f"scatter the array before the block:  scatter(…) -> {entity.display} @ block(0)"
        mismatch(check, type, f"`{check.node.callee.text}` works on distributed arrays", help)
        return None
    return type


def anywhere(check: CallCheck) -> Parameter:
    """Make the operand's parameter say nothing about distribution: the rules here do."""
    parameter = next(p for p in check.signature.inputs if not p.type.scalar)
    return replace(parameter, type=replace(parameter.type, distribution=Distribution(Pattern.ANY)))


def _scan(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Give the type of what partitions 0 to each one's own have together: that of the operand."""
    type, span = source_type(check, entity), check.node.arguments[0].span
    assert entity is not None, "source_type found it"
    if not match_distribution(check, anywhere(check), entity, span):
        return None
    if not type.distribution.distributed:
        message = "`scan` combines what each partition has of its own; this is the same everywhere"
        mismatch(check, type, message, "give what a module makes inside PARALLEL")
        return None
    given = next(argument for argument in check.inputs if argument.parameter.name == "op")
    if not isinstance(given.value, Text):
        help = 'write it as a string:  scan(x, "sum") -> y'
        check.fail("E0319", "the operation of `scan` must be known before the run", given.span, help=help)
        return None
    if not operation_fits(check, given.value.value, given.span, type):
        return None
    return type if even_shape(check, type, span) is not None else None


def _migrated(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Give the type of rows that go to other partitions: how many come is known when they do."""
    type = piece_type(check, entity)
    if type is None or not _cut_into_rows(check, type) or not _names_partitions(check, type):
        return None
    where = Distribution(Pattern.BLOCK, (0,), partition=type.distribution.partition)
    return Type(type.element, (Name(f"{DYNAMIC}n"), *(type.shape or ())[1:]), where)


def _cut_into_rows(check: CallCheck, type: Type) -> bool:
    if type.distribution.axes == (0,) and not type.distribution.halo:
        return True
    message = "`migrate` moves rows: an array that is cut along axis 0 only, without a halo"
    mismatch(check, type, message, "redistribute(…) -> rows @ block(0)  before")
    return False


def _names_partitions(check: CallCheck, type: Type) -> bool:
    """Whether the second array has an integer for each row of the first one, where the row is."""
    given = check.inputs[1]
    owners = check.context.tags[str(given.tag)].type
    label, context = check.context.show(owners), check.context
    if owners.element is not Element.I64 or len(owners.shape or ()) != 1:
        message = "`by` names the partition that each row goes to: an array of i64 with one axis"
        check.fail("E0303", message, given.span, label=label, help="let a module give it:  out i64 owner[n]")
        return False
    rows = [context.shape(replace(one, shape=(one.shape or ())[:1])) for one in (type, owners)]
    fits = rows[0] == rows[1] or any(has_dynamic_extent(one) for one in (type, owners))
    if not in_one_place(owners.distribution, type.distribution, context) or not fits:
        message = "`by` has not as many rows as the array that is to migrate, in the same partitions"
        notes = [(check.inputs[0].span, f"this one is {context.show(type)}")]
        help = "give one integer for each row, where the row is"
        check.fail("E0310", message, given.span, label=label, notes=notes, help=help, directive=False)
        return False
    return True


def _combined(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Give the type of what sums a whole array up or, inside PARALLEL, each partition's piece."""
    type, name = source_type(check, entity), check.signature.name
    assert entity is not None, "source_type found it"
    inside = check.context.partition is not None
    if inside and not match_distribution(check, anywhere(check), entity, check.node.arguments[0].span):
        return None
    if not operation_fits(check, WHOLE[name], check.node.arguments[0].span, type):
        return None
    if name == "norm" and inside:
        square = f"dot({entity.display}, {entity.display})"
        help = (
            f"reduce the squares:  {square} -> s reduce squares(sum)  and take sqrt(squares) after the block"
        )
        message = "`norm` is that of a whole array: those of pieces cannot be added"
        check.fail("E0316", message, check.node.span, help=help, directive=False)
        return None
    if name == "dot" and not _alike(check):
        return None
    shape = _bins(check, type) if name == "histogram" else ()
    if shape is None:
        return None
    whole = Type(_element(name, type.element), shape, _where(type, shape, goal))
    return of_each(check.context, whole, str(check.context.partition)) if inside else whole


def _where(type: Type, shape: tuple[Expression, ...], goal: Target | None) -> Distribution:
    """Say where a value of a whole array is: an array where its tag wants it, or where all of it was made."""
    if not shape:
        return REPLICATED
    if not type.distribution.distributed or (goal is not None and goal.distribution == ROOT):
        return ROOT
    return REPLICATED


def of_each(context: Context, type: Type, partition: str) -> Type:
    """Give the type of values that partitions have of their own: of arrays, one after the other."""
    if type.scalar:
        return replace(type, distribution=Distribution(Pattern.BLOCK, partition=partition))
    first, *others = type.shape or ()
    whole = extents.multiply(context.extent(first), context.lookup(partition))
    where = Distribution(Pattern.BLOCK, (0,), partition=partition)
    return Type(type.element, (extents.to_expression(whole), *others), where)


def _bins(check: CallCheck, type: Type) -> tuple[Expression, ...] | None:
    """Give the shape of a histogram, which has a number for each bin."""
    if type.element in COMPLEX:
        span, label = check.node.arguments[0].span, check.context.show(type)
        message = "`histogram` counts numbers that have an order, and these are complex"
        help = "count their absolute values: let a module give them"
        check.fail("E0303", message, span, label=label, help=help, directive=False)
        return None
    given = next(argument for argument in check.inputs if argument.parameter.name == "bins")
    bins = check.context.constant(given.value)
    if bins is None:
        message, help = (
            "the number of bins must be known before the run",
            check.context.known_help(given.value),
        )
        check.fail("E0317", message, given.span, help=help, directive=False)
        return None
    return (bins,)


def _element(name: str, element: Element | None) -> Element | None:
    """Give the type of what sums up an array of elements of a type."""
    if name in ("norm", "histogram"):
        return Element.F64 if name == "norm" else Element.I64
    return _wide(name, element)


def _wide(name: str, element: Element | None) -> Element | None:
    """Give the type of a sum, which is of 64 bits (each part of a complex one)."""
    if name in ("smallest", "largest"):
        return element
    if element in INTEGERS:
        return Element.I64
    return Element.C128 if element in COMPLEX else Element.F64


def _alike(check: CallCheck) -> bool:
    """Whether the two arrays of an operation have one element type, shape and distribution."""
    given = [argument for argument in check.inputs if argument.tag is not None]
    one, other = (check.context.tags[str(argument.tag)].type for argument in given)
    shapes = [check.context.shape(type) for type in (one, other)]
    same = (one.element, one.distribution, shapes[0]) == (other.element, other.distribution, shapes[1])
    if not same:
        verb = "multiplies" if check.signature.name == "dot" else "adds"
        message = f"`{check.signature.name}` {verb} arrays of one element type, shape and distribution"
        span, label = given[1].span, check.context.show(other)
        notes = [(given[0].span, f"this one is {check.context.show(one)}")]
        help = "bring one to where the other is:  scatter, gather or redistribute"
        if shapes[0] != shapes[1] or one.element is not other.element:
            what = "shape" if shapes[0] != shapes[1] else "element type"
            help = f"give two arrays of one {what}"
        check.fail("E0310", message, span, label=label, notes=notes, help=help, directive=False)
    return same


def _axis(check: CallCheck, entity: TagEntity | None, operation: str) -> int | None:
    """Give the axis along which an operation works on an array, which has all of it in each piece."""
    type, span = source_type(check, entity), check.node.arguments[0].span
    assert entity is not None, "source_type found it"
    inside, rank = check.context.partition is not None, len(type.shape or ())
    if inside and not match_distribution(check, anywhere(check), entity, span):
        return None
    if not operation_fits(check, operation, span, type):
        return None
    given = next(argument for argument in check.inputs if argument.parameter.name == "axis")
    axis = given.value.value if isinstance(given.value, Number) and given.value.value >= 0 else rank - 1
    if axis >= rank:
        check.context.report(no_such_axis(int(axis), rank, given.span))
        check.failed = True
        return None
    if axis in type.distribution.axes:
        message = f"axis {axis} is cut, and a partition has a part of it only"
        help = "redistribute the array so that the axis is whole, or transpose it, before"
        mismatch(check, type, message, help)
        return None
    return int(axis)


def _sorted(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Give the type of a sorted array: that of the operand, whose elements have an order."""
    return source_type(check, entity) if _axis(check, entity, "min") is not None else None


def _along(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Give the type of what is combined along an axis: the array without it."""
    type, name = source_type(check, entity), check.signature.name
    axis = _axis(check, entity, "sum" if name == "sum_along" else "min")
    if axis is None:
        return None
    shape, distribution = type.shape or (), type.distribution
    if len(shape) == 1:
        message = f"`{name}` needs an array with two axes or more: along its only axis there is one value"
        help = f"use the operation that gives one value:  {name.removesuffix('_along')}(…) -> s"
        span, label = check.node.arguments[0].span, check.context.show(type)
        check.fail("E0304", message, span, label=label, help=help, directive=False)
        return None
    axes = tuple(one - (one > axis) for one in distribution.axes)
    element = _wide("sum" if name == "sum_along" else "smallest", type.element)
    return Type(element, (*shape[:axis], *shape[axis + 1 :]), replace(distribution, axes=axes))


def _added(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Check `axpy`, which gives nothing: it changes its second array."""
    type, span = source_type(check, entity), check.node.arguments[1].span
    assert entity is not None, "source_type found it"
    if check.context.partition is not None and not match_distribution(check, anywhere(check), entity, span):
        return None
    if type.element in INTEGERS or not operation_fits(check, "sum", span, type):
        if type.element in INTEGERS:
            message = "`axpy` adds real multiples, and these are integers"
            help = "give arrays of real or complex numbers"
            check.fail("E0303", message, span, label=check.context.show(type), help=help, directive=False)
        return None
    if _alike(check) and check.inputs[1].tag == check.inputs[2].tag:
        message = f"`{entity.display}` is changed by this call, and given to it twice"
        help = f"copy it first:  copy({entity.display}) -> before"
        check.fail("E0324", message, check.inputs[2].span, help=help, directive=False)
    return None


def _transform(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Give the type of a Fourier transform: complex, and distributed as the operand is."""
    type = source_type(check, entity)
    if _axis(check, entity, "sum") is None:
        return None
    narrow = type.element in (Element.F32, Element.C64)
    return replace(type, element=Element.C64 if narrow else Element.C128)


ALONG_AXES = ("fft", "ifft", "sort", "sum_along", "smallest_along", "largest_along")
"""The operations along an axis that is not cut: each piece has all they need."""

WHOLE = {"sum": "sum", "smallest": "min", "largest": "max", "dot": "sum", "norm": "sum", "histogram": "sum"}
"""The operations that sum an array up, and how what they make of its pieces is combined."""

COMPUTING = {
    "scan": Operation("inside", _scan, scalars=True),
    "migrate": Operation("inside", _migrated),
    "axpy": Operation("", _added),
    "fft": Operation("", _transform),
    "ifft": Operation("", _transform),
    "sort": Operation("", _sorted),
    **dict.fromkeys(("sum_along", "smallest_along", "largest_along"), Operation("", _along)),
    **dict.fromkeys(WHOLE, Operation("", _combined)),
}
"""The operations by name."""
