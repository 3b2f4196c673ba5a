"""Scalar expressions: names resolved, types worked out, and whether all partitions have the same value."""

from __future__ import annotations

from pse.errors import EvaluationError
from pse.language.check._context import Context
from pse.language.check._remedies import grid_declaration
from pse.language.check._scope import (
    PROCS,
    AliasEntity,
    BundledTags,
    Entity,
    ParameterEntity,
    PartitionEntity,
    RecordEntity,
    TagArray,
    TagEntity,
)
from pse.language.diagnostics._diagnostic import error_at
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.syntax._words import BUILTINS
from pse.language.types import _symbolic_extents as extents
from pse.language.types._elements import (
    INTEGERS,
    apply_element,
    binary_element,
    literal_element,
    unary_element,
)
from pse.language.types._evaluation import evaluate
from pse.language.types._expressions import (
    INDEX,
    Apply,
    Binary,
    Expression,
    Name,
    Number,
    Text,
    Unary,
    names_in,
    position_name,
    read_position,
    render_expression,
)
from pse.language.types._types import Element
from pse.records import dataclass, replace
from pse.text import count_text, did_you_mean


@dataclass(frozen=True)
class Scalar:
    """A checked expression over resolved names; `partition` is set if its value differs among partitions."""

    expression: Expression
    element: Element
    partition: str | None


def place(node: sx.SyntaxExpression) -> Span:
    """Give the span of an expression of the syntax tree, which always has one."""
    assert node.span is not None, "the parser gives every expression a span"
    return node.span


def scalar(context: Context, node: sx.SyntaxExpression) -> Scalar | None:
    """Check an expression; everything wrong is reported and gives None."""
    found = _scalar(context, node)
    if found is None or names_in(found.expression):
        return found
    try:
        evaluate(found.expression, {})
    except EvaluationError as failure:
        help = "choose numbers for which it has a value: integers have 64 bits, reals are finite"
        context.report(error_at("E0323", failure.message, failure.span or place(node), help=help))
        return None
    return found


def _scalar(context: Context, node: sx.SyntaxExpression) -> Scalar | None:
    match node:
        case sx.CallExpression():
            _call_inside(context, node)
            return None
        case Number(value) | Text(value):
            return Scalar(node, literal_element(value), None)
        case Name():
            return _name(context, node)
        case Unary(operator, operand):
            inner = _scalar(context, operand)
            element = unary_element(operator, inner.element) if inner else None
            return _result(context, node, operator, [inner], element)
        case Binary(operator, left, right):
            first, second = _scalar(context, left), _scalar(context, right)
            element = binary_element(operator, first.element, second.element) if first and second else None
            return _result(context, node, operator, [first, second], element)
        case Apply(function, (_, _)) if function == INDEX:
            message = "an index is not allowed here: it chooses a tag in a statement of a program or segment"
            context.report(error_at("E0327", message, place(node), help="write a value, or a parameter"))
            return None
        case Apply("list"):
            message = "one value is expected here, not a list of them"
            help = "write one value; only `periodic` of `exchange` takes a list"
            context.report(error_at("E0308", message, place(node), help=help))
            return None
        case Apply(function, arguments):
            inners = [_scalar(context, argument) for argument in arguments]
            known = [inner.element for inner in inners if inner is not None]
            element = apply_element(function, known) if len(known) == len(inners) else None
            return _result(context, node, function, inners, element)


