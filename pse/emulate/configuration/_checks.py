"""What a configuration asks for, tried without MPI: whether the steps fit together and memory suffices."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pse._abi.environment import LOCAL_SIZE_VARIABLES
from pse.emulate.configuration._configuration import Application, Configuration, ConfigurationError
from pse.emulate.configuration._placement import Nodes, PlacementError, place_applications
from pse.emulate.configuration._steps import predict_pattern, variants_of
from pse.emulate.model._model import Model
from pse.emulate.patterns._cycle import LONGEST_STEP, Buffers, PatternError, Step, rows_of
from pse.emulate.results._results import CYCLE
from pse.memory import memory_figures
from pse.text import count_text, duration_text, size_text

RANK_MEMORY = 24 << 20
"""Bytes that a rank needs before it measures anything: Python, NumPy and MPI."""
_COPIES = 3
"""How often a launch has its rows, until they are written."""


class Problem(NamedTuple):
    """What ranks can't execute: the application's number, the key that asks for it, why, and what to do.

    Without an application it is about the exchanges of phase one.
    """

    application: int | None
    key: str
    message: str
    help: str | None


def check_configuration(
    configuration: Configuration, per_node: int | None = None, nodes: Nodes | None = None
) -> None:
    """Make sure that the ranks of every application can execute its cycles.

    Parameters
    ----------
    configuration : Configuration
        What is to be measured; `read_configuration` has checked what it gives.
    per_node : int, optional
        How many ranks the fullest node has; by default all are on this one.
    nodes : Nodes, optional
        On which nodes the ranks are; by default the nodes that applications name aren't looked for.

    Raises
    ------
    ConfigurationError
        Ranks would wait for each other for ever, messages or results exceed the memory, or an application
        can't get its nodes.

    Examples
    --------
    >>> halo = Application("halo", "circular", 4, sizes=(1024,), loads=(50.0,))
    >>> check_configuration(Configuration((halo,), ranks=4))
    """
    for problem in find_problems(configuration, per_node, nodes):
        name = "the exchanges"
        if problem.application is not None:
            name = f"the application {configuration.applications[problem.application].name}"
        raise ConfigurationError(f"{name}: {problem.message}", help=problem.help)


def rank_problem(ranks: int, per_node: int | None) -> str | None:
    """Say why the fullest node has no room for its ranks; None if it has, or if they run already."""
    if any(name in os.environ for name in LOCAL_SIZE_VARIABLES):
        return None
    local, available = min(ranks, per_node or ranks), memory_figures().available
    if local * RANK_MEMORY <= available:
        return None
    return (
        f"{count_text(local, 'rank')} on a node need at least {size_text(local * RANK_MEMORY)}, and"
        f" {size_text(available)} are available"
    )


def find_problems(
    configuration: Configuration, per_node: int | None = None, nodes: Nodes | None = None
) -> Iterator[Problem]:
    """Yield what the ranks can't execute, so many of which are on one node at most."""
    yield from _row_problems(configuration)
    yield from _node_problems(configuration, nodes)
    for number, application in enumerate(configuration.applications):
        for size in application.sizes:
            try:
                predict_pattern(application, size, configuration.seed, lambda _bytes: 1.0)
            except PatternError as error:
                yield Problem(number, "pattern", error.message, error.help)
    yield from _given_problems(configuration)
    yield from _memory_problems(configuration, per_node)


def _row_problems(configuration: Configuration) -> Iterator[Problem]:
    """Compare what the rows of all cycles need with what is available."""
    choices = [len(one.sizes) * len(one.loads) for one in configuration.applications]
    alone = configuration.isolated and len(choices) > 1
    settings = [math.prod(choices) + (own if alone else 0) for own in choices]
    rows = [
        one.ranks * one.cycles * times
        for one, times in zip(configuration.applications, settings, strict=True)
    ]
    need = sum(rows) * CYCLE.itemsize * (configuration.launches + _COPIES)
    available = memory_figures().available
    if need > available:
        number = rows.index(max(rows))
        one = configuration.applications[number]
        launches = count_text(configuration.launches, "launch", "launches")
        message = (
            f"the times of {count_text(one.cycles, 'cycle')} of {count_text(one.ranks, 'rank')}, in"
            f" {count_text(settings[number], 'setting')} and {launches}, need {size_text(need)}, and"
            f" {size_text(available)} are available"
        )
        yield Problem(number, "cycles", message, "choose fewer cycles, sizes, loads or launches")


