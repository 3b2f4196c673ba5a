"""Programs on an emulated cluster: nodes are apart, links have their rate, pse works across them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pse import _proc, trace
from pse.analysis import analyze
from pse.cluster import Cluster
from pse.cluster._cluster import LAUNCHER
from pse.cluster._network import node_processes
from pse.errors import UsageError
from pse.runtime.supervise._processes import is_dead
from pse.trace import EventType

pytestmark = pytest.mark.mpi

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "runtime" / "programs"
PING = Path(__file__).parent / "ping.py"
SHARE = 0.2
BURN = """
import os, time
began, used = time.monotonic(), sum(os.times()[:4])
child = os.fork()
while time.monotonic() - began < 1.5: pass
if child:
    os.wait()
    print((sum(os.times()[:4]) - used) / (time.monotonic() - began))
"""
"""Two processes that do nothing but compute; says how much of a core they had together."""


def run(cluster, *command, **options):
    """Run a command in the cluster, and give what it printed."""
    return cluster.run(command, capture_output=True, text=True, timeout=100, **options)


def test_ranks_of_two_nodes_are_apart_and_their_link_has_its_rate(cluster):
    done = run(cluster, sys.executable, str(PING), ranks=2)
    assert done.returncode == 0, done.stderr
    seen = sorted(line.split() for line in done.stdout.splitlines())
    assert [words[:3] for words in seen] == [["0", "n0", "1"], ["1", "n1", "1"]]
    # 100 Mbit/s are 12.5 MB/s with headers; a busy machine is slower, but nothing is faster.
    assert 1.0 < float(seen[0][3]) < 13.0


def test_metahosts_have_their_names_and_the_rate_between_them(launching):
    with Cluster(nodes="1,1", rate="1gbit", between="20mbit") as cluster:
        named = run(cluster, "sh", "-c", "echo $(cat /proc/sys/kernel/hostname) $PSE_METAHOST", ranks=2)
        assert sorted(named.stdout.splitlines()) == ["n0 m0", "n1 m1"], named.stderr
        done = run(cluster, sys.executable, str(PING), ranks=2)
        assert done.returncode == 0, done.stderr
        assert 0.3 < float(min(done.stdout.splitlines()).split()[3]) < 2.6  # 20 Mbit/s are 2.5 MB/s.


def test_a_program_runs_on_two_nodes_and_is_correct(cluster):
    command = ["run", "programs/fft2d.coven", "-p", "2", "-D", "N=128", "--report", "json"]
    done = run(cluster, *command, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["figures"]["largest relative error"] < 1e-12
    # Between processors by messages; between the threads of one, which are on one node, by descriptors.
    assert report["remote_bytes"] > 0
    assert report["described_bytes"] > 0


def test_a_trace_has_times_that_can_be_compared_between_nodes(cluster, tmp_path):
    done = run(
        cluster, "run", "programs/fft2d.coven", "-p", "2", "-D", "N=128", "--trace", tmp_path, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    read = trace.open(tmp_path)
    assert read.problems == ()
    compared = {rank: read.select(rank, EventType.CLOCK_SYNC) for rank in read.ranks}
    (asked,) = [rank for rank in read.ranks if len(compared[rank])]
    assert read.files[asked].host == "n1"
    # Both nodes have this machine's clock, so what is found is no more than the error that is admitted.
    assert len(compared[asked]) == 2
    assert (abs(compared[asked]["a"].view("<i8")) <= compared[asked]["b"].view("<i8")).all()
    messages = read.messages()
    assert (messages["received"] > messages["sent"] - int(compared[asked]["b"].max())).all()


def test_a_node_whose_clock_is_off_is_put_right(cluster, tmp_path):
    ahead = ["unshare", "--time", "--fork", "--monotonic", "1000"]
    if subprocess.run([*ahead, "true"], capture_output=True).returncode:
        pytest.skip("no time namespaces here")
    wrapper = "export PSE_METAHOST=$(hostname | tr n m); "
    wrapper += f'if [ "$(hostname)" = n1 ]; then exec {" ".join(ahead)} "$@"; else exec "$@"; fi'
    ranks = ["mpiexec", "-n", "5", "-ppn", "3", "sh", "-c", wrapper, "sh", sys.executable, "-m", "pse"]
    program = ["programs/fft2d.coven", "-p", "2", "-D", "N=128", "--trace", str(tmp_path)]
    done = run(cluster, *ranks, *program, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    read = trace.open(tmp_path)
    assert read.problems == ()
    asked = next(rank for rank in read.ranks if read.files[rank].host == "m1/n1")
    compared = read.select(asked, EventType.CLOCK_SYNC)
    off = compared["a"].view("<i8") + 1_000_000_000_000
    assert len(off) == 2  # As the run begins and as it ends.
    assert (abs(off) <= compared["b"].view("<i8")).all()
    assert read.span < 100e9
    messages = read.messages()
    assert (messages["received"] > messages["sent"] - int(compared["b"].max())).all()
    cube = analyze(read)
    assert all("came before what" not in problem or "none is left" in problem for problem in cube.problems)
    assert 0 < cube.total("queue_empty_grid") <= cube.total("queue_empty")


def test_hosts_may_be_named_by_name_or_by_address(cluster):
    code = "import socket; print(socket.gethostname())"
    command = ["mpiexec", "-hosts", cluster.addresses[1], "-n", "1", sys.executable, "-c", code]
    done = run(cluster, *command)
    assert (done.returncode, done.stdout) == (0, "n1\n"), done.stderr


def test_a_node_that_is_not_there_is_named(nodes):
    done = subprocess.run(
        [LAUNCHER, "-x", "n7", "true"], env=nodes.environment(), capture_output=True, text=True
    )
    there = " ".join(sorted([*nodes.hosts, *nodes.addresses]))
    assert (done.returncode, done.stderr) == (2, f"error: the cluster has no node n7; it has: {there} \n")


def test_all_processes_of_a_node_share_its_part_of_a_core(launching):
    try:
        cluster = Cluster(nodes=1, cpu=SHARE).up()
    except UsageError as error:
        pytest.skip(error.message)
    try:
        done = run(cluster, sys.executable, "-S", "-c", BURN, ranks=1)
    finally:
        cluster.down()
    assert done.returncode == 0, done.stderr
    # A busy machine may give less, but none gives more.
    assert 0.0 < float(done.stdout) < 1.25 * SHARE


def test_down_ends_what_runs_and_leaves_nothing(launching, left):
    cluster = Cluster(nodes=1).up()
    mark = cluster.mark
    command = cluster.command(["sh", "-c", "echo on its way; exec sleep 1000"], ranks=1)
    environment = {**os.environ, **cluster.environment()}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"on its way\n"
        # mpiexec's helper and the command itself.
        assert cluster.processes() == {"n0": 2}
        cluster.down()
        assert process.wait(20) != 0
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert left(mark) == []


@pytest.fixture
def at_work(cluster):
    """A run on two nodes that goes on until it is stopped, well on its way."""
    options = ("-D", "rounds=1000000", "-D", "milliseconds=1", "-D", "python=8")
    process = subprocess.Popen(
        cluster.command(["run", "faulty.coven", "-p", "2", *options]),
        cwd=PROGRAMS,
        env={**os.environ, **cluster.environment()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        words = process.stdout.readline()
        assert words == "well on the way\n", words + process.communicate()[1]
        yield process
    finally:
        process.kill()
        process.communicate()


def processes_of(cluster, node, *, monitors=False):
    """Give the ranks of a node, or its monitor by the rank that has started it."""
    found = {}
    for pid, host in node_processes(cluster.mark).items():
        monitor = b"_node_monitor" in Path(f"/proc/{pid}/cmdline").read_bytes()
        if host == node and monitor == monitors:
            found[_proc.rank_of(_proc.environment(pid))] = pid
    return found


def wait_until_empty(cluster):
    """Wait for what may take a moment longer than the run: node monitors and mpiexec's helpers."""
    deadline = time.monotonic() + 10
    while cluster.processes():
        assert time.monotonic() < deadline, cluster.processes()
        time.sleep(0.05)


