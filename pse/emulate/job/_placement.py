"""Which ranks of the job each application has, by the nodes that they are on."""

from __future__ import annotations

from collections.abc import Sequence

from pse.emulate.configuration._configuration import Application
from pse.emulate.configuration._values import ConfigurationError
from pse.text import count_text, list_text


def place_applications(
    applications: Sequence[Application], nodes: Sequence[int], names: Sequence[str]
) -> list[list[int]]:
    """Give each application its ranks; those that name nodes choose first.

    Parameters
    ----------
    applications : sequence of Application
        Those of the configuration.
    nodes : sequence of int
        The node of each rank of the job, numbered in the order of their first ranks.
    names : sequence of str
        The name of each node.

    Returns
    -------
    list of list of int
        The ranks of each application, in the order of its own numbers.

    Raises
    ------
    ConfigurationError
        The nodes that an application names don't exist, or have too few ranks left.
    """
    free = set(range(len(nodes)))
    found: dict[int, list[int]] = {}
    for number in sorted(range(len(applications)), key=lambda number: not applications[number].nodes):
        one = applications[number]
        chosen = _chosen_nodes(one, names)
        order = _ordered([rank for rank in sorted(free) if nodes[rank] in chosen], nodes, one.placement)
        if len(order) < one.ranks:
            raise ConfigurationError(
                f"the application {one.name} needs {count_text(one.ranks, 'rank')}, and its nodes"
                f" {list_text(names[node] for node in sorted(chosen))} have {len(order)} left",
                help="name more nodes, or start more ranks on them",
            )
        found[number] = order[: one.ranks]
        free -= set(found[number])
    return [found[number] for number in range(len(applications))]


def _chosen_nodes(application: Application, names: Sequence[str]) -> set[int]:
    if not application.nodes:
        return set(range(len(names)))
    chosen = set()
    for node in application.nodes:
        if isinstance(node, str) and node not in names:
            problem = f"there is no node {node}: nodes are {list_text(names)}"
        elif isinstance(node, int) and node >= len(names):
            problem = f"there is no node {node}: the job has {count_text(len(names), 'node')}"
        else:
            chosen.add(names.index(node) if isinstance(node, str) else node)
            continue
        raise ConfigurationError(f"the application {application.name}: {problem}")
    return chosen


def _ordered(ranks: list[int], nodes: Sequence[int], placement: str) -> list[int]:
    """Order ranks node by node, or over the nodes in turn."""
    if placement == "packed":
        return sorted(ranks, key=lambda rank: (nodes[rank], rank))
    turns = {rank: sum(nodes[other] == nodes[rank] for other in ranks if other < rank) for rank in ranks}
    return sorted(ranks, key=lambda rank: (turns[rank], nodes[rank]))
