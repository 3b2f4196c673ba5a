"""Distributions: where tags live against where calls run, what brings a tag there, and layouts that can't be.

Grids of the wrong size, blocks without elements and halos wider than a block are found when a program is
checked as far as they depend on constants alone, the others when its parameters have values (`binding`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pse.errors import EvaluationError
from pse.language.check._context import CallContext, Context
from pse.language.check._ir import (
    CallSite,
    For,
    If,
    Output,
    Parallel,
    PartitionDeclaration,
    ResolvedProgram,
    Statement,
    Tag,
    While,
    call_sites,
)
from pse.language.check._remedies import conversion, over_partition
from pse.language.check._scope import PROCS, TagEntity
from pse.language.diagnostics._diagnostic import Diagnostic, error_at
from pse.language.diagnostics._source import Span
from pse.language.types._evaluation import evaluate
from pse.language.types._expressions import (
    Expression,
    Name,
    Value,
    is_dynamic,
    names_in,
    render_expression,
)
from pse.language.types._types import (
    Distribution,
    Parameter,
    Pattern,
    Type,
    render_distribution,
)


def match_distribution(check: CallContext, parameter: Parameter, entity: TagEntity, span: Span) -> bool:
    """Check where a tag lives against where the call runs and what the directive says."""
    assert entity.type is not None, "checked by the caller"
    have, want = entity.type.distribution, parameter.type.distribution
    if want.pattern is not Pattern.ANY and not same_pattern(have, want, check.context):
        _distribution_mismatch(check, entity, want, span)
        return False
    if check.context.partition is None:
        return _outside(check, entity, span)
    return _inside(check, entity, span)


def _distribution_mismatch(check: CallContext, entity: TagEntity, want: Distribution, span: Span) -> None:
    assert entity.type is not None, "checked by the caller"
    label, display = check.context.show(entity.type), check.context.display
    have = render_distribution(entity.type.distribution, display=display)
    needs = f"`{check.node.callee.text}` needs {render_distribution(want, display=display)}"
    help = conversion(check.context, entity, want, check.thread)
    message = f"distribution mismatch: `{entity.display}` is {have}, but {needs}"
    check.fail("E0312", message, span, label=label, help=help)


def _inside(check: CallContext, entity: TagEntity, span: Span) -> bool:
    """Inside PARALLEL an array is a piece of a tag over the same partition, or replicated."""
    assert entity.type is not None, "checked by the caller"
    have, label = entity.type.distribution, check.context.show(entity.type)
    if have.pattern is Pattern.ROOT:
        message = (
            f"`{entity.display}` lives on the root; inside PARALLEL an array is distributed or replicated"
        )
        thread, over = check.context.root_thread, over_partition(check.context, None)
        scatter = f"{thread}scatter({entity.display}) -> pieces @ block(0){over}"
        help = f"before the block:  {scatter}   or:  {thread}replicate({entity.display}) -> everywhere"
        check.fail("E0313", message, span, label=label, help=help, directive=False)
        return False
    if have.distributed and have.partition != check.context.partition:
        message = (
            f"`{entity.display}` is distributed over {have.partition}, "
            f"but this block runs over {check.context.partition}"
        )
        help = f"write `PARALLEL over {have.partition}`, or gather it before the block and scatter it over "
        help += f"{check.context.partition}:  gather({entity.display}) -> whole   "
        help += f"scatter(whole) -> pieces @ block(0) over {check.context.partition}"
        check.fail("E0314", message, span, label=label, help=help, directive=False)
        return False
    return True


def _outside(check: CallContext, entity: TagEntity, span: Span) -> bool:
    """Outside PARALLEL a module sees whole arrays."""
    assert entity.type is not None, "checked by the caller"
    if not entity.type.distribution.distributed:
        return True
    gather = f"gather it first:  {check.context.root_thread}gather({entity.display}) -> whole"
    over = over_partition(check.context, entity.type.distribution.partition)
    help = f"{gather}; or put the call into PARALLEL{over}"
    label = check.context.show(entity.type)
    message = "distribution mismatch: outside PARALLEL a module takes whole arrays"
    check.fail("E0312", message, span, label=label, help=help)
    return False


def same_pattern(left: Distribution, right: Distribution, context: Context) -> bool:
    """Compare two distributions, but not their partitions."""
    plain = (left.pattern, left.axes, left.user) == (right.pattern, right.axes, right.user)
    return plain and _same_halo(left, right, context) and _same(left.block, right.block, context)


def in_one_place(left: Distribution, right: Distribution, context: Context) -> bool:
    """Compare two distributions and what they are over."""
    return same_pattern(left, right, context) and left.partition == right.partition


def _same_halo(left: Distribution, right: Distribution, context: Context) -> bool:
    widths = ([context.extent(width) for width in one.widths] for one in (left, right))
    return next(widths) == next(widths)


def _same(left: Expression | None, right: Expression | None, context: Context) -> bool:
    if left is None or right is None:
        return left is right
    return context.extent(left) == context.extent(right)


def has_dynamic_extent(type: Type) -> bool:
    """Say whether modules decide, while the program runs, how many rows an array has.

    Parameters
    ----------
    type : Type
        The array's.

    Returns
    -------
    bool
        Whether one of its extents is written `?n`.

    See Also
    --------
    pse.language.types.is_dynamic : the same of one extent
    """
    return any(is_dynamic(extent) for extent in type.shape or ())


def dynamic_misplaced(type: Type) -> str | None:
    """Say why an array whose rows modules decide can't be laid out so; None if it can."""
    distribution, shape = type.distribution, type.shape or ()
    if any(is_dynamic(extent) for extent in shape[1:]):
        return "a module decides how many rows an array has: only the first extent can be like `?n`"
    if not has_dynamic_extent(type) or not distribution.distributed:
        return None
    if (distribution.pattern, distribution.axes) != (Pattern.BLOCK, (0,)):
        return "an array whose rows the modules decide is cut along them, into one block for each partition"
    return "an array whose rows the modules decide has no halo" if distribution.halo else None


