"""The words for what ends a run: a failure names its program line, call site, module, TPH and rank."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

from pse._abi.elements import MAX_TEXT
from pse._abi.plan import ArgumentKind, RunResult, TermKind
from pse.errors import RunError
from pse.language.check import CallSite, For, Parallel, While
from pse.language.types import without_value
from pse.memory import Arena
from pse.modules.build import EXCEPTION_CODE
from pse.runtime._sequencer import Sequencer
from pse.runtime.faults._deadlock import deadlock_error
from pse.runtime.faults._partition_errors import partition_error
from pse.runtime.plan._expression_lowering import operation
from pse.runtime.plan._loop_counters import loop_counters, shown_tag
from pse.runtime.plan._projection import Projection
from pse.runtime.plan._slots import HIDDEN
from pse.text import count_text, list_text, program_line, size_text


def run_error(result: int, sequencer: Sequencer, projection: Projection, arena: Arena | None) -> RunError:
    """Say what a sequencer that is not done ended with; `result` is what its `run` gave."""
    of_a_call: dict[int, Callable[[Sequencer, Projection], RunError]] = {
        RunResult.MODULE_FAILED: module_returned,
        RunResult.ARITHMETIC: arithmetic,
        RunResult.DESCRIPTOR: descriptor_closed,
        RunResult.NOT_FINITE: not_finite,
        RunResult.UNDERRUN: underrun,
        RunResult.SHAPE: misfit,
        RunResult.ROWS: misfilled,
        RunResult.MEMORY: no_memory,
        RunResult.MESSAGING: partition_error,
    }
    if result in of_a_call:
        return of_a_call[result](sequencer, projection)
    match result:
        case RunResult.TOO_LARGE:
            return too_large(sequencer, projection, arena)
        case RunResult.NO_SPACE:
            return arena_full(sequencer, projection, arena)
        case RunResult.DEADLOCK:
            return deadlock_error(sequencer.waits(), projection.sites)
        case RunResult.RELEASED:
            return fault_of_ours(f"a buffer was released twice {pending_place(sequencer, projection)}")
    return fault_of_ours(f"{stopped_at(sequencer, projection)}: the engine lost a tag that this call reads")


def module_returned(sequencer: Sequencer, projection: Projection) -> RunError:
    """Name a compiled module that returned something other than 0."""
    site = pending_site(sequencer, projection)
    code = sequencer.module_code
    text = projection.modules[site.id].error_text(code)
    threw = code == EXCEPTION_CODE and site.module.language == "c++"
    if threw:
        help = "catch it in the module, or see where it is thrown: run with --gdb RANK and type `catch throw`"
    else:
        help = "" if text else "give the module a coven_error(int code) to say what its codes mean"
    return RunError(
        f"{where(sequencer, projection, site)} {'threw' if threw else f'returned {code}'}"
        f"{f': {text}' if text else ''}",
        help=help or None,
    )


def descriptor_closed(sequencer: Sequencer, projection: Projection) -> RunError:
    """Name a module that closed what MPI has open."""
    place = where(sequencer, projection, pending_site(sequencer, projection))
    return RunError(
        f"{place} closed file descriptors that are not its own: MPI needs them",
        help="close only what the module has opened, each once: no closefrom() or os.closerange()",
    )


def arithmetic(sequencer: Sequencer, projection: Projection) -> RunError:
    """Name an expression that has no value, and why it has none."""
    kind, *operands = sequencer.without_value()
    help = "an `if` before it can keep such values away"
    if kind == TermKind.EXTENT:
        array = _made_array(sequencer, projection)
        why = f"{array} can't have the extent {operands[0]}, nor can a dimension of the directive"
    elif kind == TermKind.JOIN:
        why = f"a string is longer than {MAX_TEXT:,} characters"
    elif found := operation(TermKind(kind)):
        why = without_value(found[0], [*operands[-found[1] :]])
    else:
        why, help = "an expression is nested too deeply", "give a part of it a name:  let part = …"
    if sequencer.pending() is None:
        place = projection.places[sequencer.pending_instruction]
        message = f"{place}: {why} {pending_place(sequencer, projection)}"
    else:
        message = f"{stopped_at(sequencer, projection)}: an argument or extent has no value: {why}"
    return RunError(message, help=help)


def _made_array(sequencer: Sequencer, projection: Projection) -> str:
    """Name the array that a call makes; "an array" where it makes several, or none."""
    site = pending_site(sequencer, projection) if sequencer.pending() else None
    made = [output.tag for output in site.outputs if not output.type.scalar] if site else []
    return f"the array `{shown_tag(made[0])}`" if len(made) == 1 else "an array"


def misfit(sequencer: Sequencer, projection: Projection) -> RunError:
    """Name an array that came by `shift`, or whose shape changes during the run, and doesn't fit its call."""
    slot, piece, found, expected = sequencer.misfit()
    tag = next((name for (name, _), number in projection.slots.items() if number == slot), "")
    what = (
        f"`{tag}`" if piece < 0 else f"piece {piece}" if tag.startswith("%") else f"piece {piece} of `{tag}`"
    )
    site = pending_site(sequencer, projection)
    message = (
        f"{stopped_at(sequencer, projection)}: {what} is {_by(found)} here, but {_by(expected)} is expected"
    )
    if not site.parallel or projection.dynamic & {argument.tag for argument in site.inputs}:
        asked = next((f" for the input `{a.parameter.name}`" for a in site.inputs if a.tag == tag), "")
        help = "extents of one name in the directive are equal: give arrays that fit each other"
        return RunError(message + asked, help=help)
    return RunError(
        f"{message}: it was shifted from a partition with a piece of another size",
        help="choose extents that the number of partitions divides, or shift the piece home first",
    )


