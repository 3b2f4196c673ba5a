"""A launch: what each rank of the job does, from MPI's start to the gathered tables."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from pse.emulate.configuration._configuration import Configuration, Setting
from pse.emulate.configuration._placement import Nodes, place_applications
from pse.emulate.configuration._steps import groups_of
from pse.emulate.job._cycle_measurement import Emulation, Others, run_setting
from pse.emulate.job._exchange_measurement import measure_exchanges, measure_loggp
from pse.emulate.job._rank_group import Machine, RankGroup
from pse.emulate.results._results import CYCLE, EXCHANGE, Results
from pse.runtime.supervise import await_request

if TYPE_CHECKING:
    from pse.emulate.model._model import Model


def run_launch(
    configuration: Configuration, launch: int = 0, comm: MPI.Intracomm = MPI.COMM_WORLD
) -> Results | None:
    """Measure once what a configuration asks for: called by all ranks of a job.

    Parameters
    ----------
    configuration : Configuration
        What is measured.
    launch : int
        Number of the launch: the order of settings depends on it.
    comm : MPI.Intracomm, optional
        All ranks; by default those of the job.

    Returns
    -------
    Results or None
        At rank 0 what was found, else None.

    Examples
    --------
    >>> halo = pse.ace.Application("halo", "pairwise", 2, sizes=(1024,), loads=(50.0,))
    >>> found = run_launch(pse.ace.Configuration((halo,), ranks=2))  # doctest: +SKIP
    """
    machine = Machine.find(comm, configuration.waits)
    world = RankGroup(comm.Dup(), machine)
    nodes = nodes_of(comm)
    random = np.random.default_rng([configuration.seed, launch])
    placed = place_applications(configuration.applications, nodes)
    mine = next((number for number, ranks in enumerate(placed) if world.rank in ranks), None)
    exchanges, loggp = _measure_exchanges(world, configuration, launch, random)
    model = _agreed_model(world, configuration, exchanges)
    color, key = (MPI.UNDEFINED, 0) if mine is None else (mine, placed[mine].index(world.rank))
    own = MPI.Intracomm(world.comm.Split(color, key))
    emulation = None
    if mine is not None:
        application = configuration.applications[mine]
        group = RankGroup(own, machine, groups_of(application))
        emulation = Emulation(application, group, configuration, model)
    cycles = _measure_cycles(world, configuration, mine, emulation, random, [own[0] for own in placed])
    cycles["launch"] = launch
    tables = [world.gather(rows) for rows in (cycles, exchanges)]
    if world.rank != 0:
        return None
    assert tables[0] is not None
    assert tables[1] is not None
    facts = {
        **_facts(configuration, placed, nodes, machine),
        "launches": [_launch_facts(launch, loggp)],
    }
    return Results(tables[0], tables[1], facts)


def nodes_of(comm: MPI.Intracomm = MPI.COMM_WORLD) -> Nodes:
    """Find the node of each rank: called by all ranks.

    Parameters
    ----------
    comm : MPI.Intracomm, optional
        The ranks; by default those of the job.

    Returns
    -------
    Nodes
        The node of each rank, and the nodes' names.

    Examples
    --------
    >>> list(nodes_of().of_ranks)
    [0]
    """
    local = comm.Split_type(MPI.COMM_TYPE_SHARED)
    first = np.array([comm.Get_rank()], np.int64)
    await_request(local.Iallreduce(MPI.IN_PLACE, first, MPI.MIN))
    local.Free()
    firsts = np.empty(comm.Get_size(), np.int64)
    await_request(comm.Iallgather(first, firsts))
    known = sorted({*firsts.tolist()})
    name = np.zeros(64, np.uint8)
    text = os.uname().nodename.encode()[:64]
    name[: len(text)] = np.frombuffer(text, np.uint8)
    all_names = np.empty((comm.Get_size(), 64), np.uint8)
    await_request(comm.Iallgather(name, all_names))
    names = [bytes(all_names[rank]).rstrip(b"\0").decode(errors="replace") for rank in known]
    return Nodes([known.index(one) for one in firsts.tolist()], names)


def _measure_exchanges(
    world: RankGroup, configuration: Configuration, launch: int, random: np.random.Generator
) -> tuple[NDArray[np.void], list[dict[str, Any]]]:
    if not configuration.exchange_sizes:
        return np.zeros(0, EXCHANGE), []
    exchanges = measure_exchanges(world, configuration, launch, random)
    loggp = []
    if configuration.loggp:
        own = measure_loggp(world, configuration.exchange_sizes, configuration.repetitions)
        columns = ("rank", "partner", "send_overhead", "receive_overhead", "latency", "gap", "gap_per_byte")
        gathered = world.gather(np.array([[one[name] for name in columns] for one in own]).reshape(-1, 7))
        loggp = [_loggp_facts(columns, row.tolist()) for row in _rows(gathered, len(columns))]
    return exchanges, loggp


def _loggp_facts(columns: tuple[str, ...], row: list[float]) -> dict[str, Any]:
    facts: dict[str, Any] = dict(zip(columns, row, strict=True))
    return facts | {"rank": int(row[0]), "partner": int(row[1])}


def _rows(values: NDArray[Any] | None, columns: int) -> NDArray[Any]:
    return np.zeros((0, columns)) if values is None else values.reshape(-1, columns)


def _agreed_model(
    world: RankGroup, configuration: Configuration, exchanges: NDArray[np.void]
) -> Model | None:
    """Give the model by which cycles are predicted, the same on all ranks; None if patterns are measured."""
    if configuration.alpha is not None and configuration.beta is not None:
        from pse.emulate.model._model import Model

        return Model(configuration.alpha, configuration.beta)
    if configuration.prediction in ("load", "pattern"):
        return None
    from pse.emulate.model._fit import fit

    gathered = world.gather(exchanges)
    count = np.array([0 if gathered is None else gathered.nbytes], np.int64)
    await_request(world.comm.Ibcast(count))
    sent = np.empty(int(count[0]), np.uint8) if gathered is None else gathered.view(np.uint8)
    await_request(world.comm.Ibcast(sent))
    return fit(sent.view(EXCHANGE), "paper" if configuration.prediction == "paper" else "piecewise")


def _measure_cycles(
    world: RankGroup,
    configuration: Configuration,
    mine: int | None,
    emulation: Emulation | None,
    random: np.random.Generator,
    firsts: Sequence[int],
) -> NDArray[np.void]:
    """Run all settings, in an order of this launch's own; `firsts` are the first ranks of applications."""
    settings = configuration.settings()
    sides: tuple[list[int], list[int]] = [], []
    for application, first in zip(configuration.applications, firsts, strict=True):
        sides[application.background].append(first)
    found = [np.zeros(0, CYCLE)]
    for number in random.permutation(len(settings)):
        rows = run_setting(settings[number], mine, emulation, world, Others(world, *sides))
        rows["setting"] = number
        rows["application"] = _row_of(configuration, settings[number], mine)
        found.append(rows)
    return np.concatenate(found)


