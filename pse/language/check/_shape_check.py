"""Shapes of a call's arrays against the directive: each axis, and what to do where one does not fit."""

from __future__ import annotations

import functools

from pse.language.check._context import CallContext
from pse.language.check._halo_check import frame_width, lacks_halo, takes_frame, takes_halo
from pse.language.check._remedies import decided_rows
from pse.language.diagnostics._diagnostic import warning_at
from pse.language.diagnostics._source import Span
from pse.language.types import _symbolic_extents as extents
from pse.language.types._expressions import Expression, names_in, render_expression
from pse.language.types._shape_unification import needed
from pse.language.types._symbolic_extents import Extent
from pse.language.types._types import Direction, Distribution, Parameter, Pattern, Type, render_distribution
from pse.records import dataclass
from pse.text import count_text


@dataclass(frozen=True)
class ArrayOperand:
    """An array that a call gets or makes, of which the type is known.

    `untyped` is the output as it would be written without its type; empty if the call states none.
    `again` says that an earlier iteration of an unrolled loop made it, by the same call.
    """

    parameter: Parameter
    type: Type
    display: str
    span: Span
    untyped: str = ""
    again: bool = False


@dataclass(frozen=True)
class _Axis:
    """An axis of an operand: its number, what the directive asks for, and its extent."""

    array: ArrayOperand
    index: int
    pattern: Expression
    actual: Extent

    @property
    def written(self) -> str:
        """What the directive asks for, as text."""
        return render_expression(self.pattern)


def has_rank(check: CallContext, array: ArrayOperand) -> bool:
    """Check how many axes an array has."""
    shape, have = array.parameter.type.shape, len(array.type.shape or ())
    if shape is None or len(shape) == have:
        return True
    wanted = _axes(len(shape))
    message = f"{check.named(array.parameter)} has {wanted}, but the tag `{array.display}` has {_axes(have)}"
    help = f"name a tag with {wanted}, as the directive declares"
    check.fail("E0304", message, array.span, label=check.context.show(array.type), help=help)
    return False


def _axes(count: int) -> str:
    return count_text(count, "axis", "axes")


def expect_shape(check: CallContext, array: ArrayOperand) -> None:
    """Ask for the directive's shape, of as many axes, to be that of an array."""
    shape = array.parameter.type.shape
    if shape is None:
        return
    _warn_of_frame(check, array)
    if array.parameter.direction is not Direction.OUT:
        _warn_of_no_halo(check, array)
    made = array.parameter.direction is Direction.OUT
    for index, actual in enumerate(extents.local_shape(array.type, check.context.lookup)):
        if made and extents.is_dynamic(actual):
            continue  # It is as long as the call makes it.
        axis = _Axis(array, index, shape[index], actual)
        check.matcher.expect(axis.pattern, actual, functools.partial(_mismatch, check, axis))


def _mismatch(check: CallContext, axis: _Axis, expected: Extent) -> None:
    """Report an axis whose extent is not what the directive asks for."""
    if axis.array.parameter.single:
        _several(check, axis)
    elif extents.dimensions_in(expected):
        _impossible(check, axis, expected)
    elif extents.global_extent(axis.actual) == extents.global_extent(expected) and extents.has_piece(
        expected
    ):
        _pieces_differ(check, axis, expected)
    else:
        have, want = check.show_extent(axis.actual), check.show_extent(expected)
        where = f"axis {axis.index} of `{axis.array.display}` is {have}"
        message = f"{where}, but `{check.node.callee.text}` needs {want} (`{axis.written}`)"
        _fail(check, axis, message, _shape_help(check, axis, expected))


def _fail(check: CallContext, axis: _Axis, message: str, help: str) -> None:
    label = check.context.show(axis.array.type)
    check.fail("E0311", f"shape mismatch: {message}", axis.array.span, label=label, help=help)


def _several(check: CallContext, axis: _Axis) -> None:
    """Report an array of records where a module takes or gives one."""
    array, have = axis.array, check.show_extent(axis.actual)
    message = f"{check.named(array.parameter)} is one record, but `{array.display}` has {have}"
    element = array.type.element.label if array.type.element is not None else "T"
    help = f"for one of them, let a module pick it:  (in {element} all[n], in i64 k, out {element} one)"
    check.fail("E0311", message, array.span, label=check.context.show(array.type), help=help)


def _impossible(check: CallContext, axis: _Axis, expected: Extent) -> None:
    """Report an extent that no value of the directive's dimension gives."""
    display, have = axis.array.display, check.show_extent(axis.actual)
    message = (
        f"axis {axis.index} of `{display}` is {have}, but `{check.node.callee.text}` needs {needed(expected)}"
    )
    fitting = ", ".join(map(check.show_extent, extents.fitting(expected, axis.actual)))
    _fail(check, axis, message, f"declare or make `{display}` with an extent that fits:  {fitting}, …")


