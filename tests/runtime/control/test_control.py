"""Control of a run from outside: held, stepped, changed and looked into, it computes what it should."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image
from pse_testing.jobs import PROGRAMS, TWO_NODES, Job, beside_python

import pse.trace
from pse.cli import main
from pse.cli._options.watch import write_frames
from pse.errors import UsageError
from pse.runtime.control import Frame, RunControl, frame_text, running
from pse.runtime.control._address import address
from pse.runtime.control._client import RunEnded
from pse.runtime.control._frames import Detail, block_of, block_sums, packed, put_together
from pse.runtime.request import Request, prepare, recorded_changes
from pse.runtime.supervise import Backoff
from pse.trace import EventType, TextKind

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("nothing_left_behind")]

N, ROUNDS, DT = 12, 1000, 0.5
ADDED = """coven 1
partition P = procs
program p {
  thread_A source("samples", 0, 8) -> f64[8, 8] x
  thread_A scatter(x) -> u @ block(0)
  thread_A sum(u) -> s
  thread_A norm(u) -> length
  var i64 e = 0
  for k in 0 .. 9 {
    e = e + 1
    if e > 2 { break }
  }
  thread_A save("a.npy", x)
  thread_A load("a.npy") -> f64[8, 8] y
  thread_A print(s, length, e, y)
}
"""
AHEAD = """coven 1
import "ahead.py" { turn }
partition P = procs
program p {
  for k in 0 .. 9 {
    PARALLEL over P {
      thread_A turn(k, partition)
    }
  }
}
"""
TURN = '''"""The second partition goes on when the first one has begun the next turn."""

import time
from pathlib import Path


# @ coven module turn(in i64 k, in i64 place)
def turn(k, place):
    if place == 0:
        Path(f"began{k}").touch()
    elif 2 <= k < 8:
        deadline = time.monotonic() + 60
        while not Path(f"began{k + 1}").exists():
            assert time.monotonic() < deadline, f"nobody begins turn {k + 1}"
            time.sleep(0.002)
'''
START = np.arange(float(N * N)).reshape(N, N)
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def runtime_directory(tmp_path_factory, monkeypatch):
    """Give runs a directory for their sockets; nothing is left there."""
    directory = tmp_path_factory.mktemp("x")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(directory))
    yield directory
    assert not list(directory.glob("pse/*"))


def work(directory):
    """Give a directory with the program."""
    directory.mkdir()
    for name in ("controlled.coven", "controlled.py"):
        shutil.copy(PROGRAMS / name, directory)
    return directory


def started(directory, *arguments, rounds=ROUNDS, environment=None, name="it"):
    """Start the program and connect with it before its first round is over."""
    (directory / "hold").write_text("0")
    command = [beside_python("pse"), "run", "controlled.coven", "-D", f"rounds={rounds}", "--control", name]
    job = Job([*command, *arguments], environment or {}, directory)
    run = connected(job, name)
    (directory / "hold").unlink()
    return job, run


def connected(job, name="it"):
    """Connect with a run as soon as it can be."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return RunControl(name)
        except UsageError:
            assert time.monotonic() < deadline
            assert job.process.poll() is None, job.process.communicate()
            time.sleep(0.005)


def ended(job, code=0):
    assert job.wait() == code, job.err
    assert "Traceback" not in job.err


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [(["-p", "2"], {}), (["-p", "1"], TWO_NODES), (["-p", "2", "-o", "balance=3"], {}), (["--serial"], {})],
)
def test_a_run_that_is_held_stands_still_and_steps_and_takes_new_values_in_one_round(
    tmp_path, arguments, environment
):
    directory = work(tmp_path / "work")
    job, run = started(directory, *arguments, environment=environment)
    with run:
        held = run.pause()
        assert held["state"] == "held"
        before = run.frame("u")
        assert np.array_equal(before.values, START + DT * (held["pause"] - 1))
        assert f"k = {held['pause'] - 1}" in before.place
        assert run.status()["pause"] == held["pause"]
        assert run.step()["pause"] == held["pause"] + 1
        assert run.step(5)["pause"] == held["pause"] + 6
        changed = run.set({"dt": 0.25})
        assert changed["live"] == {"dt": 0.25}
        run.step(2)
        assert np.array_equal(run.frame("u").values, before.values + 6 * DT + 2 * 0.25)
        assert run.resume()["state"] == "running"
    ended(job)
    old = held["pause"] - 1 + 6
    assert np.array_equal(np.load(directory / "end.npy"), START + old * DT + (ROUNDS - old) * 0.25)


