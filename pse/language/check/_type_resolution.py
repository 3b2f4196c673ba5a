"""From written types to types: `f64[N, M] @ block(0) halo(1)` as a `Type`, with everything wrong reported.

`element_of` and `distribution_of` serve programs and module directives; `written_type` and
`written_distribution` resolve the names in them as a program's `Context` knows them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from pse._abi.elements import C_TYPES
from pse.language.check._context import REPLICATED, ROOT, Context, no_such_axis
from pse.language.check._distribution_check import dynamic_misplaced
from pse.language.check._remedies import grid_declaration
from pse.language.check._scalars import extent
from pse.language.check._scope import PROCS, AliasEntity, ParameterEntity, PartitionEntity
from pse.language.diagnostics._diagnostic import Diagnostic, error_at
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.types._expressions import Expression, Name, Number, is_dynamic, render_expression
from pse.language.types._records import FIELD_BYTES, record_of, record_type
from pse.language.types._types import Distribution, Element, Pattern, Type, halo_of
from pse.records import replace
from pse.text import did_you_mean

Report = Callable[[Diagnostic], None]
"""Takes each diagnostic as it is found."""

ELEMENTS = {element.label: element for element in Element}
_FOREIGN = {spelled: element.label for element, spelled in C_TYPES.items()}
_FOREIGN |= {element.value: element.label for element in Element}
"""Element types by the names that C and NumPy give them."""
PATTERNS = {pattern.value: pattern for pattern in Pattern if pattern not in (Pattern.USER, Pattern.ANY)}


def element_of(
    name: sx.Identifier,
    report: Report,
    never: Collection[Element] = (),
    records: Mapping[str, Element | None] | None = None,
) -> Element | None:
    """Look up an element type; an unknown one is reported, and the help names those that can be here."""
    records = records or {}
    if name.id in records:
        return records[name.id]
    if name.id not in ELEMENTS:
        from pse.language.syntax._foreign_names import FOREIGN_TYPES  # Ranks have no use for them.

        types = [label for label, element in ELEMENTS.items() if element not in never] + list(records)
        meant = (FOREIGN_TYPES | _FOREIGN).get(name.id, name.id)
        help = did_you_mean(meant, types) or f"types are {', '.join(types)}"
        report(error_at("E0305", f"unknown type `{name.id}`", name.span, help=help))
    return ELEMENTS.get(name.id)


def distribution_of(
    node: sx.DistributionNode,
    rank: int | None,
    report: Report,
    user_pattern: Callable[[sx.Dotted], str | None],
) -> Distribution | None:
    """Read a distribution.

    Parameters
    ----------
    node : DistributionNode
        As written.
    rank : int or None
        How many axes the array has, None if that is not known here.
    report : callable
        Takes what is wrong.
    user_pattern : callable
        Gives the full name of a user's pattern, None if a name is none.

    Returns
    -------
    Distribution or None
        None if it cannot be read; its `partition` is as written.
    """
    word = node.pattern.text
    user = None if word in PATTERNS else user_pattern(node.pattern)
    if word not in PATTERNS and user is None:
        known = ", ".join(PATTERNS)
        help = (
            did_you_mean(word, PATTERNS)
            or f"distributions are {known}, and patterns imported from a Python file"
        )
        report(error_at("E0306", f"unknown distribution `{word}`", node.pattern.span, help=help))
        return None
    pattern = PATTERNS.get(word, Pattern.USER)
    arguments = list(node.arguments)
    block = _block(pattern, arguments, node, report)
    axes = _axes(pattern, arguments, rank, node, report)
    if axes is None or (pattern is Pattern.BLOCK_CYCLIC and block is None):
        return None
    if node.halo and pattern is not Pattern.BLOCK:
        message = f"`{word}` has no halo; only `block` has one"
        report(error_at("E0306", message, node.span, help="write `block`, or leave out the halo"))
        return None
    if len(node.halo) not in (0, 1, len(axes)):
        cut = "one axis is" if len(axes) == 1 else f"{len(axes)} axes are"
        message = f"the halo has {len(node.halo)} widths, but {cut} cut"
        help = "give one width for all cut axes, or one for each of them, in their order"
        report(error_at("E0306", message, node.span, help=help))
        return None
    partition = node.partition.id if node.partition else None
    return Distribution(pattern, axes, block, halo_of(node.halo), user, partition)


def _block(
    pattern: Pattern, arguments: list[Expression], node: sx.DistributionNode, report: Report
) -> Expression | None:
    """Take the block size off the arguments of `block_cyclic`."""
    if pattern is not Pattern.BLOCK_CYCLIC:
        return None
    if len(arguments) < 2:
        message = "`block_cyclic` needs the axes that it distributes, and a block size"
        report(error_at("E0306", message, node.span, help="for example: @ block_cyclic(0, 64)"))
        return None
    return arguments.pop()


def _axes(
    pattern: Pattern, arguments: list[Expression], rank: int | None, node: sx.DistributionNode, report: Report
) -> tuple[int, ...] | None:
    """Read the axes that a distribution cuts."""
    whole = pattern in (Pattern.ROOT, Pattern.REPLICATED)
    if whole and not arguments:
        return ()
    word = node.pattern.text
    if whole:
        report(
            error_at(
                "E0306",
                f"`{word}` distributes no axis and takes no arguments",
                node.span,
                help=f"write: @ {word}",
            )
        )
        return None
    numbers = [argument.value for argument in arguments if isinstance(argument, Number)]
    axes = [axis for axis in numbers if isinstance(axis, int)]
    ascending = len(axes) == len(numbers) and axes == sorted(set(axes))
    if not axes or len(axes) < len(arguments) or not ascending:
        message = f"`{word}` needs the axes that it distributes, as ascending integers"
        report(error_at("E0306", message, node.span, help=f"for example: @ {word}(0)"))
        return None
    if rank is not None and axes[-1] >= rank:
        report(no_such_axis(axes[-1], rank, node.span))
        return None
    return tuple(axes)


def partition_over(context: Context, written: sx.Identifier | None, place: Span) -> str | None:
    """Say which partition a distribution or a PARALLEL block is over; reports where that is not clear."""
    if written is not None:
        entity = context.frame.find(written.id)
        if entity is None:
            _unknown_partition(context, written)
            return None
        context.globals.used.add(entity.span)
        if not isinstance(entity, PartitionEntity):
            help = f"declare a partition at the top of the file:  partition Q = {written.id}"
            if not isinstance(entity, ParameterEntity):
                help = "declare a partition at the top of the file:  partition Q = procs"
            context.misused(written, entity, "a partition", help)
        return entity.unique if isinstance(entity, PartitionEntity) else None
    if context.partition is not None:
        return context.partition
    declared = context.globals.partitions()
    if len(declared) > 1:
        if context.frame.partition is None:
            _unnamed_partition(context, declared, place)
        return context.frame.partition
    if declared:
        context.globals.used.add(declared[0].span)
    return declared[0].unique if declared else PROCS


def _unnamed_partition(context: Context, declared: Collection[PartitionEntity], place: Span) -> None:
    """Report that nothing says which of several partitions is meant."""
    message = "the program has several partitions, and none is named here"
    help = f"write: {' or '.join(f'over {entity.name}' for entity in declared)}"
    if context.globals.installed:
        message = "nothing says which of the program's partitions this segment works over"
        help = "give it an array that is cut over one of them:  "
        help += f"scatter(…) -> pieces @ block(0) over {next(iter(declared)).name}"
    context.report(error_at("E0208", message, place, help=help))


def _unknown_partition(context: Context, name: sx.Identifier) -> None:
    """Report a name behind `over` that nothing declares; `procs` is known, but is a number."""
    if context.globals.is_missing(name.id):
        return
    declared = [entity.name for entity in context.globals.partitions()]
    help = (
        did_you_mean(name.id, declared) or f"declare it at the top of the file:  partition {name.id} = procs"
    )
    code, message = "E0201", f"unknown partition `{name.id}`"
    if name.id == PROCS:
        code, message = "E0210", f"`{PROCS}` is the number of processors; a partition is expected here"
        help = "leave out `over procs`: without a declared partition every processor has one"
    if declared and not help.startswith("did"):
        over = " or ".join(f"over {known}" for known in declared)
        help = f"write:  {over}" + (f"   or {help}" if name.id != PROCS else "")
    context.report(error_at(code, message, name.span, help=help))


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
    halo = [extent(context, width, "the width of a halo") for width in found.halo]
    block = extent(context, found.block, "the size of a block") if found.block is not None else None
    if None in halo or (block is None) != (found.block is None):
        return None
    widths = halo_of([width for width in halo if width is not None])
    return _with_grid(context, replace(found, halo=widths, block=block, partition=partition), node)


def _with_grid(context: Context, found: Distribution, node: sx.DistributionNode) -> Distribution | None:
    """Check that a distribution over several axes has a grid of as many."""
    entity = context.globals.files.sets.get(found.partition or "")
    grid = len(entity.grid) if entity is not None else 0
    if len(found.axes) > 1 and grid != len(found.axes):
        count, name = len(found.axes), found.partition
        message = f"`{found.pattern.value}` over {count} axes needs a partition with a grid of {count}"
        notes = [(entity.span, "the partition is declared here")] if entity else []
        help = grid_declaration(context, name, count)
        context.report(error_at("E0322", message, node.span, notes=notes, help=help))
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


def written_record(node: sx.Record, report: Report) -> Element | None:
    """Read a record type; everything wrong is reported and gives None."""
    found: list[Diagnostic] = []
    if not node.members:
        help = f"for example:  record {node.name.id} {{ f64 x, y   i32 kind }}"
        found.append(error_at("E0305", f"record `{node.name.id}` has no fields", node.span, help=help))
    fields: dict[str, Element] = {}
    for member in node.members:
        element = _field_type(node, member, found.append)
        if member.name.id in fields:
            message = f"record `{node.name.id}` has two fields `{member.name.id}`"
            found.append(error_at("E0203", message, member.name.span, help="give each a name of its own"))
        elif element is not None:
            fields[member.name.id] = element
    for diagnostic in found:
        report(diagnostic)
    return None if found else record_type(node.name.id, tuple(fields.items()))


def _field_type(node: sx.Record, member: sx.Field, report: Report) -> Element | None:
    """Read the type of a record's field: a scalar that has a size."""
    never = tuple(element for element in Element if element not in FIELD_BYTES)
    element = element_of(member.type.element, report, never)
    if member.type.shape is not None or member.type.distribution is not None or element in never:
        message = f"field `{member.name.id}` of record `{node.name.id}` must be a number or bool"
        help = f"name its parts one by one:  {member.type.element.id} {member.name.id}0, {member.name.id}1"
        if element in never:
            help = f"fields are of the types {', '.join(known.label for known in FIELD_BYTES)}"
        report(error_at("E0305", message, member.type.span, help=help))
        return None
    return element