def _pieces_differ(check: CallContext, axis: _Axis, expected: Extent) -> None:
    """Report pieces that may differ in length, though their axes are equally long."""
    want, have = extents.pieces_in(expected), extents.pieces_in(axis.actual)
    if want and [(p.distribution, p.index) for p in want] != [(p.distribution, p.index) for p in have]:
        _cut_otherwise(check, axis, want[0].distribution)
        return
    message = (
        f"pieces of axis {axis.index} of `{axis.array.display}` need not have the length `{axis.written}` "
        "that other arrays of this call ask for: blocks differ by one where the axis can't be shared evenly"
    )
    _fail(check, axis, message, _own_name(axis))


def _own_name(axis: _Axis) -> str:
    written = f"`{axis.written}`"
    return f"write a name of its own instead of {written} in the directive: the module gets both lengths"


def _cut_otherwise(check: CallContext, axis: _Axis, want: Distribution) -> None:
    """Report pieces of an equally long axis that are cut in two ways within one call."""
    array, display = axis.array, check.context.display
    cut, have = (render_distribution(one, display=display) for one in (want, array.type.distribution))
    message = f"distribution mismatch: `{array.display}` is {have}, but other arrays of this call are {cut}"
    help = f"redistribute it inside PARALLEL:  redistribute({array.display}) -> pieces {cut}"
    if cut == have:
        axes = "two axes of this call that are cut along different axes of the grid"
        message = f"distribution mismatch: `{axis.written}` stands for {axes}"
        help = "give the two axes different names in the directive"
    check.fail("E0312", message, array.span, label=check.context.show(array.type), help=help)


def _shape_help(check: CallContext, axis: _Axis, expected: Extent) -> str:
    """Say what would make two extents equal: a halo, one parameter instead of two, another tag."""
    array, actual = axis.array, axis.actual
    wider = extents.add(expected, extents.scale(actual, -1)).constant
    if extents.has_piece(actual) and wider is not None and wider > 0 and wider % 2 == 0:
        return f"the directive takes the halo: declare `{array.display}` with one:  halo({wider // 2})"
    if extents.has_piece(expected):
        return _piece_help(check, axis, expected)
    pieces = extents.pieces_in(actual)
    blocks = check.context.blocks(array.type.distribution, pieces[0].index) if pieces else None
    if blocks is not None:
        whole = check.show_extent(extents.multiply(expected, blocks))
        if array.untyped:
            return f"leave out the type, which is that of all pieces together:  {array.untyped}"
        return f"the type of `{array.display}` has the extents of the whole array, {whole}"
    if array.again:
        (counter, _), name = list(check.context.frame.known_counters())[-1], array.display
        tags = f"an array of tags with the bounds of the loop, `var … {name}[{counter} in …]`"
        return f"declare {tags}, and write  -> {name}[{counter}]"
    names = [check.show_extent(extent) for extent in (actual, expected)]
    if all(name.isidentifier() for name in names):
        return f"if {names[0]} and {names[1]} are always equal, use one of them in both places"
    return f"declare or make `{array.display}` with the extent {names[1]} here"


def _piece_help(check: CallContext, axis: _Axis, expected: Extent) -> str:
    """Say what to do about an axis that is not as long as a piece of another array."""
    array, piece = axis.array, expected.atom
    if isinstance(piece, extents.Piece):
        whole = check.show_extent(piece.extent)
        return f"declare or make `{array.display}` with the extent {whole} here"
    if array.parameter.direction is Direction.OUT and axis.index == 0:
        return f"give the output another name, and {decided_rows(array.parameter)}"
    return _own_name(axis)


def _warn_of_frame(check: CallContext, array: ArrayOperand) -> None:
    """Tell where a directive takes cells of an axis that is not cut for a halo."""
    parameter, type = array.parameter, array.type
    if parameter.type.distribution.pattern is not Pattern.ANY or not takes_halo(parameter, type):
        return
    for axis, pattern in enumerate(parameter.type.shape or ()):
        if axis in type.distribution.axes or not takes_frame(pattern):
            continue
        message = (
            f"axis {axis} of `{array.display}` is not cut and has no halo: "
            f"`{render_expression(pattern)}` takes cells of the array itself for the frame"
        )
        where = render_distribution(type.distribution, display=check.context.display)
        help = f"if that is meant, write `{where}` behind the shape in the directive; else cut the axis, too"
        check.context.warnings.append(
            warning_at("W0301", message, array.span, notes=check.directive_note(), help=help)
        )


def _warn_of_no_halo(check: CallContext, array: ArrayOperand) -> None:
    """Tell where a directive takes cells of every piece for a halo that there is not."""
    parameter, type = array.parameter, array.type
    pattern = lacks_halo(parameter, type) if parameter.type.distribution.pattern is Pattern.ANY else None
    if pattern is None or names_in(pattern) & {p.name for p in check.signature.inputs}:
        return
    takes = f"`{render_expression(pattern)}` takes cells of each piece for the frame"
    message = f"`{array.display}` has no halo: {takes}"
    where = render_distribution(type.distribution, display=check.context.display)
    halo = f"{where} halo({frame_width(pattern)})"
    help = (
        f"declare `{array.display}` as `{halo}` and fill it before the call, exchange({array.display}); "
        f"if its own cells are meant, write `{where}` behind the shape in the directive"
    )
    check.context.warnings.append(
        warning_at("W0301", message, array.span, notes=check.directive_note(), help=help)
    )
