"""What a call gives: which tags it writes, their types, and reductions of per-partition scalars."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pse.language import extents
from pse.language import syntax as sx
from pse.language.annotations import did_you_mean
from pse.language.calls import CallCheck, conversion, same_pattern
from pse.language.context import REPLICATED, ROOT, Context
from pse.language.diagnostics import error
from pse.language.elements import NUMERIC
from pse.language.expressions import Expression
from pse.language.extents import Extent, Piece
from pse.language.resolved import Output, Reduction
from pse.language.scope import ModuleEntity, TagEntity, kind_of
from pse.language.types import Distribution, Element, Parameter, Pattern, Type
from pse.language.written import written_distribution

REDUCTIONS = ("sum", "prod", "min", "max", "all", "any")
"""What `reduce` can do."""


@dataclass
class Target:
    """One name after `->`: the tag if it exists, and the distribution that is written with it."""

    node: sx.OutputNode
    entity: TagEntity | None
    annotation: Distribution | None
    kind: str  # of the tag, if it is new

    @property
    def known(self) -> Type | None:
        """The type that the tag has already."""
        return self.entity.type if self.entity is not None else None

    @property
    def distribution(self) -> Distribution | None:
        """Where the result is to live, as far as the program says so."""
        return self.annotation or (self.known.distribution if self.known is not None else None)


def target(context: Context, node: sx.OutputNode, kind: str) -> Target | None:
    """Find what an output's name stands for; a name that cannot be written is reported and gives None."""
    found = context.frame.find(node.name.id)
    annotation = None
    if node.distribution is not None:
        annotation = written_distribution(context, node.distribution, None)
        if annotation is None:
            return None
    if (
        found is None
        or kind == "let"
        or (isinstance(found, ModuleEntity) and found.name in context.globals.standard)
    ):
        return Target(node, None, annotation, kind)
    if not isinstance(found, TagEntity):
        notes = [(found.span, "declared here")]
        message = f"`{node.name.id}` is {kind_of(found)}; a call writes tags"
        context.report(error("E0210", message, node.name.span, notes=notes))
        return None
    return Target(node, found, annotation, kind) if may_write(context, node.name, found) else None


def may_write(context: Context, name: sx.Identifier, entity: TagEntity) -> bool:
    """Refuse to write what is named once: `let`, loop counters, inputs of segments."""
    if entity.kind not in ("let", "counter", "input"):
        return True
    what = {"let": "named once, by `let`", "counter": "a loop counter", "input": "an input of the segment"}
    help = {"let": "declare it with `var`", "input": "copy it first:  copy(…) -> mine"}.get(entity.kind)
    message = f"`{name.id}` is {what[entity.kind]}, and cannot be written"
    context.report(error("E0204", message, name.span, notes=[(entity.span, "declared here")], help=help))
    return False


def targets(check: CallCheck, kind: str) -> list[Target | None] | None:
    """Find all outputs of a call; None if their number is wrong (which is reported)."""
    wanted, given = check.signature.outputs, check.node.outputs
    if len(wanted) != len(given):
        listed = ", ".join(p.name for p in wanted)
        gives = f"{len(wanted)} output{'s' * (len(wanted) != 1)}" + (f" ({listed})" if wanted else "")
        named = f"{len(given)} {'is' if len(given) == 1 else 'are'} named"
        message = f"`{check.node.callee.text}` gives {gives}; {named}"
        check.fail("E0302", message, check.node.span)
        return None
    seen: set[str] = set()
    for node in given:
        if node.name.id in seen:
            check.fail(
                "E0302", f"`{node.name.id}` is named twice after `->`", node.name.span, directive=False
            )
        seen.add(node.name.id)
    return [target(check.context, node, kind) for node in given]


