"""Typing rules of the standard operations that compute or move rows, and what all typing rules share.

`_std_typing` has the rules of those that move data.
"""

from __future__ import annotations

from collections.abc import Callable

from pse.language.check._call_check import CallCheck
from pse.language.check._context import REPLICATED, ROOT, Context, no_such_axis
from pse.language.check._distribution_check import has_dynamic_extent, in_one_place, match_distribution
from pse.language.check._ir import Argument
from pse.language.check._remedies import distributed_so, output_text, shown, unused_name
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
        other = "" if goal.annotation else unused_name(check.context, goal.node.name.id)
        help = distributed_so(check.context, goal.node, name=other)
        check.fail("E0312", message, goal.node.span, help=help, directive=False)
    else:
        return goal.distribution
    return None


def unplaced(check: CallCheck, goal: Target, example: str = "@ block(0)") -> None:
    """Report an output of which nothing says where it lies."""
    if goal.reported:
        check.failed = True
        return
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


def _combined(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Give the type of what sums a whole array up or, inside PARALLEL, each partition's piece."""
    type, name = source_type(check, entity), check.signature.name
    assert entity is not None, "source_type found it"
    inside = check.context.partition is not None
    if inside and not match_distribution(check, anywhere(check), entity, check.node.arguments[0].span):
        return None
    operation = "sum" if name == "norm" else WHOLE[name]  # A norm is real, whatever it is of.
    if not operation_fits(check, operation, check.node.arguments[0].span, type):
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


def _half_spectrum(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Give the type of the transform of real numbers: the half from which the rest follows."""
    type = source_type(check, entity)
    axis = _axis(check, entity, "sum")
    if axis is None or not _in_numbers(check, type, type.element not in COMPLEX, "real numbers", "fft"):
        return None
    narrow = type.element is Element.F32
    half = _half(check, check.context.extent((type.shape or ())[axis]))
    return _resized(replace(type, element=Element.C64 if narrow else Element.C128), axis, half)


def _whole_signal(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Give the type of the real numbers whose half spectrum is transformed back: `n` along the axis."""
    type, given = source_type(check, entity), _given(check, "n")
    axis = _axis(check, entity, "sum")
    if axis is None or not _in_numbers(
        check, type, type.element in COMPLEX, "half a spectrum of complex numbers", "rfft"
    ):
        return None
    n = check.context.constant(given.value)
    if n is None:
        help = check.context.known_help(given.value)
        check.fail("E0317", "an extent must be known before the run", given.span, help=help)
        return None
    have, due = check.context.extent((type.shape or ())[axis]), _half(check, check.context.extent(n))
    if have != due:
        shown, span = [check.show_extent(one) for one in (have, due)], check.node.arguments[0].span
        message = f"half a spectrum of `n` numbers has {shown[1]} along axis {axis}, but this one {shown[0]}"
        help = f"let `n` be how many numbers `rfft` was given along axis {axis}"
        label = check.context.show(type)
        check.fail("E0311", message, span, label=label, help=help, directive=False)
        return None
    return _resized(
        replace(type, element=Element.F32 if type.element is Element.C64 else Element.F64), axis, n
    )


def _half(check: CallCheck, numbers: extents.Extent) -> extents.Extent:
    """How many frequencies are in half the spectrum of real numbers."""
    one, two = (check.context.extent(Number(value)) for value in (1, 2))
    return extents.add(extents.divide(numbers, two), one)


def _resized(type: Type, axis: int, extent: extents.Extent | Expression) -> Type:
    """Give a type with another extent along an axis."""
    shape = list(type.shape or ())
    shape[axis] = extents.to_expression(extent) if isinstance(extent, extents.Extent) else extent
    return replace(type, shape=tuple(shape))


def _in_numbers(check: CallCheck, type: Type, fits: bool, wanted: str, other: str) -> bool:
    """Report an array of reals where complex numbers are transformed, or the other way round."""
    if not fits:
        message, label = f"`{check.node.callee.text}` transforms {wanted}", check.context.show(type)
        help = f"use `{other}`" if other == "fft" else f"give what `{other}` makes"
        span = check.node.arguments[0].span
        check.fail("E0303", message, span, label=label, help=help, directive=False)
    return fits


# Operations that move rows.


def _migrated(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Give the type of rows that go to other partitions: how many come is known when they do."""
    type = _rows(check, entity)
    if type is None or not _names_partitions(check, type):
        return None
    return _dynamic(type.element, "n", (type.shape or ())[1:], type)


def _border(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Give the type of a list of positions: a row, a partition, and periods along each axis."""
    type = _positions(check, entity)
    if type is None or not _is_box(check, type):
        return None
    return _dynamic(Element.I64, "k", (extents.to_expression(_width(check, type)),), type)


def _ghosts(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Give the type of rows that other partitions show."""
    type = _rows(check, entity)
    if type is None or _listed(check, type) is None:
        return None
    return _dynamic(type.element, "m", (type.shape or ())[1:], type)


def _images(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Give the type of positions that other partitions show, moved by whole periods."""
    type = _positions(check, entity)
    listed = _listed(check, type) if type is not None else None
    if type is None or listed is None or not _is_box(check, type):
        return None
    have, due = check.context.extent((listed.shape or ())[1]), _width(check, type)
    if have != due:
        axes = check.show_extent(check.context.extent((type.shape or ())[1]))
        message = f"`by` is not a list of positions with {axes} coordinates"
        _refuse(check, "by", "E0310", message, "give what `border` has made of these positions")
        return None
    return _dynamic(type.element, "m", (type.shape or ())[1:], type)


def _added_back(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    """Check `add_back`, which gives nothing: it changes the array that the ghosts are of."""
    type = _rows(check, entity)
    if type is None or _listed(check, type) is None:
        return None
    given = _given(check, "x")
    changed = check.context.tags[str(given.tag)].type
    shapes = [check.context.shape(replace(one, shape=(one.shape or ())[1:])) for one in (type, changed)]
    if not operation_fits(check, "sum", check.node.arguments[0].span, type):
        return None
    if (changed.element, shapes[1]) != (type.element, shapes[0]) or not _in_partitions_of(changed, type):
        message = "what is added back has not the rows of the array that it is added to"
        help = "give two arrays of one element type, with rows of one shape, in the same partitions"
        _refuse(check, "x", "E0310", message, help, noted=True)
    check.refuse_aliases()
    return None


def _dynamic(element: Element | None, name: str, others: tuple[Expression, ...], like: Type) -> Type:
    where = Distribution(Pattern.BLOCK, (0,), partition=like.distribution.partition)
    return Type(element, (Name(f"{DYNAMIC}{name}"), *others), where)


def _rows(check: CallCheck, entity: TagEntity | None) -> Type | None:
    """Give the type of an array that is cut into rows; others are reported."""
    type = piece_type(check, entity)
    if type is None or (type.distribution.axes == (0,) and not type.distribution.halo):
        return type
    name = check.node.callee.text
    message = f"`{name}` moves rows: an array that is cut along axis 0 only, without a halo"
    mismatch(check, type, message, "redistribute(…) -> rows @ block(0)  before")
    return None


def _positions(check: CallCheck, entity: TagEntity | None) -> Type | None:
    """Give the type of positions: rows of coordinates."""
    type = _rows(check, entity)
    if type is None or (type.element is Element.F64 and len(type.shape or ()) == 2):
        return type
    message = (
        f"`{check.node.callee.text}` works on positions: an array of f64 with a row of coordinates for each"
    )
    _refuse(check, "x", "E0303", message, "let a module give them:  out f64 x[?n, 3]")
    return None


def _is_box(check: CallCheck, type: Type) -> bool:
    """Whether each partition has three rows with a number for each coordinate."""
    box = check.context.tags[str(_given(check, "box").tag)].type
    shape, axes = box.shape or (), check.context.extent((type.shape or ())[1])
    if box.element is Element.F64 and len(shape) == 2 and _in_partitions_of(box, type):
        rows = check.matcher.divided(extents.local_shape(box, check.context.lookup)[0])
        if rows == check.context.extent(Number(3)) and check.context.extent(shape[1]) == axes:
            return True
    message = "`box` has the least and the greatest coordinates and the periods, in each partition its own"
    help = "let a module give it inside PARALLEL:  out f64 box[3, d]"
    _refuse(check, "box", "E0310", message, help, noted=True)
    return False


def _listed(check: CallCheck, type: Type) -> Type | None:
    """Give the type of the list by which rows go; anything else is reported."""
    listed = check.context.tags[str(_given(check, "by").tag)].type
    if listed.element is not Element.I64 or len(listed.shape or ()) != 2:
        message = "`by` is a list of rows and the partitions that see them: an array of i64 with two axes"
        _refuse(check, "by", "E0303", message, "let `border` make it:  border(x, box, reach = 2.5) -> near")
        return None
    if not _in_partitions_of(listed, type):
        message = "`by` is not a list in the partitions where the rows are"
        _refuse(check, "by", "E0310", message, "make it by `border` where the rows are", noted=True)
        return None
    return listed


def _width(check: CallCheck, type: Type) -> extents.Extent:
    """How many numbers an entry of a list of positions has."""
    return extents.add(check.context.extent((type.shape or ())[1]), check.context.extent(Number(2)))


def _in_partitions_of(one: Type, other: Type) -> bool:
    where = (one.distribution.axes, one.distribution.partition)
    return where == ((0,), other.distribution.partition) and not one.distribution.halo


def _given(check: CallCheck, name: str) -> Argument:
    return next(argument for argument in check.inputs if argument.parameter.name == name)


def _refuse(check: CallCheck, name: str, code: str, message: str, help: str, *, noted: bool = False) -> None:
    """Report an input; `noted`: together with the first one, which it does not fit."""
    given, context = _given(check, name), check.context
    label, first = context.show(context.tags[str(given.tag)].type), check.inputs[0]
    shown = context.show(context.tags[str(first.tag)].type)
    notes = [(first.span, f"this one is {shown}")] if noted else []
    check.fail(code, message, given.span, label=label, notes=notes, help=help, directive=False)


def _names_partitions(check: CallCheck, type: Type) -> bool:
    """Whether the second array has an integer for each row of the first one, where the row is."""
    owners = check.context.tags[str(check.inputs[1].tag)].type
    if owners.element is not Element.I64 or len(owners.shape or ()) != 1:
        message = "`by` names the partition that each row goes to: an array of i64 with one axis"
        _refuse(check, "by", "E0303", message, "let a module give it:  out i64 owner[n]")
        return False
    if not in_one_place(owners.distribution, type.distribution, check.context) or not _as_many(
        check.context, type, owners
    ):
        message = "`by` has not as many rows as the array that is to migrate, in the same partitions"
        _refuse(check, "by", "E0310", message, "give one integer for each row, where the row is", noted=True)
        return False
    return True


def _as_many(context: Context, one: Type, other: Type) -> bool:
    rows = [context.shape(replace(each, shape=(each.shape or ())[:1])) for each in (one, other)]
    return rows[0] == rows[1] or has_dynamic_extent(one) or has_dynamic_extent(other)


ALONG_AXES = ("fft", "ifft", "rfft", "irfft", "sort", "sum_along", "smallest_along", "largest_along")
"""The operations along an axis that is not cut: each piece has all they need."""

WHOLE = {"sum": "sum", "smallest": "min", "largest": "max", "dot": "sum", "norm": "hypot", "histogram": "sum"}
"""The operations that sum an array up, and how what they make of its pieces is combined."""

COMPUTING = {
    "scan": Operation("inside", _scan, scalars=True),
    "migrate": Operation("inside", _migrated),
    "border": Operation("inside", _border),
    "ghosts": Operation("inside", _ghosts),
    "images": Operation("inside", _images),
    "add_back": Operation("inside", _added_back),
    "axpy": Operation("", _added),
    "fft": Operation("", _transform),
    "ifft": Operation("", _transform),
    "rfft": Operation("", _half_spectrum),
    "irfft": Operation("", _whole_signal),
    "sort": Operation("", _sorted),
    **dict.fromkeys(("sum_along", "smallest_along", "largest_along"), Operation("", _along)),
    **dict.fromkeys(WHOLE, Operation("", _combined)),
}
"""The operations by name."""

DECIDING_ROWS = ("migrate", "border", "ghosts", "images")
"""The operations that decide how many rows their result has."""
