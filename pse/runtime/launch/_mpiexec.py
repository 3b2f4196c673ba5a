"""The mpiexec that starts ranks: finding it, its command line, the environment that ranks get.

MPICH's launcher (hydra, as in the ``mpich`` wheel) is the default; another MPI's works with what all have
in common.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pse.errors import RunError, UsageError
from pse.records import dataclass
from pse.runtime.supervise._processes import die_with_parent

if TYPE_CHECKING:
    from pse.program import Placement

_IFF_UP = 1
_RANKS_PER_CORE = 64
RANK = (sys.executable, "-P", "-m", "pse")  # -P: files here hide no module, whatever their names are.
_COUNT = re.compile(r"(?::|slots=)\s*(\d+)\s*$")
_ALLOCATIONS = (
    "SLURM_JOB_ID",
    "PBS_NODEFILE",
    "LSB_HOSTS",
    "LSB_MCPU_HOSTS",
    "PE_HOSTFILE",
    "COBALT_NODEFILE",
)
"""Variables by which a resource manager hands hosts to mpiexec."""

HOSTS_VARIABLE = "PSE_HOSTS"
"""Variable with the machines to run on where the command line names none, in the form of ``--hosts``."""


@dataclass(frozen=True)
class Mpiexec:
    """An mpiexec.

    Attributes
    ----------
    path : str
        Its file.
    hydra : bool
        Whether it is MPICH's, or one that was made of that.
    intel : bool, default False
        Whether it is Intel's, which was made of MPICH's.

    See Also
    --------
    find_mpiexec, host_arguments

    Examples
    --------
    >>> mpiexec = Mpiexec("/usr/bin/mpiexec", hydra=True)
    >>> host_arguments(mpiexec, Hosts("a,b"))
    ['-hosts', 'a,b']
    """

    path: str
    hydra: bool
    intel: bool = False

    def die_with_starter(self) -> None:
        """Have the kernel end it when its starter dies (to be called in the child, before exec).

        Killed, Open MPI's could neither end its ranks nor remove its files.  The kernel sends it the signal
        for each thread of the starter that dies.  At the second it writes that it ends already, and ends at
        once where nobody could read that: so it keeps a reader itself.
        """
        die_with_parent(signal.SIGKILL if self.hydra else signal.SIGTERM)
        if not self.hydra:
            os.dup2(os.open("/proc/self/fd/2", os.O_RDWR | os.O_NONBLOCK), 2)


@dataclass(frozen=True)
class Hosts:
    """Where ranks are to run: a list, a file, or (neither) here or wherever the resource manager says.

    Attributes
    ----------
    names : str or None
        Host names, separated by commas, each with a number of ranks if it is to have one: ``a:3,b:2``.
    file : str or None
        A file with one host on each line.

    Examples
    --------
    >>> Hosts.chosen(None, None, {"PSE_HOSTS": "a,b"})
    Hosts(names='a,b', file=None)
    >>> Hosts().all_local({})
    True
    """

    names: str | None = None
    file: str | None = None

    @classmethod
    def chosen(cls, names: str | None, file: str | None, environment: Mapping[str, str]) -> Hosts:
        """Take what the command line says, else what the environment does."""
        if names is None and file is None:
            names = environment.get(HOSTS_VARIABLE) or None
            _check_names(names, f"{HOSTS_VARIABLE}={names}", f"{HOSTS_VARIABLE}=a,b:2")
        return cls(names, file)

    def all_local(self, environment: Mapping[str, str]) -> bool:
        """Say whether every rank runs on this machine."""
        return not self.names and not self.file and not any(name in environment for name in _ALLOCATIONS)

    def most_ranks(self, ranks: int, environment: Mapping[str, str]) -> int:
        """Say how many of so many ranks the fullest machine gets, as far as that is known.

        Examples
        --------
        >>> Hosts("a,b,c").most_ranks(8, {}), Hosts("a:5,b").most_ranks(8, {}), Hosts().most_ranks(8, {})
        (3, 5, 8)
        """
        check_hosts(self)
        parts = [part.strip() for part in (self.names or "").split(",")]
        if self.file is not None:
            with open(self.file, encoding="utf-8") as file:
                parts = [line.partition("#")[0].strip() for line in file]
        parts = [part for part in parts if part]
        known = [int(found[1]) for part in parts if (found := _COUNT.search(part))]
        machines = len(parts) or int(environment.get("SLURM_JOB_NUM_NODES", 1))
        each = -(-ranks // machines)
        return min(ranks, max([*known, each if len(known) < len(parts) or not parts else 1]))


def find_mpiexec() -> Mpiexec:
    """Find the mpiexec beside this Python, else the one on PATH.

    Returns
    -------
    Mpiexec
        Its path, and whose it is.

    Raises
    ------
    RunError
        If there is none.

    Examples
    --------
    >>> Path(find_mpiexec().path).name.startswith("mpiexec")
    True
    """
    beside = os.path.join(os.path.dirname(sys.executable), "mpiexec")
    path = beside if os.access(beside, os.X_OK) else _on_path()
    if path is None:
        raise RunError(
            "there is no mpiexec beside this Python or on PATH",
            help="install the embedded MPI (pip install 'pse[mpich]'), or load your site's MPI",
        )
    real = os.path.realpath(path)
    directory = os.path.dirname(real)
    proxy = os.path.join(directory, "hydra_pmi_proxy")
    name = os.path.basename(real)  # Debian may have both MPIs' in one directory.
    hydra = name == "mpiexec.hydra" or (os.path.exists(proxy) and name not in ("orterun", "prterun"))
    return Mpiexec(path, hydra, intel=os.path.exists(os.path.join(directory, "hydra_bstrap_proxy")))


def _on_path() -> str | None:
    import shutil  # The embedded MPI's is beside Python.

    return shutil.which("mpiexec") or shutil.which("mpirun")


def command_on_ranks(ranks: int, words: Sequence[str]) -> tuple[str, ...]:
    """Put mpiexec before a command.

    Parameters
    ----------
    ranks : int
        How many processes it is to start.
    words : sequence of str
        The command; options of mpiexec may come first.

    Returns
    -------
    tuple of str
        The command that starts them.

    Raises
    ------
    RunError
        If there is no mpiexec.
    UsageError
        If the program can't be executed, which mpiexec would say for each rank.

    Examples
    --------
    >>> command_on_ranks(2, ["python", "ring.py"])[1:]
    ('-n', '2', 'python', 'ring.py')
    """
    if not words[0].startswith("-"):
        from pse._executable import require_executable  # Few runs name a launcher.

        require_executable(words[0])
    return (find_mpiexec().path, "-n", str(ranks), *words)


def most_local_ranks() -> int:
    """Say how many ranks this machine takes, by its cores."""
    return max(256, _RANKS_PER_CORE * len(os.sched_getaffinity(0)))


def _check_names(names: str | None, given: str, example: str) -> None:
    """Refuse a list of hosts that has a gap, by the way in which it was given."""
    if names is not None and not all(part.strip() for part in names.split(",")):
        message = f"{given}: expected host names separated by commas"
        raise UsageError(message, help=f"for example:  {example}")


def check_hosts(hosts: Hosts) -> None:
    """Make sure that hosts are named in one way, and that their file can be read.

    Raises
    ------
    UsageError
        If not.
    """
    if hosts.names is not None and hosts.file is not None:
        raise UsageError("--hosts and --hostfile exclude each other", help="give only one of the two")
    _check_names(hosts.names, f"--hosts {hosts.names!r}", "--hosts a,b:2")
    if hosts.file is None:
        return
    try:
        with open(hosts.file, encoding="utf-8") as file:
            named = [line for line in file if line.partition("#")[0].strip()]
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text file"
        help = "give the path of a text file with one host on each line"
        raise UsageError(f"hostfile {hosts.file!r}: {reason}", help=help) from None
    if not named:
        raise UsageError(f"hostfile {hosts.file!r} names no host", help="write one host on each line")


def spread_ranks(hosts: Hosts, placement: Placement, processors: int) -> Hosts:
    """Say how many ranks each machine gets where the user leaves that open.

    Whole processors, as evenly as it goes, neighbours together: the threads of a processor share memory.  The
    root is on the first machine.
    """
    names = _named(hosts)
    if not names or any(mark in name for name in names for mark in ": \t"):
        return hosts
    used = names[: max(1, min(len(names), processors))]
    counts = [0] * len(used)
    counts[0] += len(placement.root_threads)
    for processor in range(processors):
        counts[processor * len(used) // processors] += len(placement.parallel_threads)
    return Hosts(",".join(f"{name}:{count}" for name, count in zip(used, counts, strict=True) if count))


def _named(hosts: Hosts) -> list[str]:
    """List the machines of `--hosts` or of the host file, each as it is written."""
    if hosts.file is None:
        return [name.strip() for name in (hosts.names or "").split(",") if name.strip()]
    with open(hosts.file, encoding="utf-8") as file:
        lines = [line.partition("#")[0].strip() for line in file]
    return [line for line in lines if line]


def mpiexec_command(mpiexec: Mpiexec, ranks: int, hosts: Hosts, command: Sequence[str]) -> list[str]:
    """Write the command line that has mpiexec start ranks, each by a command."""
    line = [mpiexec.path]
    if mpiexec.hydra and hosts.all_local(os.environ):
        # The launcher sees every rank and ends the others itself, once it knows who was first to die.
        line.append("-disable-auto-cleanup")
    words = host_arguments(mpiexec, hosts)
    return [*line, *words, "-n", str(ranks), *command]


def host_arguments(mpiexec: Mpiexec, hosts: Hosts) -> list[str]:
    """Write the words by which mpiexec is told where ranks are to run.

    Parameters
    ----------
    mpiexec : Mpiexec
        Whose words.
    hosts : Hosts
        The machines.

    Returns
    -------
    list of str
        None where nothing is said.

    Raises
    ------
    UsageError
        The hosts are named in two ways, or their file can't be read.

    Examples
    --------
    >>> host_arguments(Mpiexec("mpiexec", hydra=True), Hosts("a,b:2"))
    ['-hosts', 'a,b:2']
    """
    check_hosts(hosts)
    line = []
    if hosts.file is not None and not mpiexec.hydra and all(len(host.split()) == 1 for host in _named(hosts)):
        hosts = Hosts(",".join(_named(hosts)))  # In its own files, Open MPI has slots=3 for our :3.
    if hosts.names is not None:
        line += ["-hosts" if mpiexec.hydra else "--host", hosts.names]
    if hosts.file is not None:
        line += ["-f" if mpiexec.hydra else "--hostfile", hosts.file]
    return line


def rank_environment(
    environment: Mapping[str, str], mpiexec: Mpiexec, *, local: bool = False
) -> dict[str, str]:
    """Give the environment for ranks: the user's own, and what keeps MPI tidy where that says nothing.

    Parameters
    ----------
    environment : mapping of str to str
        The user's environment, which wins.
    mpiexec : Mpiexec
        What starts them.
    local : bool, default False
        Whether all of them run on this machine.

    Returns
    -------
    dict of str to str
        The environment with defaults for this MPI.

    Examples
    --------
    >>> rank_environment({"HOME": "/root"}, Mpiexec("mpiexec", hydra=True))
    {'HWLOC_XMLFILE': '/dev/null', 'HOME': '/root'}
    """
    if mpiexec.intel:
        # It crashes without the machine's topology, and binds ranks to cores, which the option `pin` is for.
        defaults = {"I_MPI_PIN": "0"}
    elif mpiexec.hydra:
        # Hydra writes the machine's topology to a file in /tmp that a kill leaves behind; we need none.
        defaults = {"HWLOC_XMLFILE": "/dev/null"}
        if local and not any(name.startswith("UCX_") for name in environment) and _loopback_is_up():
            # UCX opens every network interface, and fails if one goes meanwhile, as those of containers do.
            defaults["UCX_NET_DEVICES"] = "lo"
    else:
        # Waiting ranks sleep, so more ranks than cores are the normal case; two would be bound to cores.
        defaults = {
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_MCA_orte_keep_fqdn_hostnames": "1",  # Else it looks for a.b.org as a.
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
            "PRTE_MCA_hwloc_default_binding_policy": "none",
        }
    return {**defaults, **environment}


def _loopback_is_up() -> bool:
    try:
        with open("/sys/class/net/lo/flags", encoding="ascii") as file:
            return bool(int(file.read(), 16) & _IFF_UP)
    except (OSError, ValueError):
        return False
