"""Remedies: program text that help texts suggest, with names, labels and partitions of the place at hand."""

from __future__ import annotations

from pse.language.check._context import Context
from pse.language.check._scope import ParameterEntity, PartitionEntity, TagEntity
from pse.language.types._elements import INTEGERS
from pse.language.types._types import Distribution, Element, Pattern, Type, render_distribution


def conversion(context: Context, entity: TagEntity, want: Distribution, thread: str = "") -> str:
    """Suggest the call that brings a tag into the wanted distribution, with labels that fit its region."""
    assert entity.type is not None, "only typed tags are compared"
    have, name, inside = entity.type.distribution, entity.display, context.partition is not None
    target = lies(context, want)
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


def lies(context: Context, distribution: Distribution) -> str:
    """Write a distribution with what it is over, where the program has several partitions."""
    over = over_partition(context, distribution.partition) if distribution.distributed else ""
    return render_distribution(distribution, display=context.display) + over


def shown(context: Context, type: Type) -> str:
    """Write a type with what it is distributed over, where the program has several partitions."""
    if not type.distribution.distributed:
        return context.show(type)
    return context.show(type) + over_partition(context, type.distribution.partition)


def another_name(context: Context, name: str, written: Distribution | None = None) -> str:
    """Suggest an output with a name that is not in use, and the distribution that is written with it."""
    number = 2
    while context.frame.find(f"{name}{number}") is not None:
        number += 1
    where = f" {lies(context, written)}" if written is not None else ""
    return f"name the output otherwise:  -> {name}{number}{where}"


def distributed_so(context: Context, name: str, how: str = "@ block(0)") -> str:
    """Write an output with a distribution over the partition at hand."""
    over = over_partition(context, context.partition)
    return f"write how its pieces lie, for example:  -> {name} {how}{over}"


def declaration(
    context: Context, name: str, element: Element | None, axes: int, written: Distribution | None = None
) -> str:
    """Suggest the declaration of an array that a call is to fill, where the call stands."""
    label = element.label if element is not None else "f64"
    known = [
        e.name
        for e in context.globals.names.values()
        if isinstance(e, ParameterEntity) and e.element in INTEGERS
    ]
    shape = ", ".join((known + ["8"] * axes)[:axes])
    where = f" {lies(context, written)}" if written is not None else ""
    if context.partition is not None:
        where = where or f" @ block(0){over_partition(context, context.partition)}"
    before = "PARALLEL" if context.partition is not None else "the call"
    typed = "" if element is not None else "its element type and "
    return (
        f"declare it before {before} with {typed}the shape of the whole array, for example:  "
        f"var {label}[{shape}]{where} {name}"
    )
