"""Starting what is measured: .coven programs of this room, and peers under mpiexec.

Both run in a temporary directory of their own, which is gone afterwards.  A program leaves its times there,
as the arrays that it saves; a peer prints one JSON object.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse.errors import RunError
from pse.runtime.launch import find_mpiexec, rank_environment
from pse.text import duration_text

SOURCE_TREE = Path(str(resources.files("pse"))).parent
"""The top of the source tree, unless this is an installed package."""
TIME_LIMIT = 100.0
"""Seconds after which something that was started counts as stuck."""

Arrays = Mapping[str, NDArray[np.float64]]
Samples = dict[str, list[float]]


class Surroundings:
    """Where something is started: here, this machine as it is.  `places` has others.

    See Also
    --------
    run_program
    """

    def inside(self, command: Sequence[str]) -> list[str]:
        """Give the command that runs another one here."""
        return list(command)

    def environment(self) -> dict[str, str]:
        """Give the variables that it needs."""
        return {}

    def hosts(self, ranks: int) -> list[str]:
        """Give mpiexec's words for so many ranks on each node."""
        return []


HERE = Surroundings()


def in_turn(
    repeats: int, measurers: Sequence[Callable[[], Mapping[str, float]]], say: Callable[[str], None]
) -> Samples:
    """Run measurers one after the other, `repeats` times, each time beginning with another one.

    Parameters
    ----------
    repeats : int
        How many rounds.
    measurers : sequence of callable
        Each returns one sample for each name that it measures.
    say : callable
        Is told which round begins.

    Returns
    -------
    dict
        For each name the samples, in the order of the rounds.

    Examples
    --------
    >>> in_turn(2, [lambda: {"a": 1.0}, lambda: {"b": 2.0}], say=print)
    round 1 of 2
    round 2 of 2
    {'a': [1.0, 1.0], 'b': [2.0, 2.0]}
    """
    samples: Samples = {}
    for turn in range(repeats):
        say(f"round {turn + 1} of {repeats}")
        first = turn % len(measurers)
        for measurer in (*measurers[first:], *measurers[:first]):
            for name, sample in measurer().items():
                samples.setdefault(name, []).append(float(sample))
    return samples


def ratios(upper: Sequence[float], lower: Sequence[float]) -> tuple[float, ...]:
    """Divide round by round.

    Parameters
    ----------
    upper, lower : sequence of float
        Samples in the order of their rounds, equally many.

    Returns
    -------
    tuple of float
        The ratio of each round.

    Examples
    --------
    >>> ratios([3.0, 5.0], [2.0, 2.0])
    (1.5, 2.5)
    """
    return tuple(a / b for a, b in zip(upper, lower, strict=True))


def program_path(name: str) -> Path:
    """Path of a program of this room; any other path is itself."""
    return Path(str(resources.files("pse.bench") / "programs" / name))


def run_program(
    name: str,
    defines: Mapping[str, object] = {},
    *,
    options: Iterable[str] = (),
    more: Iterable[str] = (),
    traced: bool = False,
    cores: Iterable[int] = (),
    processors: int = 1,
    place: Surroundings = HERE,
) -> Arrays:
    """Run a program of this room.

    Parameters
    ----------
    name : str
        Its file under ``programs/``.
    defines : mapping
        Values of its parameters.
    options : iterable of str
        ``name=value`` overrides of its options.
    more : iterable of str
        Further words of the command line.
    traced : bool
        Whether it is recorded; the trace is thrown away.
    cores : iterable of int
        Where it may run; everywhere if empty.
    processors : int
        On how many.
    place : Surroundings
        This machine, or a cluster.

    Returns
    -------
    mapping of str to numpy.ndarray
        The arrays that it saved, by file name without ``.npy``.

    Raises
    ------
    RunError
        It failed, or took too long.

    Examples
    --------
    >>> sorted(run_program("hop.coven", {"quick": 100, "slow": 0}))  # doctest: +SKIP
    ['a', 'b']
    """
    command = program_command(name, defines, processors)
    command += [*(word for option in options for word in ("-o", option)), *more]
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory:
        command += ["--trace", f"{directory}/trace"] if traced else []
        with confined_to(cores):
            _run(f"the program {name}", command, directory, place)
        return {path.stem: np.load(path) for path in Path(directory).glob("*.npy")}


