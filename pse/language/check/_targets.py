"""The outputs of a call, written after `->`: which tags it writes, and reductions of what partitions give.

Tags are new ones or exist already.  `-> e reduce total(sum)` combines the values or arrays of all partitions:
scalars become one value for all; arrays are combined element by element, so that they have one shape in all
partitions, and the result is replicated, or on the root where the program says so.
"""

from __future__ import annotations

from pse._abi.coven import Reduction as Operation
from pse.language.check._call_check import CallCheck
from pse.language.check._context import REPLICATED, Context
from pse.language.check._distribution_check import refuse_dynamic
from pse.language.check._ir import Reduction
from pse.language.check._remedies import call_help, slots_of, unused_name
from pse.language.check._scalars import one_of
from pse.language.check._scope import ModuleEntity, TagArray, TagEntity, kind_of
from pse.language.check._type_resolution import written_distribution, written_type
from pse.language.diagnostics._diagnostic import error_at
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.types import _symbolic_extents as extents
from pse.language.types._elements import COMPLEX, NUMERIC
from pse.language.types._expressions import Expression, Name
from pse.language.types._types import Distribution, Element, Pattern, Type
from pse.records import dataclass, replace
from pse.text import count_text, did_you_mean

REDUCTIONS = tuple(operation.name.lower() for operation in Operation)
"""What `reduce` can do."""

SHARING_ROWS = "redistribute_rows"
"""What `redistribute` is where modules decide how many rows there are: a module that computes."""

TURNING_ROWS = "transpose_rows"
"""What `transpose` is there, where it leaves the rows where they are: a module that computes, too."""

ROWS_MOVING = ("migrate", "border", "ghosts", "images", "add_back")
"""Standard operations by which rows go from partition to partition."""

MOVING = ("scatter", "redistribute", SHARING_ROWS, "reshape", "resize", "transpose", "shift", *ROWS_MOVING)
"""Standard operations that make distributed arrays out of other partitions' pieces."""


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
    def reported(self) -> bool:
        """Whether something is wrong with the tag that was reported before."""
        return self.entity is not None and self.entity.type is None

    @property
    def distribution(self) -> Distribution | None:
        """Where the result is to live, as far as the program says so."""
        known = self.known if not self.unplaced else None
        return self.annotation or (known.distribution if known is not None else None)

    @property
    def unplaced(self) -> bool:
        """Whether the type is stated, but not where the array lies, which then follows from the call."""
        return self.known is not None and self.known.distribution.pattern is Pattern.ANY


def target(context: Context, node: sx.OutputNode, kind: str) -> Target | None:
    """Find what an output's name stands for; a name that cannot be written is reported and gives None."""
    found, annotation, stated = context.frame.find(node.name.id), None, None
    if found is None and "." in node.name.id:  # Members of bundles are declared.
        context.unknown(node.name)
        return None
    if node.type is not None:
        stated = _stated(context, node.type)
        if stated is None:
            return None
    if node.distribution is not None:
        annotation = written_distribution(context, node.distribution, None)
        if annotation is None:
            return None
    if (
        found is None
        or kind == "let"
        or (isinstance(found, ModuleEntity) and found.name in context.globals.standard)
    ):
        new = context.new_tag(node.name, stated, kind) if stated is not None else None
        return Target(node, new, annotation, kind)
    if not isinstance(found, TagEntity):
        notes = [(found.span, "declared here")]
        message = f"`{node.name.id}` is {kind_of(found)}, but the output of a call is a tag"
        help = one_of(found) if isinstance(found, TagArray) else "choose another name"
        context.report(error_at("E0210", message, node.name.span, notes=notes, help=help))
        return None
    if stated is not None and found.type is not None and not _is_stated(context, node, found, stated):
        return None
    return Target(node, found, annotation, kind) if may_write(context, node.name, found) else None


def _stated(context: Context, node: sx.TypeNode) -> Type | None:
    """Read the type that an output states: inside PARALLEL it is what each partition gives."""
    type = written_type(context, node)
    if type is None or context.partition is None:
        return type
    if node.shape is None and not type.scalar:  # One record of each.
        type = replace(type, shape=(Name(context.partition),))
    if node.distribution is not None:
        return type
    own = Distribution(Pattern.BLOCK, partition=context.partition)
    return replace(type, distribution=own if type.scalar else Distribution(Pattern.ANY))


def _is_stated(context: Context, node: sx.OutputNode, found: TagEntity, stated: Type) -> bool:
    """Compare what an output states with the type that its tag has already."""
    assert found.type is not None, "checked by the caller"
    shapes = [context.shape(one) for one in (stated, found.type)]
    known = replace(found.type, shape=stated.shape)
    same = shapes[0] == shapes[1] and stated.scalar == found.type.scalar
    if same and (node.distribution is None or known == stated) and known.element is stated.element:
        return True
    message = f"`{node.name.id}` is not of the type that is stated here"
    notes = [(found.span, f"it is declared here as {context.show(found.type)}")]
    help = "leave out the type, or give the output another name"
    context.report(error_at("E0303", message, node.span, notes=notes, help=help))
    return False