@pytest.mark.parametrize("order", ["pause", "resume", "stop"])
def test_a_run_that_steps_far_is_watched_changed_and_held_meanwhile(tmp_path, order):
    job, run = started(work(tmp_path / "work"), "-p", "2", rounds=1_000_000)
    with run, RunControl("it") as other, ThreadPoolExecutor() as pool:
        held = run.pause()["pause"]
        answer = pool.submit(other.step, 10**9)
        assert Backoff(0.05).sleep_until(lambda: run.status()["state"] == "running", PATIENCE)
        assert run.frame("u").pause >= held
        assert run.set({"dt": 0.25})["live"] == {"dt": 0.25}
        there = getattr(run, order)()
        if order == "stop":
            assert isinstance(answer.exception(PATIENCE), RunEnded)
        else:
            assert there["state"] == ("held" if order == "pause" else "running")
            assert answer.result(PATIENCE)["state"] == there["state"]
            run.stop()
    ended(job, 128 + signal.SIGTERM)


def test_a_rank_of_a_controlled_run_may_be_ahead_of_another_one(tmp_path):
    (tmp_path / "ahead.coven").write_text(AHEAD)
    (tmp_path / "ahead.py").write_text(TURN)
    command = [beside_python("pse"), "run", "ahead.coven", "-p", "2", "--control", "it"]
    ended(Job(command, directory=tmp_path))


def test_frames_of_a_running_program_are_block_means_and_change_nothing(tmp_path):
    job, run = started(work(tmp_path / "work"), "-p", "2", rounds=1_000_000)
    with run:
        for _ in range(3):
            frame = run.frame("u", 4)
            truth = START + DT * (frame.pause - 1)
            assert frame.block == (3, 3)
            assert np.allclose(frame.values, truth.reshape(4, 3, 4, 3).mean((1, 3)), rtol=1e-14)
            assert run.frame("most").values.shape == ()
        assert run.status()["state"] == "running"
        held = run.pause()
        assert np.array_equal(run.frame("u").values, START + DT * (held["pause"] - 1))
        run.stop()
    ended(job, 128 + signal.SIGTERM)


