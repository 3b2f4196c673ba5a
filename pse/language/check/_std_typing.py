"""Typing rules of the standard operations that move data: keyed by name, because no directive can say them.

`scatter` makes a root array distributed, `transpose` swaps the last two axes, `zero` takes its type from the
declared tag, and so on.  Where an operation is allowed (outside or inside PARALLEL) is part of its rule.
The signatures come from the module finder; only their parameters' names and directions are used here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pse.language.check._call_check import CallCheck
from pse.language.check._context import REPLICATED, ROOT, no_such_axis
from pse.language.check._distribution_check import match_distribution
from pse.language.check._ir import Argument, Output
from pse.language.check._output_typing import finish
from pse.language.check._scope import TagEntity
from pse.language.check._targets import Target
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.types._expressions import Name
from pse.language.types._types import Direction, Distribution, Parameter, Pattern, Type


@dataclass(frozen=True)
class Operation:
    """A standard operation.

    `region` is where it may stand: "outside" PARALLEL, "inside" it, or anywhere ("").  `rule` gives the type
    of the result, None if there is none or it cannot be worked out (which it reports).
    """

    region: str
    rule: Callable[[CallCheck, TagEntity | None, Target | None], Type | None]


def check_standard(check: CallCheck, found: list[Target | None]) -> list[Output]:
    """Check a call of one of `OPERATIONS`; everything wrong is reported."""
    operation = OPERATIONS[check.signature.name]
    if not _in_region(check, operation.region):
        return []
    entity = _inputs(check)
    if check.failed:
        return []
    goal = found[0] if found else None
    type = operation.rule(check, entity, goal)
    if not found or check.failed:
        return []
    if goal is None or type is None or not _axes_fit(check, goal, type):
        check.failed = True
        return []
    output = finish(check, check.signature.outputs[0], goal, type)
    check.failed |= output is None
    return [output] if output is not None else []


def _in_region(check: CallCheck, region: str) -> bool:
    inside = check.context.partition is not None
    if region == ("outside" if inside else "inside"):
        where, why, help = "inside", "every partition takes part in it", "move the call into a PARALLEL block"
        if region == "outside":
            where, why, help = "outside", "it works on whole arrays", "move the call out of the block"
        message = f"`{check.node.callee.text}` is allowed only {where} PARALLEL: {why}"
        check.fail("E0316", message, check.node.span, help=help, directive=False)
        return False
    return True


def _inputs(check: CallCheck) -> TagEntity | None:
    """Check the inputs: arrays by the rules here, scalars as for any module; give the first array."""
    arguments = check.arguments()
    if arguments is None:
        return None
    first: TagEntity | None = None
    checked = {}
    for parameter in check.signature.inputs:
        argument = arguments.get(parameter.name)
        if parameter.type.scalar or argument is None:
            result = check.check_input(parameter, argument) if argument else check.default(parameter)
        else:
            entity = check.tag(argument)
            result = None
            if entity is not None and entity.type is not None and _is_array(check, entity, argument.span):
                name = Name(entity.unique, argument.value.span)
                result = Argument(parameter, name, entity.unique, argument.span)
                first = first or entity
        check.failed |= result is None
        checked[parameter.name] = result
    check.inputs = [result for result in checked.values() if result is not None]
    return first


def _is_array(check: CallCheck, entity: TagEntity, span: Span) -> bool:
    assert entity.type is not None, "checked by the caller"
    if entity.type.scalar:
        message = f"`{check.node.callee.text}` works on arrays; `{entity.display}` is a scalar"
        check.fail("E0304", message, span, label=check.context.show(entity.type), directive=False)
        return False
    return True


def _axes_fit(check: CallCheck, goal: Target, type: Type) -> bool:
    axes, rank = type.distribution.axes, len(type.shape or ())
    if axes and axes[-1] >= rank:
        message = no_such_axis(axes[-1], rank)
        check.fail("E0306", message, goal.node.span, directive=False)
        return False
    return True


def _source(check: CallCheck, entity: TagEntity | None) -> Type:
    assert entity is not None, "the signature has an array and _inputs found it"
    assert entity.type is not None, "the signature has an array and _inputs found it"
    return entity.type


def _mismatch(check: CallCheck, type: Type, message: str, help: str | None = None) -> None:
    span = check.node.arguments[0].span
    label = check.context.show(type)
    check.fail("E0312", f"distribution mismatch: {message}", span, label=label, help=help, directive=False)


def _declared(check: CallCheck, goal: Target | None, example: str) -> Distribution | None:
    """Give the distribution that the program names for the result; without one, report."""
    if goal is None:
        return None
    if goal.distribution is None:
        name = goal.node.name.id
        check.fail(
            "E0318",
            f"nothing says how `{name}` is distributed",
            goal.node.span,
            help=f"for example:  -> {name} {example}",
            directive=False,
        )
    elif not goal.distribution.distributed:
        message = f"`{check.node.callee.text}` gives a distributed tag"
        check.fail("E0312", f"distribution mismatch: {message}", goal.node.span, directive=False)
    else:
        return goal.distribution
    return None


def _scatter(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = _source(check, entity)
    if type.distribution.distributed:
        _mismatch(check, type, "only a whole array can be scattered", "use `redistribute` inside PARALLEL")
        return None
    distribution = _declared(check, goal, "@ block(0)")
    return replace(type, distribution=distribution) if distribution is not None else None


def _gather(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = _source(check, entity)
    if not type.distribution.distributed:
        _mismatch(
            check, type, "only a distributed array can be gathered", "use the array itself: it is whole"
        )
        return None
    return _told(check, goal, replace(type, distribution=ROOT))


def _replicate(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = _source(check, entity)
    if type.distribution.pattern is Pattern.REPLICATED:
        _mismatch(check, type, "the array is replicated already")
        return None
    if type.distribution.distributed:
        _mismatch(check, type, "only a root array can be replicated", "gather it first:  gather(…) -> whole")
        return None
    return _told(check, goal, replace(type, distribution=REPLICATED))


def _told(check: CallCheck, goal: Target | None, type: Type) -> Type | None:
    """Compare the distribution that is written with the output with what the operation gives."""
    if (
        goal is not None
        and goal.annotation is not None
        and goal.annotation.pattern is not type.distribution.pattern
    ):
        message = f"distribution mismatch: `{check.node.callee.text}` gives {check.context.show(type)}"
        check.fail("E0312", message, goal.node.span, directive=False)
        return None
    return type


def _piece(check: CallCheck, entity: TagEntity | None) -> Type | None:
    """Give the type of an operand that must be distributed over the block's partition."""
    type = _source(check, entity)
    assert entity is not None, "_source found it"
    if not match_distribution(check, _anywhere(check), entity, check.node.arguments[0].span):
        return None
    if not type.distribution.distributed:
        _mismatch(check, type, f"`{check.node.callee.text}` works on distributed arrays")
        return None
    return type


