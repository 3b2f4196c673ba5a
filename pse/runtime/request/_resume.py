"""Resuming from a checkpoint: the request that its manifest keeps, and what prevents resuming.

Everything that can be wrong is found before a rank starts: files are verified, and if the number of
processors has changed, the rest of the run must not need what the program computed from the old number.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pse.errors import UsageError
from pse.language import bind_parameters
from pse.language.check import PROCS, Assign, For, ResolvedProgram, Tag, While
from pse.language.types import Value, evaluate, is_dynamic, names_in
from pse.program import Liveness, Placement, analyse_run_liveness, entry_names
from pse.runtime.checkpoint._files import Directory, await_writer
from pse.runtime.checkpoint._manifest import (
    MANIFEST,
    CheckpointRefused,
    Manifest,
    checksum_of,
    set_of_pending,
    thread_of_pending,
    verify,
)
from pse.runtime.checkpoint._reader import read_manifest
from pse.runtime.checkpoint._schedule import DEFAULT, Every
from pse.runtime.distribution._partition_placement import partition_counts, place_partitions
from pse.runtime.request._prepared import Prepared, Request
from pse.text import count_text

if TYPE_CHECKING:
    from pse.runtime.plan._job import Job


def continued(request: Request) -> tuple[Request, Manifest]:
    """Complete the request to resume from the checkpoint in its directory.

    Raises
    ------
    CheckpointRefused
        If there is no checkpoint that can be read.
    UsageError
        If the run is complete, or still writes there, or the request contradicts it.
    """
    assert request.checkpoint is not None
    await_writer(request.checkpoint)
    kept = read_manifest(request.checkpoint)
    if kept.finished:
        raise UsageError(
            f"{request.checkpoint}: the run of {kept.program} is complete: there is nothing to resume",
            help=f"to run it again: pse run {kept.program}",
        )
    for name, value in request.defines.items():
        if kept.defines.get(name) != value:
            was = f"{name}={kept.defines[name]}" if name in kept.defines else f"no value for {name}"
            raise UsageError(
                f"-D {name}={value}: the run in {request.checkpoint} was started with {was}",
                help=f"leave out -D {name}: a resumed run keeps the values that it was started with",
            )
    typed = kept.program if os.path.abspath(kept.program) == kept.path else kept.path
    every = request.every or kept.every
    return replace(
        request,
        program=typed,
        defines=dict(kept.defines),
        options=(*kept.options, *request.options),
        every=every,
        processors=request.processors,
    ), replace(kept, every=every)


def verify_files(directory: str, manifest: Manifest, first: int = 0, step: int = 1) -> None:
    """Make sure that the files of a checkpoint are as they were written: every `step`-th, from `first` on.

    Raises
    ------
    CheckpointRefused
        For the first that isn't.
    """
    for note in manifest.files[first::step]:
        verify(directory, note)


def room_for(request: Request, program: ResolvedProgram) -> str:
    """Make sure that a new run may write its checkpoints where it is told to; gives a warning, or "".

    Raises
    ------
    UsageError
        If the directory can't be written to, or holds the checkpoint of another run.
    """
    if request.checkpoint is None:
        if request.every is not None:
            raise UsageError(
                f"--every {request.every}: the run writes no checkpoints", help="add --checkpoint DIR"
            )
        return ""
    Every.parse(request.every or DEFAULT)
    Directory(request.checkpoint)
    if not os.path.lexists(os.path.join(request.checkpoint, MANIFEST)):
        return ""
    try:
        found = read_manifest(request.checkpoint)
    except CheckpointRefused as refused:
        raise UsageError(
            f"--checkpoint {request.checkpoint}: {refused.message}",
            help="name another directory, or remove this one",
        ) from None
    if found.finished:
        return ""
    if (found.text, dict(found.defines)) != (program.text, dict(request.defines)):
        raise UsageError(
            f"--checkpoint {request.checkpoint} holds the checkpoint of another run: {_run(found)}",
            help=f"name another directory, continue it (`pse resume {request.checkpoint}`), or remove it",
        )
    return (
        f"warning: {request.checkpoint} holds a checkpoint of this program at {found.place}; this run "
        "starts from the beginning, and its first checkpoint replaces that one "
        f"(`pse resume {request.checkpoint}` continues from it)\n"
    )


def way_on(request: Request) -> str:
    """Say how to resume a run that has failed or was stopped; "" if it left no checkpoint."""
    if request.checkpoint is None:
        return ""
    try:
        left = read_manifest(request.checkpoint)
    except CheckpointRefused:
        return ""
    done = f", {left.iterations} iterations complete" if left.iterations else ""
    return "" if left.finished else f"`pse resume {request.checkpoint}` continues at {left.place}{done}\n"


def _run(manifest: Manifest) -> str:
    values = "".join(f" -D {name}={value}" for name, value in manifest.defines.items())
    return f"{manifest.program}{values}"


def description(prepared: Prepared) -> Manifest:
    """Give what all checkpoints of a run have in common; a resumed run continues their numbers."""
    request, program = prepared.request, prepared.program
    kept = prepared.resumed
    common = Manifest(
        program=request.program,
        path=os.path.abspath(request.program) if kept is None else kept.path,
        text=program.text,
        modules=kept.modules if kept else _modules(program),
        defines=dict(request.defines),
        options=tuple(request.options),
        every=request.every or DEFAULT,
        processors=int(str(prepared.environment[PROCS])),
        partitions=partition_counts(program, prepared.environment),
    )
    if kept is None:
        return common
    return replace(kept, options=common.options, every=common.every)


def _modules(program: ResolvedProgram) -> dict[str, str]:
    files = {os.path.abspath(module.source) for module in program.modules if module.source is not None}
    files |= {os.path.abspath(path) for path in program.files}
    return {path: checksum_of(path) for path in sorted(files)}


def remarks(request: Request, manifest: Manifest, program: ResolvedProgram) -> str:
    """Say where a resumed run continues, and what has changed since it was started."""
    now = _modules(program)
    changed = [path for path, checksum in manifest.modules.items() if now.get(path, checksum) != checksum]
    lines = [
        f"warning: {path} has changed since the run was started; the resumed run uses it as it is now"
        for path in changed
    ]
    if _text_of(manifest.path) != manifest.text:
        lines.append(
            f"warning: {manifest.path} has changed since the run was started; the resumed run uses "
            "the program as it was, which is part of the checkpoint"
        )
    done = f", {manifest.iterations} iterations complete" if manifest.iterations else ""
    lines.append(f"resuming {_run(manifest)} at {manifest.place}{done}")
    return "".join(f"{line}\n" for line in lines)


def _text_of(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return file.read()
    except (OSError, ValueError):
        return None


# Resuming on another number of processors


def environment_before(program: ResolvedProgram, manifest: Manifest) -> dict[str, Value]:
    """Give the values of parameters, ``procs`` and partitions when the checkpoint was taken."""
    return bind_parameters(program, manifest.defines, manifest.processors).environment


def job_before(job: Job, manifest: Manifest) -> Job:
    """Give the job as it was when the checkpoint was taken; where partitions lived doesn't matter."""
    environment = environment_before(job.program, manifest)
    placed = place_partitions("block", partition_counts(job.program, environment), manifest.processors)
    constants = {name: value for name, value in environment.items() if name not in job.live}
    return replace(job, environment=constants, processors=manifest.processors, placements=placed)


