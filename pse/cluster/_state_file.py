"""What is remembered of a cluster between commands, under /run, which a reboot empties as it ends clusters.

    /run/pse-cluster/lock         held while a cluster is made or removed
    /run/pse-cluster/NAME/        one cluster
        cluster.json              this module's `ClusterState`
        hosts                     what /etc/hosts is inside
        machines                  the nodes, for mpiexec
        nodes/n0, nodes/10.…      what launch.sh needs to know of a node

The record is written before anything is made, so whatever carries a mark that no record has is left over.
A record with an owner that is gone is left over too.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

from pse import _locks, _proc
from pse.cluster import _network as network
from pse.cluster._cpu_quota import Share
from pse.cluster._plan import Plan
from pse.files import replace_file

TOP = "/run/pse-cluster"


@dataclass(frozen=True)
class Owner:
    """A process that a cluster doesn't outlive; its start time tells it from a later one of its number."""

    pid: int
    started: int

    @classmethod
    def here(cls) -> Owner:
        """Give this process."""
        own = _proc.status(os.getpid())
        return cls(os.getpid(), own.started if own else 0)

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        found = _proc.status(self.pid)
        return found is not None and found.started == self.started


@dataclass(frozen=True)
class ClusterState:
    """One cluster.

    Attributes
    ----------
    plan : Plan
        What was asked for.
    mark : str
        How the names of all that belongs to it begin.
    subnet : int
        The third byte of its addresses.
    owner : Owner or None
        Who must live as long as it; None once a command has left it to itself.
    notes : str
        How the CPU was shared out.
    """

    plan: Plan
    mark: str
    subnet: int
    owner: Owner | None
    notes: str = ""

    @property
    def directory(self) -> str:
        """Where it is kept."""
        return os.path.join(TOP, self.plan.name)

    @property
    def alive(self) -> bool:
        """Whether somebody still wants it."""
        return self.owner is None or self.owner.alive

    def write(self) -> None:
        """Write it, completely or not at all."""
        os.makedirs(self.directory, exist_ok=True)
        described = json.dumps(asdict(self) | {"plan": self.plan.to_json()})
        replace_file(os.path.join(self.directory, "cluster.json"), described.encode())

    def write_nodes(self, shares: Sequence[Share]) -> None:
        """Write what mpiexec and its launcher read."""
        nodes = os.path.join(self.directory, "nodes")
        os.makedirs(nodes)
        names = _known_hosts()
        for index, (host, share) in enumerate(zip(self.plan.hosts, shares, strict=True)):
            address = network.address(self.subnet, index)
            names.append(f"{address} {host}\n")
            _write(os.path.join(nodes, host), self._node(index, share))
            os.symlink(host, os.path.join(nodes, address))
        _write(os.path.join(self.directory, "hosts"), "".join(names))
        _write(os.path.join(self.directory, "machines"), "".join(f"{host}\n" for host in self.plan.hosts))

    def _node(self, index: int, share: Share) -> str:
        host = self.plan.hosts[index]
        values = {
            "name": host,
            "namespace": os.path.join(network.NAMESPACES, network.namespace(self.mark, host)),
            "group": share.group,
            "core": "" if share.core is None else str(share.core),
            "metahost": self.plan.metahost_names[index],
        }
        return "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())

    def forget(self) -> None:
        """Remove it."""
        shutil.rmtree(self.directory, ignore_errors=True)


def _known_hosts() -> list[str]:
    """Read the machine's own list of hosts, line by line."""
    with contextlib.suppress(OSError), open("/etc/hosts", encoding="utf-8", errors="replace") as file:
        return [f"{line}\n" for line in file.read().splitlines()]
    return []


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read_state(name: str) -> ClusterState | None:
    """Read the record of a cluster; None if there is none, or it is not to be read."""
    try:
        with open(os.path.join(TOP, name, "cluster.json"), encoding="utf-8") as file:
            data: dict[str, Any] = json.load(file)
        owner = Owner(**data.pop("owner")) if data["owner"] else data.pop("owner")
        return ClusterState(plan=Plan.from_json(data.pop("plan")), owner=owner, **data)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_all() -> list[ClusterState]:
    """Read every record, in the order of their names."""
    with contextlib.suppress(FileNotFoundError):
        return [record for name in sorted(os.listdir(TOP)) if (record := read_state(name))]
    return []


def forget_broken() -> None:
    """Remove directories whose record was never written in full."""
    for entry in os.scandir(TOP):
        if entry.is_dir() and read_state(entry.name) is None:
            shutil.rmtree(entry.path, ignore_errors=True)


def locked() -> AbstractContextManager[None]:
    """Keep all others from making and removing clusters; a kill ends it as well."""
    os.makedirs(TOP, exist_ok=True)
    return _locks.held(os.path.join(TOP, "lock"), 0o600)
