"""What a call gives to the tags behind `->`: their types; `_reductions` checks what is reduced.

The type of an array follows from where it lives, and from a piece's shape that of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from pse.language.check._call_check import CallCheck
from pse.language.check._context import REPLICATED, ROOT, no_such_axis
from pse.language.check._distribution_check import (
    dynamic_misplaced,
    has_dynamic_extent,
    in_one_place,
    rows_first,
    same_pattern,
)
from pse.language.check._ir import Output
from pse.language.check._remedies import (
    another_name,
    decided_rows,
    declaration,
    distributed_so,
    lies,
    output_text,
)
from pse.language.check._shape_check import ArrayOperand, expect_shape, has_rank
from pse.language.check._targets import Target, check_reduction, refuse_distributed_scalar
from pse.language.types import _symbolic_extents as extents
from pse.language.types._expressions import Expression, is_dynamic, render_expression
from pse.language.types._symbolic_extents import Atom, Extent, Piece
from pse.language.types._types import (
    Distribution,
    Parameter,
    Pattern,
    Type,
    halo_of,
    render_distribution,
    render_shape,
)
from pse.records import replace
from pse.text import list_text


def module_outputs(check: CallCheck, found: list[Target | None]) -> list[Output]:
    """Work out the outputs of an ordinary module; everything wrong is reported."""
    pairs = [(p, t) for p, t in zip(check.signature.outputs, found, strict=True)]
    for parameter, goal in pairs:
        if goal is not None and goal.known is not None and not _expect_known(check, parameter, goal):
            check.failed = True
    check.matcher.settle()
    outputs = []
    for parameter, goal in pairs:
        type = None
        if goal is not None and not check.failed:
            type = (
                _scalar_type(check, parameter, goal)
                if parameter.type.scalar
                else array_type(check, parameter, goal)
            )
        if goal is None or type is None:
            check.failed = True
            continue
        outputs.append(finish(check, parameter, goal, type))
    return [output for output in outputs if output is not None]


def _expect_known(check: CallCheck, parameter: Parameter, goal: Target) -> bool:
    """Check an output whose tag has a type already: same kind, element and shape."""
    type = goal.known
    assert type is not None, "checked by the caller"
    assert goal.entity is not None, "checked by the caller"
    span = goal.node.name.span
    notes = [(goal.entity.span, f"`{goal.entity.display}` is declared here as {check.context.show(type)}")]
    if type.scalar != parameter.type.scalar:
        kinds = check.kinds(parameter)
        message = f"{check.named(parameter)} is {kinds[0]}, but the tag `{goal.entity.display}` is {kinds[1]}"
        check.fail("E0304", message, span, notes=notes, help=_otherwise(check, goal))
        return False
    if parameter.type.element is None and check.element is None:
        check.element = type.element
    element = parameter.type.element or check.element
    if element is not type.element and element is not None and type.element is not None:
        message = (
            f"{check.named(parameter)} is of type {element.label}, "
            f"but the tag `{goal.entity.display}` is of type {type.element.label}"
        )
        help = f"{_otherwise(check, goal)}   or declare `{goal.entity.display}` as {element.label}"
        if goal.node.type is not None:
            shape = render_shape(type, display=check.context.display)
            given = output_text(check.context, goal.node, stated=f"{element.label}{shape}")
            help = f"state the type that it gives:  {given}"
        check.fail("E0303", message, span, notes=notes, help=help)
        return False
    if parameter.type.scalar:
        return True
    if type.distribution.distributed and check.context.partition is None:
        return whole_on_root(check, goal, type.distribution)
    if check.context.partition is not None:
        where = _where(check, parameter, goal)
        if where is None:
            return False
        type = check.context.locate(goal.entity, where) if goal.unplaced else type
    untyped = output_text(check.context, goal.node, stated="") if goal.node.type is not None else ""
    again = check.context.unrolled and goal.entity.span == goal.node.name.span
    array = ArrayOperand(parameter, type, goal.entity.display, span, untyped, again)
    if not has_rank(check, array):
        return False
    expect_shape(check, array)
    return True


def _scalar_type(check: CallCheck, parameter: Parameter, goal: Target) -> Type | None:
    element = parameter.type.element or check.element
    if goal.node.distribution is not None:
        refuse_distributed_scalar(check, goal.node.distribution.span)
        return None
    if element is None:
        unknown_element(check, goal)
        return None
    partition = check.context.partition
    if partition is None:
        return Type(element, (), REPLICATED)
    return Type(element, (), Distribution(Pattern.BLOCK, partition=partition))


def finish(check: CallCheck, parameter: Parameter, goal: Target, type: Type) -> Output | None:
    """Declare the tag or compare it with what it was, check its reduction, and make the output."""
    context = check.context
    if goal.entity is None:
        entity = context.new_tag(goal.node.name, type, goal.kind)
    elif goal.entity.type is None:
        return None
    else:
        entity = goal.entity
        if not _agrees(check, goal, type):
            return None
    reduction = None
    if goal.node.reduction is not None:
        reduction = check_reduction(check, goal.node.reduction, type)
        context.globals.used.add(entity.span)
        if reduction is None:
            check.failed = True
            return None
    return Output(parameter, entity.unique, type, goal.node.name.span, reduction)


def _agrees(check: CallCheck, goal: Target, type: Type) -> bool:
    """Compare a result with the type that its tag has already."""
    context, entity, known = check.context, goal.entity, goal.known
    assert entity is not None, "checked by the caller"
    assert known is not None, "checked by the caller"
    span = goal.node.name.span
    notes = [(entity.span, f"`{entity.display}` is declared here as {context.show(known)}")]
    if known.scalar and known.distribution.pattern is Pattern.REPLICATED and type.distribution.distributed:
        message = f"`{entity.display}` has one value for all partitions, but each partition gives its own"
        help = f"reduce it:  -> own reduce {entity.display}(sum)"
        check.fail("E0315", message, span, notes=notes, help=help, directive=False)
        return False
    advice, label = _otherwise(check, goal), context.show(type)
    if not in_one_place(known.distribution, type.distribution, context):
        code, message = "E0312", f"distribution mismatch: the call does not give what `{entity.display}` is"
    elif known.element is not type.element:
        code, message = "E0303", f"the call does not give the element type of `{entity.display}`"
    elif context.shape(known) != context.shape(type):
        code, message = "E0311", f"shape mismatch: the call does not give the shape of `{entity.display}`"
        if has_dynamic_extent(known) and not has_dynamic_extent(type) and goal.node.type is None:
            advice = f"declare it as what it is:  var {label} {entity.display}"
    else:
        return True
    check.fail(code, message, span, notes=notes, label=label, help=advice, directive=False)
    return False


def _otherwise(check: CallCheck, goal: Target) -> str:
    """Say what to do about a tag that does not have the type of what it gets."""
    if goal.node.type is not None:
        without = output_text(check.context, goal.node, stated="")
        return f"state the type that the call gives, or none:  {without}"
    return another_name(check.context, goal.node)


def unknown_element(check: CallCheck, goal: Target) -> None:
    """Report that nothing says what an output's elements are."""
    name = goal.node.name.id
    message = f"the element type of `{name}` cannot be worked out from the call"
    help = declaration(check.context, name, None, 1, goal.annotation)
    check.fail("E0318", message, goal.node.name.span, help=help)


