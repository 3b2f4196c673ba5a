"""Starting launches: each is an MPI job of its own, since what varies between jobs is what counts.

Runs mpiexec; the results of launches are in a temporary directory, which is gone afterwards.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from pse.emulate.configuration._checks import check_configuration
from pse.emulate.configuration._configuration import Configuration
from pse.emulate.launches._stopping import precision_of
from pse.emulate.patterns._lookup import load_patterns
from pse.emulate.results._results import Results
from pse.errors import RunError
from pse.runtime.launch import Hosts, find_mpiexec, host_arguments, rank_environment
from pse.text import count_text

PREPARED = ".json"
"""What the configuration's file ends in that the driver writes for a launch."""

Say = Callable[[str], None]


def measure(
    configuration: Configuration, say: Say = lambda text: None, *, hosts: Hosts | None = None
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

    Returns
    -------
    Results
        Of all launches.

    Raises
    ------
    ConfigurationError
        The ranks can't execute what is asked for.
    RunError
        A launch failed, and none was complete before it.

    Examples
    --------
    >>> configuration = read_configuration("ace.toml", ranks=2)  # doctest: +SKIP
    >>> measure(configuration).save("first.ace")  # doctest: +SKIP
    PosixPath('first.ace')
    """
    where = Hosts.chosen(None, None, os.environ) if hosts is None else hosts
    check_configuration(configuration, where.most_ranks(configuration.ranks, os.environ))
    found: list[Results] = []
    begin = time.monotonic()
    shared = None if where.all_local(os.environ) else os.getcwd()  # All nodes must see it.
    with tempfile.TemporaryDirectory(prefix="pse-ace-", dir=shared) as directory:
        for launch in range(configuration.most_launches):
            if _is_enough(configuration, found, time.monotonic() - begin, say):
                break
            say(f"launch {launch + 1}")
            try:
                found.append(_launch(configuration, launch, directory, where))
            except KeyboardInterrupt:
                if not found:
                    raise
                say("stopped: what was measured so far is kept")
                break
    return join_results(found)


def _is_enough(configuration: Configuration, found: list[Results], spent: float, say: Say) -> bool:
    """Say whether no more launches are needed, or there is no time for another one."""
    if not found:
        return False
    if spent * (1 + 1 / len(found)) > configuration.time:
        say(f"{count_text(len(found), 'launch', 'launches')} in {spent:.0f} s: the time is up")
        return True
    if len(found) < configuration.launches:
        return False
    precision = precision_of(np.concatenate([one.cycles for one in found]))
    if np.isfinite(precision):
        say(f"{len(found)} launches: medians are known to ±{precision:.1f} %")
    return precision <= configuration.precision


def _launch(configuration: Configuration, launch: int, directory: str, hosts: Hosts) -> Results:
    mpiexec = find_mpiexec()
    target = Path(directory) / f"{launch}.ace"
    asked = Path(directory) / f"configuration{PREPARED}"
    asked.write_text(json.dumps(configuration.to_json()), encoding="utf-8")
    words = [str(asked), "--launch", str(launch), "-o", str(target)]
    job = [mpiexec.path, *host_arguments(mpiexec, hosts), "-n", str(configuration.ranks)]
    command = [*job, sys.executable, "-m", "pse", "ace", "run", *words]
    environment = rank_environment(os.environ, mpiexec, local=hosts.all_local(os.environ))
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
        errors="replace",
    )
    with _ending(process):
        output, _ = process.communicate()
    if process.returncode or not target.exists():
        raise RunError(f"launch {launch + 1} failed:\n{output.strip() or f'exit code {process.returncode}'}")
    return Results.load(target)


@contextlib.contextmanager
def _ending(process: subprocess.Popen[str]) -> Iterator[None]:
    """End mpiexec and its ranks whatever happens, SIGTERM included."""
    handled = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, _exit) if handled else None
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
    finally:
        if handled:
            signal.signal(signal.SIGTERM, before)


def _exit(number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def prepared_configuration(path: str | os.PathLike[str]) -> Configuration:
    """Read the configuration that the driver wrote for a launch.

    Parameters
    ----------
    path : path
        Its file.

    Returns
    -------
    Configuration
        It was checked before.

    See Also
    --------
    read_configuration
    """
    found = Configuration.from_json(json.loads(Path(path).read_text(encoding="utf-8")))
    for file in found.pattern_files:
        load_patterns(file)
    return found


def join_results(parts: Sequence[Results]) -> Results:
    """Join the results of launches of one configuration: tables one below the other.

    Parameters
    ----------
    parts : sequence of Results
        At least one; their applications are the same.

    Returns
    -------
    Results
        Of all launches.

    Examples
    --------
    >>> results = pse.ace.Results.load("run.ace")
    >>> len(pse.ace.join_results([results, results]).cycles) == 2 * len(results.cycles)
    True
    """
    launches = [facts for part in parts for facts in part.metadata.get("launches", ())]
    return Results(
        np.concatenate([part.cycles for part in parts]),
        np.concatenate([part.exchanges for part in parts]),
        {**parts[0].metadata, "launches": launches},
    )
