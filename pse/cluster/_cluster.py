"""A cluster as its users have it: made, used, removed; and what is left over of those that were killed.

`Cluster` is for programs: what it makes doesn't outlive the process.  The command line makes a cluster and
leaves it to itself (`abandon`); `find_cluster` gives it back.  Nothing here stays running: a cluster is
namespaces, links, control groups and a record, no process.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from pse.cluster import _cpu_quota as cpu_quota, _network as network, _prerequisites as prerequisites
from pse.cluster._plan import check_name, make_plan
from pse.cluster._state_file import ClusterState, Owner, forget_broken, locked, read_all, read_state
from pse.errors import RunError, UsageError
from pse.runtime.launch import HOSTS_VARIABLE, find_mpiexec
from pse.runtime.supervise import Backoff

LAUNCHER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launch.sh")

_PATIENCE = 5.0
_ENTER = 'mount --bind "$0" /etc/hosts && exec "$@"'


class Cluster:
    """An emulated cluster on this machine.

    Parameters
    ----------
    name : str, optional
        What to call it; made up if it isn't given.
    nodes : int or str
        How many nodes; they are called n0, n1, … ``"4,2"`` makes two metahosts, of four and two nodes.
    rate : str, optional
        Bits a second of every node's link, in each direction: ``"100mbit"``; one for each metahost:
        ``"1gbit,100mbit"``.
    latency : str, optional
        What a node's link adds to what it sends, where the kernel has netem: ``"1ms"``.
    cpu : float or str, optional
        The share of one core that all processes of a node have together, ``"0.2,0.4"`` for each metahost;
        "pin" for a core each.
    between : str, optional
        Bits a second between a metahost and the others, for all its nodes together.

    Attributes
    ----------
    hosts : tuple of str
        The nodes' names.

    Raises
    ------
    UsageError
        If there can be no such cluster, or none on this machine (`unmet_prerequisite` asks beforehand).

    Examples
    --------
    >>> with Cluster(nodes=2, rate="100mbit", cpu=0.5) as cluster:  # doctest: +SKIP
    ...     cluster.run(["pse", "run", "programs/fft2d.coven", "-p", "2"], check=True)
    ...     done = cluster.run(["python", "ping.py"], ranks=2, capture_output=True, text=True)
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        nodes: int | str = 4,
        rate: str | None = None,
        latency: str | None = None,
        cpu: float | str | None = None,
        between: str | None = None,
    ) -> None:
        self.plan = make_plan(name or f"c{secrets.token_hex(4)}", nodes, rate, latency, cpu, between)
        self._record: ClusterState | None = None

    # Its life

    def up(self) -> Cluster:
        """Make it; it ends with this process at the latest, unless it is abandoned.

        Raises
        ------
        UsageError
            There is one of this name already, or this machine can't have clusters.
        """
        prerequisites.check_prerequisites()
        with locked():
            _remove_dead()
            if read_state(self.plan.name) is not None:
                raise UsageError(
                    f"a cluster named {self.plan.name} exists already",
                    help=f"end it (pse cluster down {self.plan.name}), or give this one another name",
                )
            record = ClusterState(
                self.plan, f"pse-{secrets.token_hex(3)}", network.free_subnet(), Owner.here()
            )
            record.write()
            try:
                network.build_network(record.mark, self.plan, record.subnet)
                shares, notes = cpu_quota.share_out(record.mark, self.plan)
                record.write_nodes(shares)
                self._record = replace(record, notes=notes)
                self._record.write()
            except BaseException:
                self._record = None
                _remove(record)
                raise
        return self

    def abandon(self) -> None:
        """Leave it to itself: from now on only `down` ends it."""
        self._record = replace(self._up, owner=None)
        self._record.write()

    def down(self) -> None:
        """End what runs in it, and remove it."""
        prerequisites.check_prerequisites()
        with locked():
            record, self._record = self._record, None
            if record is not None:
                _remove(record)
            _remove_dead()

    def __enter__(self) -> Cluster:
        return self.up()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    # Its use

    @property
    def name(self) -> str:
        """What it is called."""
        return self.plan.name

    @property
    def hosts(self) -> tuple[str, ...]:
        """The nodes' names."""
        return self.plan.hosts

    @property
    def addresses(self) -> tuple[str, ...]:
        """The nodes' addresses."""
        return tuple(network.address(self._up.subnet, index) for index in range(self.plan.nodes))

    @property
    def mark(self) -> str:
        """How the names of all that belongs to it begin."""
        return self._up.mark

    @property
    def notes(self) -> str:
        """How the CPU was shared out, in words."""
        return self._up.notes

    def processes(self) -> Counter[str]:
        """Count the processes that run on every node now."""
        return Counter(network.node_processes(self._up.mark).values())

    def environment(self) -> dict[str, str]:
        """Give the variables by which mpiexec, and `pse run`, start ranks on the nodes."""
        record = self._up
        beside = os.path.dirname(sys.executable)
        return {
            "PATH": f"{beside}:{os.environ.get('PATH', os.defpath)}",
            "PSE_CLUSTER": record.directory,
            HOSTS_VARIABLE: ",".join(self.hosts),
            "HYDRA_HOST_FILE": os.path.join(record.directory, "machines"),
            "HYDRA_LAUNCHER": "ssh",
            "HYDRA_LAUNCHER_EXEC": _launcher(),
            "HYDRA_IFACE": record.mark,
            # Without these MPICH finds a way from node to node through the memory that they do share.
            "MPIR_CVAR_CH4_NETMOD": "ofi",
            "FI_PROVIDER": "tcp",
            "FI_TCP_IFACE": network.INTERFACE,
            # The same for Debian's, which has UCX alone.
            "UCX_TLS": "tcp,self",
            "UCX_NET_DEVICES": network.INTERFACE,
        }

    def command(self, command: Sequence[str], *, ranks: int | None = None) -> list[str]:
        """Give the command that runs another one inside the cluster, in `environment`.

        Parameters
        ----------
        command : sequence of str
            ``pse run …`` (``run …`` for short), ``mpiexec …``, or whatever starts one of these.
        ranks : int, optional
            Have mpiexec start so many of it, one after the other on each node.

        Raises
        ------
        RunError
            If the mpiexec to be found isn't MPICH's: others have no such launcher.
        """
        mpiexec = node_launcher()
        inside = list(command)
        if inside and inside[0] == "run":
            inside[:1] = [sys.executable, "-P", "-m", "pse", "run"]
        if ranks is not None:
            inside = [mpiexec, "-n", str(ranks), *inside]
        unshare = prerequisites.find_program("unshare") or "unshare"
        return [
            unshare,
            "--mount",
            "--",
            "sh",
            "-c",
            _ENTER,
            os.path.join(self._up.directory, "hosts"),
            *inside,
        ]

    def run(
        self, command: Sequence[str], *, ranks: int | None = None, **options: Any
    ) -> subprocess.CompletedProcess[Any]:
        """Run a command inside the cluster.

        The command itself runs on the machine; what its mpiexec starts runs on the nodes.

        Parameters
        ----------
        command : sequence of str
            The command and its arguments.
        ranks : int, optional
            As for `command`, which says what may go wrong, too.
        **options
            Those of `subprocess.run`.
        """
        environment: Mapping[str, str] = options.pop("env", os.environ)
        return subprocess.run(
            self.command(command, ranks=ranks), env={**environment, **self.environment()}, **options
        )

    def replace_process(self, command: Sequence[str], *, ranks: int | None = None) -> None:
        """Become a command inside the cluster; doesn't return."""
        line = self.command(command, ranks=ranks)
        sys.stdout.flush()
        os.execve(line[0], line, {**os.environ, **self.environment()})

    @property
    def _up(self) -> ClusterState:
        if self._record is None:
            raise UsageError(f"the cluster {self.plan.name} isn't up", help="make it first: up(), or `with`")
        return self._record