def array_type(check: CallCheck, parameter: Parameter, goal: Target) -> Type | None:
    """Work out the type of an array that a module gives."""
    element = parameter.type.element or check.element
    if element is None:
        unknown_element(check, goal)
        return None
    distribution = _where(check, parameter, goal)
    if distribution is None:
        return None
    if goal.known is not None:
        type = replace(goal.known, distribution=distribution)
        return type if _fits_known(check, parameter, goal) else None
    if parameter.type.shape is None:
        _unknown_size(check, goal, parameter.name)
        return None
    if not _has_known_sizes(check, parameter, goal):
        return None
    shape = _global_shape(check, parameter, goal, distribution)
    return Type(element, shape, distribution) if shape is not None else None


def _fits_known(check: CallCheck, parameter: Parameter, goal: Target) -> bool:
    """Whether a tag of a known type can have as many rows as the module gives, if that is decided then."""
    assert goal.known is not None, "checked by the caller"
    if has_dynamic_extent(goal.known):
        if parameter.type.shape is None and check.reference.language != "std":
            _unknown_size(check, goal, parameter.name)
            return False
        return _has_known_sizes(check, parameter, goal)
    local = [check.matcher.extent(pattern) for pattern in parameter.type.shape or ()]
    if not any(extents.is_dynamic(extent) for extent in local):
        return True
    assert goal.entity is not None, "its type is known"
    decided = render_shape(Type(None, tuple(map(extents.to_expression, local))))
    name = goal.entity.display
    message = f"`{check.node.callee.text}` gives {decided}, which is known only while the program runs"
    notes = [(goal.entity.span, f"`{name}` is declared here as {check.context.show(goal.known)}")]
    element = goal.known.element.label if goal.known.element is not None else "f64"
    help = f"declare it so, too:  var {element}{decided} {name},  or give the output another name"
    check.fail("E0326", message, goal.node.name.span, notes=notes, help=help)
    return False