def _node_problems(configuration: Configuration, nodes: Nodes | None) -> Iterator[Problem]:
    """Name an application that can't get its nodes, if it is known which there are."""
    if nodes is not None:
        try:
            place_applications(configuration.applications, nodes)
        except PlacementError as error:
            yield Problem(error.application, "nodes", error.problem, error.help)


def _given_problems(configuration: Configuration) -> Iterator[Problem]:
    """Name cycles that would take days by the parameters that are given."""
    if configuration.alpha is None or configuration.beta is None:
        return
    model = Model(configuration.alpha, configuration.beta)
    for number, one in enumerate(configuration.applications):
        for size in one.sizes:
            seconds = predict_pattern(one, size, configuration.seed, model.seconds) * 100 / min(one.loads)
            if seconds > LONGEST_STEP:
                message = (
                    f"by alpha and beta a cycle with messages of {size_text(size, zeros=False)} at"
                    f" {min(one.loads):g} % takes {duration_text(seconds)}:"
                    f" expected {duration_text(LONGEST_STEP)} at most"
                )
                yield Problem(number, "loads", message, "give smaller alpha and beta, in seconds")


def buffers_of(variants: Sequence[Sequence[Step]], ranks: int) -> Buffers:
    """Give the bytes that a rank needs for all variants of a cycle."""
    needs = [rows_of(list(steps), ranks)[1] for steps in variants]
    return Buffers(max(need.out for need in needs), max(need.into for need in needs))


def _memory_problems(configuration: Configuration, per_node: int | None) -> Iterator[Problem]:
    """Compare what the ranks of the fullest node may need with what is available on this one."""
    local = next(
        (int(os.environ[name]) for name in LOCAL_SIZE_VARIABLES if name in os.environ), configuration.ranks
    )
    needs = [
        need
        for number, one in enumerate(configuration.applications)
        for need in _needs(configuration, number, one)
    ]
    fullest = sorted(needs, reverse=True)[: local if per_node is None else per_node]
    total, available = sum(need for need, _ in fullest), memory_figures().available
    largest = max(configuration.exchange_sizes, default=0)
    exchanged = 2 * largest * min(configuration.ranks, local if per_node is None else per_node)
    if exchanged > available:
        message = (
            f"messages of {size_text(largest, zeros=False)} need {size_text(exchanged)} for the ranks of a"
            f" node, and {size_text(available)} are available"
        )
        yield Problem(None, "sizes", message, "choose smaller sizes, fewer ranks, or more nodes")
    if total <= available:
        return
    number = max(
        range(len(configuration.applications)),
        key=lambda number: sum(need for need, whose in fullest if whose == number),
    )
    application = configuration.applications[number]
    ranks = count_text(application.ranks, "rank")
    beside = " beside the other applications" if len(configuration.applications) > 1 else ""
    message = (
        f"messages of {size_text(max(application.sizes), zeros=False)} among {ranks}{beside} need"
        f" {size_text(total)} on a node that has {count_text(len(fullest), 'rank')}, and"
        f" {size_text(available)} are available"
    )
    yield Problem(number, "sizes", message, "choose smaller sizes, fewer ranks, or more nodes")


def _needs(configuration: Configuration, number: int, application: Application) -> Iterator[tuple[int, int]]:
    """Yield the bytes that each rank of an application needs, with the application's number."""
    size = max(application.sizes)
    for rank in range(application.ranks):
        variants = variants_of(application, rank, size, configuration.seed)
        yield sum(buffers_of(variants, application.ranks)), number
