"""The list of subjects, and the way to run one.

A subject's file is imported when it is run: some of them load MPI's or the arena's libraries.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pse.bench._figures import LEAST_LAUNCHES, Result
from pse.bench._machine import describe_machine, stolen_share
from pse.bench._running import SOURCE_TREE
from pse.errors import UsageError

REPEATS = LEAST_LAUNCHES
"""How often each subject and each of its floors is measured, unless told otherwise."""


@dataclass(frozen=True)
class Subject:
    """A bench: its name, what it measures in a line, and the package with its file ``name.py``.

    Parameters
    ----------
    name : str
        As in ``pse bench NAME``.
    title : str
        What it measures.
    package : str
        Where its file is.
    needs : str
        A path from the top of the source tree without which it can't run; none if it is empty.

    See Also
    --------
    find_subject

    Examples
    --------
    >>> from pse.bench import SUBJECTS
    >>> [subject.name for subject in SUBJECTS if subject.name in ("hop", "fft")]
    ['hop', 'fft']
    """

    name: str
    title: str
    package: str = "pse.bench.subjects"
    needs: str = ""

    @property
    def missing(self) -> str:
        """What it needs and isn't there, since this is an installed package; empty if it can run."""
        path = SOURCE_TREE / self.needs
        return "" if path.exists() else f"pse bench {self.name} needs {path}, which does not exist"


_ADVICE = "pse.bench.subjects.advice"
_WHOLE = "pse.bench.subjects.whole"

SUBJECTS = (
    Subject("hop", "a TPH with a 1 KiB tag goes from one rank's sequencer to another's"),
    Subject("handover", "256 MiB change hands: by descriptor, and through MPI without shared memory"),
    Subject("overhead", "what the engine adds to a call site's execution, and the recorder to an event"),
    Subject("start", "how soon commands answer, and how long an empty program runs"),
    Subject("idle", "CPU time of ranks that wait"),
    Subject("fft", "a 2-D FFT of 4096 × 4096 as a program, and written by hand with mpi4py"),
    Subject("synthetic", "compute and communicate on 2 to 16 emulated nodes: one thread, two threads"),
    Subject("fft3", "2-D FFTs on emulated nodes: one, three at once, beside FFTW's MPI transform"),
    Subject("pingpong", "256 MB to and fro between two threads, with shared memory and without"),
    Subject("oversubscribe", "more threads than cores: computing and communicating on one core"),
    Subject(
        "programs",
        "whole programs beside the same by hand, in C and MPI and with mpi4py",
        _WHOLE,
        needs="tests/benchmarks/programs",
    ),
    Subject(
        "applications",
        "whole applications beside C and MPI, LAMMPS, FFTW-MPI and a script with rasterio; rows that migrate",
        _WHOLE,
        needs="tests/benchmarks/programs",
    ),
    Subject("tools", "a call of MPI through stubs, and through 1, 10 and 100 empty layers of the tool stack"),
    Subject("tracing", "what the tools trace and profile add to calls and programs, alone and together"),
    Subject("coopwait", "operations of MPI that wait, with the tool coopwait and by MPI's own means"),
    Subject("recording", "how much longer programs run when they are recorded"),
    Subject(
        "watching",
        "how much longer a program runs that can be controlled, and one that is watched",
        "pse.bench.subjects.control",
    ),
    Subject("reading", "50 million events into tables, and their summary"),
    Subject("page", "the page of a large trace: until it can be used, frames while it zooms, its size"),
    Subject(
        "desk",
        "the desk: until a program is shown, from an edit to its graph, the CPU it takes idle, its size",
        needs="programs/nbody.coven",
    ),
    Subject("analyze", "wait states in 10 million events of MPI, by one process and by several"),
    Subject("ace", "ACE: compute times, messages beside a plain C program's, predicted run times"),
    Subject("planted", "ACE: how soon planted changes are found and named, and false alarms"),
    Subject("advise", "the advisor: predictions beside runs, proposals beside the best by hand", _ADVICE),
    Subject("predictions", "the advisor's word beside runs, in settings that a seed has drawn", _ADVICE),
    Subject("bcs", "coscheduled communication: proxies of SAGE and SWEEP3D, operations, strobes"),
)


def find_subject(name: str, subjects: Sequence[Subject] = SUBJECTS) -> Subject:
    """Find a bench by its name.

    Parameters
    ----------
    name : str
        As in ``pse bench NAME``.
    subjects : sequence of Subject
        Those to choose from.

    Returns
    -------
    Subject
        The bench.

    Raises
    ------
    UsageError
        There is none.

    Examples
    --------
    >>> find_subject("hop").title
    "a TPH with a 1 KiB tag goes from one rank's sequencer to another's"
    """
    for subject in subjects:
        if subject.name == name:
            return subject
    names = ", ".join(subject.name for subject in subjects)
    raise UsageError(f"there is no bench {name!r}", help=f"the benches are {names}")


def measure_subject(
    subject: Subject,
    repeats: int = REPEATS,
    say: Callable[[str], None] = lambda text: None,
    samples: Path | None = None,
) -> Result:
    """Measure one subject.

    Parameters
    ----------
    subject : Subject
        One of `SUBJECTS`.
    repeats : int
        How often each thing is measured; floors and peers in turn with their subject.
    say : callable, optional
        Is told what is being measured.
    samples : Path, optional
        A file in which a bench that can be measured in parts keeps its samples; it goes on from those.

    Returns
    -------
    Result
        Its figures, with place and time of the measurement.

    Raises
    ------
    RunError
        A program or peer could not be run.
    UsageError
        It needs the source tree, and this is an installed package; or it can't be measured in parts.

    Examples
    --------
    >>> measure_subject(find_subject("hop"), repeats=3).figures[0].value  # doctest: +SKIP
    2.31
    """
    if subject.missing:
        raise UsageError(
            subject.missing,
            help="clone the repository of pse, run `make venv-dev` there, "
            f"then `.venv/bin/pse bench {subject.name}`",
        )
    module = importlib.import_module(f"{subject.package}.{subject.name}")
    sizes = _sizes(subject, module.Sizes(), samples)
    environment, stolen = describe_machine(), stolen_share()
    figures = module.measure(repeats, sizes, say)
    return Result(subject.name, tuple(figures), environment | {"stolen": round(stolen(), 3)})


def _sizes(subject: Subject, sizes: Any, samples: Path | None) -> Any:
    """Let a bench keep its samples, if it can."""
    if samples is None:
        return sizes
    if not hasattr(sizes, "samples"):
        raise UsageError(
            f"pse bench {subject.name} keeps no samples: it is measured at once",
            help="leave --samples out; `pse bench predictions` can be measured in parts",
        )
    return replace(sizes, samples=samples)
