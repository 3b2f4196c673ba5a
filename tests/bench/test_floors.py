"""Floors that are measured in C, and the helpers that start and watch what is measured."""

import os
import subprocess
import sys

import numpy as np
import pytest

from pse import _proc
from pse.bench import _floors
from pse.bench._running import confined_to, in_turn, run_peer, run_program, usable_cores
from pse.bench.subjects.hop import hop_times
from pse.bench.subjects.idle import cpu_seconds
from pse.errors import RunError
from pse.trace._recorder import Recorder


def test_bare_futex_hops_come_back_and_leave_affinity_alone():
    before = os.sched_getaffinity(0)
    hops = _floors.futex_hops(min(before), max(before), 51)
    assert hops.shape == (51,)
    assert (hops > 0).all()
    assert os.sched_getaffinity(0) == before


def test_a_core_that_is_not_there_is_an_error():
    with pytest.raises(OSError, match="futex ping-pong on cores 1000 and 0"):
        _floors.futex_hops(1000, 0, 2)


def test_recording_in_a_loop_writes_every_event(tmp_path):
    with Recorder(tmp_path, 0) as recorder:
        assert _floors.record_events(recorder, 1000) > 0
        assert recorder.count == 1000


def test_recording_needs_an_open_recorder(tmp_path):
    recorder = Recorder(tmp_path, 0)
    recorder.close()
    with pytest.raises(ValueError, match="the recorder is closed"):
        _floors.record_events(recorder, 1)


def test_touch_writes_every_page():
    memory = np.zeros(3 * 4096 + 1, np.uint8)
    assert _floors.touch(memory) > 0
    assert np.flatnonzero(memory).tolist() == [0, 4096, 8192, 12288]


def test_single_hops_are_from_leaving_to_coming():
    a = np.array([[0, 10], [100, 110]], float)
    b = np.array([[15, 90], [117, 200]], float)
    assert hop_times(a, b).tolist() == [5, 10, 7]


def test_measurers_take_turns():
    order = []

    def measurer(name):
        def measure():
            order.append(name)
            return {name: len(order)}

        return measure

    samples = in_turn(2, [measurer("a"), measurer("b"), measurer("c")], lambda text: None)
    assert order == ["a", "b", "c", "b", "c", "a"]
    assert samples == {"a": [1.0, 6.0], "b": [2.0, 4.0], "c": [3.0, 5.0]}


def test_what_is_started_inside_is_confined():
    core = usable_cores()[0]
    before = os.sched_getaffinity(0)
    with confined_to([core]):
        assert os.sched_getaffinity(0) == {core}
    assert os.sched_getaffinity(0) == before


def test_a_program_that_fails_is_reported_with_what_it_said():
    with pytest.raises(RunError, match=r"(?s)the program hop\.coven failed with exit code 2:.*bytes"):
        run_program("hop.coven", {"bytes": 1})


def test_a_peer_that_fails_is_reported():
    with pytest.raises(RunError, match=r"(?s)the peer ring failed with exit code .*ValueError"):
        run_peer("ring", 1, "many")


def test_cpu_time_and_ranks_are_read_from_proc():
    code = "import sys; sum(range(3_000_000)); print('ready', flush=True); sys.stdin.read()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", parent],
        env=os.environ | {"PMI_RANK": "3"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        assert _proc.ranks_below(process.pid).keys() == {3}
        assert cpu_seconds(process.pid) > 0
        process.stdin.close()
