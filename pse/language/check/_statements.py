"""The walk over a program's body: every statement checked and resolved, segments inlined.

Data flow: syntax tree → resolved statements.  A statement that is wrong is reported and left out; what it
would have declared is declared without a type, so that one mistake is reported once.

A `break` is a truth value that is set; the loop ends by it.  What stands behind an `if` with a `break` moves
into the branch that goes on, or, where both may do so, into an `if` on that truth value.  So programs have
blocks and conditions only, which everything after the checker knows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import chain, count

from pse.language.check._call_resolution import call
from pse.language.check._context import REPLICATED, Context, OpenLoop, reserved
from pse.language.check._inlining import declare_bundle
from pse.language.check._ir import Assign, CallSite, For, If, Parallel, Statement, Tag, While
from pse.language.check._scalars import Scalar, bound, decision, one_of, place, scalar, written
from pse.language.check._scope import PROCS, BundleEntity, TagArray, TagEntity
from pse.language.check._targets import may_write
from pse.language.check._type_resolution import ELEMENTS, partition_over, written_type
from pse.language.check.arrays._choosing import is_chosen_by
from pse.language.check.arrays._indices import with_tags
from pse.language.check.arrays._tag_arrays import index_range, known_range, members, value_at
from pse.language.diagnostics._diagnostic import error_at
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.syntax._words import MAX_NESTING
from pse.language.types import _symbolic_extents as extents
from pse.language.types._elements import fits
from pse.language.types._expressions import Expression, Name, Number, Unary, names_in, render_expression
from pse.language.types._types import Distribution, Element, Pattern, Type
from pse.records import replace
from pse.text import did_you_mean

Body = tuple[Statement, ...]

MAX_CALLS = 20_000
"""Most calls of a program after inlining."""


def statements(context: Context, node: sx.Block) -> tuple[Statement, ...]:
    """Check the statements of a block in the scope that is open."""
    if context.depth > MAX_NESTING:
        message = f"nesting too deep: more than {MAX_NESTING} levels with the segments inlined"
        help = "use fewer blocks within each other, or segments that call fewer others"
        context.report(error_at("E0008", message, node.span, help=help))
        return ()
    parts: list[list[Statement]] = [[]]
    index, items = 0, node.statements
    while index < len(items):
        item = items[index]
        if context.calls > MAX_CALLS:
            if not any(d.code == "E0211" for d in context.diagnostics):
                message = f"the program has more than {MAX_CALLS:,} calls with its segments inlined"
                context.report(
                    error_at("E0211", message, item.span, help="use loops instead of repeated segments")
                )
            break
        if _may_break(context, parts[-1]):
            if not _is_reached(context, item, parts[-1]):
                break
            parts.append([])
        run = context.kept.run(items, index, MAX_CALLS) if context.kept is not None else None
        parts[-1] += run.made if run is not None else statement(context, item)
        index += len(run.nodes) if run is not None else 1
    return _go_on(context, node, parts)


def _is_reached(context: Context, item: sx.Statement, before: list[Statement]) -> bool:
    """Report a statement that comes behind a `break` on every way to it."""
    reached = not _always_breaks(context, before)
    if not reached and not context.unrolled:  # Others of its iterations may come to it.
        message = "nothing comes to this statement: the loop has been left before"
        context.report(error_at("E0408", message, item.span, help="remove it, or move it before the `break`"))
    return reached


def statement(context: Context, node: sx.Statement) -> list[Statement]:
    """Check one statement; a segment gives several, a wrong one none."""
    match node:
        case sx.Var(indices=sx.IndexRange() as indices):
            return _array(context, node, indices)
        case sx.Call() | sx.Let() | sx.Var() | sx.Assignment():
            simple = node
            if context.kept is None:
                return _simple(context, simple)
            return context.kept.check(simple, lambda: _simple(context, simple))
    node = with_tags(context, node)
    match node:
        case sx.For() if is_chosen_by(node, context.frame.find):
            return _unrolled(context, node)
        case sx.For():
            return _for(context, node)
        case sx.While():
            return _while(context, node)
        case sx.If():
            return _if(context, node)
        case sx.Break():
            return _break(context, node)
        case sx.Parallel():
            return _parallel(context, node)
    raise AssertionError(f"{type(node).__name__} is no statement")


def _simple(context: Context, node: sx.Call | sx.Let | sx.Var | sx.Assignment) -> list[Statement]:
    """Check a statement that holds no others."""
    node = with_tags(context, node)
    match node:
        case sx.Call():
            return call(context, node, "produced", statements)
        case sx.Let():
            return _let(context, node)
        case sx.Var():
            return _var(context, node)
        case sx.Assignment():
            return _assignment(context, node)


# Names and values.


def _as_call(name: sx.Identifier, value: sx.CallExpression, span: Span) -> sx.Call:
    """Read `x = f(…)` as `f(…) -> x`."""
    output = sx.OutputNode(name, None, None, name.span)
    return sx.Call(None, value.callee, value.arguments, (output,), span)


def _let(context: Context, node: sx.Let) -> list[Statement]:
    if isinstance(node.value, sx.CallExpression) and _is_callable(context, node.value):
        return call(context, _as_call(node.name, node.value, node.span), "let", statements)
    copied = _is_array(context, node.value, f"copy it:  copy({{}}) -> {node.name.id}")
    found = scalar(context, node.value) if not copied else None
    if found is None or _is_object(context, found, node.value):
        context.new_tag(node.name, None, "let")
        return []
    entity = context.new_tag(node.name, Type(found.element, (), _spread(context, found)), "let")
    constant = context.constant(found.expression) if found.partition is None else None
    if constant is not None:
        context.constants[entity.unique] = constant
    return [Assign(entity.unique, found.expression, context.reached(node.span))]


def _is_array(context: Context, value: sx.SyntaxExpression, help: str) -> bool:
    """Refuse to assign a whole array; the help, with its name put in, says how it is copied."""
    entity = context.frame.find(value.id) if isinstance(value, Name) else None
    if not isinstance(entity, TagEntity) or entity.type is None or entity.type.scalar:
        return False
    context.globals.used.add(entity.span)
    message = f"`{entity.display}` is an array, and arrays are not assigned"
    label = context.show(entity.type)
    context.report(error_at("E0304", message, place(value), label=label, help=help.format(entity.display)))
    return True


def _is_object(context: Context, found: Scalar, value: sx.SyntaxExpression) -> bool:
    """Refuse to name or assign an object: only modules handle them."""
    if found.element is Element.OBJECT:
        message = "an object can only be passed to modules"
        help = "use the name that the module gave it as an input:  module(name)"
        context.report(error_at("E0308", message, place(value), help=help))
    return found.element is Element.OBJECT


def _spread(context: Context, found: Scalar) -> Distribution:
    if found.partition is None:
        return context.spread
    return Distribution(Pattern.BLOCK, partition=found.partition)


def _is_callable(context: Context, value: sx.CallExpression) -> bool:
    """An unknown function is more likely one of expressions: `scalar` reports it then."""
    return context.frame.find(value.callee.parts[0].id) is not None


def _var(context: Context, node: sx.Var) -> list[Statement]:
    if node.name.id in ELEMENTS and node.type.element.id not in ELEMENTS:
        help = f"the type stands before the name:  var {node.name.id} {node.type.element.id}"
        context.report(error_at("E0305", f"unknown type `{node.type.element.id}`", node.type.span, help=help))
        context.new_tag(node.type.element, None, "var")
        return []
    bundle = context.frame.find(node.type.element.id)
    if isinstance(bundle, BundleEntity):
        declare_bundle(context, node, bundle)
        return []
    type = written_type(context, node.type)
    if context.partition is not None:
        message = "`var` is not allowed inside PARALLEL: it declares a tag of the whole program"
        context.report(error_at("E0316", message, node.span, help="declare it before the block"))
    if isinstance(node.value, sx.CallExpression) and _is_callable(context, node.value):
        context.new_tag(node.name, type, "var")
        return call(context, _as_call(node.name, node.value, node.span), "var", statements)
    copied = False
    if type is not None and not type.scalar and node.value is not None:
        shown = f"var {context.show(type)} {node.name.id}"
        copied = _is_array(
            context, node.value, f"declare it, then copy:  {shown}   copy({{}}) -> {node.name.id}"
        )
    found = scalar(context, node.value) if node.value is not None and not copied else None
    entity = context.new_tag(node.name, type, "var")
    if node.value is None or found is None or type is None:
        return []
    return _assigned(context, entity, found, node.value, node.span)


def _array(context: Context, node: sx.Var, indices: sx.IndexRange) -> list[Statement]:
    """Declare an array of tags: each of them like a `var` of its own."""
    context.refuse_taken(node.name, "var")
    found, reported = index_range(context, indices), len(context.diagnostics)
    if isinstance(bundle := context.frame.find(node.type.element.id), BundleEntity):
        message = f"`{bundle.name}` is a bundle, and an array of tags has one type"
        help = f"declare an array for each of its members:  var f64[8] rho[{indices.name.id} in 0 .. 4]"
        context.report(error_at("E0305", message, node.type.span, help=help))
        found = None
    if found is None:
        context.frame.declare(TagEntity(node.name.id, node.name.id, node.name.span, None, "var"))
        return []
    made: list[Statement] = []
    for index, member in zip(found, members(context, node, found), strict=True):
        value = value_at(node.value, indices.name.id, index) if node.value is not None else None
        made += _var(context, with_tags(context, replace(member, value=value)))
        if len(context.diagnostics) > reported:
            break
    context.frame.declare(TagArray(node.name.id, node.name.span, found))
    return made


def _assigned(
    context: Context, entity: TagEntity, found: Scalar, value: sx.SyntaxExpression, span: Span
) -> list[Statement]:
    """Check a value against the type of the scalar that gets it."""
    type = entity.type
    assert type is not None, "checked by the caller"
    assert type.element is not None, "checked by the caller"
    if _is_object(context, found, value):
        return []
    if not type.scalar:
        message = f"`{entity.display}` is an array; a scalar cannot be assigned to it"
        shown = "0"
        if fits(found.element, type.element, found.expression) and not isinstance(value, sx.CallExpression):
            shown = render_expression(value)
        help = f"fill it:  fill({shown}) -> {entity.display}"
        if (span.line, span.column) < (entity.span.line, entity.span.column):  # That of its declaration.
            help = (
                f"declare it, then {help.replace(':', f':  var {context.show(type)} {entity.display} ', 1)}"
            )
        context.report(error_at("E0304", message, place(value), help=help))
        return []
    if found.partition is not None and not type.distribution.distributed:
        one = f"`{entity.display}` has one value for all partitions"
        message = f"{one}, but this value differs from partition to partition"
        context.report(
            error_at(
                "E0315",
                message,
                place(value),
                help="reduce the value where it is made:  -> own reduce total(sum)",
            )
        )
        return []
    if not fits(found.element, type.element, found.expression):
        message = f"`{entity.display}` is of type {type.element.label}, but {found.element.label} is assigned"
        help = f"declare it as {found.element.label}, or convert the value"
        context.report(error_at("E0303", message, place(value), label=found.element.label, help=help))
        return []
    return [Assign(entity.unique, found.expression, context.reached(span))]


def _assignment(context: Context, node: sx.Assignment) -> list[Statement]:
    if isinstance(node.value, sx.CallExpression) and _is_callable(context, node.value):
        return call(context, _as_call(node.name, node.value, node.span), "produced", statements)
    entity = context.frame.find(node.name.id)
    known = entity.type if isinstance(entity, TagEntity) else None
    if (known is None or not known.scalar) and _is_array(
        context, node.value, f"copy it:  copy({{}}) -> {node.name.id}"
    ):
        return []
    found = scalar(context, node.value)
    if node.name.id == PROCS:
        context.report(reserved(node.name.span))
        return []
    if entity is None and isinstance(node.value, sx.CallExpression):
        context.new_tag(node.name, None, "var")  # What it calls was reported.
        return []
    if entity is None:
        near = did_you_mean(node.name.id, context.frame.visible())
        context.new_tag(node.name, None, "var")
        type = context.show(Type(found.element, (), REPLICATED)) if found is not None else "f64"
        given = f"{node.name.id} = {written(node.value)}"
        help = near or f"declare it:  let {given}   or, to write it again:  var {type} {given}"
        context.report(error_at("E0201", f"unknown name `{node.name.id}`", node.name.span, help=help))
        return []
    if not isinstance(entity, TagEntity):
        help = one_of(entity) if isinstance(entity, TagArray) else "choose another name for the tag"
        context.misused(node.name, entity, "a tag", help)
        return []
    if found is None or not may_write(context, node.name, entity, assigned=True) or entity.type is None:
        return []
    if context.partition is not None and not entity.type.distribution.distributed:
        message = f"`{node.name.id}` has one value for all partitions: it cannot be assigned inside PARALLEL"
        context.report(error_at("E0316", message, node.span, help="assign it before or after the block"))
        return []
    return _assigned(context, entity, found, node.value, node.span)


# Control.


def _for(context: Context, node: sx.For) -> list[Statement]:
    """Check a `for`."""
    lower, upper = bound(context, node.lower), bound(context, node.upper)
    step = _step(context, node.step) if node.step is not None else None
    inflight = _limit(context, node.inflight) if node.inflight is not None else None
    if node.inflight is not None and context.own is not None:
        context.refuse_collective("a loop with `inflight`", node.span)
    with _loop(context, inflight=node.inflight is not None) as loop, context.block():
        counter = context.new_tag(node.counter, Type(Element.I64, (), context.spread), "counter")
        body = statements(context, node.body)
    if lower is None or upper is None:
        return []
    if (inflight is None) != (node.inflight is None) or (step is None) != (node.step is None):
        return []
    span = context.reached(node.span)
    return _entered(
        loop, For(counter.unique, lower, upper, inflight, body, span, step, loop.stop, context.rounds)
    )


def _unrolled(context: Context, node: sx.For) -> list[Statement]:
    """Check a `for` whose counter says which tags of arrays are meant: each iteration for itself."""
    bounds = _known_bounds(context, node)
    if bounds is None:
        return _for_any(context, node)
    context.refuse_taken(node.counter, "counter")
    with _loop(context) as loop:
        body = _go_on(context, node.body, list(_iterations(context, node, bounds)))
    start = [Assign(loop.stop, Number(False), context.reached(node.span))] if loop.stop is not None else []
    return [*start, *body]


def _known_bounds(context: Context, node: sx.For) -> range | None:
    """Give the values of a counter that is an index; everything wrong is reported and gives None."""
    step = _step(context, node.step) if node.step is not None else None
    stride = node.step if step is not None else None
    bounds = known_range(context, (node.lower, node.upper, stride), "the number of these iterations")
    if node.inflight is not None:
        message = "`inflight` is not possible where the counter says which tags of an array are meant"
        context.report(error_at("E0327", message, place(node.inflight), help="leave out `inflight`"))
        return None
    return bounds if (step is None) == (node.step is None) else None


def _iterations(context: Context, node: sx.For, bounds: range) -> Iterator[list[Statement]]:
    """Check the iterations of a loop that is unrolled, up to one that is wrong or leaves it for certain."""
    reported = len(context.diagnostics)
    for value in bounds:
        if context.iterations == MAX_CALLS:
            message = f"the loops that are unrolled have more than {MAX_CALLS:,} iterations together"
            help = "use an index in fewer loops around each other"
            context.report(error_at("E0211", message, node.span, help=help))
            return
        yield (made := _iteration(context, node, value))
        if len(context.diagnostics) > reported or _always_breaks(context, made):
            return


def _iteration(context: Context, node: sx.For, value: int) -> list[Statement]:
    """Check one iteration of a loop that is unrolled."""
    context.iterations += 1
    with context.block(), _round(context, f"{node.counter.id} = {value}"):
        name, type = node.counter, Type(Element.I64, (), context.spread)
        unique = context.frame.unique(name.id)
        counter = TagEntity(unique, name.id, name.span, type, "counter", Number(value, name.span))
        context.frame.declare(counter)
        return list(statements(context, node.body))


def _for_any(context: Context, node: sx.For) -> list[Statement]:
    """Check what can be checked of a loop whose iterations are not known: indices are not."""
    counter = Name(context.frame.unique(node.counter.id))
    context.open_inputs.add(counter.id)
    with _loop(context), context.block():
        entity = TagEntity(counter.id, node.counter.id, node.counter.span, None, "counter")
        entity.type = Type(Element.I64, (), context.spread)
        context.declare(entity)
        statements(context, node.body)
    return []


@contextlib.contextmanager
def _round(context: Context, value: str) -> Iterator[None]:
    """Walk an iteration of a loop that is unrolled."""
    around, context.rounds = context.rounds, (*context.rounds, value)
    try:
        yield
    finally:
        context.rounds = around


def _while(context: Context, node: sx.While) -> list[Statement]:
    """Check a `while`."""
    test = decision(context, node.condition)
    limit = _limit(context, node.limit) if node.limit is not None else None
    if node.limit is None:
        help = f"for example:  while {written(node.condition)} max 10000 {{ … }}"
        message = "`while` needs `max`, the number of iterations after which it gives up"
        context.report(error_at("E0406", message, place(node.condition), help=help))
    with _decided(context, test), _loop(context) as loop:
        body = _block(context, node.body)
    if test is None or limit is None:
        return []
    own, span = test.partition is not None, context.reached(node.span)
    return _entered(loop, While(test.expression, limit, body, span, loop.stop, own, context.rounds))


def _if(context: Context, node: sx.If) -> list[Statement]:
    """Check an `if`; where loops are unrolled, its condition may be known."""
    test = decision(context, node.condition)
    known = context.value(test.expression) if test is not None and context.unrolled else None
    if isinstance(known, bool):
        taken = node.then if known else node.otherwise
        return list(_block(context, taken)) if taken is not None else []
    with _decided(context, test):
        then = _block(context, node.then)
        otherwise = _block(context, node.otherwise) if node.otherwise is not None else ()
    if test is None:
        return []
    own = test.partition is not None
    return [If(test.expression, then, otherwise, context.reached(node.span), own)]


@contextlib.contextmanager
def _decided(context: Context, test: Scalar | None) -> Iterator[None]:
    """Walk what a condition decides about, perhaps in each partition otherwise."""
    around = context.own
    if test is not None and test.partition is not None and around is None:
        context.own = test.expression.span
    try:
        yield
    finally:
        context.own = around


def _parallel(context: Context, node: sx.Parallel) -> list[Statement]:
    """Check a PARALLEL block."""
    if context.partition is not None:
        message = "PARALLEL is not allowed inside PARALLEL"
        context.report(error_at("E0316", message, node.span, help="close the outer block first"))
        _block(context, node.body)
        return []
    partition = partition_over(context, node.partition, Span(*_head(node.span)))
    reported = len(context.diagnostics)
    context.partition = partition or PROCS
    body = _block(context, node.body)
    context.partition = None
    if partition is None:
        del context.diagnostics[reported:]  # They depend on a partition that is not known.
    return [Parallel(partition, body, context.reached(node.span))] if partition is not None else []


def _head(span: Span) -> tuple[str, int, int, int, int]:
    """Give the place of the word PARALLEL."""
    return span.path, span.line, span.column, span.line, span.column + len("PARALLEL")


def _break(context: Context, node: sx.Break) -> list[Statement]:
    """Check a `break`: it sets the truth value by which the innermost loop ends."""
    loop, message = context.loop, ""
    if loop is None:
        message, help = "`break` stands in no loop", "remove it, or put it into the loop that it is to leave"
        if context.segments:
            help = "remove it: a segment cannot leave the loop in which it is called"
    elif loop.inflight:
        message = "`break` cannot leave a loop with `inflight`: iterations after this one may be under way"
        help = "remove `inflight`, or `break`"
    elif loop.partition != context.partition:
        message = "`break` cannot leave a loop that is around PARALLEL: all partitions end the block together"
        help = "move the `if` with the `break` behind the PARALLEL block"
    elif loop.own is None and context.own is not None:
        message = "`break` would leave this loop in some partitions only, but its bounds are those of all"
        help = "write a `while` with the condition by which each partition goes on"
    if message or loop is None:
        context.report(error_at("E0407", message, node.span, help=help))
        return []
    return [Assign(_stop(context, loop, node.span), Number(True), context.reached(node.span))]


def _stop(context: Context, loop: OpenLoop, span: Span) -> str:
    """Give the name of the truth value by which a loop ends, which is declared at the first `break`."""
    if loop.stop is None:
        loop.stop = context.frame.unique("break")
        context.tags[loop.stop] = Tag(
            loop.stop, Type(Element.BOOL, (), context.spread), span, "break", internal=True
        )
        context.globals.used.add(span)
    return loop.stop


@contextlib.contextmanager
def _loop(context: Context, *, inflight: bool = False) -> Iterator[OpenLoop]:
    """Walk a loop, which a `break` inside leaves."""
    around, context.loop = context.loop, OpenLoop(context.partition, inflight, context.own)
    try:
        yield context.loop
    finally:
        context.loop = around


def _entered(loop: OpenLoop, made: For | While) -> list[Statement]:
    """Put what a loop with a `break` needs before it."""
    return [made] if loop.stop is None else [Assign(loop.stop, Number(False), made.span), made]


def _block(context: Context, node: sx.Block) -> tuple[Statement, ...]:
    """Check a block with a scope of its own."""
    with context.block():
        return statements(context, node)


def _limit(context: Context, node: sx.SyntaxExpression) -> Expression | None:
    """Check how many iterations a loop may have, or have at a time; a `let` is what it stands for."""
    found = bound(context, node)
    known = context.constant(found) if found is not None else None
    return found if known is None else replace(known, span=place(node))


def _step(context: Context, node: sx.SyntaxExpression) -> Expression | None:
    """Check a step: it is known before the run, so that it is known which way the loop counts."""
    found = bound(context, node)
    if found is None:
        return None
    known = context.constant(found)
    if known is None or names_in(known) & context.tags.keys():
        help = "use numbers, parameters, `procs`, partitions, and `let` of these"
        if names_in(found) & context.globals.files.live:
            help = context.known_help(found)
        context.report(error_at("E0317", "a step must be known before the run", place(node), help=help))
        return None
    if extents.to_expression(context.extent(known)) == Number(0):
        help = "give a step of at least 1, or at most -1"
        context.report(error_at("E0323", "`step` must not be 0", place(node), help=help))
        return None
    return replace(known, span=place(node))


# What follows a `break`.


def _may_break(context: Context, body: Sequence[Statement]) -> bool:
    """Whether a `break` in some statements leaves the loop around them."""
    stop = context.loop.stop if context.loop is not None else None
    return stop is not None and any(_breaks(statement, stop) for statement in body)


def _always_breaks(context: Context, body: Sequence[Statement]) -> bool:
    """Whether every way through some statements, of which only the last may break, does so."""
    stop = context.loop.stop if context.loop is not None else None
    return stop is not None and _ends(body, stop)


def _breaks(statement: Statement, stop: str) -> bool:
    if isinstance(statement, If):
        return any(_breaks(inner, stop) for inner in (*statement.then, *statement.otherwise))
    return isinstance(statement, Assign) and statement.tag == stop


def _go_on(context: Context, node: sx.Block, parts: Sequence[Sequence[Statement]]) -> Body:
    """Put the parts of a block together; each but the last ends with a statement that may break."""
    if context.loop is None or context.loop.stop is None:
        return tuple(chain.from_iterable(parts))
    *before, rest = map(tuple, parts or [()])
    if len(before) > MAX_NESTING:
        message = f"nesting too deep: more than {MAX_NESTING} statements with `break` in one block"
        context.report(error_at("E0008", message, node.span, help="join their conditions by `or`"))
        return ()
    for part in reversed(before):
        rest = _then(part, rest, context.loop)
    return rest


def _ends(body: Sequence[Statement], stop: str) -> bool:
    last = body[-1] if body else None
    if isinstance(last, If):
        return _ends(last.then, stop) and _ends(last.otherwise, stop)
    return isinstance(last, Assign) and last.tag == stop


def _then(body: Body, rest: Body, loop: OpenLoop) -> Body:
    """Append statements that run only where those before, of which only the last may break, do not."""
    stop = str(loop.stop)
    if not any(_breaks(statement, stop) for statement in body):
        return (*body, *rest)
    goes_on = Unary("not", Name(stop))
    last = body[-1]
    if not isinstance(last, If):
        return body
    if last.condition == goes_on or _ends(last.otherwise, stop):
        return (*body[:-1], replace(last, then=_then(last.then, rest, loop)))
    if _ends(last.then, stop):
        return (*body[:-1], replace(last, otherwise=_then(last.otherwise, rest, loop)))
    own = loop.own is not None
    return (*body, If(goes_on, rest, (), rest[0].span, own)) if rest else body


def renumbered(body: Body) -> Body:
    """Number the calls of a program in the order in which they stand, which may have changed."""
    return _renumbered(body, count())


def _renumbered(body: Body, numbers: count[int]) -> Body:
    made: list[Statement] = []
    for statement in body:
        match statement:
            case CallSite():
                number = next(numbers)
                made.append(statement if statement.id == number else replace(statement, id=number))
            case If(_, then, otherwise):
                first = _renumbered(then, numbers)
                made.append(replace(statement, then=first, otherwise=_renumbered(otherwise, numbers)))
            case For() | While() | Parallel():
                made.append(replace(statement, body=_renumbered(statement.body, numbers)))
            case _:
                made.append(statement)
    return tuple(made)