def _anywhere(check: CallCheck) -> Parameter:
    """Make the operand's parameter say nothing about distribution: the rules here do."""
    parameter = next(p for p in check.signature.inputs if not p.type.scalar)
    return replace(parameter, type=replace(parameter.type, distribution=Distribution(Pattern.ANY)))


def _redistribute(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = _piece(check, entity)
    distribution = _declared(check, goal, "@ block(1)") if type is not None else None
    return replace(type, distribution=distribution) if type is not None and distribution is not None else None


def _transpose(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = _source(check, entity)
    shape = type.shape or ()
    if len(shape) < 2:
        message = "`transpose` exchanges the last two axes, but this array has one axis"
        check.fail(
            "E0304", message, check.node.arguments[0].span, label=check.context.show(type), directive=False
        )
        return None
    turned = replace(type, shape=(*shape[:-2], shape[-1], shape[-2]))
    if check.context.partition is None and not type.distribution.distributed:
        return _told(check, goal, turned)
    if check.context.partition is None:
        _in_region(check, "inside")
        return None
    if _piece(check, entity) is None:
        return None
    distribution = _declared(check, goal, "@ block(0)")
    return replace(turned, distribution=distribution) if distribution is not None else None


def _exchange(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = _piece(check, entity)
    if type is not None and type.distribution.halo is None:
        message = f"`{check.node.callee.text}` fills the halo of a tag, but this tag has none"
        help = "declare it with one:  var f64[N, M] @ block(0) halo(1) u"
        span, label = check.node.arguments[0].span, check.context.show(type)
        check.fail("E0321", message, span, label=label, help=help, directive=False)
    return None


def _shift(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    return _piece(check, entity)


def _copy(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    type = _source(check, entity)
    assert entity is not None, "_source found it"
    inside = check.context.partition is not None
    if inside and not match_distribution(check, _anywhere(check), entity, check.node.arguments[0].span):
        return None
    return type


def _zero(check: CallCheck, entity: TagEntity | None, goal: Target | None) -> Type | None:
    if goal is None:
        return None
    if goal.known is not None and not goal.known.scalar:
        return goal.known
    if goal.entity is None:
        name = goal.node.name.id
        message = f"nothing says what `{name}` is: `zero` fills a tag that is declared already"
        check.fail(
            "E0318", message, goal.node.span, help=f"declare it before:  var f64[N] {name}", directive=False
        )
    elif goal.known is not None:
        check.fail(
            "E0304", "`zero` fills arrays, not scalars: write `x = 0`", goal.node.span, directive=False
        )
    return None


OPERATIONS = {
    "scatter": Operation("outside", _scatter),
    "gather": Operation("outside", _gather),
    "replicate": Operation("outside", _replicate),
    "redistribute": Operation("inside", _redistribute),
    "transpose": Operation("", _transpose),
    "exchange": Operation("inside", _exchange),
    "shift": Operation("inside", _shift),
    "copy": Operation("", _copy),
    "zero": Operation("", _zero),
}
"""The operations with rules of their own, by name."""

OUTSIDE_ONLY = ("save", "load", "source")
"""Standard modules that every partition must not call on its own."""


def check_print(check: CallCheck) -> None:
    """Check `print`: any number of scalars, and of arrays that are whole (or pieces) where it runs."""
    for argument in check.node.arguments:
        result = _printed(check, argument)
        check.failed |= result is None
        check.inputs += [result] if result is not None else []


def _printed(check: CallCheck, argument: sx.CallArgument) -> Argument | None:
    parameter, node = check.signature.inputs[0], argument.value
    if argument.name is not None:
        check.fail("E0307", "`print` has no named inputs", argument.span)
        return None
    entity = check.context.frame.find(node.id) if isinstance(node, Name) else None
    if isinstance(entity, TagEntity) and entity.type is not None and not entity.type.scalar:
        check.tag(argument)
        whole = match_distribution(check, _free(parameter), entity, argument.span)
        return (
            Argument(parameter, Name(entity.unique, argument.span), entity.unique, argument.span)
            if whole
            else None
        )
    check.element = None  # Every value may have a type of its own.
    found = check.check_input(replace(parameter, type=Type(None), direction=Direction.IN), argument)
    return replace(found, parameter=parameter) if found is not None else None


def _free(parameter: Parameter) -> Parameter:
    return replace(parameter, type=Type(None, None, Distribution(Pattern.ANY)))
