"""A sweep: which points, in which order, and what is known of each run; kept in a directory, line by line.

Files of the directory: ``sweep.json`` says what program the runs are of, ``runs.jsonl`` has a line for each
run that has ended.  A line is written at once, so whatever happens, at most the run under way is lost.  Next
room: `experiment` does the runs.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pse._locks import try_lock
from pse.files import replace_file
from pse.notebook._errors import NotebookError
from pse.notebook._running import Job, chosen_processors
from pse.runtime.launch import HOSTS_VARIABLE
from pse.runtime.rank import cpu_model
from pse.text import value_text

FORMAT = 1
SWEEP, RUNS = "sweep.json", "runs.jsonl"

Point = tuple[tuple[str, Any], ...]
"""``(("procs", 2), ("N", 512))``: what one point of a sweep has for each name."""


@dataclass(frozen=True)
class Run:
    """One run that has ended: what it was, and how long it took (None: it failed, `error` says how)."""

    point: Point
    repeat: int
    seconds: float | None
    figures: Mapping[str, float]
    error: str | None = None

    @property
    def key(self) -> tuple[Point, int]:
        """What tells it from the others of the sweep."""
        return self.point, self.repeat


@dataclass(frozen=True)
class Sweep:
    """The product of lists of values, each point some times.

    Parameters
    ----------
    names : tuple of str
        ``procs`` and the parameters.
    values : tuple of sequences
        For each name, what it takes.
    repeats : int
        How often each point is run.
    """

    names: tuple[str, ...]
    values: tuple[Sequence[Any], ...]
    repeats: int

    @property
    def points(self) -> list[Point]:
        """Every point, the last name's values changing fastest."""
        return [tuple(zip(self.names, point, strict=True)) for point in itertools.product(*self.values)]

    def order(self) -> Iterator[tuple[Point, int]]:
        """Give point and repeat of every run: all points once, shuffled, then all once more.

        What changes on the machine meanwhile falls on all points alike.  The order is the same every time.
        """
        for repeat in range(self.repeats):
            points = self.points
            random.Random(repeat).shuffle(points)
            for point in points:
                yield point, repeat


def make_sweep(procs: Any, parameters: Mapping[str, Any], repeats: int, known: Sequence[str]) -> Sweep:
    """Make a sweep of what the caller gives: a list for each name, or a single value.

    Raises
    ------
    NotebookError
        If a list is empty, a value comes twice, or the program has no such parameter.
    """
    if isinstance(repeats, bool) or not hasattr(repeats, "__index__") or repeats.__index__() < 1:
        raise NotebookError(
            f"repeats must be a whole number of at least 1, not {repeats!r}", help="for example:  repeats=3"
        )
    for name in parameters:
        if name not in known:
            help_text = f"its parameters: {', '.join(known)}" if known else "it has none"
            raise NotebookError(f"the program has no parameter {name!r}", help=help_text)
    counts = [chosen_processors(count, None) for count in _listed("procs", procs)]
    values = (counts, *(_listed(name, value) for name, value in parameters.items()))
    return Sweep(("procs", *parameters), values, repeats.__index__())


def _listed(name: str, given: Any) -> list[Any]:
    given = given.tolist() if hasattr(given, "tolist") else given  # NumPy's and pandas' arrays and scalars.
    single = isinstance(given, str | bytes | Mapping) or not hasattr(given, "__iter__")
    values = [given] if single else list(given)
    values = [value.item() if hasattr(value, "item") else value for value in values]
    if not values:
        raise NotebookError(f"{name} has no values", help=f"give a list: {name}=[…]")
    if len({value_text(value) for value in values}) < len(values):
        raise NotebookError(
            f"{name}={values} contains a value twice", help="to run each value several times, use repeats=…"
        )
    for value in values:
        if not isinstance(value, bool | int | float | str) or value != value:
            raise NotebookError(
                f"{name}: {value!r} can't be the value of a parameter; expected a number, a string or a bool",
                help="arrays are made by modules: give a number that says which",
            )
    return values


def fingerprint(job: Job, names: Sequence[str]) -> dict[str, Any]:
    """Describe what runs must have in common to be compared, as it is now.

    That is the program, its modules, what the sweep is over, the options, and where it runs.
    """
    sources = {module.path: module.source for module in job.found.program.modules if module.source}
    return {
        "format": FORMAT,
        "program": _digest(job.found.path),
        "modules": {path: _digest(source) for path, source in sorted(sources.items())},
        "names": sorted(names),
        "options": sorted(job.options),
        "place": _place(job),
    }