def check_processors(program: ResolvedProgram, environment: Mapping[str, Value], manifest: Manifest) -> None:
    """Make sure that nothing depends on the number of processors any more, where it is another.

    Raises
    ------
    UsageError
        If something does; it is named.
    """
    before = environment_before(program, manifest)
    changed = {name for name, value in before.items() if environment[name] != value}
    if not changed:
        return
    live = analyse_run_liveness(program, together=True)
    changed |= _computed(live, changed)
    obstacles = _obstacles(live, manifest.point, before, environment, changed)
    now = count_text(int(str(environment[PROCS])), "processor")
    for reason in (*_pending(manifest, before, environment), *obstacles):
        raise UsageError(
            f"the run can't be resumed on {now}: {reason}",
            help=f"resume it on {manifest.processors}: -p {manifest.processors}",
        )


def check_pending(placement: Placement, manifest: Manifest) -> None:
    """Make sure that there is a thread for all messages that were sent and not received.

    Raises
    ------
    UsageError
        If there isn't: of two runs only one was serial.
    """
    labels = {key.label for key in placement.keys}
    for member in (member for note in manifest.files for member in note.members):
        label = thread_of_pending(member)
        if label and label not in labels:
            raise UsageError(
                f"the run can't be resumed {'with' if placement.serial else 'without'} --serial: messages "
                f"among partitions of {label} have been sent and not received",
                help=f"resume it {'without' if placement.serial else 'with'} --serial",
            )