def poison(check: CallCheck, kind: str) -> None:
    """Declare the outputs of a call that failed, without types, so that later uses are not reported again."""
    for node in check.node.outputs:
        if check.context.frame.find(node.name.id) is None:
            check.context.new_tag(node.name, None, kind)
        if node.reduction is not None and check.context.frame.find(node.reduction.target.id) is None:
            check.context.new_tag(node.reduction.target, None, "produced")


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
                else _array_type(check, parameter, goal)
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
    notes = [(goal.entity.span, f"`{goal.entity.display}` is {check.context.show(type)} since here")]
    if type.scalar != parameter.type.scalar:
        what = "a scalar" if parameter.type.scalar else "an array"
        check.fail("E0304", f"`{parameter.name}` of `{check.node.callee.text}` is {what}", span, notes=notes)
        return False
    if parameter.type.element is None and check.element is None:
        check.element = type.element
    element = parameter.type.element or check.element
    if element is not type.element and element is not None and type.element is not None:
        message = (
            f"`{parameter.name}` of `{check.node.callee.text}` is {element.label}, not {type.element.label}"
        )
        check.fail("E0303", message, span, notes=notes)
        return False
    if parameter.type.scalar:
        return True
    if type.distribution.distributed and check.context.partition is None:
        return _whole(check, goal, type.distribution)
    return check.expect_shape(parameter, type, goal.entity.display, span)


def _scalar_type(check: CallCheck, parameter: Parameter, goal: Target) -> Type | None:
    element = parameter.type.element or check.element
    if goal.node.distribution is not None:
        message = "a scalar has no distribution"
        check.fail("E0306", message, goal.node.distribution.span, directive=False)
        return None
    if element is None:
        _unknown_element(check, goal)
        return None
    partition = check.context.partition
    if partition is None:
        return Type(element, (), REPLICATED)
    return Type(element, (), Distribution(Pattern.BLOCK, partition=partition))


def _unknown_element(check: CallCheck, goal: Target) -> None:
    name = goal.node.name.id
    message = f"the element type of `{name}` cannot be worked out from the call"
    check.fail("E0318", message, goal.node.name.span, help=f"declare it before:  var c128[…] {name}")


def _array_type(check: CallCheck, parameter: Parameter, goal: Target) -> Type | None:
    """Work out the type of an array that a module gives."""
    element = parameter.type.element or check.element
    if element is None:
        _unknown_element(check, goal)
        return None
    distribution = _where(check, parameter, goal)
    if distribution is None:
        return None
    if goal.known is not None:
        return replace(goal.known, distribution=distribution)
    if parameter.type.shape is None:
        _unknown_size(check, goal, parameter.name)
        return None
    local = [_known_extent(check, goal, pattern) for pattern in parameter.type.shape]
    if any(extent is None for extent in local):
        return None
    shape = _global_shape(check, goal, [extent for extent in local if extent is not None], distribution)
    return Type(element, shape, distribution) if shape is not None else None


def _known_extent(check: CallCheck, goal: Target, pattern: Expression) -> Extent | None:
    extent = check.matcher.extent(pattern)
    unknown = sorted(extents.dimensions_in(extent))
    if unknown:
        _unknown_size(check, goal, unknown[0])
        return None
    return extent


def _unknown_size(check: CallCheck, goal: Target, dimension: str) -> None:
    name = goal.node.name.id
    message = f"the shape of `{name}` cannot be worked out: nothing says what `{dimension}` is"
    check.fail("E0318", message, goal.node.name.span, help=f"declare it before:  var f64[…] {name}")


def _where(check: CallCheck, parameter: Parameter, goal: Target) -> Distribution | None:
    """Work out where an array that a module gives lives."""
    context = check.context
    said, want = goal.distribution, parameter.type.distribution
    if said is not None and want.pattern is not Pattern.ANY and not same_pattern(said, want, context):
        message = "distribution mismatch: the module gives its result otherwise"
        check.fail("E0312", message, goal.node.span)
        return None
    if context.partition is None:
        return (said or ROOT) if _whole(check, goal, said or want) else None
    if said is None and want.pattern is not Pattern.ANY:
        said = replace(want, partition=context.partition) if want.distributed else want
    said = said or _inferred(check, parameter)
    if said is None:
        message = f"nothing says how `{goal.node.name.id}` is distributed"
        help = f"for example:  -> {goal.node.name.id} @ block(0)"
        check.fail("E0318", message, goal.node.span, help=help)
        return None
    return said if _in_block(check, goal, said) else None


