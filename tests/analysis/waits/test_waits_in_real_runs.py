"""Messages among partitions in traces of real programs, on one processor and on three."""

from pathlib import Path

import numpy as np
import pytest

from pse import trace
from pse.analysis import BlockKind, critical_path, rank_activity, wait_causes, wait_chain
from pse.trace import NONE, MessageFlag, WaitReason

pytestmark = pytest.mark.mpi
PROGRAMS = Path(__file__).parents[3] / "programs"
SMALL = {
    "matmul": ["M=96", "N=96", "K=64", "width=16"],
    "nbody": ["bodies=256", "steps=3"],
    "heat": ["NX=24", "NY=24", "tol=1e-3"],
}
LATE = """
import os
import threading
import time
from pathlib import Path

from pse import partition


def is_asleep(came):
    try:
        stat = Path(came.read_text(), "stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(") ")[2].startswith("S")


def come_late(label):
    # Partition 0 comes when all others have been asleep for 60 ms.
    if partition.index:
        new = Path(f"new{partition.index}")
        new.write_text(f"/proc/{os.getpid()}/task/{threading.get_native_id()}")
        new.rename(f"{label}{partition.index}")
        return
    others = [Path(f"{label}{index}") for index in range(1, partition.count)]
    since = time.perf_counter()
    while others and time.perf_counter() < since + 0.06:
        if not all(is_asleep(came) for came in others):
            since = time.perf_counter()


#@ coven module numbers(in i64 n, out f64 x[n])
def numbers(n, x):
    x[:] = range(n)


#@ coven module ring(in f64 x[n], out f64 y[n])
def ring(x, y):
    me, all = partition.index, partition.count
    come_late("ring")
    sent = partition.send((me + 1) % all, x, tag=3)
    yield [sent, partition.receive((me - 1) % all, into=y, tag=3)]


#@ coven module agree(in f64 y[n], out f64 most)
def agree(y):
    come_late("agree")
    return (yield partition.allreduce(y[0], 'max'))
"""
PROGRAM = """coven 1
import "late.py" { numbers, ring, agree }
partition P = procs
program late {
  thread_A numbers(24576 * procs) -> x
  thread_A scatter(x) -> xs @ block(0)
  PARALLEL over P {
    thread_B ring(xs) -> ys
    thread_B agree(ys) -> most reduce greatest(max)
  }
  thread_A gather(ys) -> y @ root
  thread_A print(greatest)
}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


def recorded(pse, home, program, ranks, *options):
    directory = home / f"{program.stem}{ranks}"
    done = pse("run", program, "-p", str(ranks), "--trace", directory, *options, cwd=home)
    assert done.code == 0, done.err
    return trace.open(directory)


def unexplained(opened):
    """What share of all waiting nobody in the trace ended."""
    did = rank_activity(opened)
    ended = wait_causes(did)[did.blocks["last"]]
    is_wait = did.blocks["kind"] == BlockKind.WAIT
    times = did.blocks["end"] - did.blocks["begin"]
    return times[is_wait & (ended["rank"] == NONE)].sum() / max(times[is_wait].sum(), 1)


def check_whole(messages):
    """Every message has both ends, and what its sender kept was given back."""
    assert (messages["received"] >= messages["sent"]).all()
    assert (messages["sent"] >= 0).all()
    kept = messages["flags"] & MessageFlag.RENDEZVOUS != 0
    assert (messages["done"][kept] >= messages["taken"][kept]).all()
    assert (messages["taken"][kept] >= messages["received"][kept]).all()


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("name", SMALL)
def test_waits_of_programs_are_explained(pse, home, name, ranks):
    options = [word for value in SMALL[name] for word in ("-D", value)]
    opened = recorded(pse, home, PROGRAMS / f"{name}.coven", ranks, *options)
    messages = opened.partition_messages()
    check_whole(messages)
    assert bool(len(messages)) == (name == "matmul")  # The others exchange tags.
    if ranks == 1:
        assert (messages["sender"] == messages["receiver"]).all()
    assert unexplained(opened) < 0.1
    path = critical_path(opened)
    waits = sum(time for label, _, time, _ in path.shares() if label == "waits")
    assert waits < 0.1 * opened.span


@pytest.fixture(scope="module")
def late(tmp_path_factory):
    """Partition 0 comes late: partition 1 waits for its message, partition 2 for it to take one."""
    directory = tmp_path_factory.mktemp("late")
    (directory / "late.py").write_text(LATE)
    (directory / "late.coven").write_text(PROGRAM)
    return directory / "late.coven"


def longest(opened, rank, label):
    """The middle of a rank's longest wait in a module for messages among partitions."""
    site = next(site.id for site in opened.definitions.sites if site.label == label)
    waits = opened.waits()
    chosen = (waits["rank"] == rank) & (waits["reason"] == WaitReason.PARTITIONS) & (waits["site"] == site)
    one = waits[chosen][np.argmax((waits["end"] - waits["begin"])[chosen])]
    return int(one["begin"] + one["end"]) // 2


def test_late_senders_receivers_and_comers_are_told_apart(pse, home, late):
    opened = recorded(pse, home, late, 3)
    messages, rows = opened.partition_messages(), opened.partition_collectives()
    check_whole(messages)
    assert messages["bytes"][~messages["collective"]].tolist() == [196_608] * 3
    assert len(np.unique(rows["instance"])) == 1
    owner = dict(zip(rows["partition"].tolist(), rows["rank"].tolist(), strict=True))
    assert sorted(owner) == [0, 1, 2]
    for partition, label in ((1, "ring"), (2, "ring"), (1, "agree")):
        chain = wait_chain(opened, owner[partition], longest(opened, owner[partition], label))
        first, last = chain.links[0], chain.links[-1]
        message = first.ended_by.message
        assert (first.reason, first.label) == ("partitions", label)
        assert (last.rank, last.state, last.label) == (owner[0], "call", label)
        if label == "ring":
            assert (message.tag, first.ended_by.was_late_receiver) == (3, partition == 2)
        else:
            assert (message.collective, message.last.partition) == ("allreduce", 0)


def test_one_partition_is_its_own_partner(pse, home, late):
    opened = recorded(pse, home, late, 1)
    messages = opened.partition_messages()
    check_whole(messages)
    assert [tuple(row) for row in messages[["source", "target", "tag"]].tolist()] == [(0, 0, 3)]
    assert len(opened.partition_collectives()) == 1