def _result(
    context: Context, node: Expression, word: str, parts: list[Scalar | None], element: Element | None
) -> Scalar | None:
    """Put an operation together again; `element` None means that it does not exist for these operands."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if element is None:
        message, help = _wrong_operands(word, [part.element for part in known], isinstance(node, Apply))
        context.report(error_at("E0308", message, place(node), help=help))
        return None
    partition = next((part.partition for part in known if part.partition is not None), None)
    expressions = tuple(part.expression for part in known)
    rebuilt: Expression
    if isinstance(node, Binary):
        if word in ("/", "%") and _is_zero(context, known[1]):
            help = "give a divisor other than 0"
            context.report(
                error_at("E0323", f"division by zero in `{written(node)}`", place(node), help=help)
            )
            return None
        rebuilt = Binary(word, expressions[0], expressions[1], node.span)
    elif isinstance(node, Unary):
        rebuilt = Unary(word, expressions[0], node.span)
    else:
        rebuilt = Apply(word, expressions, node.span)
    return Scalar(rebuilt, element, partition)


def _wrong_operands(word: str, elements: list[Element], function: bool) -> tuple[str, str]:
    """Say that there are too few or many arguments, or that an operation does not exist for their types."""
    several, count = word in ("min", "max"), len(elements)
    if function and (count < 2 if several else count != 1):
        takes = "two or more arguments" if several else "one argument"
        message = f"`{word}` takes {takes}; {count} {'is' if count == 1 else 'are'} given"
        return message, f"for example:  {word}({'a, b' if several else 'x'})"
    types = " and ".join(element.label for element in elements)
    return f"`{word}` is not defined for {types}", _operand_help(word, elements)


def _operand_help(word: str, elements: list[Element]) -> str:
    """Say what an operator or function takes."""
    if word in ("and", "or", "not"):
        return f"`{word}` takes truth values: compare first, for example x != 0"
    if Element.OBJECT in elements:
        return "objects can only be passed to modules"
    if word in BUILTINS:
        count = "two or more numbers" if word in ("min", "max") else "one number"
        wrong = "not strings" if Element.STRING in elements else "not truth values"
        if not {Element.STRING, Element.BOOL} & set(elements):
            wrong = "real or complex" if word == "abs" else "not complex"
        return f"`{word}` takes {count}, {wrong}"
    if Element.STRING in elements:
        return "strings can be joined by `+` and compared with strings"
    if Element.BOOL in elements:
        return "truth values can be combined by `and`, `or`, `not`, and compared by `==` and `!=`"
    return "complex numbers have no order and no remainder"


def _is_zero(context: Context, found: Scalar) -> bool:
    """Whether a divisor is zero whatever its names stand for, as that of `n / (procs - procs)` is."""
    divisor = found.expression
    if found.element in INTEGERS and names_in(divisor):
        divisor = extents.to_expression(context.extent(divisor))
    try:
        return not names_in(divisor) and evaluate(divisor, {}) == 0
    except EvaluationError:
        return False  # It has no value itself, which is reported as such.


def _call_inside(context: Context, node: sx.CallExpression) -> None:
    name = node.callee.text
    entity = context.frame.find(node.callee.parts[0].id)
    if entity is None:
        from pse.language.syntax._foreign_names import function_help  # Ranks have no use for it.

        help = context.globals.unimported.get(name) or function_help(name, BUILTINS)
        help = help or did_you_mean(name, BUILTINS, cutoff=0.7)
        help = help or f"functions are {', '.join(BUILTINS)}"
        context.report(error_at("E0202", f"unknown function `{name}`", node.callee.span, help=help))
        return
    context.globals.used.add(entity.span)
    message = f"a call of the module `{name}` is not allowed inside an expression"
    help = f"give its result a name first:  let x = {name}(…)"
    context.report(error_at("E0320", message, node.span, help=help))


def _name(context: Context, node: Name) -> Scalar | None:
    if node.id == PROCS:
        return Scalar(node, Element.I64, None)
    if (position := read_position(node.id)) is not None:
        return _position(context, node, position[0])
    identifier = sx.Identifier(node.id, place(node))
    entity = context.use(identifier)
    match entity:
        case None:
            return None
        case ParameterEntity():
            known = Name(entity.unique, node.span)
            return Scalar(known, entity.element, None) if entity.element is not None else None
        case PartitionEntity():
            return Scalar(Name(entity.unique, node.span), Element.I64, None)
        case TagEntity():
            return _tag(context, node, entity)
    context.misused(identifier, entity, "a value", _value_instead(node.id, entity))
    return None


def _value_instead(name: str, entity: Entity) -> str:
    """Say what to write where a name that stands for no value is used as one."""
    match entity:
        case RecordEntity():
            return f"it stands before the name of a tag:  var {name} x"
        case BundledTags():
            return f"name one of its members:  {', '.join(entity.members[:4])}"
        case TagArray():
            return one_of(entity)
        case AliasEntity():
            return f"call one of its modules in a statement of its own:  {name}.name(…) -> x"
    return f"call it in a statement of its own, and use its output:  {name}(…) -> x"


def one_of(array: TagArray) -> str:
    """Say how a tag of an array is named."""
    return f"name one of its tags, by its index:  {array.members[0]}"


def _position(context: Context, node: Name, axis: int | None) -> Scalar | None:
    """Check `partition` and `partition[0]`: what is at work, and where that is on the grid."""
    if context.partition is None:
        message = f"`{node.id}` is the partition that is at work: it has a value only inside PARALLEL"
        context.report(
            error_at("E0316", message, place(node), help="move what needs it into a PARALLEL block")
        )
        return None
    declared = context.globals.files.sets.get(context.partition)
    grid = len(declared.grid) if declared is not None else 0
    if axis is not None and axis >= grid:
        axes, help = grid_axes(context, context.partition, grid)
        message = f"`{node.id}` is a coordinate on a grid, but the partition `{context.partition}` {axes}"
        context.report(error_at("E0322", message, place(node), help=help))
        return None
    return Scalar(Name(position_name(axis, context.partition), node.span), Element.I64, context.partition)


def _tag(context: Context, node: Name, entity: TagEntity) -> Scalar | None:
    if entity.type is None or entity.type.element is None:
        return None
    if not entity.type.scalar:
        message = f"`{node.id}` is an array; a scalar is expected here"
        help = f"let a module make a scalar of it, and use its output:  module({node.id}) -> value"
        context.report(error_at("E0304", message, place(node), label=context.show(entity.type), help=help))
        return None
    if entity.constant is not None:
        return Scalar(replace(entity.constant, span=node.span), entity.type.element, None)
    distribution = entity.type.distribution
    differs = distribution.distributed and entity.kind != "counter" and entity.unique not in context.constants
    partition = distribution.partition if differs else None
    if partition is not None and partition != context.partition:
        leaves_parallel(context, node.id, place(node), entity.span)
        return None
    return Scalar(Name(entity.unique, node.span), entity.type.element, partition)


def grid_axes(context: Context, partition: str, axes: int) -> tuple[str, str]:
    """Say how many axes the grid of a partition has, and how to name one of them."""
    if not axes:
        return "has no grid", grid_declaration(context, partition)
    last = "axis 0" if axes == 1 else f"an axis from 0 to {axes - 1}"
    return f"has a grid of {count_text(axes, 'axis', 'axes')}, counted from 0", f"name {last}"


def leaves_parallel(context: Context, name: str, span: Span, declared: Span) -> None:
    """Report a per-partition scalar outside the PARALLEL block that made it."""
    message = f"`{name}` has a value of its own in each partition; it leaves PARALLEL only by `reduce`"
    help = f"where it is made, write:  -> {name} reduce total(sum)"
    context.report(error_at("E0315", message, span, notes=[(declared, f"`{name}` is made here")], help=help))


def condition(context: Context, node: sx.SyntaxExpression) -> Expression | None:
    """Check a condition outside of all blocks: a truth value."""
    found = decision(context, node)
    return found.expression if found is not None else None


def decision(context: Context, node: sx.SyntaxExpression) -> Scalar | None:
    """Check the condition of an `if` or `while`: a truth value, which may differ among partitions."""
    found = scalar(context, node)
    if found is not None and found.element is not Element.BOOL:
        what, help = (
            f"a number of type {found.element.label}",
            f"compare it, for example:  {written(node)} != 0",
        )
        if found.element is Element.STRING:
            what, help = "a string", f'compare it, for example:  {written(node)} == "text"'
        elif found.element is Element.OBJECT:
            what, help = "an object", "let a module give a truth value:  module(object) -> holds"
        message = f"a condition must be true or false, not {what}"
        context.report(error_at("E0308", message, place(node), help=help))
        return None
    return found


def written(node: sx.SyntaxExpression) -> str:
    """Write an expression as the program has it; a call, which is not allowed there, as dots."""
    return "…" if isinstance(node, sx.CallExpression) else render_expression(node)


def replicated(context: Context, found: Scalar | None, node: sx.SyntaxExpression) -> Expression | None:
    """Refuse a value that differs among partitions where it must be the same."""
    if found is None or found.partition is None:
        return found.expression if found else None
    message = "a bound, size or limit cannot differ from partition to partition"
    help = "combine the values where they are made:  -> e reduce total(max)"
    if any(read_position(name) is not None for name in names_in(found.expression)):
        help = "give the value to a module as an input: the module can decide by it"
    context.report(error_at("E0403", message, place(node), help=help))
    return None


def bound(context: Context, node: sx.SyntaxExpression) -> Expression | None:
    """Check a loop bound or count: an integer that is the same everywhere."""
    found = scalar(context, node)
    if found is not None and found.element not in INTEGERS:
        message = f"an integer is expected here, not {found.element.label}"
        converted = f"convert it:  i64({render_expression(found.expression)})"
        help = converted if found.element in (Element.F32, Element.F64) else "give an integer"
        context.report(error_at("E0308", message, place(node), help=help))
        return None
    return replicated(context, found, node)


def extent(context: Context, node: sx.SyntaxExpression, what: str = "an extent") -> Expression | None:
    """Check an extent (or a width) and write it over parameters, `procs`, partitions and loop counters."""
    found = bound(context, node)
    if found is None:
        return None
    known = context.constant(found)
    if known is None:
        message = f"{what} must be known before the run"
        context.report(error_at("E0317", message, place(node), help=context.known_help(found)))
    elif not names_in(known) and isinstance(value := evaluate(known, {}), int) and value < 0:
        message = f"{what} cannot be negative: this is {value}"
        context.report(error_at("E0306", message, place(node), help="give a number of at least 0"))
        return None
    return known