def find_cluster(name: str | None = None) -> Cluster:
    """Give a cluster that is up: the one of a name, or the only one.

    Parameters
    ----------
    name : str, optional
        What it is called.

    Returns
    -------
    Cluster
        The cluster, which this process doesn't own: it stays when the process ends.

    Raises
    ------
    UsageError
        If there is none, or several and no name.

    Examples
    --------
    >>> find_cluster("nowhere")
    Traceback (most recent call last):
        ...
    UsageError: there is no cluster named nowhere
    """
    prerequisites.check_prerequisites()
    if name is not None:
        check_name(name)
    there = [cluster for cluster in existing_clusters() if name in (None, cluster.name)]
    if len(there) == 1:
        return there[0]
    if there:
        names = ", ".join(cluster.name for cluster in there)
        raise UsageError(f"there are several clusters: {names}", help="name one of them")
    raise UsageError(
        f"there is no cluster named {name}" if name else "there is no cluster",
        help=f"see which there are: pse cluster list; make it: pse cluster up{f' {name}' if name else ''}",
    )


def existing_clusters() -> list[Cluster]:
    """Give every cluster that is up.

    Returns
    -------
    list of Cluster
        In the order of their names.

    Examples
    --------
    >>> [cluster.name for cluster in existing_clusters()]  # doctest: +SKIP
    ['c1', 'grid']
    """
    found = []
    for record in read_all():
        if record.alive and os.path.exists(os.path.join(record.directory, "machines")):
            cluster = Cluster.__new__(Cluster)
            cluster.plan, cluster._record = record.plan, record
            found.append(cluster)
    return found


