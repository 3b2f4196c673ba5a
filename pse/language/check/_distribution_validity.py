"""Distributions that can't be: grids of the wrong size, blocks without elements, halos wider than a block.

What hangs on constants alone shows when a program is checked, the rest when its parameters have their values
(`binding`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pse.errors import EvaluationError
from pse.language.check._ir import PartitionDeclaration, ResolvedProgram, Tag
from pse.language.diagnostics._diagnostic import Diagnostic, error
from pse.language.types._evaluation import evaluate
from pse.language.types._expressions import Expression, Value, names
from pse.language.types._types import Distribution


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
    found = [wrong for tag in program.tags.values() for wrong in _wrong_with(tag, partitions, environment)]
    if not environment:
        grids = (_wrong_grid(partition) for partition in program.partitions)
        found += [wrong for wrong in grids if wrong is not None]
    return found


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
    message = f"the grid of partition `{partition.name}` has {product} cells, but there are {count} pieces"
    return error("E0607", message, partition.span)


def _wrong_with(
    tag: Tag, partitions: Mapping[str, PartitionDeclaration], environment: Mapping[str, Value]
) -> Iterator[Diagnostic]:
    distribution = tag.type.distribution
    size = _known(distribution.block, environment)
    if size is not None and size < 1:
        message = f"`{tag.display}` would be dealt out in stretches of {size} elements"
        yield error("E0611", message, tag.span, help="a block has at least 1 element")
    halo = _known(distribution.halo, environment)
    if halo is not None and halo < 0:
        yield error("E0612", f"`{tag.display}` would have a halo of {halo} cells", tag.span)
    elif halo:
        yield from _too_wide(tag, halo, partitions, environment)


def _too_wide(
    tag: Tag, halo: int, partitions: Mapping[str, PartitionDeclaration], environment: Mapping[str, Value]
) -> Iterator[Diagnostic]:
    """A halo shows cells of the neighbours alone, so that no block may be narrower than it."""
    distribution, shape = tag.type.distribution, tag.type.shape or ()
    counts = _counts(distribution, partitions, environment)
    for axis, count in zip(distribution.axes, counts, strict=False):
        extent = _known(shape[axis], environment)
        if extent is not None and count is not None and count > 1 and halo > extent // count:
            yield error(
                "E0612",
                f"the halo of `{tag.display}` is wider than its smallest block along axis {axis}",
                tag.span,
                label=f"halo({halo}); {extent} cells in {count} blocks are {extent // count} each at least",
                help="use fewer partitions, a larger array or a narrower halo",
            )
            return


def _counts(
    distribution: Distribution,
    partitions: Mapping[str, PartitionDeclaration],
    environment: Mapping[str, Value],
) -> list[int | None]:
    """Into how many blocks each of the cut axes is cut."""
    partition = partitions.get(distribution.partition or "")
    if partition is None:
        return []
    if partition.grid is not None and len(partition.grid) == len(distribution.axes):
        return [_known(extent, environment) for extent in partition.grid]
    return [_known(partition.count, environment)] if len(distribution.axes) == 1 else []


def _known(tree: Expression | None, environment: Mapping[str, Value]) -> int | None:
    """The integer that an expression stands for; None where that isn't known (or wrong, as others report)."""
    if tree is None or not names(tree) <= environment.keys():
        return None
    try:
        value = evaluate(tree, environment)
    except EvaluationError:
        return None
    return value if isinstance(value, int) else None