def _has_known_sizes(check: CallCheck, parameter: Parameter, goal: Target) -> bool:
    """Whether the inputs say how large an output is; a capacity may be any number that is passed."""
    passed = {p.name for p in check.signature.inputs if p.type.scalar}
    sizes = [check.matcher.extent(pattern) for pattern in parameter.sizes]
    unknown = {name for extent in sizes for name in extents.dimensions_in(extent)} - passed
    if unknown:
        _unknown_size(check, goal, *sorted(unknown))
    return not unknown


def _unknown_size(check: CallCheck, goal: Target, *dimensions: str) -> None:
    name = goal.node.name.id
    unknown = list_text(f"`{dimension}`" for dimension in dimensions)
    verb = "is" if len(dimensions) == 1 else "are"
    message = f"the shape of `{name}` cannot be worked out: nothing says what {unknown} {verb}"
    parameter = next(
        p
        for p, output in zip(check.signature.outputs, check.node.outputs, strict=True)
        if output is goal.node
    )
    element = parameter.type.element or check.element
    axes = len(parameter.type.shape or ("N",))
    help = declaration(check.context, name, element, axes, goal.annotation)
    check.fail("E0318", message, goal.node.name.span, help=help)


def _where(check: CallCheck, parameter: Parameter, goal: Target) -> Distribution | None:
    """Work out where an array that a module gives lives."""
    context = check.context
    said, want = goal.distribution, parameter.type.distribution
    if said is not None and want.pattern is not Pattern.ANY and not same_pattern(said, want, context):
        given, said_here = (render_distribution(one, display=context.display) for one in (want, said))
        message = f"distribution mismatch: `{check.node.callee.text}` gives {given}, not {said_here}"
        help = f"write:  {output_text(check.context, goal.node, where=given)}"
        help = help if goal.annotation else another_name(check.context, goal.node)
        check.fail("E0312", message, goal.node.span, help=help)
        return None
    if context.partition is None:
        return (said or ROOT) if whole_on_root(check, goal, said or want) else None
    if said is None and want.pattern is not Pattern.ANY:
        said = replace(want, partition=context.partition) if want.distributed else want
    said = said or _inferred(check, parameter)
    if said is None and (
        parameter.single or parameter.decided or (goal.node.reduction is not None and parameter.type.shape)
    ):
        said = Distribution(Pattern.BLOCK, (0,), partition=context.partition)  # One after the other.
    if said is None:
        _refuse_undistributed(check, parameter, goal)
        return None
    return said if _in_block(check, goal, said) else None