def refuse_distributed_scalar(check: CallCheck, span: Span) -> None:
    """Report a distribution behind an output that is a scalar."""
    help = "leave out the distribution"
    check.fail("E0306", "a scalar has no distribution", span, help=help, directive=False)


def may_write(context: Context, name: sx.Identifier, entity: TagEntity, *, assigned: bool = False) -> bool:
    """Refuse to write what is named once: `let`, loop counters, inputs of segments."""
    if entity.kind not in ("let", "counter", "input"):
        return True
    what = {"let": "declared by `let`", "counter": "a loop counter", "input": "an input of the segment"}
    help = {
        "let": f"declare it with `var` instead of `let`:  var {context.show(entity.type)} {name.id} = …"
        if entity.type is not None
        else "declare it with `var` instead of `let`",
        "counter": "write the result under another name",
        "input": "write the result under another name",
    }[entity.kind]
    if assigned and entity.kind == "input" and entity.type is not None:
        help = f"copy it into a variable first:  var {context.show(entity.type)} mine = {name.id}"
    message = f"`{name.id}` is {what[entity.kind]}, and cannot be written"
    context.report(error_at("E0204", message, name.span, notes=[(entity.span, "declared here")], help=help))
    return False


def targets(check: CallCheck, kind: str) -> list[Target | None] | None:
    """Find all outputs of a call; None if their number is wrong (which is reported)."""
    wanted, given = check.signature.outputs, check.node.outputs
    if len(wanted) != len(given):
        listed = ", ".join(p.name for p in wanted)
        gives = f"{count_text(len(wanted), 'output')}" + (f" ({listed})" if wanted else "")
        named = f"{len(given)} {'is' if len(given) == 1 else 'are'} named"
        message = f"`{check.node.callee.text}` gives {gives}; {named}"
        slots = slots_of(check.signature.inputs)
        help = call_help(check.context, check.node, slots, [p.name for p in wanted], check.thread)
        check.fail("E0302", message, check.node.span, help=help)
        return None
    seen: set[str] = set()
    for node in given:
        if node.name.id in seen:
            message = f"output `{node.name.id}` is named twice after `->`"
            help = "give each output a name of its own"
            check.fail("E0302", message, node.name.span, help=help, directive=False)
        seen.add(node.name.id)
    return [target(check.context, node, kind) for node in given]


def poison(check: CallCheck, kind: str) -> None:
    """Declare the outputs of a call that failed, without types, so that later uses are not reported again."""
    for node in check.node.outputs:
        found = check.context.frame.find(node.name.id)
        if found is None:
            check.context.new_tag(node.name, None, kind)
        elif isinstance(found, TagEntity) and found.type and found.type.distribution.pattern is Pattern.ANY:
            found.type = None
        if node.reduction is not None and check.context.frame.find(node.reduction.target.id) is None:
            check.context.new_tag(node.reduction.target, None, "produced")


# Reductions.


def check_reduction(check: CallCheck, node: sx.ReductionNode, type: Type) -> Reduction | None:
    """Check `reduce total(sum)` behind an output of a type; everything wrong is reported and gives None."""
    if check.context.own is not None:
        check.context.refuse_collective("`reduce`", node.span)
        check.failed = True
        return None
    if not type.distribution.distributed:
        message = "only what partitions give can be reduced; outside PARALLEL there is one value already"
        check.fail("E0319", message, node.span, help="leave out `reduce`", directive=False)
        return None
    if not _comes_from_module(check, node):
        return None
    if not operation_fits(check, node.operation.id, node.operation.span, type):
        return None
    shape, where = even_shape(check, type, node.span), _where(check, node, type)
    if shape is None or where is None or not _has_own_name(check, node):
        return None
    entity = _target(check, node, Type(type.element, shape, where))
    return Reduction(entity.unique, node.operation.id, node.span) if entity is not None else None


def _has_own_name(check: CallCheck, node: sx.ReductionNode) -> bool:
    """What each partition gives and what they give together are two values, of two names."""
    name = node.target.id
    if all(output.name.id != name for output in check.node.outputs):
        return True
    message = f"`{name}` is what each partition gives; what they give together needs another name"
    other = unused_name(check.context, "total")
    help = f"name it otherwise:  -> {name} reduce {other}({node.operation.id})"
    check.fail("E0203", message, node.target.span, help=help, directive=False)
    return False


