"""A Slurm with two nodes on this machine, for tests: munged, slurmctld and two slurmd of their own."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "scancel", "sinfo")
PATIENCE = 30.0

_CONFIGURATION = """
ClusterName=test
FirstJobId={first_job}
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
SlurmdParameters=config_overrides
SlurmctldPort={ports[0]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool-%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
StateSaveLocation={folder}/state
SchedulerType=sched/builtin
SelectType=select/cons_tres
NodeName=n0 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=8
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=8
PartitionName=all Nodes=n0,n1 Default=YES OverSubscribe=FORCE:8 State=UP
"""


def why_not() -> str:
    """Say why Slurm can't be started here; empty if it can."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"needs Slurm and munge: there is no {', '.join(missing)}"
    return "" if os.geteuid() == 0 else "needs root to start Slurm"


@contextlib.contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """Start it in an empty folder that all may enter; gives the environment for its commands."""
    host = socket.gethostname().partition(".")[0]
    configuration = folder / "slurm.conf"
    text = _CONFIGURATION.format(
        folder=folder,
        host=host,
        ports=_free_ports(3),
        first_job=os.getpid(),  # Sockets of PMI-2 in /tmp are named by job: several Slurms run here.
    )
    configuration.write_text(text)
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    for name in ("state", "spool-n0", "spool-n1"):
        (folder / name).mkdir()
    munge = [f"--{name}={folder}/munge.{name}" for name in ("socket", "pid-file", "log-file", "seed-file")]
    environment = {"SLURM_CONF": str(configuration)}
    try:
        for command in (
            ["munged", "--force", f"--key-file={key}", *munge],
            ["slurmctld", "-f", str(configuration)],
            ["slurmd", "-f", str(configuration), "-N", "n0"],
            ["slurmd", "-f", str(configuration), "-N", "n1"],
        ):
            subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
        _await_nodes(environment)
        yield environment
    finally:
        for file in (*folder.glob("slurm*.pid"), folder / "munge.pid-file"):
            with contextlib.suppress(OSError, ValueError):
                os.kill(int(file.read_text()), signal.SIGKILL)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in listeners]


def _await_nodes(environment: dict[str, str]) -> None:
    deadline = time.monotonic() + PATIENCE
    command = ["sinfo", "--noheader", "--Node", "--format=%t"]
    states: list[str] = []
    while states != ["idle", "idle"]:
        assert time.monotonic() < deadline, f"the nodes are {states}"
        done = subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
        )
        states = done.stdout.split()
        time.sleep(0.05)
