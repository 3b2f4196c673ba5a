"""The outputs of a call, written after `->`: which tags it writes, new ones and those that exist already."""

from __future__ import annotations

from dataclasses import dataclass

from pse.language.check._call_check import CallCheck
from pse.language.check._context import Context
from pse.language.check._remedies import call_help, slots_of
from pse.language.check._scope import ModuleEntity, TagEntity, kind_of
from pse.language.check._type_resolution import written_distribution
from pse.language.diagnostics._diagnostic import error_at
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.types._types import Distribution, Type
from pse.text import count_text


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
        message = f"`{node.name.id}` is {kind_of(found)}, but the output of a call is a tag"
        context.report(error_at("E0210", message, node.name.span, notes=notes, help="choose another name"))
        return None
    return Target(node, found, annotation, kind) if may_write(context, node.name, found) else None


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
        if check.context.frame.find(node.name.id) is None:
            check.context.new_tag(node.name, None, kind)
        if node.reduction is not None and check.context.frame.find(node.reduction.target.id) is None:
            check.context.new_tag(node.reduction.target, None, "produced")