def _whole(check: CallCheck, goal: Target, distribution: Distribution) -> bool:
    """Outside PARALLEL a module gives a whole array on the root."""
    if not distribution.distributed and distribution.pattern is not Pattern.REPLICATED:
        return True
    name = goal.node.name.id
    message = "distribution mismatch: outside PARALLEL a module gives a whole array on the root"
    after = "scatter" if distribution.distributed else "replicate"
    help = f"give it a name of its own and {after} it:  {check.context.root_thread}{after}(…) -> {name}"
    check.fail("E0312", message, goal.node.span, help=help, directive=False)
    return False


def _in_block(check: CallCheck, goal: Target, distribution: Distribution) -> bool:
    """Inside PARALLEL a module gives a piece of a tag over the block's partition."""
    partition = check.context.partition
    if not distribution.distributed:
        message = "distribution mismatch: inside PARALLEL every partition gives a piece"
        help = f"for example:  -> {goal.node.name.id} @ block(0)"
        check.fail("E0312", message, goal.node.span, help=help, directive=False)
        return False
    if distribution.partition != partition:
        message = (
            f"`{goal.node.name.id}` is over {distribution.partition}, but this block runs over {partition}"
        )
        check.fail("E0314", message, goal.node.span, directive=False)
        return False
    return True