def _computed(live: Liveness, changed: set[str]) -> set[str]:
    """Scalars that the program computes from such names, and from one another."""
    found = set(changed)
    assigns = [step.statement for step in live.walk.steps if isinstance(step.statement, Assign)]
    while more := {a.tag for a in assigns if names_in(a.value) & found} - found:
        found |= more
    return found


def _obstacles(
    live: Liveness,
    point: int,
    before: Mapping[str, Value],
    now: Mapping[str, Value],
    changed: set[str],
) -> Iterator[str]:
    for step in (point, *live.walk.ancestors(point)):
        loop = live.walk.steps[step].statement
        if isinstance(loop, For | While) and entry_names(loop) & changed:
            yield f"the bounds of the loop at {loop.span} were computed from the number of processors"
    for name in sorted(_live_anywhere(live, point)):
        reason = _difference(live.tags[name], before, now, changed)
        if reason is not None:
            yield f"{live.tags[name].display or name} ({live.tags[name].span}) {reason}"


def _pending(manifest: Manifest, before: Mapping[str, Value], now: Mapping[str, Value]) -> Iterator[str]:
    members = (member for note in manifest.files for member in note.members)
    for name in sorted({found for member in members if (found := set_of_pending(member))}):
        if before[name] != now[name]:
            yield (
                f"messages among the {before[name]} partitions of {name} have been sent and not received; "
                f"{name} would now have {now[name]} partitions"
            )


def _live_anywhere(live: Liveness, point: int) -> frozenset[str]:
    loop = live.walk.steps[point].statement
    inflight = isinstance(loop, For) and loop.inflight is not None
    return live.live_anywhere("before" if inflight else "head", point)


def _difference(
    tag: Tag, before: Mapping[str, Value], now: Mapping[str, Value], changed: set[str]
) -> str | None:
    """Say why the value of a tag in the checkpoint can't be used; None if it can."""
    if tag.name in changed:
        return "was computed from the number of processors"
    partitions = tag.type.distribution.partition or PROCS
    if tag.type.distribution.distributed and tag.type.scalar and before[partitions] != now[partitions]:
        return (
            f"has a value for each of {before[partitions]} partitions; there would now be {now[partitions]}"
        )
    known = [extent for extent in tag.type.shape or () if not is_dynamic(extent)]
    dynamic = len(known) < len(tag.type.shape or ())
    if dynamic and tag.type.distribution.distributed and before[partitions] != now[partitions]:
        return (
            f"has as many rows in each of {before[partitions]} partitions as modules have decided; "
            f"there would now be {now[partitions]}"
        )
    if any(names_in(extent) & changed for extent in known):
        shapes = [[evaluate(extent, values) for extent in known] for values in (before, now)]
        if shapes[0] != shapes[1]:
            return f"has the shape {shapes[0]} in the checkpoint; now it would be {shapes[1]}"
    return None
