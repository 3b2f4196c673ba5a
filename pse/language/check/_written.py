"""Types as a program writes them: element, shape and distribution, with every name in them resolved."""

from __future__ import annotations

from dataclasses import replace

from pse.language.check._context import REPLICATED, ROOT, Context
from pse.language.check._scalars import extent
from pse.language.check._scope import PROCS, AliasEntity, PartitionEntity
from pse.language.check._type_resolution import distribution_of, element_of
from pse.language.diagnostics._diagnostic import error
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.types._types import Distribution, Element, Type


def partition_over(context: Context, written: sx.Identifier | None, place: Span) -> str | None:
    """Say which partition a distribution or a PARALLEL block is over; reports where that is not clear."""
    if written is not None:
        entity = context.use(written)
        if entity is not None and not isinstance(entity, PartitionEntity):
            context.misused(written, entity, "a partition")
        return written.id if isinstance(entity, PartitionEntity) else None
    if context.partition is not None:
        return context.partition
    declared = [entity for entity in context.globals.names.values() if isinstance(entity, PartitionEntity)]
    if len(declared) > 1:
        listed = " or ".join(f"over {entity.name}" for entity in declared)
        message = "the program has several partitions: say over which"
        context.report(error("E0208", message, place, help=f"write: {listed}"))
        return None
    if declared:
        context.globals.used.add(declared[0].span)
    return declared[0].name if declared else PROCS


def written_distribution(
    context: Context, node: sx.DistributionNode, rank: int | None
) -> Distribution | None:
    """Read a distribution and find its partition; everything wrong is reported."""
    found = distribution_of(node, rank, context.report, lambda pattern: _user_pattern(context, pattern))
    if found is None or not found.distributed:
        return found
    partition = partition_over(context, node.partition, node.span)
    if partition is None:
        return None
    halo = extent(context, node.halo) if node.halo is not None else None
    block = extent(context, found.block) if found.block is not None else None
    if (halo is None) != (node.halo is None) or (block is None) != (found.block is None):
        return None
    return _with_grid(context, replace(found, halo=halo, block=block, partition=partition), node)


def _with_grid(context: Context, found: Distribution, node: sx.DistributionNode) -> Distribution | None:
    """Check that a distribution over several axes has a grid of as many."""
    entity = context.globals.names.get(found.partition or "")
    grid = entity.grid if isinstance(entity, PartitionEntity) else 0
    if len(found.axes) > 1 and grid != len(found.axes):
        count, name = len(found.axes), found.partition
        message = f"`{found.pattern.value}` over {count} axes needs a partition with a grid of {count}"
        notes = [(entity.span, "this is its partition")] if entity else []
        help = f"for example:  partition {name} = 2 * procs as grid(2, procs)"
        context.report(error("E0322", message, node.span, notes=notes, help=help))
        return None
    return found


def _user_pattern(context: Context, pattern: sx.Dotted) -> str | None:
    """Find a user's pattern: a name that a Python file gives."""
    first = context.globals.names.get(pattern.parts[0].id)
    if first is None:
        return None
    context.globals.used.add(first.span)
    if isinstance(first, AliasEntity) and len(pattern.parts) == 2 and first.language == "python":
        return f"{first.path}:{pattern.parts[1].id}"
    patterns = context.globals.patterns
    return patterns.get(pattern.text)


def written_type(context: Context, node: sx.TypeNode) -> Type | None:
    """Read a written type; everything wrong is reported and gives None."""
    element = element_of(node.element, context.report)
    if node.shape == ():
        message = "`[...]` stands in module directives only; a tag has a shape"
        context.report(error("E0306", message, node.span, help="for example: f64[N, M]"))
        return None
    rank = len(node.shape) if node.shape is not None else 0
    if node.shape is None and node.distribution is not None:
        message = "a scalar has no distribution: it is replicated"
        context.report(error("E0306", message, node.distribution.span))
        return None
    distribution = ROOT if node.shape is not None else REPLICATED
    if node.distribution is not None:
        found = written_distribution(context, node.distribution, rank)
        if found is None:
            return None
        distribution = found
    shape = [extent(context, item) for item in node.shape or ()]
    if element is None or None in shape:
        return None
    return _sensible(
        context, node, Type(element, tuple(item for item in shape if item is not None), distribution)
    )


def _sensible(context: Context, node: sx.TypeNode, type: Type) -> Type | None:
    """Refuse element types that no tag of this kind can have."""
    if type.element is Element.COMM or (type.element in (Element.STRING, Element.OBJECT) and not type.scalar):
        what = "a tag" if type.element is Element.COMM else "an array"
        message = f"{what} cannot be of type `{node.element.id}`"
        context.report(error("E0305", message, node.element.span))
        return None
    return type