def rows_first(shape: Sequence[Expression], decided: Sequence[Expression]) -> Type:
    """Reorder a shape, for a message: first the extents for which those in `decided` are like `?n`."""
    axes = sorted(range(len(decided)), key=lambda axis: not is_dynamic(decided[axis]))
    return Type(None, tuple(shape[axis] for axis in axes))


def refuse_dynamic(check: CallContext, type: Type, why: str, help: str, span: Span | None = None) -> bool:
    """Report an operand whose rows modules decide, where their number is needed before the run."""
    if has_dynamic_extent(type):
        message = f"the number of rows is known only while the program runs: {why}"
        label = check.context.show(type)
        check.fail("E0326", message, span or check.node.span, label=label, help=help, directive=False)
        return True
    return False


def check_layouts(program: ResolvedProgram, environment: Mapping[str, Value]) -> list[Diagnostic]:
    """Say what is wrong with the layouts of a program's tags, as far as these values tell.

    Parameters
    ----------
    program : ResolvedProgram
        A checked program.
    environment : mapping of str to Value
        What is known of parameters, ``procs`` and partitions: nothing, or all of it.
    """
    partitions = {partition.name: partition for partition in program.partitions}
    distributed = [tag for tag in program.tags.values() if tag.type.distribution.distributed]
    found = [wrong for tag in distributed for wrong in _wrong_with(tag, partitions, environment)]
    found += [
        wrong
        for site in call_sites(program.body)
        for output in site.outputs
        if output.reduction is not None or _is_scan(site)
        for wrong in _uneven(output, program.tags, partitions, environment)
    ]
    found += _loop_limits(program.body, environment)
    if not environment:
        found += [wrong for tag in distributed for wrong in _changing(tag, program.tags)]
        grids = (_wrong_grid(partition) for partition in program.partitions)
        found += [wrong for wrong in grids if wrong is not None]
    return found


def _loop_limits(body: Iterable[Statement], environment: Mapping[str, Value]) -> Iterator[Diagnostic]:
    """Say which loops may have no iteration at a time, or at most none, or would count by 0."""
    for statement in body:
        match statement:
            case For():
                yield from _limit(statement.inflight, "inflight", environment)
                yield from _zero_step(statement.step, environment)
                yield from _loop_limits(statement.body, environment)
            case While():
                yield from _limit(statement.limit, "max", environment)
                yield from _loop_limits(statement.body, environment)
            case Parallel():
                yield from _loop_limits(statement.body, environment)
            case If():
                yield from _loop_limits((*statement.then, *statement.otherwise), environment)


def _limit(tree: Expression | None, word: str, environment: Mapping[str, Value]) -> Iterator[Diagnostic]:
    value = _known(tree, environment)
    if tree is None or tree.span is None or value is None or value >= 1:
        return
    names = sorted(names_in(tree))
    what = "may run at a time, or leave out `inflight`" if word == "inflight" else "the loop has at most"
    help = f"choose values for which `{render_expression(tree)}` is at least 1" if names else ""
    label = ", ".join(f"{name} = {environment[name]}" for name in names)
    message = f"`{word}` must be at least 1, not {value}"
    yield error_at("E0323", message, tree.span, label=label, help=help or f"write how many iterations {what}")


def _zero_step(tree: Expression | None, environment: Mapping[str, Value]) -> Iterator[Diagnostic]:
    if tree is not None and tree.span is not None and _known(tree, environment) == 0:
        label = ", ".join(f"{name} = {environment[name]}" for name in sorted(names_in(tree)))
        help = f"choose values for which `{render_expression(tree)}` is not 0"
        yield error_at("E0323", "`step` must not be 0", tree.span, label=label, help=help)