def _refuse_undistributed(check: CallCheck, parameter: Parameter, goal: Target) -> None:
    """Report an output of which nothing says how it is distributed, or that can't be."""
    if goal.reported:
        check.failed = True
        return
    local = [check.matcher.extent(pattern) for pattern in parameter.type.shape or ()]
    axis = next((axis for axis, extent in enumerate(local) if extents.has_piece(extent)), None)
    if axis is not None:
        _no_such_pieces(check, parameter, goal, axis)
        return
    message = f"nothing says how `{goal.node.name.id}` is distributed"
    check.fail("E0318", message, goal.node.span, help=distributed_so(check.context, goal.node))


def whole_on_root(check: CallCheck, goal: Target, distribution: Distribution) -> bool:
    """Outside PARALLEL a module gives a whole array on the root."""
    if not distribution.distributed and distribution.pattern is not Pattern.REPLICATED:
        return True
    name, thread = goal.node.name.id, check.context.root_thread
    message = "distribution mismatch: outside PARALLEL a module gives a whole array on the root"
    after = "scatter" if distribution.distributed else "replicate"
    where = f" {lies(check.context, distribution)}" if goal.annotation and distribution.distributed else ""
    help = f"give it a name of its own and {after} it:  -> whole   {thread}{after}(whole) -> {name}{where}"
    check.fail("E0312", message, goal.node.span, help=help, directive=False)
    return False


def _in_block(check: CallCheck, goal: Target, distribution: Distribution) -> bool:
    """Inside PARALLEL a module gives a piece of a tag over the block's partition."""
    partition = check.context.partition
    if not distribution.distributed:
        message = "distribution mismatch: inside PARALLEL each partition gives a piece of the result"
        help = f"for example:  {output_text(check.context, goal.node, where='@ block(0)')}"
        check.fail("E0312", message, goal.node.span, help=help, directive=False)
        return False
    if distribution.partition != partition:
        over = f"`{goal.node.name.id}` is distributed over {distribution.partition}"
        message = f"{over}, but this block runs over {partition}"
        other = another_name(check.context, goal.node, where="")
        help = f"write `PARALLEL over {distribution.partition}`, or {other}"
        check.fail("E0314", message, goal.node.span, help=help, directive=False)
        return False
    return True


