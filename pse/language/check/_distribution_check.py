"""Where tags live against where calls run: root, partitions, or everywhere; and what brings a tag there."""

from __future__ import annotations

from pse.language.check._call_reports import CallReports
from pse.language.check._context import Context
from pse.language.check._scope import TagEntity
from pse.language.diagnostics._source import Span
from pse.language.types._expressions import Expression
from pse.language.types._types import (
    Distribution,
    Parameter,
    Pattern,
    render_distribution,
)


def match_distribution(check: CallReports, parameter: Parameter, entity: TagEntity, span: Span) -> bool:
    """Check where a tag lives against where the call runs and what the directive says."""
    assert entity.type is not None, "checked by the caller"
    have, want = entity.type.distribution, parameter.type.distribution
    if want.pattern is not Pattern.ANY and not same_pattern(have, want, check.context):
        _distribution_mismatch(check, entity, want, span)
        return False
    if check.context.partition is None:
        return _outside(check, entity, span)
    return _inside(check, entity, span)


def _distribution_mismatch(check: CallReports, entity: TagEntity, want: Distribution, span: Span) -> None:
    assert entity.type is not None, "checked by the caller"
    label = check.context.show(entity.type)
    help = conversion(entity, want, check.thread, check.context.root_thread)
    check.fail("E0312", "distribution mismatch", span, label=label, help=help)


def _inside(check: CallReports, entity: TagEntity, span: Span) -> bool:
    """Inside PARALLEL an array is a piece of a tag over the same partition, or replicated."""
    assert entity.type is not None, "checked by the caller"
    have, label = entity.type.distribution, check.context.show(entity.type)
    if have.pattern is Pattern.ROOT:
        message = (
            f"`{entity.display}` lives on the root; inside PARALLEL an array is distributed or replicated"
        )
        scatter = f"scatter({entity.display}) -> pieces @ block(0)"
        help = f"before the block:  {scatter}, or  replicate({entity.display}) -> everywhere"
        check.fail("E0313", message, span, label=label, help=help, directive=False)
        return False
    if have.distributed and have.partition != check.context.partition:
        message = (
            f"`{entity.display}` is distributed over {have.partition}, "
            f"but this block runs over {check.context.partition}"
        )
        help = f"write PARALLEL over {have.partition}, or redistribute it"
        check.fail("E0314", message, span, label=label, help=help, directive=False)
        return False
    return True


def _outside(check: CallReports, entity: TagEntity, span: Span) -> bool:
    """Outside PARALLEL a module sees whole arrays."""
    assert entity.type is not None, "checked by the caller"
    if not entity.type.distribution.distributed:
        return True
    gather = f"gather it first:  {check.context.root_thread}gather({entity.display}) -> whole"
    help = f"{gather}; or put the call into PARALLEL over {entity.type.distribution.partition}"
    label = check.context.show(entity.type)
    message = "distribution mismatch: outside PARALLEL a module takes whole arrays"
    check.fail("E0312", message, span, label=label, help=help)
    return False


def same_pattern(left: Distribution, right: Distribution, context: Context) -> bool:
    """Compare two distributions, but not their partitions."""
    plain = (left.pattern, left.axes, left.user) == (right.pattern, right.axes, right.user)
    return plain and _same(left.halo, right.halo, context) and _same(left.block, right.block, context)


def _same(left: Expression | None, right: Expression | None, context: Context) -> bool:
    if left is None or right is None:
        return left is right
    return context.extent(left) == context.extent(right)


def conversion(entity: TagEntity, want: Distribution, thread: str, root_thread: str) -> str:
    """Suggest the call that brings a tag into the wanted distribution, with labels that fit its region."""
    assert entity.type is not None, "only typed tags are compared"
    have, target = entity.type.distribution, render_distribution(want)
    if want.pattern is Pattern.REPLICATED:
        return f"replicate it first:  {root_thread}replicate({entity.display}) -> everywhere"
    if have.distributed and want.distributed:
        return f"redistribute it first:  {thread}redistribute({entity.display}) -> pieces {target}"
    if have.distributed:
        return f"gather it first:  {root_thread}gather({entity.display}) -> whole @ root"
    return f"scatter it first:  {root_thread}scatter({entity.display}) -> rows {target}"