def _place(job: Job) -> str:
    """Say on what runs are: machines by their names, else this one, by what its times depend on."""
    nodes = job.cluster.plan.description if job.cluster else os.environ.get(HOSTS_VARIABLE, "")
    here = f"{cpu_model()}, {len(os.sched_getaffinity(0))} cores"
    return f"{nodes} on {here}" if nodes else here


def _digest(path: str) -> str:
    """Give a digest of a file; nothing if it is gone."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


_CHANGES = {
    "format": "they were written by another version of pse",
    "program": "the program's text has changed",
    "modules": "a module has changed",
    "names": "the sweep is over other parameters",
    "options": "the options have changed",
    "place": "they were made on another machine or cluster",
}


class Notes:
    """The directory in which a sweep's runs are written down; a context manager, which keeps others out.

    Parameters
    ----------
    directory : Path
        Made if it isn't there.
    names : sequence of str
        The sweep's, in its order.
    described : mapping
        The `fingerprint` of the sweep.

    Raises
    ------
    NotebookError
        If it can't be used, or has runs of something else.
    """

    def __init__(self, directory: Path, names: Sequence[str], described: Mapping[str, Any]) -> None:
        self.directory, self._names, self._described = directory, names, described

    def __enter__(self) -> Notes:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._file = open(self.directory / RUNS, "ab", buffering=0)
            try:
                self._begin()
            except BaseException:
                self._file.close()
                raise
        except OSError as error:
            message = f"runs can't be saved in {self.directory}: {error.strerror}"
            raise NotebookError(message, help="name another directory=…") from None
        return self

    def __exit__(self, *failure: object) -> None:
        self._file.close()

    def _begin(self) -> None:
        """Go on with what is there; where no run has gone well yet, there is nothing to go on with."""
        self._lock()
        runs = self.directory / RUNS
        _mend(runs)
        if (self.directory / SWEEP).exists():
            changed = self._changed(self._described)
            if not changed:
                return
            if b'"error": null' in runs.read_bytes():
                raise self._refusal(changed)
            os.truncate(runs, 0)
        replace_file(self.directory / SWEEP, f"{json.dumps(self._described, indent=1)}\n".encode())

    def _lock(self) -> None:
        """Keep others out until the file is closed, in which way ever; file systems without locks don't."""
        with contextlib.suppress(OSError):
            if not try_lock(self._file):
                message = f"another experiment is writing its runs into {self.directory}"
                raise NotebookError(message, help="wait for its end, or name another directory=…")

    def compare(self, described: Mapping[str, Any]) -> None:
        """Make sure that the runs are of what is described."""
        changed = self._changed(described)
        if changed:
            raise self._refusal(changed)

    def _changed(self, described: Mapping[str, Any]) -> list[str]:
        file = self.directory / SWEEP
        try:
            before = dict(json.loads(file.read_text(encoding="utf-8")))
        except (ValueError, TypeError):
            raise NotebookError(
                f"{file} is damaged, or was not written by pse.experiment", help=self._way_out
            ) from None
        return [words for name, words in _CHANGES.items() if before.get(name) != described[name]]

    def _refusal(self, changed: Sequence[str]) -> NotebookError:
        message = f"the runs in {self.directory} can't be continued: {'; '.join(changed)}"
        return NotebookError(message, help=self._way_out)

    @property
    def _way_out(self) -> str:
        return f"remove {self.directory}, or give the new sweep another directory=…"

    def runs(self) -> list[Run]:
        """Read what has been written down; of a run that was done again, the last."""
        file = self.directory / RUNS
        lines = file.read_bytes().splitlines() if file.exists() else []
        found: dict[tuple[Point, int], Run] = {}
        for number, line in enumerate(lines, 1):
            if not line:
                continue
            try:
                data = json.loads(line)
                values = dict(data["point"])
                run = Run(**(data | {"point": tuple((name, values[name]) for name in self._names)}))
            except (ValueError, TypeError, KeyError):
                raise NotebookError(
                    f"{file}:{number}: the line does not describe a run", help="remove that line"
                ) from None
            found[run.key] = run
        return list(found.values())

    def write(self, run: Run) -> None:
        """Write a run down, for good: the line is there as a whole or not at all."""
        line = json.dumps(asdict(run)).encode() + b"\n"
        try:
            if self._file.write(line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file.fileno())
        except OSError as error:
            message = f"the run can't be saved in {self.directory}: {error.strerror}"
            raise NotebookError(
                message, help="the runs before it are saved; make the same call again to continue"
            ) from None


def _mend(file: Path) -> None:
    """Cut off half a line, which a crash has left."""
    data = file.read_bytes() if file.exists() else b""
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(file, whole)
