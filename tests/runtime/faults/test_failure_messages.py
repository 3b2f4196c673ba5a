"""The words for what goes wrong among partitions, where no program of the other tests brings them about."""

from types import SimpleNamespace

import numpy as np
import pytest

from pse._abi.coven import CollectiveKind, Reduction
from pse._abi.messaging import WAIT_DTYPE, WaitKind
from pse._abi.plan import RunResult
from pse.runtime.faults._deadlock import deadlock_error
from pse.runtime.faults._failures import run_error
from pse.runtime.faults._partition_errors import partition_error

SITES = {7: SimpleNamespace(span="p.coven:3:5", label="c.talk")}
WHO = "p.coven:3:5: module c.talk, partition 2 (iteration 4), "
ALLREDUCE, BCAST = CollectiveKind.ALLREDUCE.value, CollectiveKind.BCAST.value


def side(partition=2, kind=0, extra=0, type=4, bytes=24):
    return {"partition": partition, "site": 7, "kind": kind, "extra": extra, "type": type, "bytes": bytes}


def words(kind, here=None, there=None, tag=5, peer=9, partitions=4):
    """The message and the help for a fault."""
    fault = {"kind": kind, "tag": tag, "peer": peer, "partitions": partitions, "index": 4}
    fault |= {"here": here or side(), "there": there or side(partition=1)}
    sequencer = SimpleNamespace(messaging_fault=lambda: fault)
    error = partition_error(sequencer, SimpleNamespace(sites=SITES))
    return error.message, error.help


@pytest.mark.parametrize(
    ("fault", "message", "help"),
    [
        (
            {"kind": 1, "here": side(kind=BCAST)},
            WHO + "calls bcast with root partition 9, which does not exist",
            "partitions are numbered from 0 to 3 here",
        ),
        (
            {"kind": 1, "partitions": 1},
            WHO + "exchanges messages with partition 9, which does not exist",
            "the only partition here is 0",
        ),
        ({"kind": 2, "tag": -1}, WHO + "gives a message the tag -1", "tags are numbers from 0 on"),
        (
            {"kind": 3, "here": side(type=99)},
            WHO + "posts a message with the element type 99, which does not exist",
            "use a type of coven.h",
        ),
        (
            {"kind": 3, "here": side(kind=ALLREDUCE, type=6, extra=Reduction.MAX.value << 24)},
            WHO + "calls allreduce() with elements of type c128 and the operation max, which is not possible",
            "complex numbers: sum and product",
        ),
        (
            {"kind": 4, "here": side(bytes=1 << 62)},
            WHO + f"posts {1 << 62} elements, which is more than any memory holds",
            "",
        ),
        (
            {"kind": 7, "there": side(partition=1, kind=ALLREDUCE, extra=Reduction.SUM.value << 24)},
            "p.coven:3:5: module c.talk, partition 1, calls allreduce(sum), which partition 2 never called",
            "the same collectives in the same order",
        ),
        (
            {"kind": 8},
            "the system has no memory left for messages of partition 2",
            "use smaller messages, or receive them sooner",
        ),
    ],
)
def test_a_fault_among_partitions_is_said_in_plain_words(fault, message, help):
    said = words(**fault)
    assert said[0] == message
    assert help in (said[1] or "")


@pytest.mark.parametrize(
    ("kinds", "head"),
    [
        ((WaitKind.WAITS_RECEIVE,), "deadlock: partitions wait for messages that nobody will ever send\n"),
        ((WaitKind.WAITS_SEND,), "deadlock: partitions have sent messages that nobody will ever receive\n"),
        (
            (WaitKind.WAITS_RECEIVE, WaitKind.WAITS_SEND),
            "deadlock: partitions wait for messages that nobody will ever send or receive\n",
        ),
    ],
)
def test_a_deadlock_says_what_will_never_happen(kinds, head):
    rows = np.zeros(len(kinds), WAIT_DTYPE)
    for number, (row, kind) in enumerate(zip(rows, kinds, strict=True)):
        row["kind"], row["partition"], row["peer"], row["site"], row["tag"] = kind, number, 3, 7, 5
        row["index"] = -1
    message = deadlock_error(rows.tobytes(), SITES).message
    assert message.startswith(head)
    where = "partition 0 (module c.talk, p.coven:3:5) waits for "
    line = {
        WaitKind.WAITS_RECEIVE: "a message with tag 5 from partition 3, which will never send it",
        WaitKind.WAITS_SEND: "partition 3, which will never receive its message with tag 5",
    }[kinds[0]]
    assert f"  {where}{line}" in message


def test_a_buffer_that_is_released_twice_is_the_engines_fault():
    sequencer = SimpleNamespace(pending_index=4, pending_partition=-1)
    error = run_error(RunResult.RELEASED, sequencer, SimpleNamespace(who="rank 1"), None)
    assert error.message == "a buffer was released twice (rank 1, iteration 4)"
    assert error.help.startswith("this is a bug in pse, not in your program")
