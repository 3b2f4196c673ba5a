"""`--prefix`: every line that modules write says the processor, thread, partition and rounds of its call."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from pse.language.check import CallSite, For
from pse.runtime._sequencer import OutputPipe, Sequencer, SitePrefixes
from pse.runtime.plan._job import Job
from pse.runtime.plan._loop_counters import loop_counters, shown_tag
from pse.runtime.plan._projection import Projection
from pse.runtime.supervise._processes import open_job_stream
from pse.text import site_label


@contextlib.contextmanager
def prefixed_output(launched: bool) -> Iterator[OutputPipe]:
    """Put a prefix before every line that is written to descriptors 1 and 2 meanwhile.

    `launched`: what mpiexec writes goes to a launcher of ours on this machine.
    """
    with _past_mpiexec() if launched else contextlib.nullcontext(), _piped_output() as pipe:
        yield pipe


@contextlib.contextmanager
def _past_mpiexec() -> Iterator[None]:
    """Write to the launcher itself: mpiexec passes on whatever it has read, parts of long lines too."""
    kept = [os.dup(stream) for stream in (1, 2)]
    for stream in (1, 2):
        opened = open_job_stream(stream)
        os.dup2(opened, stream)
        os.close(opened)
    try:
        yield
    finally:
        for stream, before in enumerate(kept, 1):
            os.dup2(before, stream)
            os.close(before)


@contextlib.contextmanager
def _piped_output() -> Iterator[OutputPipe]:
    # What is in a buffer when the call ends would get the prefix of another one.
    os.environ.setdefault("GFORTRAN_UNBUFFERED_PRECONNECTED", "1")
    kept = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(_unbuffered, kept)
    pipe = OutputPipe()
    try:
        yield pipe
    finally:
        sys.stdout, sys.stderr = kept
        pipe.close()


def _unbuffered(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    raw = io.FileIO(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(raw, stream.encoding, stream.errors, write_through=True)


def set_prefixes(sequencer: Sequencer, projection: Projection, job: Job, rank: int, pipe: OutputPipe) -> None:
    """Tell a sequencer what the prefixes of its calls are."""
    placement = job.liveness.placement
    (_, label), processor = placement.seat(rank)
    thread = f"root {label}" if processor is None else f"p{processor} {label}"
    rows = [
        (
            site.thread or placement.default if placement.serial else thread,
            _loops(projection, site, processor),
        )
        for site in projection.walk.sites
    ]
    idle = label if placement.serial else thread
    sequencer.prefix_output(pipe, SitePrefixes(rows, f"[{idle}] ".encode()))


def _loops(projection: Projection, site: CallSite, partition: int | None) -> list[tuple[str, int]]:
    return [
        (site_label(shown_tag(loop.counter) if isinstance(loop, For) else "round", loop.rounds), slot)
        for loop, slot in loop_counters(projection, site.id, partition)
    ]
