"""Opening a rank's recorder, and writing down once what the numbers in the trace stand for.

It writes to the trace's directory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime

from pse.errors import DISK_FULL, UsageError
from pse.language.check import CallSite, For, While
from pse.language.types import Type, render_expression
from pse.program import loop_name, read_names
from pse.runtime.plan._edges import inflight_loops
from pse.runtime.plan._job import Job
from pse.runtime.rank._host_info import describe_host
from pse.trace import (
    Definitions,
    EdgeDefinition,
    LoopDefinition,
    RankDefinition,
    Recorder,
    SiteDefinition,
    TraceError,
    create,
    digest,
    write_definitions as written,
    write_program,
)
from pse.trace.format import NONE, EventType, Phase


def prepare_trace(directory: str) -> None:
    """Make a directory ready for a new trace, once on each node, before any rank opens its recorder.

    Raises
    ------
    UsageError
        If no trace can be written there.
    """
    with _naming_the_option(directory):
        create(directory)


def write_definitions(directory: str, described: Definitions, text: str) -> None:
    """Write down what a run's numbers stand for, and a copy of its program.

    Raises
    ------
    UsageError
        If that can't be written.
    """
    with _naming_the_option(directory):
        write_program(directory, text)
        written(directory, described)


@contextlib.contextmanager
def _naming_the_option(directory: str) -> Iterator[None]:
    try:
        yield
    except TraceError as error:
        error.message = f"--trace {directory}: {error.message}"
        raise
    except OSError as error:
        help = "free some space there, or record on another disk" if error.errno in DISK_FULL else None
        raise UsageError(f"--trace {directory}: {error.strerror}", help=help) from None


def begin_recording(directory: str, rank: int, job: Job) -> Recorder:
    """Open this rank's recorder; its first record says that the process runs."""
    with _naming_the_option(directory):
        recorder = Recorder(directory, rank)
    recorder.record(EventType.PHASE, a=Phase.START)
    return recorder


def describe_run(job: Job, hosts: list[str]) -> Definitions:
    """Describe a run for the readers of its trace."""
    program, walk, environment = job.program, job.liveness.walk, {**job.environment, **job.live}
    return Definitions(
        program=program.path,
        text_sha256=digest(program.text),
        parameters={n: str(v) if isinstance(v, complex) else v for n, v in environment.items()},
        options={"shared_memory": job.shared_memory, "local_limit": job.local_limit},
        sites=tuple(_site(job, site) for site in walk.sites),
        edges=tuple(
            EdgeDefinition(
                number, _shown(job, edge.tag), edge.site, _targets(job, edge.tag), _type(job, edge.tag)
            )
            for edge, number in job.edges.numbered()
        ),
        loops=tuple(_loop(job, step, number) for step, number in inflight_loops(walk).items()),
        ranks=tuple(_rank(job, rank, host) for rank, host in enumerate(hosts)),
        environment=describe_host(),
        started=datetime.now(UTC).isoformat(),
    )


def _site(job: Job, site: CallSite) -> SiteDefinition:
    thread = job.liveness.placement.thread_of(site).label
    loops = tuple(_loops_around(job, site))
    return SiteDefinition(site.id, site.label, site.module.name, str(site.span), thread, site.parallel, loops)


def _loops_around(job: Job, site: CallSite) -> Iterator[LoopDefinition]:
    """The loops around a call site, the outermost first."""
    walk = job.liveness.walk
    numbers = inflight_loops(walk)
    for step in reversed(list(walk.ancestors(walk.step_of_site[site.id]))):
        if isinstance(walk.steps[step].statement, For | While):
            yield _loop(job, step, numbers.get(step, NONE))


def _shown(job: Job, tag: str) -> str:
    return job.program.tags[tag].display or tag


def _targets(job: Job, tag: str) -> tuple[int, ...]:
    return tuple(site.id for site in job.liveness.walk.sites if tag in read_names(site))


def _type(job: Job, tag: str) -> str:
    return type_text(job.program.tags[tag].type)


def type_text(kind: Type) -> str:
    """Spell a type as a program would.

    Examples
    --------
    >>> from pse.language.types._types import Element
    >>> type_text(Type(Element.F64))
    'f64 @ root'
    """
    element = kind.element.label if kind.element else "T"
    shape = f"[{', '.join(render_expression(extent) for extent in kind.shape)}]" if kind.shape else ""
    axes = f"({', '.join(map(str, kind.distribution.axes))})" if kind.distribution.axes else ""
    return f"{element}{shape} @ {kind.distribution.pattern.value}{axes}"


def _loop(job: Job, step: int, number: int) -> LoopDefinition:
    statement = job.liveness.walk.steps[step].statement
    assert isinstance(statement, For | While)
    name = loop_name(statement, job.program.tags)
    counter = name if isinstance(statement, For) else name.removeprefix("while").lstrip()
    return LoopDefinition(number, counter, str(statement.span))


def _rank(job: Job, rank: int, host: str) -> RankDefinition:
    seat = job.liveness.placement.seat(rank)
    return RankDefinition(rank, seat.key.region, seat.key.label, seat.processor, host)


__all__ = ["begin_recording", "describe_run", "prepare_trace", "write_definitions"]