@pytest.mark.parametrize("late", [False, True])
def test_a_rank_killed_on_another_node_is_named_with_its_node(cluster, at_work, late):
    """Also where the other node's ranks are dead before the killed one's monitor says a word."""
    ours = processes_of(cluster, "n0")
    ranks, monitor = processes_of(cluster, "n1"), processes_of(cluster, "n1", monitors=True)
    first = os.pidfd_open(ours[0])
    if late:
        os.kill(monitor[3], signal.SIGSTOP)
    os.kill(ranks[3], signal.SIGKILL)
    if late:
        assert is_dead(first, 10.0)
        os.kill(monitor[3], signal.SIGCONT)
    os.close(first)
    err = at_work.communicate(timeout=30)[1]
    assert at_work.returncode == 3
    killed = (
        f"error: rank 3 (thread_B of processor 1, host n1, pid {ranks[3]}) was killed by signal 9 (SIGKILL)\n"
    )
    assert killed in err, err
    assert err.count("error: ") == 1, err
    wait_until_empty(cluster)


def test_ctrl_c_ends_a_run_on_two_nodes(cluster, at_work):
    at_work.send_signal(signal.SIGINT)
    err = at_work.communicate(timeout=30)[1]
    assert at_work.returncode == 130
    assert re.search(r"^stopped by SIGINT\n(  meanwhile, on \d ranks?: .*\n)*\Z", err, re.MULTILINE), err
    wait_until_empty(cluster)
