"""``pse ace run``: measure what a configuration asks for, in launches of its own or inside an MPI job."""

import contextlib
import dataclasses
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
import mpi4py

from pse import emulate
from pse.cli._options.group import FiniteRange
from pse.emulate import (
    LaunchError,
    Results,
    ResultsError,
    Stopped,
    check_target,
    find_nodes,
    join_results,
    measure,
    read_configuration,
)
from pse.errors import UsageError
from pse.files import explained, locked_output
from pse.runtime.faults import failing_together
from pse.runtime.launch import Hosts
from pse.runtime.supervise import inside_mpi_job, own_rank
from pse.text import count_text, list_text

_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "MPI_SIZE")


@click.command("run")
@click.argument("configuration", metavar="CONFIG.toml", type=click.Path(path_type=Path))
@click.option("-n", "--ranks", type=click.IntRange(2), metavar="N", help="How many ranks the job has.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="NAME.ace", help="The directory for results."
)
@click.option(
    "--launches",
    type=click.IntRange(1),
    metavar="K",
    help="Start the job at least K times, if the time allows it.",
)
@click.option(
    "--time",
    "seconds",
    type=FiniteRange(0, min_open=True),
    metavar="S",
    help="Begin no launch that would end after S seconds.",
)
@click.option("--hosts", metavar="A,B:2", help="Machines to run on, each with a number of ranks if need be.")
@click.option("--hostfile", metavar="FILE", help="A file that names the machines, one on each line.")
@click.option("--append", is_flag=True, help="Add to the results that are there, as further launches.")
def command(
    configuration: Path,
    ranks: int | None,
    output: Path | None,
    launches: int | None,
    seconds: float | None,
    hosts: str | None,
    hostfile: str | None,
    append: bool,
) -> None:
    """Measure messages, and applications that are emulated, as CONFIG.toml says.

    The job is started again and again, until the median of every setting is known to the precision asked
    for, or another launch would take longer than the time allows.  Inside an MPI job (mpirun -n N python -m
    pse ace run CONFIG.toml) it is one launch; --append adds it to others.
    """
    target = output or Path(f"{configuration.stem}.ace")
    if inside_mpi_job():
        options = {"-n": ranks, "--launches": launches, "--time": seconds, "--hosts": hosts}
        options["--hostfile"] = hostfile
        given = [name for name, value in options.items() if value is not None]
        _be_launch(configuration, target, append, given)
        return
    earlier = _earlier(target, append)
    where = Hosts.chosen(hosts, hostfile, os.environ)
    asked = read_configuration(
        configuration,
        ranks,
        per_node=lambda total: where.most_ranks(total, os.environ),
        nodes=lambda total: find_nodes(where, total),
        say=_note,
    )
    if earlier is not None:
        emulate.require_same(earlier.metadata, asked.facts())
    asked = dataclasses.replace(
        asked,
        launches=launches or asked.launches,
        most_launches=max(launches or 1, asked.most_launches),
        time=seconds or asked.time,
    )
    if not append:
        _warn_of_replacing(target)
    try:
        found = measure(asked, _say, hosts=where, first=_next_launch(earlier))
    except (LaunchError, Stopped) as error:
        if error.results is not None:
            _save(error.results, target, append)
        raise
    _save(found, target, append)


def _earlier(target: Path, append: bool) -> Results | None:
    """Give the results that are to be added to; refuse a target that can't be written."""
    return Results.load(target) if check_target(target).exists() and append else None


def _warn_of_replacing(target: Path) -> None:
    """Say, before minutes of measuring, that results which are there will be gone."""
    with contextlib.suppress(ResultsError):
        launches = count_text(len(Results.load(target).launches), "launch", "launches")
        _say(f"warning: what is measured now will replace the {launches} in {target}; --append adds it")


def _kept_elsewhere(found: Results, target: Path, error: UsageError) -> UsageError:
    """Write results that took minutes to measure to the temporary directory, and say so."""
    with contextlib.suppress(UsageError, OSError):
        kept = found.save(Path(tempfile.mkdtemp(prefix="pse-ace-")) / target.name)
        return UsageError(error.message, help=f"the results are in {kept} instead")
    return error


def _say(text: str) -> None:
    click.echo(text, err=True)


def _note(text: str) -> None:
    _say(f"note: {text}")


def _next_launch(earlier: Results | None) -> int:
    return 1 + max(earlier.launches, default=-1) if earlier else 0


def _be_launch(configuration: Path, target: Path, append: bool, given: Sequence[str]) -> None:
    """Be a rank of one launch; what is wrong with what is asked for is said by one rank."""
    with failing_together():
        _refuse_options(given)
        found = _launched(configuration, _earlier(target, append))
    if found is not None:  # On rank 0.
        if not append:
            _warn_of_replacing(target)
        _save(found, target, append)


def _refuse_options(given: Sequence[str]) -> None:
    if given:
        raise UsageError(
            f"{list_text(given)} can't be chosen inside an MPI job, which is one launch on its ranks",
            help="leave that out, or run pse ace without mpiexec",
        )


def _launched(configuration: Path, earlier: Results | None) -> Results | None:
    size = next((int(os.environ[name]) for name in _SIZES if name in os.environ), None)
    mpi4py.rc.threads = False  # As programs in C start MPI, unless they ask for more.
    # MPI starts where nodes are asked for: once nothing else in the configuration is wrong.
    say = _note if own_rank() in (None, 0) else lambda text: None
    asked = read_configuration(configuration, size, nodes=lambda _: emulate.nodes_of(), say=say)
    if earlier is not None:
        emulate.require_same(earlier.metadata, asked.facts())
    return emulate.run_launch(asked, _next_launch(earlier))


def _save(found: Results, target: Path, append: bool) -> None:
    """Write results; what is there to be added to is read now, since others may have added meanwhile."""
    try:
        with explained(target), locked_output(target):
            if append and target.exists():
                found = join_results([Results.load(target), found])
            found.save(target)
    except UsageError as error:
        raise _kept_elsewhere(found, target, error) from None
    launches = count_text(len(found.launches), "launch", "launches")
    rows = count_text(len(found.cycles), "cycle")
    click.echo(f"{target}: {launches}, {rows}, {count_text(len(found.exchanges), 'exchange')}")