def _comes_from_module(check: CallCheck, node: sx.ReductionNode) -> bool:
    """What moves pieces between partitions makes them out of parts of others."""
    name = check.signature.name
    if check.reference.language != "std" or name not in MOVING:
        return True
    message = f"the result of `{name}` cannot be reduced in the same call"
    help = f"copy it in the next one:  copy(…) -> mine reduce {node.target.id}({node.operation.id})"
    check.fail("E0319", message, node.span, help=help, directive=False)
    return False


def operation_fits(check: CallCheck, operation: str, span: Span, type: Type) -> bool:
    """Check that there is such an operation for elements of a type."""
    if operation not in REDUCTIONS:
        near = did_you_mean(operation, REDUCTIONS) or _reductions_of(type)
        message = f"unknown reduction `{operation}`"
        check.fail("E0319", message, span, help=near, directive=False)
        return False
    if not _combines(operation, type.element):
        word = check.signature.name if check.signature.name in ("smallest", "largest") else operation
        message = f"`{word}` is not defined for {check.context.show(type)}"
        help = _reductions_of(type) if word == operation else "give an array of real numbers or integers"
        check.fail("E0319", message, span, help=help, directive=False)
        return False
    return True


def _reductions_of(type: Type) -> str:
    """Say which operations combine elements of a type."""
    known = [operation for operation in REDUCTIONS if _combines(operation, type.element)]
    if type.element is None or not known:
        return "only numbers and truth values can be combined"
    return f"reductions of {type.element.label} are {', '.join(known)}"


def _combines(operation: str, element: Element | None) -> bool:
    """Say whether elements can be combined so: truth values are not added, complex numbers not ordered."""
    if operation in ("all", "any"):
        return element is Element.BOOL
    if operation == "hypot":
        return element in (Element.F32, Element.F64)
    return element in NUMERIC and not (operation in ("min", "max") and element in COMPLEX)


def even_shape(check: CallCheck, type: Type, span: Span) -> tuple[Expression, ...] | None:
    """Give the shape that the pieces have in every partition; pieces of several shapes are refused."""
    why = "arrays are combined element by element, and each partition has as many rows as it decides"
    help = "let the module give an array of the same shape in every partition"
    if refuse_dynamic(check, type, why, help, span):
        return None
    local = [check.matcher.divided(e) for e in extents.local_shape(type, check.context.lookup)]
    uneven = next((axis for axis, extent in enumerate(local) if extents.has_piece(extent)), None)
    if uneven is None:
        return tuple(extents.to_expression(extent) for extent in local)
    message = (
        f"arrays are combined element by element, but axis {uneven} is {check.show_extent(local[uneven])}, "
        "which may be longer in one partition than in another"
    )
    help = "let the module give an array of the same shape in every partition"
    check.fail("E0319", message, span, label=check.context.show(type), help=help, directive=False)
    return None


def _where(check: CallCheck, node: sx.ReductionNode, type: Type) -> Distribution | None:
    """Work out where the result is to live: as written, else where the tag lives that it goes to."""
    if node.distribution is None:
        known = check.context.frame.find(node.target.id)
        if isinstance(known, TagEntity) and known.type is not None and not known.type.scalar:
            return known.type.distribution
        return REPLICATED
    if type.scalar:
        message = "a scalar has no distribution: the result of its reduction is replicated"
        help = "leave out the distribution"
        check.fail("E0306", message, node.distribution.span, help=help, directive=False)
        return None
    where = written_distribution(check.context, node.distribution, None)
    return where if where is not None and _is_whole(check, node, where) else None


def _is_whole(check: CallCheck, node: sx.ReductionNode, where: Distribution) -> bool:
    if where.distributed:
        message = "distribution mismatch: the result of a reduction is a whole array"
        help = f"write:  reduce {node.target.id}({node.operation.id}) @ replicated, or @ root"
        check.fail("E0312", message, node.span, help=help, directive=False)
    return not where.distributed


def _target(check: CallCheck, node: sx.ReductionNode, type: Type) -> TagEntity | None:
    """Find the tag that gets the result, or declare it."""
    context = check.context
    found = context.frame.find(node.target.id)
    if found is None or (isinstance(found, ModuleEntity) and found.name in context.globals.standard):
        return context.new_tag(node.target, type, "produced")
    if not isinstance(found, TagEntity):
        context.misused(node.target, found, "a tag", "choose another name for the result")
        return None
    if not may_write(context, node.target, found) or found.type is None:
        return None
    known = found.type
    if not _is_whole(check, node, known.distribution):
        return None
    shapes = [context.shape(one) for one in (known, type)]
    if (known.element, known.distribution, shapes[0]) != (type.element, type.distribution, shapes[1]):
        message = f"the reduction gives {context.show(type)}, but `{found.display}` is {context.show(known)}"
        notes = [(found.span, "declared here")]
        help = f"declare it as  var {context.show(type)} {found.display},  or give the result another name"
        check.fail("E0303", message, node.target.span, notes=notes, help=help, directive=False)
        return None
    return found