def written_shape(node: sx.TypeNode, element: Element | None) -> tuple[Expression, ...] | None:
    """Give the shape of a type: a record without one is an array of one."""
    if node.shape is None and record_of(element) is not None:
        return (Number(1, node.element.span),)
    return node.shape


def written_type(context: Context, node: sx.TypeNode) -> Type | None:
    """Read a written type; everything wrong is reported and gives None."""
    records = context.globals.records()
    if node.element.id in records:
        context.globals.used.add(context.globals.names[node.element.id.partition(".")[0]].span)
    element = _element(context, node.element, records)
    written = written_shape(node, element)
    if node.shape == ():
        message = "`[...]` is allowed only in module directives: a tag needs a shape"
        context.report(error_at("E0306", message, node.span, help="for example: f64[N, M]"))
        return None
    rank = len(written) if written is not None else 0
    if written is None and node.distribution is not None and element is not None:
        message = "a scalar has no distribution: it is replicated"
        help = "leave out the distribution"
        context.report(error_at("E0306", message, node.distribution.span, help=help))
        return None
    distribution = ROOT if written is not None else REPLICATED
    if node.distribution is not None:
        found = written_distribution(context, node.distribution, rank)
        if found is None:
            return None
        distribution = found
    shape = [item if is_dynamic(item) else extent(context, item) for item in written or ()]
    if element is None or None in shape or not _dynamic_fits(context, node, shape, distribution):
        return None
    return _sensible(
        context, node, Type(element, tuple(item for item in shape if item is not None), distribution)
    )


