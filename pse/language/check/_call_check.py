"""One call of a module against its directive: which argument goes where, and the types of what goes in.

`_call_resolution` finds the module and makes a `CallCheck`; inputs are checked here, results in
`_output_typing`; the operations of the standard library that move data have typing rules in `standard`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pse.language.check._context import CallContext, Context
from pse.language.check._distribution_check import match_distribution
from pse.language.check._ir import Argument, CallSite, ModuleReference, Output
from pse.language.check._remedies import call_help, is_reordered, slots_of, text_of
from pse.language.check._scalars import Scalar, one_of, place, scalar
from pse.language.check._scope import ModuleEntity, TagArray, TagEntity
from pse.language.check._shape_check import ArrayOperand, expect_shape, has_rank
from pse.language.diagnostics._diagnostic import error_at
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.syntax._words import BUILTINS
from pse.language.types import _symbolic_extents as extents
from pse.language.types._elements import NUMERIC, fits
from pse.language.types._expressions import (
    Name,
    is_dynamic,
    names_in,
    read_position,
)
from pse.language.types._records import difference, record_of
from pse.language.types._types import (
    Direction,
    Element,
    Parameter,
    Pattern,
    Type,
    render_type,
)
from pse.text import count_text, did_you_mean, site_label


class CallCheck(CallContext):
    """The check of one call; parameters are those of `CallContext`."""

    def __init__(self, context: Context, node: sx.Call, reference: ModuleReference) -> None:
        super().__init__(context, node, reference)
        if context.partition is None:
            context.root_thread = self.thread or context.root_thread
        self.element: Element | None = None  # what `T` stands for
        self.inputs: list[Argument] = []
        parameters = self.signature.parameters
        decided = {p.decided for p in parameters if p.decided is not None}
        self.matcher.known |= {name: extents.atom(name) for name in decided}
        self.sizes = {name for p in parameters for extent in p.type.shape or () for name in names_in(extent)}

    # Arguments.

    def arguments(self) -> dict[str, sx.CallArgument] | None:
        """Sort the written arguments by parameter; None if they do not fit (which is reported)."""
        wanted = [p for p in self.signature.inputs if p.type.element is not Element.COMM]
        if len([a for a in self.node.arguments if a.name is None]) > len(wanted):
            self._wrong_number(wanted)
            return None
        found: dict[str, sx.CallArgument] = {}
        for index, argument in enumerate(self.node.arguments):
            name = argument.name.id if argument.name is not None else wanted[index].name
            if not self._keyword(argument, found, wanted):
                return None
            found[name] = argument
        if any(p.name not in found and p.default is None for p in wanted):
            self._wrong_number(wanted)
            return None
        if is_reordered(self.context, self.node, slots_of(wanted)):
            listed = ", ".join(p.name for p in wanted[: len(self.node.arguments)])
            message = f"`{self.node.callee.text}` takes its inputs in another order ({listed})"
            self.fail("E0304", message, self.node.span, help=self._help(wanted))
            return None
        return found

    def _keyword(
        self, argument: sx.CallArgument, found: dict[str, sx.CallArgument], wanted: list[Parameter]
    ) -> bool:
        """Check the name of an argument: known, not given twice, and after all that have none."""
        known = [p.name for p in wanted]
        if argument.name is None:
            if any(a.name is not None for a in found.values()):
                message = "an input without a name follows an input with a name"
                help = "give the inputs without a name first"
                self.fail("E0307", message, argument.span, help=help)
                return False
            return True
        if argument.name.id not in known:
            message = f"`{self.node.callee.text}` has no input `{argument.name.id}`"
            listed = f"its inputs are {', '.join(known)}" if known else "it has no inputs"
            help = did_you_mean(argument.name.id, known) or listed
            self.fail("E0307", message, argument.name.span, help=help)
            return False
        if argument.name.id in found:
            message = f"input `{argument.name.id}` is given twice"
            self.fail("E0307", message, argument.span, help="remove one of the two")
            return False
        return True

    def _wrong_number(self, wanted: list[Parameter]) -> None:
        listed = ", ".join(p.name for p in wanted)
        takes = f"{count_text(len(wanted), 'input')}" + (f" ({listed})" if wanted else "")
        given = len(self.node.arguments)
        message = f"`{self.node.callee.text}` takes {takes}; {given} {'is' if given == 1 else 'are'} given"
        self.fail("E0301", message, self.node.span, help=self._help(wanted))

    def _help(self, wanted: list[Parameter]) -> str:
        """Say how to write the call."""
        outputs = [p.name for p in self.signature.outputs]
        return call_help(self.context, self.node, slots_of(wanted), outputs, self.thread)

    def check_inputs(self, arguments: dict[str, sx.CallArgument]) -> None:
        """Check every input: scalars first, as they may be extents; but `T` takes an array's type."""
        checked: dict[str, Argument] = {}
        wanted = [p for p in self.signature.inputs if p.type.element is not Element.COMM]
        for parameter in sorted(wanted, key=lambda p: not p.type.scalar or p.type.element is None):
            argument = arguments.get(parameter.name)
            result = self.default(parameter) if argument is None else self.check_input(parameter, argument)
            if result is None:
                self.failed = True
            else:
                checked[parameter.name] = result
        self.matcher.settle()
        self.inputs = [checked[p.name] for p in wanted if p.name in checked]
        self.refuse_aliases()

    def refuse_aliases(self) -> None:
        """A tag that is changed cannot be another argument of the same call."""
        changed = {
            a.tag for a in self.inputs if a.parameter.direction is Direction.INOUT and a.tag is not None
        }
        seen: set[str] = set()
        for argument in self.inputs:
            if argument.tag in changed and argument.tag in seen:
                name = self.context.display(argument.tag or "")
                message = f"`{name}` is given twice, and `{self.node.callee.text}` changes it"
                self.fail("E0324", message, argument.span, help=f"copy it first:  copy({name}) -> other")
            seen |= {argument.tag} if argument.tag is not None else set()

    def default(self, parameter: Parameter) -> Argument:
        """Give the input that the directive's default stands for."""
        assert parameter.default is not None, "arguments() refuses a missing argument without a default"
        if parameter.name in self.sizes:
            self.matcher.known[parameter.name] = self.context.extent(parameter.default)
        return Argument(parameter, parameter.default, None, self.node.span)

    def check_input(self, parameter: Parameter, argument: sx.CallArgument) -> Argument | None:
        """Check one input; everything wrong is reported and gives None."""
        if parameter.type.scalar and parameter.direction is Direction.IN:
            return self._scalar_input(parameter, argument)
        entity = self.tag(argument, changed=parameter.direction is Direction.INOUT)
        if entity is None or entity.type is None:
            return None
        if not self._is_array(parameter, entity, argument) or not self._may_change(
            parameter, entity, argument
        ):
            return None
        if not self.match_element(parameter, entity.type, argument.span, argument.value):
            return None
        if not parameter.type.scalar and not self._array_input(parameter, entity, argument.span):
            return None
        name = Name(entity.unique, argument.value.span)
        return Argument(parameter, name, entity.unique, argument.span)

    def tag(self, argument: sx.CallArgument, *, changed: bool = False) -> TagEntity | None:
        """Find the tag that an argument names; anything else is reported."""
        return named_tag(self.context, argument, changed=changed)

    # Scalars.

    def _scalar_input(self, parameter: Parameter, argument: sx.CallArgument) -> Argument | None:
        found = scalar(self.context, argument.value)
        if found is None:
            return None
        wanted = parameter.type.element or self.element
        if wanted is None:
            self.element = found.element
        elif not fits(found.element, wanted, found.expression):
            self._element_mismatch(parameter, found.element, argument.span, argument.value)
            return None
        if parameter.name in self.sizes and not self._bind_size(parameter, found, argument.span):
            return None
        whole = (
            found.expression.id
            if found.element is Element.OBJECT and isinstance(found.expression, Name)
            else None
        )
        return Argument(parameter, found.expression, whole, argument.span)

    def _bind_size(self, parameter: Parameter, found: Scalar, span: Span) -> bool:
        constant = self.context.constant(found.expression) if found.partition is None else None
        if constant is None:
            message = f"`{parameter.name}` is the extent of an array: its value must be known before the run"
            self.fail("E0317", message, span, help=self.context.known_help(found.expression))
            return False
        self.matcher.known[parameter.name] = self.context.extent(constant)
        return True

    def match_element(self, parameter: Parameter, type: Type, span: Span, value: sx.SyntaxExpression) -> bool:
        """Check the element type of a tag that is passed whole: it must be the directive's."""
        if parameter.type.element is None:
            return type.element is None or self._bind_element(type.element, span)
        if type.element is parameter.type.element:
            return True
        assert type.element is not None, "a tag has an element type"
        self._element_mismatch(parameter, type.element, span, value)
        return False

    def _bind_element(self, element: Element, span: Span) -> bool:
        if self.element in (None, element):
            self.element = element
            return True
        assert self.element is not None, "None is in the tuple above"
        message = (
            f"the element type `T` of `{self.node.callee.text}` is {self.element.label} in another argument, "
            f"but {element.label} here"
        )
        self.fail("E0303", message, span, help="give arguments of one element type")
        return False

    def _element_mismatch(
        self, parameter: Parameter, have: Element, span: Span, value: sx.SyntaxExpression
    ) -> None:
        want = parameter.type.element or self.element
        assert want is not None, "a first `T` takes every element type"
        message = f"{self.named(parameter)} is of type {want.label}, but {have.label} is given"
        if other := difference(want, have):
            message = f"{self.named(parameter)} is another record `{want.label}` than what is given: {other}"
        convertible = parameter.type.scalar and want in NUMERIC and have in NUMERIC and want.label in BUILTINS
        help = (
            f"convert it:  {want.label}({text_of(value)})" if convertible else _other_element(parameter, want)
        )
        self.fail("E0303", message, span, label=have.label, help=help)

    # Arrays.

    def _is_array(self, parameter: Parameter, entity: TagEntity, argument: sx.CallArgument) -> bool:
        type = entity.type
        assert type is not None, "checked by the caller"
        if type.scalar == parameter.type.scalar:
            return True
        kinds = self.kinds(parameter)
        message = f"{self.named(parameter)} is {kinds[0]}, but the tag `{entity.display}` is {kinds[1]}"
        help = f"give the name of {kinds[0]} of type {render_type(parameter.type)}"
        self.fail("E0304", message, argument.span, label=self.context.show(type), help=help)
        return False

    def kinds(self, parameter: Parameter) -> tuple[str, str]:
        """Say what kind a parameter is of, and of which kind tags are that it can't be."""
        if parameter.type.scalar:
            return "a scalar", "an array"
        return ("one record" if parameter.single else "an array"), "a scalar"

    def _may_change(self, parameter: Parameter, entity: TagEntity, argument: sx.CallArgument) -> bool:
        """An in-out argument is changed: not a counter or a scalar `let`, nor what all partitions share."""
        type = entity.type
        assert type is not None, "checked by the caller"
        if parameter.direction is not Direction.INOUT:
            return True
        if type.scalar and entity.kind in ("let", "counter", "input"):
            notes = [(entity.span, f"`{entity.display}` is declared here")]
            what = {
                "let": "declared by `let`",
                "counter": "a loop counter",
                "input": "an input of the segment",
            }
            message = f"`{entity.display}` is {what[entity.kind]}, and cannot be changed by a call"
            assert type.element is not None  # Of scalars it is known.
            help = f"copy it into a variable first:  var {type.element.label} mine = {entity.display}"
            self.fail("E0204", message, argument.span, notes=notes, help=help)
            return False
        if self.context.partition is not None and type.distribution.pattern is Pattern.REPLICATED:
            message = (
                f"`{entity.display}` is replicated and cannot be changed inside PARALLEL: "
                "each partition would change its own copy"
            )
            help = "change it outside the block, or give a tag that is distributed"
            self.fail("E0316", message, argument.span, label=self.context.show(type), help=help)
            return False
        return True

    def _array_input(self, parameter: Parameter, entity: TagEntity, span: Span) -> bool:
        assert entity.type is not None, "tags have shapes"
        array = ArrayOperand(parameter, entity.type, entity.display, span)
        if not has_rank(self, array):
            return False
        if not match_distribution(self, parameter, entity, span) or not self._counters_known(entity, span):
            return False
        expect_shape(self, array)
        return True

    def _counters_known(self, entity: TagEntity, span: Span) -> bool:
        """A shape may depend on a loop counter, but then only inside that loop."""
        assert entity.type is not None, "checked by the caller"
        used = {name for extent in entity.type.shape or () for name in names_in(extent)}
        counters = {name for name in used if (tag := self.context.tags.get(name)) and tag.loop_counter}
        if self.context.segments or counters <= self.context.frame.counters():
            return True
        message = f"the shape of `{entity.display}` depends on the counter of a loop that has ended"
        help = "use it inside that loop, or give it a shape that is the same in all rounds"
        self.fail("E0317", message, span, label=self.context.show(entity.type), help=help, directive=False)
        return False

    # The result.

    def call_site(self, outputs: Sequence[Output]) -> CallSite:
        """Put the checked call together."""
        known = {name: extents.to_expression(extent) for name, extent in self.matcher.known.items()}
        dimensions = {name: tree for name, tree in known.items() if not is_dynamic(tree)}
        context = self.context
        context.calls += 1
        return CallSite(
            id=context.calls - 1,
            module=self.reference,
            inputs=tuple(self.inputs),
            outputs=tuple(outputs),
            thread=self.node.label.id if self.node.label else None,
            parallel=context.partition is not None,
            partition=context.partition,
            dimensions=dimensions,
            span=context.reached(self.node.span),
            label=site_label(self.node.callee.text, context.rounds),
        )