def test_what_cannot_be_done_is_said_and_the_run_goes_on(tmp_path):
    directory = work(tmp_path / "work")
    job, run = started(directory, rounds=1_000_000)
    with run:
        for ask, words in (
            (lambda: run.set({"dt": -1}), "does not satisfy its `where`"),
            (lambda: run.set({"dt": "fast"}), "'fast' is not of that type"),
            (lambda: run.set({"N": 3}), "N is no live parameter of controlled.coven"),
            (lambda: run.frame("v"), "controlled.coven has no tag v of numbers"),
            (lambda: run.frame("start"), "start has no value at controlled.coven:12:3"),
            (run.resume, "the run is not held"),
            (run.step, "the run is not held"),
            (lambda: run.frame("u", 0), "cells is 0: expected a whole number, from 1"),
            (lambda: run.frame("u", 4, "2"), "points is '2': expected a whole number, from 0"),
            (run.checkpoint, "the run writes no checkpoints"),
        ):
            with pytest.raises(UsageError, match=words):
                ask()
        run.pause()
        for rounds in (0, -1, 1.5, "3", None, True, 10**30):
            with pytest.raises(UsageError, match=f"rounds is {rounds!r}: expected a whole number, from 1"):
                run.step(rounds)
        again = subprocess.run(
            [beside_python("pse"), "run", "controlled.coven", "--control", "it"],
            cwd=directory, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert again.returncode == 2
        assert "a run called it goes on already" in again.stderr
        assert running() == ["it"]
        assert run.resume()["state"] == "running"
        run.stop()
    ended(job, 128 + signal.SIGTERM)
    assert running() == []
    with pytest.raises(UsageError, match="no run called it goes on here"):
        RunControl("it")


def test_what_can_be_watched_are_tags_of_the_program_s_text(tmp_path, capsys):
    (tmp_path / "p.coven").write_text(ADDED)
    with pytest.raises(SystemExit):
        main(["run", str(tmp_path / "p.coven"), "--watch", "nothing=n.gif"])
    assert capsys.readouterr().err.endswith("these can be watched: x, u, s, length, e, y\n")


def test_a_run_without_a_pause_any_more_says_so(tmp_path):
    directory = work(tmp_path / "work")
    job, run = started(directory, rounds=1)
    with run:
        last = list(run.frames("most"))
        with pytest.raises(RunEnded, match=r"is over|has passed its last pause"):
            run.frame("most")
    assert [frame.pause for frame in last] in ([], [1], [2], [1, 2])
    ended(job)


def test_a_change_is_in_the_checkpoint_and_a_stopped_run_goes_on_with_it(tmp_path):
    directory = work(tmp_path / "work")
    job, run = started(directory, "-p", "2", "--checkpoint", "kept", "--every", "1000000")
    with run:
        at = run.pause()["pause"]
        run.set({"dt": 0.25})
        run.checkpoint()
        run.step(3)
        run.stop()
    ended(job, 128 + signal.SIGTERM)
    again = Job([beside_python("pse"), "resume", "kept", "-p", "1"], directory=directory)
    ended(again)
    assert np.array_equal(np.load(directory / "end.npy"), START + (at - 1) * DT + (ROUNDS - at + 1) * 0.25)


def test_a_change_is_in_the_trace_and_a_run_that_repeats_it_computes_the_same_bits(tmp_path):
    directory = work(tmp_path / "work")
    job, run = started(directory, "-p", "2", "--trace", "steered", "--checkpoint", "kept")
    with run:
        first = run.pause()["pause"]
        run.set({"dt": 0.1})
        run.step(7)
        run.checkpoint()
        second = run.step(2)["pause"]
        run.set({"dt": 0.3})
        run.stop()
    ended(job, 128 + signal.SIGTERM)
    resumed = Job([beside_python("pse"), "resume", "kept", "--trace", "rest"], directory=directory)
    ended(resumed)
    truth = (directory / "end.npy").read_bytes()
    trace = pse.trace.open(directory / "steered")
    assert len(trace.ranks) > 1
    for rank in trace.ranks:
        marks = trace.select(rank, EventType.MARKER)
        texts = [trace.texts(rank)[TextKind.MARKER, int(number)] for number in marks["a"]]
        assert [*zip(marks["b"], texts, strict=True)] == [(first, "dt = 0.1"), (second, "dt = 0.3")]
    (directory / "end.npy").unlink()
    command = [beside_python("pse"), "run", "controlled.coven", "-D", f"rounds={ROUNDS}"]
    again = Job([*command, "-p", "1", "--changes", "steered", "--trace", "again"], directory=directory)
    ended(again)
    assert (directory / "end.npy").read_bytes() == truth
    assert recorded_changes(directory / "again") == recorded_changes(directory / "steered")
    for asked, words in (("rest", "no live parameter was changed in that run"), ("kept", "is not a trace")):
        refused = Job([*command, "--changes", asked], directory=directory)
        ended(refused, 2)
        assert words in refused.err


def test_changes_that_a_program_cannot_take_are_refused_before_it_runs(tmp_path):
    for change, words in (
        ("3:N=4", "N is no live parameter of"),
        ("3:dt=-1.0", "does not satisfy its `where`"),
    ):
        with pytest.raises(UsageError, match=words):
            prepare(Request(str(PROGRAMS / "controlled.coven"), {}, changes=("2:dt=1.0", change)))


@pytest.mark.parametrize("held", [False, True])
def test_a_run_without_checkpoints_stops_whether_it_is_held_or_not(tmp_path, held):
    job, run = started(work(tmp_path / "work"), rounds=1_000_000)
    with run:
        if held:
            run.pause()
        run.stop()
    ended(job, 128 + signal.SIGTERM)


def test_under_a_bare_mpiexec_a_run_is_controlled_and_stopped(tmp_path):
    directory = work(tmp_path / "work")
    command = [beside_python("mpiexec"), "-n", "3", sys.executable, "-m", "pse", "controlled.coven"]
    job = Job([*command, "-D", "rounds=1000000", "--control", "it"], directory=directory)
    with connected(job) as run:
        assert run.pause()["state"] == "held"
        run.stop()
    assert job.wait() != 0
    assert "was stopped by SIGTERM" in job.err


def test_a_killed_run_leaves_no_socket(tmp_path):
    job, run = started(work(tmp_path / "work"), rounds=1_000_000)
    with run:
        run.pause()
        job.hit(job.ranks()[0], signal.SIGKILL)
        with pytest.raises(RunEnded):
            run.step()
    assert job.wait() == 3
    assert not os.path.exists(address("it"))


def test_the_next_run_removes_what_killed_ones_have_left_and_nothing_else(tmp_path):
    job, run = started(work(tmp_path / "work"), rounds=1_000_000)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        left.bind(address("killed"))
    with run:
        other, second = started(work(tmp_path / "other"), rounds=1_000_000, name="second")
        with second:
            assert not os.path.exists(address("killed"))
            assert {"it", "second"} <= set(running())
            second.stop()
        ended(other, 128 + signal.SIGTERM)
        run.stop()
    ended(job, 128 + signal.SIGTERM)


def test_the_command_line_lists_shows_and_changes_a_run(tmp_path):
    directory = work(tmp_path / "work")
    job, run = started(directory, rounds=1_000_000)

    def pse_says(*words, code=0):
        done = subprocess.run(
            [beside_python("pse"), *words], cwd=directory, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    with run:
        assert pse_says("ctl") == "it\n"
        assert "it: controlled.coven on 1 processor, held at controlled.coven:12:3, k = " in pse_says(
            "ctl", "it", "pause"
        )
        assert "live: dt = 0.125\n" in pse_says("ctl", "it", "set", "dt=0.125")
        assert "expected a number of pauses" in pse_says("ctl", "it", "step", "-", code=2)
        for wrong, words in (
            (["jump"], "can't do `jump`"),
            (["pause", "3"], "pause: `3` is too much\nhelp: it is:  pse ctl it pause\n"),
            (["step", "1" + "0" * 5000], "expected a number of pauses, from 1 to 1,000,000,000\n"),
            (["step", "1", "2"], "step: `2` is too much"),
            (["set", "dt"], "set dt: expected NAME=VALUE\nhelp: for example:  set N=2048\n"),
            (["set"], "set: no value is given\nhelp: for example:  pse ctl it set dt="),
            (["set", "dt=x"], "help: for example:  dt="),
            (["set", "dt=-1"], "help: choose values for which `dt > 0` holds\n"),
        ):
            assert words in pse_says("ctl", "it", *wrong, code=2)
        drawn = pse_says("watch", "it", "u", "-n", "1", "-o", "u.npz").splitlines()
        assert drawn[0].startswith("u at controlled.coven:12:3, k = ")
        assert len(drawn[1:-1]) == N // 2
        assert drawn[-1] == "u: 1 frame in u.npz"
        assert np.load(directory / "u.npz")["values"].shape == (1, N, N)
        assert "running" in pse_says("ctl", "it", "resume")
        assert pse_says("ctl", "it", "stop") == "it: stopping\n"
    ended(job, 128 + signal.SIGTERM)


def test_a_run_is_recorded_as_an_animation_and_as_pictures(tmp_path):
    directory = work(tmp_path / "work")
    command = [beside_python("pse"), "run", "controlled.coven", "-p", "2", "-D", "rounds=5000"]
    outputs = ["--watch", "u=u.gif", "--watch", "most=most/"]
    job = Job([*command, *outputs], directory=directory)
    ended(job)
    with Image.open(directory / "u.gif") as animation:
        assert animation.n_frames >= 2
        assert animation.size == (640, 480)
    assert f"u: writes {animation.n_frames} frames to u.gif … (Ctrl-C ends it with " in job.err
    assert f"u: {animation.n_frames} frames in u.gif" in job.err
    pictures = sorted(path.name for path in (directory / "most").iterdir())
    assert pictures[:2] == ["0001.png", "0002.png"]
    assert [path.name for path in directory.iterdir() if path.name.startswith(".")] == []


def test_a_tag_that_has_no_value_at_any_pause_is_refused_before_the_run(tmp_path, pse):
    directory = work(tmp_path / "work")
    done = pse("run", "controlled.coven", "--watch", "u=u.npz", "--watch", "start=start.npz", cwd=directory)
    assert (done.code, done.out) == (UsageError.exit_code, "")
    assert "start has no value at any pause: nothing reads it from the head of a loop on" in done.err
    assert re.search(r"help: read it in a later round .* or watch one of these: .*\bu\b", done.err)
    assert not (directory / "u.npz").exists()


class Interrupting(str):
    """A place; while it is drawn, somebody presses Ctrl-C."""

    def __format__(self, how):
        signal.raise_signal(signal.SIGINT)
        return super().__format__(how)


def frames_of(video):
    """Count a video's frames as a player sees them."""
    played = subprocess.run(
        ["ffmpeg", "-i", video, "-f", "null", "-"], capture_output=True, text=True, check=True
    )
    return int(re.findall(r"frame= *(\d+)", played.stderr)[-1])


NEEDS_FFMPEG = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="there is no ffmpeg to write .mp4")


@pytest.mark.parametrize("output", ["u.gif", "u/", pytest.param("u.mp4", marks=NEEDS_FFMPEG)])
def test_an_animation_that_is_interrupted_has_what_is_drawn(tmp_path, monkeypatch, capsys, output):
    monkeypatch.chdir(tmp_path)
    places, before = ["p", "p", Interrupting("p"), *["p"] * 6], signal.getsignal(signal.SIGINT)
    write_frames([Frame("u", np.arange(4.0) + k, (4,), (1,), k, p) for k, p in enumerate(places)], output)
    assert signal.getsignal(signal.SIGINT) is before
    told = capsys.readouterr().err
    assert f"u: writes 9 frames to {output} … (Ctrl-C ends it with those that are drawn)\n" in told
    assert told.endswith(f"u: 3 of 9 frames in {output}\n")
    if output.endswith("/"):
        assert sorted(os.listdir(output)) == ["0001.png", "0002.png", "0003.png"]
    elif output.endswith(".mp4"):
        assert frames_of(output) == 3
    else:
        with Image.open(output) as animation:
            assert animation.n_frames == 3


@pytest.mark.parametrize("shape", [(0,), (0, 5), (3, 0)])
def test_arrays_without_numbers_are_animated_too(tmp_path, monkeypatch, shape):
    monkeypatch.chdir(tmp_path)
    frames = [Frame("e", np.zeros(shape), shape, (1,) * len(shape), k, "p") for k in range(3)]
    write_frames(frames, "e.gif")
    with Image.open("e.gif") as animation:
        assert animation.format == "GIF"


def test_a_frame_without_a_finite_value_says_so_and_no_range_is_made_up_for_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nothing, numbers = np.full((4, 4), np.nan), np.arange(16.0).reshape(4, 4)
    for output, values in (("none/", [nothing]), ("some/", [nothing, numbers])):
        write_frames([Frame("u", v, (4, 4), (1, 1), k, "p") for k, v in enumerate(values)], output)
    drawn = [np.asarray(Image.open(name).convert("RGB")) for name in ("none/0001.png", "some/0001.png")]
    assert [bool((np.ptp(image, axis=2) > 60).any()) for image in drawn] == [False, True], "colour bars"
    for image in drawn:
        assert image[200:280, 200:440].min() < 60, "words in the middle"


def test_changes_that_a_run_does_not_come_to_are_told(tmp_path):
    directory = work(tmp_path / "work")
    job, run = started(directory, "-p", "2", "--trace", "steered", rounds=1_000_000)
    with run:
        run.pause()
        first = run.step(5)["pause"]
        run.set({"dt": 0.25})
        last = run.step(3)["pause"]
        run.set({"dt": 0.125})
        run.stop()
    ended(job, 128 + signal.SIGTERM)
    command = [beside_python("pse"), "run", "controlled.coven", "--changes", "steered", "-D"]
    for passed, where in ((first - 1, f"pauses {first} to {last}"), (last - 1, f"pause {last}")):
        again = Job([*command, f"rounds={passed - 1}"], directory=directory)
        ended(again)
        assert f"the run had {passed} pauses, so the changes of {where} were not made" in again.err
    again = Job([*command, f"rounds={last - 1}"], directory=directory)
    ended(again)
    assert "changes" not in again.err


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["--watch", "w=w.gif"], "controlled.coven has no tag w of numbers"),
        (["--watch", "u"], "--watch u: expected TAG=FILE"),
        (["--watch", "u=u.gif", "--watch", "most=./u.gif"], "./u.gif is written for u"),
        (["--watch", "u=u.avi"], "the name u.avi: it must end in .npz, .gif, .mp4 or /"),
        (["--watch", "u=none/u.gif"], "there is no directory none"),
        (["--watch", "u=u.mp4"], "there is no ffmpeg on PATH to write u.mp4"),
        (["--watch", "u=u.gif", "--serial"], "--watch and --serial exclude each other"),
    ],
)
def test_a_recording_that_cannot_be_made_is_refused_before_it(tmp_path, monkeypatch, capsys, asked, words):
    monkeypatch.chdir(work(tmp_path / "work"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="2"):
        main(["run", "controlled.coven", *asked])
    assert words in capsys.readouterr().err


def test_pieces_put_together_give_block_means_however_they_are_cut():
    array, block = np.arange(70.0).reshape(7, 10), (2, 3)
    rows = (np.array([0, 3, 6]), np.array([1, 2, 4, 5]))
    parts = [
        packed([block_sums(array[np.ix_(own, np.arange(10))], [own, np.arange(10)], block)]) for own in rows
    ]
    means = put_together(parts, array.shape, block)
    truth = [[array[i : i + 2, j : j + 3].mean() for j in range(0, 10, 3)] for i in range(0, 7, 2)]
    assert np.allclose(means, truth, rtol=1e-14)
    assert put_together([packed([])], (4,), (1,)) is None
    assert block_of((1000, 30), 256) == (4, 1)


def test_points_put_together_are_rows_as_they_are_however_they_are_cut():
    array, detail = np.arange(28.0).reshape(7, 4), Detail.of((7, 4), 256, 3)
    rows = (np.array([0, 4, 6]), np.array([1, 2, 3, 5]), np.arange(0))
    parts = [packed([detail.piece(array[own], [own, np.arange(4)])]) for own in rows]
    assert np.array_equal(detail.values(parts), array[::3])
    assert Detail.of((7, 5), 256, 3) == Detail((7, 5), (1, 1))
    assert Detail.of((500, 500, 500), 256, 3) == Detail((500, 500, 500), (8, 8, 8))


def test_frames_are_drawn_by_their_axes():
    assert frame_text(Frame("r", np.array(0.5), (), (), 3, "p.coven:8:3")) == "r at p.coven:8:3: 0.5\n"
    image = frame_text(
        Frame("u", np.array([[0.0, 1.0], [np.nan, 0.5]] * 2), (4, 2), (1, 1), 3, "p.coven:8:3")
    )
    assert image.splitlines() == ["u at p.coven:8:3, 0 to 1", " █", " █"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("values", "element", "drawn"),
    [
        ([0.0, np.nan, np.inf, -np.inf, 2.0], "f64", ["u at p, 0 to 2", " ???█"]),
        ([-1.5e308, 1.5e308], "f64", [" █"]),
        ([3.0, 3.0, 3.0], "f64", ["u at p, 3 to 3", "▄▄▄"]),
        ([1.0, 2.0], "c128", ["|u| at p, 1 to 2", " █"]),
        ([1.0, 1.0 + 2.3e-16, 1.0 - 1.2e-16], "c128", ["|u| at p, 1 to 1", "▄▄▄"]),
        ([1e-12, 2e-12], "f64", ["u at p, 1e-12 to 2e-12", " █"]),
        ([0.0, 2.5e9], "f64", ["u at p, 0 to 2.5e+09", " █"]),
        ([], "f64", ["u at p, no numbers", ""]),
        ([np.nan], "f64", ["u at p, no numbers", "?"]),
        (0.5, "c128", ["|u| at p: 0.5"]),
        (0.0, "bool", ["u at p: false"]),
        (7698.0, "i64", ["u at p: 7698"]),
        (np.nan, "f64", ["u at p: nan"]),
    ],
)
def test_what_is_drawn_is_what_the_program_has(values, element, drawn):
    array = np.array(values)
    frame = Frame("u", array, array.shape, (1,) * array.ndim, 3, "p", element=element)
    assert frame_text(frame).splitlines()[-len(drawn) :] == drawn


def test_a_frame_is_not_put_off_for_long_because_another_one_had_to_wait(tmp_path):
    """A rank that stands still for half a second would cost the next frame a hundred of them."""
    job, run = started(work(tmp_path / "work"), "-p", "2", rounds=10_000_000)
    with run, ThreadPoolExecutor(1) as user:
        run.frame("u")
        rank = job.wait_for_ranks(2)[1]
        os.kill(rank, signal.SIGSTOP)
        asked = user.submit(run.frame, "u")
        time.sleep(0.5)  # How long it stands still.
        os.kill(rank, signal.SIGCONT)
        asked.result(PATIENCE)
        user.submit(run.frame, "u").result(20.0)
        run.stop()
    ended(job, 128 + signal.SIGTERM)


def test_a_watch_that_is_ended_by_a_signal_leaves_what_it_has_seen(tmp_path):
    directory = work(tmp_path / "work")
    job, run = started(directory, rounds=10_000_000)
    command = [beside_python("pse"), "watch", "it", "u", "-o", "u.npz"]
    with (
        run,
        subprocess.Popen(
            command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as watch,
    ):
        assert watch.stdout.readline().startswith("u at ")
        assert watch.stdout.readline()
        for _ in range(N // 2):
            watch.stdout.readline()  # The whole frame, and the beginning of the next one.
        watch.terminate()
        said = watch.communicate(timeout=60)[1]
        run.stop()
    ended(job, 128 + signal.SIGTERM)
    count = len(np.load(directory / "u.npz")["values"])
    assert watch.returncode == 128 + signal.SIGTERM
    assert f"u: {count} frame" in said
    assert count >= 1


def test_only_what_can_be_looked_at_is_named(tmp_path):
    job, run = started(work(tmp_path / "work"), rounds=1_000_000)
    with run:
        with pytest.raises(UsageError) as refused:
            run.frame("start")
        for name in refused.value.help.removeprefix("these have: ").split(", "):
            assert run.frame(name).tag == name
        run.stop()
    ended(job, 128 + signal.SIGTERM)