def _dynamic_fits(
    context: Context, node: sx.TypeNode, shape: list[Expression | None], distribution: Distribution
) -> bool:
    """Check extents like `?n`, which modules decide while the program runs."""
    trees = tuple(tree for tree in shape if tree is not None)
    capacity = next((tree for tree in trees if is_dynamic(tree) and not isinstance(tree, Name)), None)
    fault = dynamic_misplaced(Type(None, trees, distribution))
    help = "for example:  f64[?n, 3]   or, distributed:  f64[?n, 3] @ block(0)"
    if capacity is not None:
        fault = "a capacity is the module's, and not part of a tag's type"
        help = f"leave it out:  {render_expression(capacity).partition(' ')[0]}"
    if fault is None:
        return True
    context.report(error_at("E0326", fault, node.span, help=help))
    return False


def _element(context: Context, name: sx.Identifier, records: Mapping[str, Element | None]) -> Element | None:
    """Look up the element type of a tag; a record that only needs to be imported is named."""
    if context.globals.is_missing(name.id):
        return None
    help = context.globals.unimported.get(name.id)
    if help is None or name.id in records or name.id in ELEMENTS:
        return element_of(name, context.report, never=(Element.COMM,), records=records)
    context.report(error_at("E0305", f"unknown type `{name.id}`", name.span, help=help))
    return None


def _sensible(context: Context, node: sx.TypeNode, type: Type) -> Type | None:
    """Refuse element types that no tag of this kind can have."""
    if type.element is Element.COMM or (type.element in (Element.STRING, Element.OBJECT) and not type.scalar):
        what = "a tag" if type.element is Element.COMM else "an array"
        message = f"{what} cannot be of type `{node.element.id}`"
        help = "arrays have elements that are numbers or bool; a string or object is a scalar"
        context.report(error_at("E0305", message, node.element.span, help=help))
        return None
    return type