def node_launcher() -> str:
    """Find the mpiexec that starts ranks on the nodes of a cluster.

    Returns
    -------
    str
        Its path.

    Raises
    ------
    RunError
        If there is none, or the one to be found isn't MPICH's: others can't be told how to reach a node.

    Examples
    --------
    >>> node_launcher()  # doctest: +SKIP
    '/opt/mpich/bin/mpiexec'
    """
    mpiexec = find_mpiexec()
    if not mpiexec.hydra or mpiexec.intel:
        raise RunError(
            f"{mpiexec.path} is not MPICH's mpiexec, which alone can start ranks in an emulated cluster",
            help="install the embedded MPI: pip install 'pse[mpich]'",
        )
    return mpiexec.path


def remove_dead_clusters() -> list[str]:
    """Remove what is left of clusters whose maker was killed.

    Returns
    -------
    list of str
        How the names of all that belonged to each of them began.

    Examples
    --------
    >>> remove_dead_clusters()  # doctest: +SKIP
    []
    """
    prerequisites.check_prerequisites()
    with locked():
        return _remove_dead()


def _remove_dead() -> list[str]:
    forget_broken()
    dead = [record for record in read_all() if not record.alive]
    for record in dead:
        _remove(record)
    lost = network.existing_marks() | cpu_quota.existing_marks()
    lost -= {record.mark for record in read_all()}
    for mark in lost:
        _remove_marked(mark)
    return sorted({*lost, *(record.mark for record in dead)})


def _remove(record: ClusterState) -> None:
    _remove_marked(record.mark)
    record.forget()


def _remove_marked(mark: str) -> None:
    _kill(mark)
    cpu_quota.remove_groups(mark)
    network.remove_network(mark)


def _kill(mark: str) -> None:
    """Kill what runs on the nodes, and wait until it is gone; mpiexec, outside of them, then ends too."""

    def none_lives() -> bool:
        pids = network.node_processes(mark)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not pids

    Backoff(shortest=2e-3).sleep_until(none_lives, _PATIENCE)


def _launcher() -> str:
    """Give the path of the launcher; an installation may have lost its permission to run."""
    if not os.access(LAUNCHER, os.X_OK):
        try:
            os.chmod(LAUNCHER, 0o755)
        except OSError as error:
            raise RunError(
                f"mpiexec can't run {LAUNCHER}: {error.strerror}",
                help=f"make it executable: chmod +x {LAUNCHER}",
            ) from None
    return LAUNCHER