def _inferred(check: CallCheck, parameter: Parameter) -> Distribution | None:
    """Find the distribution whose pieces have the shape that the module gives."""
    cut: list[tuple[int, Piece, int]] = []
    for axis, pattern in enumerate(parameter.type.shape or ()):
        extent = check.matcher.extent(pattern)
        pieces = extents.pieces_in(extent)
        if pieces:
            halo = extents.add(extent, extents.scale(extents.atom(pieces[0]), -1)).constant
            if halo is None or halo < 0 or halo % 2:
                return None
            cut.append((axis, pieces[0], halo // 2))
    if not cut:
        return None
    kind = cut[0][1].distribution
    regular = all(p.distribution == kind and p.index == i for i, (_, p, _) in enumerate(cut))
    if not regular or len(cut) != len(kind.axes):
        return None
    widths = [extents.to_expression(extents.number(width)) for _, _, width in cut]
    frame = halo_of(widths) if any(width for _, _, width in cut) else ()
    return replace(kind, axes=tuple(axis for axis, _, _ in cut), halo=frame)


def _laid_out_so(check: CallCheck, parameter: Parameter, goal: Target, shape: Sequence[Expression]) -> str:
    """Say what a module can give instead of an array whose rows it decides, but which can't be laid out."""
    if any(is_dynamic(extent) for extent in shape[1:]):
        given = render_shape(rows_first(parameter.type.shape or (), shape))
        return f"let the module give the rows along the first axis:  {parameter.name}{given}"
    return f"for example:  {output_text(check.context, goal.node, where='@ block(0)')}"


def _global_shape(
    check: CallCheck, parameter: Parameter, goal: Target, distribution: Distribution
) -> tuple[Expression, ...] | None:
    """Turn the extents that a module gives into those of the whole tag."""
    context, local = check.context, [check.matcher.extent(p) for p in parameter.type.shape or ()]
    shape = list(local)
    if distribution.axes and distribution.axes[-1] >= len(local):
        check.failed = True
        context.report(no_such_axis(distribution.axes[-1], len(local), goal.node.span))
        return None
    halo = [context.extent(width) for width in distribution.widths]
    kind = extents.without_halo(distribution, context.lookup)
    for index, axis in enumerate(distribution.axes):
        interior = extents.add(local[axis], extents.scale(halo[index], -2)) if halo else local[axis]
        base = interior.atom
        if isinstance(base, Piece) and base.distribution == kind and base.index == index:
            shape[axis] = base.extent
        elif extents.is_dynamic(interior):  # All that the partitions have, one after the other.
            shape[axis] = extents.global_extent(interior)
        elif (fixed := _fixed(check, interior)) and (blocks := context.blocks(distribution, index)):
            shape[axis] = extents.multiply(fixed, blocks)
        else:
            _no_such_pieces(check, parameter, goal, axis)
            return None
    uncut = [axis for axis in range(len(local)) if axis not in distribution.axes]
    for axis in uncut:
        if (fixed := _fixed(check, shape[axis])) is None:
            _no_such_pieces(check, parameter, goal, axis)
            return None
        shape[axis] = fixed
    result = tuple(extents.to_expression(extent) for extent in shape)
    if fault := dynamic_misplaced(Type(None, result, distribution)):
        check.fail("E0326", fault, goal.node.span, help=_laid_out_so(check, parameter, goal, result))
        return None
    if any(extents.is_large(extent) for extent in result):
        _unknown_size(check, goal, "its extent")
        return None
    return result


def _fixed(check: CallCheck, extent: Extent) -> Extent | None:
    """Give an extent that is the same in every partition, as that of the only piece of an axis; else None."""

    def whole(atom: Atom) -> Extent | None:
        if not isinstance(atom, Piece):
            return None
        blocks = check.context.blocks(atom.distribution, atom.index)
        return atom.extent if blocks is not None and blocks.constant == 1 else None

    fixed = extents.rewrite(extent, whole)
    return None if extents.has_piece(fixed) else fixed


def _no_such_pieces(check: CallCheck, parameter: Parameter, goal: Target, axis: int) -> None:
    """Report what a call gives along an axis, which is not a piece of the array that the program wants."""
    context, name = check.context, goal.node.name.id
    message = f"the call does not give pieces along axis {axis} of `{name}` as it says"
    given = _inferred(check, parameter)
    if given is not None:
        help = f"write:  {output_text(context, goal.node, where=lies(context, given))}"
    else:
        pattern = (parameter.type.shape or ())[axis]
        length = check.show_extent(check.matcher.extent(pattern))
        message = f"along axis {axis} of `{name}` each partition gives {length}: no array has such pieces"
        help = _uneven_help(parameter, goal, pattern)
    check.fail("E0312", f"distribution mismatch: {message}", goal.node.span, help=help)


def _uneven_help(parameter: Parameter, goal: Target, pattern: Expression) -> str:
    """Say what a directive can say of arrays that are no pieces of a whole one."""
    if goal.node.reduction is not None:
        return "let the module give an array of the same shape in every partition"
    if pattern is (parameter.type.shape or ())[0]:
        return decided_rows(parameter)
    written = render_expression(pattern)
    own = f"write a name of its own instead of `{written}` in the directive"
    return f"{own}, and declare `{goal.node.name.id}` before the block: the module gets both lengths"