def _inferred(check: CallCheck, parameter: Parameter) -> Distribution | None:
    """Find the distribution whose pieces have the shape that the module gives."""
    cut: list[tuple[int, Piece, int]] = []
    for axis, pattern in enumerate(parameter.type.shape or ()):
        extent = check.matcher.extent(pattern)
        pieces = [base for monomial, _ in extent.terms for base, _ in monomial if isinstance(base, Piece)]
        if pieces:
            halo = extents.add(extent, extents.scale(extents.atom(pieces[0]), -1)).constant
            if halo is None or halo < 0 or halo % 2:
                return None
            cut.append((axis, pieces[0], halo // 2))
    if not cut:
        return None
    kind = cut[0][1].distribution
    regular = all(
        p.distribution == kind and p.index == i and h == cut[0][2] for i, (_, p, h) in enumerate(cut)
    )
    if not regular or len(cut) != len(kind.axes):
        return None
    halo_expression = extents.to_expression(extents.number(cut[0][2])) if cut[0][2] else None
    return replace(kind, axes=tuple(axis for axis, _, _ in cut), halo=halo_expression)


def _global_shape(
    check: CallCheck, goal: Target, local: list[Extent], distribution: Distribution
) -> tuple[Expression, ...] | None:
    """Turn the extents that a module gives into those of the whole tag."""
    context, shape = check.context, list(local)
    if distribution.axes and distribution.axes[-1] >= len(local):
        message = (
            f"axis {distribution.axes[-1]} is not there: the array has {len(local)} axes, counted from 0"
        )
        check.fail("E0306", message, goal.node.span)
        return None
    halo = context.extent(distribution.halo) if distribution.halo is not None else extents.number(0)
    kind = extents.without_halo(distribution, context.lookup)
    for index, axis in enumerate(distribution.axes):
        interior = extents.add(local[axis], extents.scale(halo, -2))
        base = interior.atom
        if isinstance(base, Piece) and base.distribution == kind and base.index == index:
            shape[axis] = base.extent
        elif (
            not extents.has_piece(interior)
            and len(distribution.axes) == 1
            and distribution.partition is not None
        ):
            shape[axis] = extents.multiply(interior, context.lookup(distribution.partition))
        else:
            _no_such_pieces(check, goal, axis)
            return None
    uncut = [axis for axis in range(len(local)) if axis not in distribution.axes]
    for axis in uncut:
        if extents.has_piece(shape[axis]):
            _no_such_pieces(check, goal, axis)
            return None
    result = tuple(extents.to_expression(extent) for extent in shape)
    if any(extents.is_large(extent) for extent in result):
        _unknown_size(check, goal, "its extent")
        return None
    return result


def _no_such_pieces(check: CallCheck, goal: Target, axis: int) -> None:
    message = f"distribution mismatch: axis {axis} of `{goal.node.name.id}` is not cut like that by this call"
    check.fail("E0312", message, goal.node.span)


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
        reduction = _reduction(check, goal.node.reduction, type)
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
    notes = [(entity.span, f"`{entity.display}` is {context.show(known)} since here")]
    if known.scalar and known.distribution.pattern is Pattern.REPLICATED and type.distribution.distributed:
        message = f"`{entity.display}` is one value for all, but every partition gives one of its own"
        help = f"reduce it:  -> own reduce {entity.display}(sum)"
        check.fail("E0315", message, span, notes=notes, help=help, directive=False)
        return False
    same_place = same_pattern(known.distribution, type.distribution, context)
    if not same_place or known.distribution.partition != type.distribution.partition:
        advice = (
            None
            if known.scalar
            else conversion(replace(entity, type=type), known.distribution, check.thread, context.root_thread)
        )
        label = context.show(type)
        check.fail(
            "E0312", "distribution mismatch", span, notes=notes, label=label, help=advice, directive=False
        )
        return False
    if known.element is not type.element:
        label = context.show(type)
        check.fail("E0303", "element type mismatch", span, notes=notes, label=label, directive=False)
        return False
    if [context.extent(e) for e in known.shape or ()] != [context.extent(e) for e in type.shape or ()]:
        check.fail("E0311", "shape mismatch", span, notes=notes, label=context.show(type), directive=False)
        return False
    return True


def _reduction(check: CallCheck, node: sx.ReductionNode, type: Type) -> Reduction | None:
    """Check `reduce total(sum)`: a per-partition scalar into one value for all."""
    context = check.context
    if not type.scalar or not type.distribution.distributed:
        message = "only a per-partition scalar can be reduced; this has one value already"
        if not type.scalar:
            message = "only a per-partition scalar can be reduced, not an array"
        check.fail("E0319", message, node.span, directive=False)
        return None
    if node.operation.id not in REDUCTIONS:
        near = did_you_mean(node.operation.id, REDUCTIONS) or f"reductions are {', '.join(REDUCTIONS)}"
        message = f"unknown reduction `{node.operation.id}`"
        check.fail("E0319", message, node.operation.span, help=near, directive=False)
        return None
    wanted = (Element.BOOL,) if node.operation.id in ("all", "any") else NUMERIC
    if type.element not in wanted:
        message = f"`{node.operation.id}` is not defined for {context.show(type)}"
        check.fail("E0319", message, node.operation.span, directive=False)
        return None
    entity = _reduction_target(check, node, Type(type.element, (), REPLICATED))
    return Reduction(entity.unique, node.operation.id, node.span) if entity is not None else None


def _reduction_target(check: CallCheck, node: sx.ReductionNode, type: Type) -> TagEntity | None:
    context = check.context
    found = context.frame.find(node.target.id)
    if found is None:
        return context.new_tag(node.target, type, "produced")
    if not isinstance(found, TagEntity):
        context.misused(node.target, found, "a tag")
        return None
    if not may_write(context, node.target, found) or found.type is None:
        return None
    if found.type != type:
        message = (
            f"the reduction gives {context.show(type)}, but `{found.display}` is {context.show(found.type)}"
        )
        notes = [(found.span, "declared here")]
        check.fail("E0303", message, node.target.span, notes=notes, directive=False)
        return None
    return found