def _row_of(configuration: Configuration, setting: Setting, mine: int | None) -> int:
    """Give the index in the metadata's applications: those alone follow those together."""
    return (mine or 0) + (len(configuration.applications) if setting.alone else 0)


def _facts(
    configuration: Configuration,
    placed: list[list[int]],
    nodes: Nodes,
    machine: Machine,
) -> dict[str, Any]:
    """Give the metadata that all launches share."""
    places = [
        {"nodes": sorted({nodes.names[nodes.of_ranks[rank]] for rank in ranks}), "placed": ranks}
        for ranks in placed
    ]
    facts = configuration.facts()
    return {
        **facts,
        "applications": [
            {**one, **where} for one, where in zip(facts["applications"], cycle(places), strict=False)
        ],
        "configuration": {**facts["configuration"], "source": os.path.basename(configuration.source)},
        "seed": configuration.seed,
        "hosts": nodes.names,
        "nodes": nodes.of_ranks,
        "cores": len(os.sched_getaffinity(0)),
        "mpi": MPI.Get_library_version().splitlines()[0].strip("\0 "),
        "ranks": configuration.ranks,
        "waits": "sleep" if machine.sleeps else "mpi",
        "ticks_rate": machine.rate,
        "prediction": "given" if configuration.is_given else configuration.prediction,
    }


def _launch_facts(launch: int, loggp: list[dict[str, Any]]) -> dict[str, Any]:
    date = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    return {"launch": launch, "date": date, **({"loggp": loggp} if loggp else {})}
