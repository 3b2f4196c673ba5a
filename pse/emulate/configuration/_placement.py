"""Which ranks of the job each application has, by the nodes that they are on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pse.emulate.configuration._configuration import Application, ConfigurationError
from pse.text import count_text, list_text


class Nodes(NamedTuple):
    """The node of each rank of a job, numbered in the order of their first ranks, and the nodes' names."""

    of_ranks: Sequence[int]
    names: Sequence[str]


class PlacementError(ConfigurationError):
    """An application can't get the nodes that it names."""

    def __init__(self, application: int, name: str, problem: str, *, help: str | None = None) -> None:
        super().__init__(f"the application {name}: {problem}", help=help)
        self.application, self.problem = application, problem


def place_applications(applications: Sequence[Application], nodes: Nodes) -> list[list[int]]:
    """Give each application its ranks; those that name nodes choose first.

    Parameters
    ----------
    applications : sequence of Application
        Those of the configuration.
    nodes : Nodes
        Where the ranks of the job are.

    Returns
    -------
    list of list of int
        The ranks of each application, in the order of its own numbers.

    Raises
    ------
    PlacementError
        The nodes that an application names don't exist, or have too few ranks left.
    """
    free = set(range(len(nodes.of_ranks)))
    found: dict[int, list[int]] = {}
    for number in sorted(range(len(applications)), key=lambda number: not applications[number].nodes):
        one = applications[number]
        chosen = _chosen_nodes(number, one, nodes.names)
        possible = [rank for rank in sorted(free) if nodes.of_ranks[rank] in chosen]
        order = _ordered(possible, nodes.of_ranks, one.placement)
        if len(order) < one.ranks:
            names = list_text(nodes.names[node] for node in sorted(chosen))
            problem = (
                f"it needs {count_text(one.ranks, 'rank')}, and its nodes {names} have {len(order)} left"
            )
            help = "name more nodes, or start more ranks on them"
            raise PlacementError(number, one.name, problem, help=help)
        found[number] = order[: one.ranks]
        free -= set(found[number])
    return [found[number] for number in range(len(applications))]


def _chosen_nodes(number: int, application: Application, names: Sequence[str]) -> set[int]:
    if not application.nodes:
        return set(range(len(names)))
    chosen = set()
    for node in application.nodes:
        if isinstance(node, str) and node not in names:
            problem = f"there is no node {node}: the nodes of the job are {list_text(names)}"
        elif isinstance(node, int) and node >= len(names):
            problem = f"there is no node {node}: the job has {count_text(len(names), 'node')}"
        else:
            chosen.add(names.index(node) if isinstance(node, str) else node)
            continue
        numbers = f"0 to {len(names) - 1}" if len(names) > 1 else "0"
        help = f"give nodes by name ({list_text(names, 'or')}) or by number ({numbers})"
        raise PlacementError(number, application.name, problem, help=help)
    return chosen


def _ordered(ranks: list[int], nodes: Sequence[int], placement: str) -> list[int]:
    """Order ranks node by node, or over the nodes in turn."""
    if placement == "packed":
        return sorted(ranks, key=lambda rank: (nodes[rank], rank))
    turns = {rank: sum(nodes[other] == nodes[rank] for other in ranks if other < rank) for rank in ranks}
    return sorted(ranks, key=lambda rank: (turns[rank], nodes[rank]))