def misfilled(sequencer: Sequencer, projection: Projection) -> RunError:
    """Name an output of which a module has filled more rows than there are, or says that it has."""
    slot, filled, capacity, overrun = sequencer.misfilled()
    tag, most = shown_tag(_tag(projection, slot)), f"it has a capacity of {count_text(capacity, 'row')}"
    place = stopped_at(sequencer, projection)
    if overrun:
        return RunError(
            f"{place} wrote behind the last row of `{tag}`: {most}",
            help="fill no more than the capacity, or make it larger; --debug stops at the line that does it",
        )
    return RunError(
        f"{place} says that it has filled {filled:,} rows of `{tag}`: {most}",
        help="store how many rows are filled, from 0 to the capacity",
    )


def _by(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))


def _tag(projection: Projection, slot: int) -> str:
    """Name the tag of a slot; of one without a tag, what begins hidden names."""
    return next((name for (name, _), number in projection.slots.items() if number == slot), HIDDEN)


def underrun(sequencer: Sequencer, projection: Projection) -> RunError:
    """Name an array before which a module wrote, where no guard page is."""
    slot, distance = sequencer.underrun()
    tag = _tag(projection, slot)
    what = "an array" if tag.startswith(HIDDEN) else f"`{shown_tag(tag)}`"
    return RunError(
        f"{stopped_at(sequencer, projection)} wrote before the first element of {what}: "
        f"what is {count_text(distance, 'byte')} before it has changed",
        help="look for an index below 0; it is found after the call, what is behind an array at its line",
    )


def not_finite(sequencer: Sequencer, projection: Projection) -> RunError:
    """Name an output that holds a NaN or infinity, and the rounds of the loops around the call."""
    slot, index, value = sequencer.not_finite()
    tag = _tag(projection, slot)
    what = "an output" if tag.startswith(HIDDEN) else f"`{shown_tag(tag)}`"
    walk, reads = projection.walk, pending_site(sequencer, projection).inputs
    around = [walk.steps[step] for step in walk.ancestors(walk.step_of_site[_site_id(sequencer)])]
    inside = any(isinstance(step.statement, Parallel) for step in around)
    piece = "its piece of " if index and inside else ""
    at = f"{list(index)} of " if index else ""
    counters = loop_counters(projection, _site_id(sequencer), sequencer.pending_partition)
    rounds = [_round(loop, sequencer.slot_scalar(slot)) for loop, slot in counters]
    return RunError(
        f"{stopped_at(sequencer, projection)} made {'a NaN' if math.isnan(value) else 'an infinity'}: "
        f"{at}{piece}{what} is {value}{', at ' if rounds else ''}{', '.join(rounds)}",
        help="all that this call has read is finite: look at what it computes"
        if any(argument.tag for argument in reads)
        else "this call reads no tag: look at where it has its numbers from, a file for example",
    )


def _round(loop: For | While, number: complex) -> str:
    """Say in which round of a loop a call is."""
    if isinstance(loop, For):
        return f"{shown_tag(loop.counter)} = {number}"
    return f"round {number} of the `while` in line {program_line(str(loop.span))}"