def named_tag(context: Context, argument: sx.CallArgument, *, changed: bool = False) -> TagEntity | None:
    """Find the tag that an argument names, perhaps to change it; anything else is reported."""
    node = argument.value
    if isinstance(node, sx.CallExpression):
        scalar(context, node)
        return None
    if not isinstance(node, Name) or read_position(node.id) is not None:
        help = "give the name of a tag that a call makes" + (", which may be changed" if changed else "")
        message = "a tag is expected here, not an expression"
        context.report(error_at("E0309", message, argument.span, help=help))
        return None
    identifier = sx.Identifier(node.id, place(node))
    entity = context.use(identifier)
    if entity is None or isinstance(entity, TagEntity):
        return entity
    help = "give the name of a tag, which a call makes or `var` declares"
    if isinstance(entity, TagArray):
        help = one_of(entity)
    if isinstance(entity, ModuleEntity):
        help = f"call the module first, and give its output:  {identifier.id}(…) -> x"
    context.misused(identifier, entity, "a tag", help)
    return None


def _other_element(parameter: Parameter, want: Element) -> str:
    """Say how an input gets the element type that its directive declares."""
    if parameter.type.scalar:
        return f"give a value of type {want.label}"
    if record_of(want) is not None:
        return f"give an array of the record {want.label}: name, fields and their order must be the same"
    return f"give a tag of type {want.label}, or declare the parameter as `T`, which takes every element type"