def program_command(name: str, defines: Mapping[str, object], processors: int = 1) -> list[str]:
    """Give the command that runs a program of this room."""
    pse = [sys.executable, "-c", "import sys; sys.argv[0] = 'pse'; from pse._entry import main; main()"]
    values = [word for key, value in defines.items() for word in ("-D", f"{key}={value}")]
    return [*pse, "run", str(program_path(name)), "-p", str(processors), *values]


def run_peer(
    name: str,
    ranks: int,
    *arguments: object,
    cores: Iterable[int] = (),
    place: Surroundings = HERE,
    each: int = 1,
) -> dict[str, Any]:
    """Run ``peers/NAME.py`` on MPI ranks; gives the JSON object that its rank 0 prints.

    On a cluster, every node has `each` of the ranks.

    Parameters
    ----------
    name : str
        Of the peer's file, without ``.py``.
    ranks : int
        How many MPI ranks to start.
    *arguments
        Of its command line.
    cores : iterable of int
        Cores to stay on; all if none is given.
    place : Surroundings
        Where it runs.
    each : int
        Ranks of each node of a cluster.

    Returns
    -------
    dict of str to value
        The JSON object that its rank 0 prints.

    Raises
    ------
    RunError
        It failed, or took too long.

    Examples
    --------
    >>> run_peer("ring", 2, 1024, 1000, 0, 1)["hop"]  # doctest: +SKIP
    1.7075
    """
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory, confined_to(cores):
        command = peer_command(name, ranks, arguments, place.hosts(each))
        printed = _run(f"the peer {name}", command, directory, place)
    values: dict[str, Any] = json.loads(printed)
    return values


def peer_command(name: str, ranks: int, arguments: Iterable[object], hosts: Sequence[str] = ()) -> list[str]:
    """Give the command that starts ``peers/NAME.py`` on MPI ranks."""
    module = ["-m", f"pse.bench.peers.{name}", *map(str, arguments)]
    return [find_mpiexec().path, *hosts, "-n", str(ranks), sys.executable, *module]


def _run(what: str, command: list[str], directory: str, place: Surroundings) -> str:
    process = start(command, directory, place)
    try:
        return finish(what, process)
    finally:
        stop(process)


def measure_apart(module: str, what: str, directory: str | os.PathLike[str]) -> dict[str, float]:
    """Call ``main(what, directory)`` of a subject in a process of its own on one core; it prints figures.

    Raises
    ------
    RunError
        It failed.
    """
    code = f"from {module} import main; main({what!r}, {os.fspath(directory)!r})"
    with confined_to(usable_cores()[-1:]):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=TIME_LIMIT, check=False
        )
    if done.returncode:
        raise RunError(
            f"to {what} {os.fspath(directory)} failed:\n{done.stderr}",
            help="run `pse doctor`: it looks for what is missing here",
        )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def finish(what: str, process: subprocess.Popen[str]) -> str:
    """Wait for the end of what was started; gives what it printed.

    Raises
    ------
    RunError
        It failed, or took too long.
    """
    try:
        out, err = process.communicate(timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        raise RunError(
            f"{what} did not finish within {duration_text(TIME_LIMIT)}",
            help="look whether something else keeps the machine busy (top), then run it again",
        ) from None
    if process.returncode != 0:
        raise RunError(
            f"{what} failed with exit code {process.returncode}:\n{_tail(out + err)}",
            help="run `pse doctor`: it looks for what is missing here",
        )
    return out


def start(command: list[str], directory: str, place: Surroundings = HERE) -> subprocess.Popen[str]:
    """Start a command in a directory, its output kept for `communicate`."""
    return subprocess.Popen(
        place.inside(command),
        cwd=directory,
        env=rank_environment(os.environ, find_mpiexec()) | place.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stop(process: subprocess.Popen[str]) -> None:
    """End a process that may still run; launchers end their ranks with them."""
    if process.poll() is not None:
        return
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=5)
        return
    process.kill()
    process.communicate()


def _tail(text: str, lines: int = 20) -> str:
    return "\n".join(text.rstrip().splitlines()[-lines:])


@contextlib.contextmanager
def confined_to(cores: Iterable[int]) -> Iterator[None]:
    """Let what is started inside run on these cores only; on all of ours if there are none."""
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, set(cores) or before)
        yield
    finally:
        os.sched_setaffinity(0, before)


def usable_cores() -> list[int]:
    """Cores that this process may use, in order.

    Returns
    -------
    list of int
        Numbers of cores, ascending.

    Examples
    --------
    >>> len(usable_cores()) > 0
    True
    """
    return sorted(os.sched_getaffinity(0))