def _site_id(sequencer: Sequencer) -> int:
    """Give the number of the pending call's site."""
    pending = sequencer.pending()
    assert pending is not None
    return pending[0]


def no_memory(sequencer: Sequencer, projection: Projection) -> RunError:
    """Say that the system has no memory left."""
    if sequencer.pending() is None:
        return RunError(
            "the system has no memory left for messages and iterations "
            + pending_place(sequencer, projection),
            help="use smaller arrays, fewer iterations in flight, or a smaller queue_depth",
        )
    return RunError(
        f"{stopped_at(sequencer, projection)}: the system has no memory left for its outputs",
        help="use smaller arrays, fewer iterations in flight, or a smaller queue_depth",
    )


def too_large(sequencer: Sequencer, projection: Projection, arena: Arena | None) -> RunError:
    """Name a call whose output never fits the arena."""
    capacity = f" of {size_text(arena.statistics().capacity)}" if arena else ""
    return RunError(
        f"{stopped_at(sequencer, projection)}: {_made(sequencer, projection)} is larger than the whole "
        f"arena{capacity}",
        help="run with a larger arena (-o arena=SIZE) or smaller arrays",
    )


def _made(sequencer: Sequencer, projection: Projection) -> str:
    """Name the arrays that the pending call wants made."""
    _, first, count = sequencer.pending() or (0, 0, 0)
    arguments = projection.arguments[first : first + count]
    slots = {slot for kind, slot, _ in arguments if kind == ArgumentKind.MAKE}
    tags = [f"`{tag}`" for (tag, _), number in projection.slots.items() if number in slots]
    return f"its output {list_text(tags, 'or')}" if tags else "an output"


def fault_of_ours(message: str) -> RunError:
    """Own up to a fault of the engine."""
    return RunError(
        message, help="this is a bug in pse, not in your program: please report it with the program"
    )


def arena_full(sequencer: Sequencer, projection: Projection, arena: Arena | None) -> RunError:
    """Say who holds what in an arena that nobody will ever free."""
    message = (
        f"{stopped_at(sequencer, projection)} needs shared memory, but the arena is full and no rank will "
        "ever free any"
    )
    if arena is not None:
        message += f"\n{held(arena, projection)}"
    return RunError(
        message,
        help="run with a larger arena (-o arena=SIZE), fewer iterations in flight, or a smaller queue_depth",
    )


def held(arena: Arena, projection: Projection) -> str:
    """List what the arena holds, largest first, by the call site that made it."""
    statistics = arena.statistics()
    held_by: Counter[int] = Counter()
    blocks: Counter[int] = Counter()
    for block in arena.live():
        if block.parent:
            continue
        held_by[block.site] += block.bytes
        blocks[block.site] += 1
    lines = [f"  the arena holds {size_text(statistics.in_use)} of {size_text(statistics.capacity)}:"]
    for number, size in held_by.most_common(10):
        site = projection.sites.get(number)
        maker = f"made by {site.label} at {site.span}" if site else "made by the engine"
        lines.append(f"  {size_text(size):>10} in {count_text(blocks[number], 'buffer')} {maker}")
    return "\n".join(lines)


def pending_site(sequencer: Sequencer, projection: Projection) -> CallSite:
    """Give the call site that the sequencer stopped at."""
    pending = sequencer.pending()
    return projection.sites[pending[0]] if pending else next(iter(projection.sites.values()))


def stopped_at(sequencer: Sequencer, projection: Projection) -> str:
    """Name the call that the sequencer stopped at."""
    return where(sequencer, projection, pending_site(sequencer, projection))


def where(sequencer: Sequencer, projection: Projection, site: CallSite) -> str:
    """Name a call in full: program line, module, and on which TPH and rank."""
    source = f" [{site.module.path}:{site.module.line}]" if site.module.source else ""
    return f"{site.span}: module {site.label}{source} {pending_place(sequencer, projection)}"


def pending_place(sequencer: Sequencer, projection: Projection) -> str:
    """Name partition, rank and iteration: ``(partition 7, thread_B of processor 0, rank 1, host n1)``."""
    index, partition = sequencer.pending_index, sequencer.pending_partition
    on = f"partition {partition}, " if partition >= 0 else ""
    return f"({on}{projection.who}{f', iteration {index}' if index >= 0 else ''})"
