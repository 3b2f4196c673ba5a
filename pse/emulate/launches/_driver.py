"""Starting launches: each is an MPI job of its own, since what varies between jobs is what counts.

Runs mpiexec; the results of launches are in a temporary directory, which is gone afterwards.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse._abi.environment import MPI_RANK_VARIABLES
from pse.emulate.configuration._checks import check_configuration
from pse.emulate.configuration._configuration import Configuration
from pse.emulate.configuration._placement import Nodes
from pse.emulate.configuration._steps import computed_by, predict_pattern
from pse.emulate.job._command import launch_command
from pse.emulate.launches._stopping import precision_of
from pse.emulate.results._results import Results
from pse.emulate.results._sameness import require_same
from pse.errors import PseError, RunError, UsageError
from pse.files import brief_directory
from pse.runtime.launch import Hosts, find_mpiexec, host_arguments, rank_environment
from pse.runtime.supervise import StoppedBySignal, raised_signals
from pse.text import count_text, duration_text, share_text, time_text

Say = Callable[[str], None]
_PATIENCE = 30.0
"""Seconds that naming the nodes may take."""


class LaunchError(RunError):
    """A launch failed.

    Parameters
    ----------
    message : str
        Which one, and what it said.
    results : Results, optional
        Of the launches before it; None if it was the first.
    help : str, optional
        What is kept.

    Examples
    --------
    >>> LaunchError("launch 1 failed").results is None
    True
    """

    def __init__(self, message: str, results: Results | None = None, *, help: str | None = None) -> None:
        super().__init__(message, help=help)
        self.results = results


class Stopped(StoppedBySignal):
    """A signal ended a measurement.

    Parameters
    ----------
    number : int
        The signal.
    results : Results, optional
        Of the launches before it; None if there was none.

    Examples
    --------
    >>> Stopped(signal.SIGTERM).results is None
    True
    """

    def __init__(self, number: int = signal.SIGINT, results: Results | None = None) -> None:
        super().__init__(number)
        self.results = results


def measure(
    configuration: Configuration,
    say: Say = lambda text: None,
    *,
    hosts: Hosts | None = None,
    first: int = 0,
) -> Results:
    """Measure what a configuration asks for, in as many launches as it takes.

    Parameters
    ----------
    configuration : Configuration
        As `read_configuration` gives it.
    say : callable, optional
        Is told how far it is.
    hosts : pse.runtime.launch.Hosts, optional
        The machines to run on; by default those of the environment, else this one.
    first : int, default 0
        Number of the first launch: the order of settings depends on it.

    Returns
    -------
    Results
        Of all launches.

    Raises
    ------
    ConfigurationError
        The ranks can't execute what is asked for.
    LaunchError
        A launch failed; it has the results of those before it.
    Stopped
        A signal came, from Ctrl-C for instance; it has the results of the launches before.

    Examples
    --------
    >>> configuration = read_configuration("ace.toml", ranks=2)  # doctest: +SKIP
    >>> measure(configuration).save("first.ace")  # doctest: +SKIP
    PosixPath('first.ace')
    """
    where = Hosts.chosen(None, None, os.environ) if hosts is None else hosts
    named = any(one.nodes for one in configuration.applications)
    nodes = find_nodes(where, configuration.ranks) if named else None
    check_configuration(configuration, where.most_ranks(configuration.ranks, os.environ), nodes)
    found: list[Results] = []
    if (seconds := _foretold(configuration)) is not None:
        say(f"by α and β as given a launch takes {time_text(1e9 * seconds)}")
    begin = time.monotonic()
    shared = None if where.all_local(os.environ) else os.getcwd()  # All nodes must see it.
    with raised_signals(Stopped), brief_directory("pse-ace-", shared) as directory:
        for launch in range(configuration.most_launches):
            try:
                if _is_enough(configuration, found, time.monotonic() - begin, say):
                    break
                say(f"launch {launch + 1}")
                found.append(_launch(configuration, first + launch, directory, where))
            except KeyboardInterrupt as stop:
                number = stop.number if isinstance(stop, Stopped) else signal.SIGINT
                raise Stopped(number, join_results(found) if found else None) from None
            except (OSError, PseError) as error:
                raise _launch_error(error, found) from None
    return join_results(found)


def _foretold(configuration: Configuration) -> float | None:
    """Predict the run time of all settings, s, if the costs of messages are given."""
    alpha, beta = configuration.alpha, configuration.beta
    if alpha is None or beta is None:
        return None

    def seconds(part: tuple[int, int, float]) -> float:
        number, size, load = part
        application = configuration.applications[number]
        cycle = predict_pattern(application, size, configuration.seed, lambda n: alpha + beta * n)
        own = computed_by(application, size, configuration.seed)
        return application.cycles * (cycle * 100 / load + own)

    return sum(max(map(seconds, setting.parts)) for setting in configuration.settings())


def _launch_error(error: OSError | PseError, found: Sequence[Results]) -> PseError:
    """Give what to raise when a launch fails: with the results of those before it, if there are any."""
    message = error.message if isinstance(error, PseError) else str(error)
    if not found:
        return (
            error
            if isinstance(error, UsageError)
            else LaunchError(message, help=getattr(error, "help", None))
        )
    complete = count_text(len(found), "launch", "launches")
    return LaunchError(message, join_results(found), help=f"{complete} before it: what they measured is kept")


@lru_cache(maxsize=8)
def find_nodes(hosts: Hosts, ranks: int) -> Nodes | None:
    """Find on which nodes the ranks of a job will be, before MPI starts.

    Parameters
    ----------
    hosts : pse.runtime.launch.Hosts
        The machines to run on.
    ranks : int
        How many ranks.

    Returns
    -------
    Nodes or None
        None: mpiexec can't say it.

    Examples
    --------
    >>> find_nodes(Hosts(), 3).of_ranks
    (0, 0, 0)
    """
    if hosts.all_local(os.environ):
        return Nodes((0,) * ranks, (os.uname().nodename,))
    mpiexec = find_mpiexec()
    rank = "".join(f"${{{name}:-" for name in MPI_RANK_VARIABLES) + "}" * len(MPI_RANK_VARIABLES)
    job = [mpiexec.path, *host_arguments(mpiexec, hosts), "-n", str(ranks), "sh", "-c"]
    environment = rank_environment(os.environ, mpiexec)
    try:
        done = subprocess.run(
            [*job, f'echo "{rank} $(uname -n)"'],
            env=environment, capture_output=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL, timeout=_PATIENCE, check=True,
        )  # fmt: skip
        found = dict(line.split() for line in done.stdout.splitlines())
        names = [found[str(rank)] for rank in range(ranks)]
    except (OSError, ValueError, KeyError, subprocess.SubprocessError):
        return None
    known = tuple(dict.fromkeys(names))
    return Nodes(tuple(known.index(name) for name in names), known)


def _is_enough(configuration: Configuration, found: list[Results], spent: float, say: Say) -> bool:
    """Say whether no more launches are needed, or there is no time for another one."""
    if not found:
        return False
    if spent * (1 + 1 / len(found)) > configuration.time:
        few = f", and {configuration.launches} were asked for" * (len(found) < configuration.launches)
        say(
            f"{count_text(len(found), 'launch', 'launches')} in {duration_text(spent)}{few}:"
            f" another one would end after the {configuration.time:g} s of `time`"
        )
        return True
    if len(found) < configuration.launches:
        return False
    precision = precision_of(np.concatenate([one.cycles for one in found]))
    if np.isfinite(precision):
        say(f"{len(found)} launches: medians are known to ±{share_text(precision / 100, 1)}")
    return precision <= configuration.precision


def _launch(configuration: Configuration, launch: int, directory: str, hosts: Hosts) -> Results:
    mpiexec = find_mpiexec()
    rank, target = launch_command(configuration, Path(directory), launch)
    command = [mpiexec.path, *host_arguments(mpiexec, hosts), "-n", str(configuration.ranks), *rank]
    environment = rank_environment(os.environ, mpiexec, local=hosts.all_local(os.environ))
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=mpiexec.die_with_starter,
        text=True,
        errors="replace",
    )
    with _ending(process):
        output, _ = process.communicate()
    if process.returncode or not target.exists():
        raise RunError(
            f"launch {launch + 1} failed:\n{output.strip() or f'exit code {process.returncode}'}",
            help="run `pse doctor`: it tries MPI on this machine",
        )
    return Results.load(target)


@contextlib.contextmanager
def _ending(process: subprocess.Popen[str]) -> Iterator[None]:
    """End mpiexec and its ranks whatever happens."""
    try:
        yield
    except BaseException:
        for number in (signal.SIGINT, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(2)
                break
        raise


def join_results(parts: Sequence[Results]) -> Results:
    """Join the results of launches of one configuration: tables one below the other.

    Parameters
    ----------
    parts : sequence of Results
        At least one; their applications and parameters are the same.

    Returns
    -------
    Results
        Of all launches, which are numbered in their order.

    Raises
    ------
    UsageError
        Their applications differ, or what they were measured with.

    Examples
    --------
    >>> results = pse.ace.Results.load("run.ace")
    >>> len(pse.ace.join_results([results, results]).cycles) == 2 * len(results.cycles)
    True
    """
    cycles, exchanges = [], []
    launches: list[dict[str, Any]] = []
    for part in parts:
        require_same(parts[0].metadata, part.metadata)
        numbers = {own: len(launches) + place for place, own in enumerate(part.launches)}
        known = {one["launch"]: one for one in part.metadata.get("launches", ())}
        launches += [{**known.get(own, {}), "launch": number} for own, number in numbers.items()]
        cycles.append(_renumbered(part.cycles, numbers))
        exchanges.append(_renumbered(part.exchanges, numbers))
    added = next((one.metadata for one in parts if "settings" in one.metadata), {})
    metadata = {**added, **parts[0].metadata, "launches": launches}  # Results of old have no settings.
    return Results(np.concatenate(cycles), np.concatenate(exchanges), metadata)


def _renumbered(rows: NDArray[np.void], numbers: Mapping[int, int]) -> NDArray[np.void]:
    """Give rows whose launches have other numbers."""
    found = rows.copy()
    for own, number in numbers.items():
        found["launch"][rows["launch"] == own] = number
    return found
