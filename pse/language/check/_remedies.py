"""Remedies: program text that help texts suggest, with names, labels and partitions of the place at hand."""

from __future__ import annotations

from pse.language.check._context import Context
from pse.language.check._scope import ParameterEntity, PartitionEntity, TagEntity
from pse.language.types._elements import INTEGERS
from pse.language.types._types import Distribution, Element, Pattern, render_distribution


def conversion(context: Context, entity: TagEntity, want: Distribution, thread: str = "") -> str:
    """Suggest the call that brings a tag into the wanted distribution, with labels that fit its region."""
    assert entity.type is not None, "only typed tags are compared"
    have, name, inside = entity.type.distribution, entity.display, context.partition is not None
    target = render_distribution(want, display=context.display) + over_partition(context, want.partition)
    if have.distributed and want.distributed:
        where = "first" if inside else "inside PARALLEL"
        return f"redistribute it {where}:  {thread}redistribute({name}) -> pieces {target}"
    when = "before the block" if inside else "first"
    gather = f"gather it {when}:  {context.root_thread}gather({name}) -> whole"
    if want.pattern is Pattern.REPLICATED:
        replicate = f"{context.root_thread}replicate"
        if have.distributed:
            return f"{gather}   {replicate}(whole) -> everywhere"
        return f"replicate it {when}:  {replicate}({name}) -> everywhere"
    if want.distributed:
        return f"scatter it {when}:  {context.root_thread}scatter({name}) -> rows {target}"
    if inside:
        after = f", after:  {context.root_thread}gather({name}) -> whole" if have.distributed else ""
        return f"call it outside PARALLEL, where arrays are whole{after}"
    return gather if have.distributed else f"give the array that `{name}` was replicated from"


def over_partition(context: Context, partition: str | None) -> str:
    """Write `over P` where the program has several partitions."""
    names = [e.name for e in context.globals.names.values() if isinstance(e, PartitionEntity)]
    if len(names) < 2:
        return ""
    return f" over {partition or context.partition or names[0]}"


def another_name(context: Context, name: str) -> str:
    """Suggest an output with a name that is not in use."""
    number = 2
    while context.frame.find(f"{name}{number}") is not None:
        number += 1
    return f"name the output otherwise:  -> {name}{number}"


def distributed_so(context: Context, name: str, how: str = "@ block(0)") -> str:
    """Write an output with a distribution over the partition at hand."""
    over = over_partition(context, context.partition)
    return f"write how its pieces lie, for example:  -> {name} {how}{over}"


def declaration(context: Context, name: str, element: Element | None, axes: int) -> str:
    """Suggest the declaration of an array that a call is to fill, where the call stands."""
    label = element.label if element is not None else "f64"
    known = [
        e.name
        for e in context.globals.names.values()
        if isinstance(e, ParameterEntity) and e.element in INTEGERS
    ]
    shape = ", ".join((known + ["8"] * axes)[:axes])
    where = " @ block(0)" if context.partition is not None else ""
    over = over_partition(context, context.partition) if where else ""
    before = "PARALLEL" if where else "the call"
    typed = "" if element is not None else "its element type and "
    return (
        f"declare it before {before} with {typed}the shape of the whole array, for example:  "
        f"var {label}[{shape}]{where}{over} {name}"
    )