def _changing(tag: Tag, tags: Mapping[str, Tag]) -> Iterator[Diagnostic]:
    """A distributed array is laid out once, before the run."""
    distribution = tag.type.distribution
    trees = [*(tag.type.shape or ()), *distribution.halo, distribution.block]
    names = sorted({name for tree in trees if tree is not None for name in names_in(tree)})
    counter = next((tags[name].display for name in names if name in tags), None)
    if counter is not None:
        message = f"`{tag.display}` is distributed, but its shape depends on the loop counter `{counter}`"
        help = "give it the largest shape that is needed, of parameters, `procs` and partitions"
        yield error_at("E0317", message, tag.span, help=help)


def _wrong_grid(partition: PartitionDeclaration) -> Diagnostic | None:
    """A grid of constants, over a constant number of partitions."""
    count, product = _known(partition.count, {}), 1
    for extent in partition.grid or ():
        known = _known(extent, {})
        if known is None:
            return None
        product *= known
    if partition.grid is None or count is None or count == product:
        return None
    message = (
        f"the grid of partition `{partition.name}` has {product} cells, but the partition has {count} pieces"
    )
    cells = ", ".join(["1"] * (len(partition.grid) - 1) + [str(count)])
    help = f"write a grid of {count} cells, for example:  as grid({cells})"
    return error_at("E0607", message, partition.span, help=help)


def _wrong_with(
    tag: Tag, partitions: Mapping[str, PartitionDeclaration], environment: Mapping[str, Value]
) -> Iterator[Diagnostic]:
    distribution = tag.type.distribution
    size = _known(distribution.block, environment)
    if size is not None and size < 1:
        message = f"`{tag.display}` would be distributed in blocks of {size} elements"
        yield error_at("E0611", message, tag.span, help="a block has at least 1 element")
    halo = [_known(width, environment) for width in distribution.widths]
    negative = next((width for width in halo if width is not None and width < 0), None)
    if negative is not None:
        message = f"`{tag.display}` would have a halo of {negative} cells"
        yield error_at("E0612", message, tag.span, help="a halo has at least 0 cells")
    elif any(halo):
        yield from _too_wide(tag, halo, partitions, environment)


def _too_wide(
    tag: Tag,
    halo: Sequence[int | None],
    partitions: Mapping[str, PartitionDeclaration],
    environment: Mapping[str, Value],
) -> Iterator[Diagnostic]:
    """A halo shows cells of the neighbours alone, so that no block may be narrower than it."""
    distribution, shape = tag.type.distribution, tag.type.shape or ()
    counts = _counts(distribution, partitions, environment)
    for axis, count, width in zip(distribution.axes, counts, halo, strict=False):
        extent = _known(shape[axis], environment)
        if extent is not None and count is not None and width and count > 1 and width > extent // count:
            yield error_at(
                "E0612",
                f"the halo of `{tag.display}` is wider than its smallest block along axis {axis}",
                tag.span,
                label=f"halo({width}); {extent} cells in {count} blocks are {extent // count} each at least",
                help="use fewer partitions, a larger array or a narrower halo",
            )
            return


def _uneven(
    output: Output,
    tags: Mapping[str, Tag],
    partitions: Mapping[str, PartitionDeclaration],
    environment: Mapping[str, Value],
) -> Iterator[Diagnostic]:
    """Arrays are combined element by element, so that all pieces have one shape."""
    distribution, shape = output.type.distribution, output.type.shape or ()
    counts = _counts(distribution, partitions, environment) if shape else []
    for axis, count in zip(distribution.axes, counts, strict=False):
        extent = _known(shape[axis], environment)
        if extent is not None and count and extent % count:
            yield error_at(
                "E0319",
                f"the pieces of `{tags[output.tag].display}` have several shapes and cannot be combined",
                output.reduction.span if output.reduction else output.span,
                label=f"axis {axis} has {extent} cells in {count} pieces",
                help="use a number of partitions that divides the extent",
            )


def _counts(
    distribution: Distribution,
    partitions: Mapping[str, PartitionDeclaration],
    environment: Mapping[str, Value],
) -> list[int | None]:
    """Into how many blocks each of the cut axes is cut."""
    partition = partitions.get(distribution.partition or "")
    if partition is None:
        return [_known(Name(PROCS), environment)]
    if partition.grid is not None and len(partition.grid) == len(distribution.axes):
        return [_known(extent, environment) for extent in partition.grid]
    return [_known(partition.count, environment)] if len(distribution.axes) == 1 else []


def _known(tree: Expression | None, environment: Mapping[str, Value]) -> int | None:
    """The integer that an expression stands for; None where that isn't known (or wrong, as others report)."""
    if tree is None or not names_in(tree) <= environment.keys():
        return None
    try:
        value = evaluate(tree, environment)
    except EvaluationError:
        return None
    return value if isinstance(value, int) else None


def _is_scan(site: CallSite) -> bool:
    return site.module.language == "std" and site.module.name == "scan"
