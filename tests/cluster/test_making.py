"""Making and removing emulated clusters: refusals, names, and what a kill leaves."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pse.cli import main
from pse.cluster import (
    Cluster,
    _cpu_quota as cpu_quota,
    existing_clusters,
    find_cluster,
    remove_dead_clusters,
)
from pse.cluster._plan import Plan, make_plan, rate_text
from pse.errors import RunError, UsageError

AS_NOBODY = """
import os
import pse.cli.cluster, pse.runtime.supervise._error_format  # Somebody else may have no right to read them.
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
pse.cli.main(["cluster", "up"])
"""
KILLED_IN_USE = """
import os
from pse.cluster import Cluster
cluster = Cluster("killed", nodes=2, rate="1gbit", cpu=1.0).up()
print(cluster.mark, flush=True)
os.kill(os.getpid(), 9)
"""
KILLED_AS_IT_IS_MADE = """
import os
from pse.cluster import Cluster, _network as network, _state_file as state_file
run_program, calls = network.run_program, []
def kill(*arguments, **options):
    calls.append(arguments)
    if len(calls) == 6:
        print(state_file.read_state("killed").mark, flush=True)
        os.kill(os.getpid(), 9)
    return run_program(*arguments, **options)
network.run_program = kill
Cluster("killed", nodes=2).up()
"""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["up", "Demo"], "'Demo' can't be the name of a cluster: expected a lower-case letter"),
        (["up", "a" * 21], "can't be the name of a cluster"),
        (["up", "../a"], "can't be the name of a cluster"),
        (["up", "--nodes", "0"], "0 nodes: expected 1 to 100"),
        (["up", "--nodes", "101"], "101 nodes: expected 1 to 100"),
        (["up", "--nodes", "two"], "nodes two: expected a number of nodes, or one for each metahost"),
        (["up", "--nodes", "2,0"], "2,0 nodes: expected 1 to 100"),
        (["up", "--nodes", "2,2,1", "--rate", "1gbit,1mbit"], "rate 1gbit,1mbit: 2 values for 3 metahosts"),
        (["up", "--nodes", "2,2", "--cpu", "pin,0.5"], "cpu pin,0.5: pin is for all metahosts or for none"),
        (["up", "--between", "1mbit"], "rate 1mbit between metahosts: there is only one"),
        (["up", "--rate", "fast"], "rate fast: expected bits a second from 100kbit to 100gbit"),
        (["up", "--rate", "1kbit"], "rate 1kbit: expected bits a second from"),
        (["up", "--latency", "3"], "latency 3: expected a time from 1us to 10s"),
        (["up", "--cpu", "0"], "cpu 0: expected a share of one core from 0.01, or pin"),
        (["up", "--cpu", "nan"], "cpu nan: expected a share of one core"),
        (["up", "--cpu", "all"], "cpu all: expected a share of one core"),
        (["run", "a"], "no command to run is given"),
        (["run", "a", "--"], "no command to run is given"),
        (["run", "-n", "0", "--", "true"], "0 is not in the range"),
    ],
)
def test_what_cannot_be_is_refused_by_name(arguments, words):
    result = CliRunner().invoke(main, ["cluster", *arguments])
    assert result.exit_code == 2
    assert words in result.stderr


def test_control_groups_of_version_2_get_a_quota_and_a_weight(tmp_path, monkeypatch):
    make = os.mkdir

    def make_group(path):
        make(path)
        (Path(path) / "cgroup.subtree_control").write_text("")

    (tmp_path / "cgroup.subtree_control").write_text("memory")
    monkeypatch.setattr(cpu_quota.os, "mkdir", make_group)
    monkeypatch.setattr(cpu_quota, "_hierarchies", lambda: iter([(2, str(tmp_path))]))
    monkeypatch.setattr(cpu_quota.os, "sched_getaffinity", lambda pid: {4, 6})
    shares, words = cpu_quota.share_out("pse-0a0a0a", make_plan("a", 3, cpu=0.05))
    group = tmp_path / "pse-0a0a0a"
    assert [(share.group, share.core) for share in shares] == [
        (f"{group}/n0", 4),
        (f"{group}/n1", 6),
        (f"{group}/n2", 4),
    ]
    assert words == "0.05 of a core by cgroup v2, every 20 ms, pinned to cores 4, 6 in turn"
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu"
    assert (group / "cgroup.subtree_control").read_text() == "+cpu"
    assert (group / "n2" / "cpu.max").read_text() == "1000 20000"
    assert (group / "cpu.weight").read_text() == "3000"


def test_without_control_groups_a_core_each_can_be_had_and_a_part_is_refused(monkeypatch):
    monkeypatch.setattr(cpu_quota, "_hierarchies", lambda: iter(()))
    monkeypatch.setattr(cpu_quota.os, "sched_getaffinity", lambda pid: {0, 1})
    shares, words = cpu_quota.share_out("pse-0a0a0a", make_plan("a", 2, cpu=1.0))
    assert [(share.group, share.core) for share in shares] == [("", 0), ("", 1)]
    assert words.startswith("pinned, each node to a core (there is no control group")
    with pytest.raises(
        UsageError, match=r"cpu 0\.5: this machine can't limit a share: there is no"
    ) as caught:
        cpu_quota.share_out("pse-0a0a0a", make_plan("a", 2, cpu=0.5))
    assert caught.value.help == "cpu pin gives every node a core"


@pytest.mark.parametrize("proxies", [["hydra_pmi_proxy", "hydra_bstrap_proxy"], []])
def test_launchers_of_intels_mpi_and_open_mpi_are_refused(tmp_path, monkeypatch, proxies):
    for name in ("mpiexec", *proxies):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(RunError, match="mpiexec is not MPICH's mpiexec, which alone can start ranks"):
        Cluster(nodes=1).command(["run", "a.coven"])


def test_a_plan_says_what_it_is():
    made = make_plan("a", 3, "12.5Mbit", "50us", "0.125")
    assert (made.rates, made.latency, made.cpus) == ([12_500_000] * 3, 50, [0.125] * 3)
    assert made.hosts == ("n0", "n1", "n2")
    assert made.description == "3 nodes, links of 12.5 Mbit/s, 50 µs of latency, 0.125 of a core each"
    assert [rate_text(rate) for rate in (None, 10**9, 250_000)] == [
        "unlimited rate",
        "1 Gbit/s",
        "250 kbit/s",
    ]


def test_a_plan_of_metahosts_has_a_rate_and_a_share_for_each():
    made = make_plan("a", "2,1", "1gbit,100mbit", cpu="0.2,0.4", between="10mbit")
    assert made.rates == [10**9, 10**9, 10**8]
    assert made.cpus == [0.2, 0.2, 0.4]
    assert made.metahost_names == ["m0", "m0", "m1"]
    assert made.description == (
        "m0: 2 nodes, links of 1 Gbit/s, 0.2 of a core each; "
        "m1: 1 node, links of 100 Mbit/s, 0.4 of a core each; 10 Mbit/s between them"
    )
    assert Plan.from_json(json.loads(json.dumps(made.to_json()))) == made
    one = make_plan("a", 2, cpu="pin")
    assert one.to_json() == {"name": "a", "nodes": 2, "rate": None, "latency": None, "cpu": "pin"}
    assert Plan.from_json(one.to_json()) == one


@pytest.mark.parametrize("command", [["up"], ["run", "--", "true"], ["list"], ["status"], ["down"]])
def test_an_ordinary_user_is_told_that_it_needs_root(command, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    result = CliRunner().invoke(main, ["cluster", *command])
    assert result.exit_code == 2
    assert result.stderr.startswith("error: an emulated cluster needs root")
    assert "\nhelp: run it as root (sudo)" in result.stderr


def test_somebody_who_was_root_is_refused_without_a_traceback():
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    done = subprocess.run([sys.executable, "-c", AS_NOBODY], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("error: an emulated cluster needs root")
    assert "Traceback" not in done.stderr


def test_a_missing_program_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("pse.cluster._prerequisites._PLACES", "/nowhere")
    with pytest.raises(UsageError, match="needs ip, tc, nsenter, unshare, taskset, mount") as caught:
        Cluster().up()
    assert caught.value.help == "install what is missing: apt-get install iproute2 mount util-linux"


def command(*words):
    """Give a command of `pse cluster` to the command line: its exit code, what it printed, its complaints."""
    result = CliRunner().invoke(main, ["cluster", *words])
    return result.exit_code, result.stdout, result.stderr


def test_a_cluster_from_the_command_line_stays_until_it_is_removed(launching, pse, left):
    name = "made_by_test"
    code, _, complaints = command("up", name, "--nodes", "1", "--cpu", "pin")
    assert code == 0, complaints
    mark = find_cluster(name).mark
    try:
        assert left(mark)
        code, _, complaints = command("up", name)
        assert code == 2
        assert f"a cluster named {name} exists already\nhelp: end it (pse cluster down {name})" in complaints
        assert f"{name}: 1 node, links of unlimited rate, a core each\n" in command("list")[1]
        assert re.search(r"n0 +10\.213\.\d+\.1 +unlimited rate +0", command("status", name)[1])
        words = ["sh", "-c", "cat /proc/sys/kernel/hostname; exit 7"]
        ran = pse("cluster", "run", name, "-n", "1", "--", *words)
        assert (ran.code, ran.out.splitlines()[0]) == (7, "n0")
    finally:
        removed = command("down", name)
    assert removed[:2] == (0, f"{name}: removed\n")
    assert left(mark) == []
    help = f"help: see which there are: pse cluster list; make it: pse cluster up {name}\n"
    nothing = f"error: there is no cluster named {name}\n{help}"
    assert command("down", name) == (2, "", nothing)


@pytest.mark.parametrize("code", [KILLED_IN_USE, KILLED_AS_IT_IS_MADE])
def test_what_a_kill_leaves_is_removed_by_the_next_command(allowed, left, code):
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    mark = killed.stdout.strip()
    assert left(mark)
    assert "killed" not in [cluster.name for cluster in existing_clusters()]
    assert mark in remove_dead_clusters()
    assert left(mark) == []
    assert mark not in remove_dead_clusters()


def test_a_latency_is_had_or_refused_and_leaves_nothing(allowed, left, monkeypatch):
    monkeypatch.setattr("pse.cluster._cluster.secrets.token_hex", lambda size: "0a" * size)
    try:
        Cluster(nodes=1, rate="1gbit", latency="1ms").up().down()
        refusal = None
    except UsageError as error:
        refusal = error
    if refusal is not None:
        assert refusal.message.startswith("this kernel has no netem, which a latency needs")
        assert refusal.help == "leave the latency out, or load it where the kernel has it: modprobe sch_netem"
    assert left("pse-0a0a0a") == []
