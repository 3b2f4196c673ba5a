"""Checkpoints of runs: killed and resumed, a run gives the bits of one that nobody disturbed."""

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from pse_testing.jobs import PROGRAMS, TWO_NODES, Job, beside_python, has_open_mpi

from pse.errors import PseError, UsageError
from pse.language import bind_parameters, check_program, render_diagnostics
from pse.language.check._ir import For
from pse.modules import Finder
from pse.program import number_statements
from pse.runtime.checkpoint._files import Directory
from pse.runtime.checkpoint._manifest import MANIFEST, CheckpointRefused, FileNote, Manifest, to_text, verify
from pse.runtime.checkpoint._reader import read_manifest
from pse.runtime.launch._launch import launch_job
from pse.runtime.launch._mpiexec import Hosts
from pse.runtime.request._prepared import Request
from pse.runtime.request._request import prepare
from pse.runtime.request._resume import check_processors
from pse.trace import open as open_trace

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("nothing_left_behind")]

ROUNDS = 20
PATIENCE = 60.0
"""Seconds in which a run must get to its next checkpoint."""


def job(directory, *arguments):
    """Start `pse` with some arguments in a directory."""
    return Job([beside_python("pse"), *arguments], directory=directory)


def run(directory, *arguments, code=0, **environment):
    """Run `pse` to its end; gives what it said on standard error."""
    ran = Job([beside_python("pse"), *arguments], environment, directory)
    assert ran.wait() == code, ran.err
    assert "Traceback" not in ran.err
    return ran.err


def files(directory, pattern="*.np?"):
    """What a program wrote: bytes by name."""
    return {path.name: path.read_bytes() for path in directory.glob(pattern)}


def work(directory, *names):
    """Give a directory with programs in it."""
    directory.mkdir()
    for name in names or ("checkpointed.coven", "checkpointed.py"):
        shutil.copy(PROGRAMS / name, directory)
    return directory


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What checkpointed.coven writes when nobody disturbs it."""
    directory = work(tmp_path_factory.mktemp("undisturbed") / "work")
    ran = Job([beside_python("pse"), "run", "checkpointed.coven"], directory=directory)
    assert ran.wait() == 0, ran.err
    return files(directory)


def step(directory):
    """How far the checkpoint of a run is, counted in rounds and iterations; -1 if there is none yet."""
    try:
        manifest = read_manifest(str(directory / "kept"))
    except CheckpointRefused as refused:
        if "holds no checkpoint" not in refused.message:
            raise  # There is never one that is damaged.
        return -1
    k = re.search(r"k = (\d+)", manifest.place)
    return int(k[1]) if k else ROUNDS + manifest.iterations


def hold(directory, number):
    """Let no module go on beyond a step."""
    (directory / "new").write_text(str(number))
    (directory / "new").rename(directory / "hold")


def wait_until(started, directory, number):
    """Wait until the checkpoint is at some step."""
    deadline = time.monotonic() + PATIENCE
    while step(directory) < number:
        assert time.monotonic() < deadline, f"still at step {step(directory)}"
        assert started.process.poll() is None, started.process.communicate()
        time.sleep(0.001)


def whole(directory):
    """Make sure that there is one complete checkpoint."""
    manifest = read_manifest(str(directory / "kept"))
    try:
        for note in manifest.files:
            verify(str(directory / "kept"), note)
    except CheckpointRefused:
        # Ranks outlive a launcher that was killed for a moment, in which they may write the next checkpoint.
        if read_manifest(str(directory / "kept")) == manifest:
            raise
        return whole(directory)
    return manifest


def kill(started, choose):
    """Kill a rank, or the launcher and with it the job."""
    victim = choose.choice([started.process.pid, *started.ranks().values()])
    started.hit(victim, signal.SIGKILL)
    assert started.wait() != 0
    started.wait_until_gone()  # Open MPI's mpiexec, whose launcher is dead, lets ranks go on for a second.


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["auto", "bcs"])
@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.nightly)])
def test_killed_at_any_moment_and_resumed_it_gives_the_same_bits(tmp_path, undisturbed, kills, transport):
    choose = random.Random(20)
    directory = work(tmp_path / "work")
    arguments = ["run", "checkpointed.coven", "-p", "3", "--checkpoint", "kept", "--every", "1"]
    arguments += ["-o", f"transport={transport}"]
    for _ in range(kills):
        # However slow the test is, the run gets no further than this, so there are always as many kills.
        before = step(directory)
        hold(directory, before + 3)
        started = job(directory, *arguments)
        wait_until(started, directory, before + 1)
        time.sleep(choose.random() * 0.03)
        kill(started, choose)
        whole(directory)
        arguments = ["resume", "kept", "-p", choose.choice("111113")]
    (directory / "hold").unlink()
    run(directory, *arguments)
    assert files(directory) == undisturbed
    assert read_manifest(str(directory / "kept")).finished


def stopped(directory, command, number, environment=None, *, alone=False, until=3):
    """Signal a run, or one of its ranks alone, that is held at a step; gives the job."""
    hold(directory, until)
    started = Job(command, environment or {}, directory)
    wait_for(started, directory / f"at{until}")
    started.hit(started.ranks()[2] if alone else started.process.pid, number)
    return started


def wait_for(started, path):
    """Wait until a run has written a file."""
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline
        assert started.process.poll() is None, started.process.communicate()
        time.sleep(0.01)


def test_a_root_that_waits_for_nobody_holds_up_no_checkpoint_and_no_stop(tmp_path):
    directory = work(tmp_path / "work", "root_ahead.coven", "root_ahead.py")
    started = job(directory, "run", "root_ahead.coven", "-p", "2", "--checkpoint", "kept", "--every", "0.05s")
    wait_for(started, directory / "at20")
    assert step(directory) >= 0
    started.hit(started.process.pid, signal.SIGTERM)
    assert started.wait() == 128 + signal.SIGTERM, started.err
    assert "`pse resume kept` continues at root_ahead.coven:8:3, k = " in started.err
    assert 20 <= step(directory) < 1000


@pytest.mark.parametrize("program", ["root_done.coven", "root_in_last_round.coven"])
def test_a_stop_after_the_last_pause_of_a_root_ahead_ends_the_run_at_once(tmp_path, program):
    directory = work(tmp_path / "work", program, "root_ahead.py")
    started = job(directory, "run", program, "-p", "2", "--checkpoint", "kept", "--every", "1000")
    started.wait_for_words("root 5", "out")
    while len(list(directory.glob("hung-*"))) < 2:  # Before, all could still meet.
        started.go_on_for(0.01)
    started.hit(started.process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        started.process.wait(
            0.3
        )  # The root is done before or after the ranks agree: it ends at once either way.
    (directory / "go").touch()
    assert started.wait() == 128 + signal.SIGTERM, started.err
    assert "stopped by SIGTERM\n" in started.err
    assert "no checkpoint could be written" not in started.err
    assert started.seconds < 10.0  # Less than STOP_GRACE.


BARE = [beside_python("mpiexec"), "-n", "3", sys.executable, "-m", "pse"]
STOPS = {
    "pse run": ([beside_python("pse"), "run", "-p", "2"], signal.SIGINT, False),
    "mpiexec": (BARE, signal.SIGTERM, False),
    "one rank": (BARE, signal.SIGTERM, True),
}


@pytest.fixture
def how_stopped(how):
    """Skip what can't be done: `how` is one of STOPS."""
    if how == "mpiexec" and has_open_mpi():
        pytest.skip("mpiexec of Open MPI kills ranks a second after a signal and has its own exit code")
    return STOPS[how]


@pytest.mark.parametrize(
    ("how", "until"),
    [
        ("pse run", 3),
        ("one rank", 3),
        pytest.param("mpiexec", ROUNDS + 7, marks=pytest.mark.alone),  # mpiexec gives ranks little time.
    ],
)
def test_a_run_that_is_stopped_writes_a_checkpoint_first(tmp_path, undisturbed, how_stopped, until):
    command, number, alone = how_stopped
    directory = work(tmp_path / "work")
    arguments = ["checkpointed.coven", "--checkpoint", "kept", "--every", "1000s"]
    started = stopped(directory, [*command, *arguments], number, alone=alone, until=until)
    (directory / "hold").unlink()
    assert started.wait() == 128 + number, started.err
    goes_on = r"`pse resume kept` continues at checkpointed\.coven:"
    said = rf"stopped by {number.name}\n(  (running|meanwhile, on \d ranks?): .*\n)?{goes_on}"
    assert re.search(said, started.err), started.err
    assert started.seconds < 10.0
    assert step(directory) >= until - 1
    run(directory, "resume", "kept")
    assert files(directory) == undisturbed


@pytest.mark.parametrize("how", ["pse run", "mpiexec"])
def test_a_run_that_comes_to_no_checkpoint_in_time_says_so_when_it_is_stopped(tmp_path, how_stopped):
    (tmp_path / "sitecustomize.py").write_text(
        "from pse.runtime.checkpoint import _schedule\n_schedule.STOP_GRACE = 1.0\n"
    )
    command, number, _ = how_stopped
    directory = work(tmp_path / "work")
    arguments = ["checkpointed.coven", "--checkpoint", "kept", "--every", "1"]
    started = stopped(directory, [*command, *arguments], number, {"PYTHONPATH": str(tmp_path)})
    assert started.wait() == 128 + number, started.err
    assert "no checkpoint could be written within 1 s of the signal; the last one in kept, if" in started.err
    assert "error: " not in started.err
    whole(directory)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Kill a run in its fourth round; gives its directory."""
    directory = work(tmp_path_factory.mktemp("killed") / "work")
    hold(directory, 3)
    started = job(
        directory, "run", "checkpointed.coven", "--checkpoint", "kept", "--every", "1", "-D", "milliseconds=1"
    )
    wait_until(started, directory, 3)
    started.hit(started.process.pid, signal.SIGKILL)
    started.wait()
    return directory  # Ranks that are still there wait at `hold`.


@pytest.fixture
def left(killed, tmp_path, monkeypatch):
    """Go into a copy of the directory that the killed run left."""
    directory = tmp_path / "left"
    shutil.copytree(killed, directory)
    (directory / "hold").unlink()
    # The manifest names files by where they are.
    manifest = read_manifest(str(directory / "kept"))
    modules = {str(directory / "checkpointed.py"): next(iter(manifest.modules.values()))}
    path = str(directory / "checkpointed.coven")
    written = replace(manifest, path=path, modules=modules)
    Directory(str(directory / "kept")).commit(to_text(written), written.files)
    monkeypatch.chdir(directory)
    return directory


def refused(request):
    """Ask for something that is refused; gives the words."""
    with pytest.raises(PseError) as raised:
        launch_job(request, Hosts())
    assert raised.value.exit_code == 2
    return raised.value.message


RESUME = Request("", {}, checkpoint="kept", resume=True)
RUN = Request("checkpointed.coven", {"milliseconds": "1"}, checkpoint="kept")


def traced_calls(directory):
    """How often some modules were called, by a trace that says that it is complete."""
    trace = open_trace(directory)
    assert not trace.problems
    labels = [trace.definitions.sites[site].label for site in trace.module_calls()["site"]]
    once = {"c.begin", "c.relax", "c.note", "c.turn", "c.finish"}
    return {label: labels.count(label) for label in labels if label in once}


def test_under_a_bare_mpiexec_a_run_is_resumed_too(left, undisturbed):
    command = [beside_python("mpiexec"), "-n", "3", sys.executable, "-m", "pse", "resume", "kept"]
    ran = Job([*command, "--trace", "trace"], directory=left)
    assert ran.wait() == 0, ran.err
    assert files(left) == undisturbed
    assert traced_calls(left / "trace") == {"c.relax": 2 * 17, "c.note": 17, "c.turn": 17, "c.finish": 1}
    assert re.search(
        r"resuming checkpointed\.coven -D milliseconds=1 at checkpointed\.coven:15:3, k = 3\n", ran.err
    )
    assert "settled" in ran.out  # what it had reported is in the report
    assert "is complete: there is nothing to resume" in refused(RESUME)
    ran = Job(command, directory=left)
    assert ran.wait() == 2
    assert ran.err.count("error: ") == 1


def test_a_damaged_file_is_named_before_anything_runs(left):
    path = next((left / "kept").glob("*.npz"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert f"kept/{path.name} was altered" in run(left, "resume", "kept", code=2)
    path.write_bytes(data[:-1])
    assert f"kept/{path.name} has {len(data) - 1} bytes; checkpoint.json says {len(data)}" in refused(RESUME)
    path.unlink()
    assert f"kept/{path.name} is missing" in refused(RESUME)


def test_ranks_find_a_damaged_file_where_no_launcher_does(left):
    path = next((left / "kept").glob("*.npz"))
    path.write_bytes(b"")
    ran = Job(
        [beside_python("mpiexec"), "-n", "3", sys.executable, "-m", "pse", "resume", "kept"], directory=left
    )
    assert ran.wait() == 2
    assert ran.err.count("error: ") == 1
    assert f"kept/{path.name} has 0 bytes" in ran.err


def test_what_contradicts_the_run_is_refused(left):
    assert "-D N=7: the run in kept was started with no value for N" in refused(
        replace(RESUME, defines={"N": "7"})
    )
    other = {"milliseconds": "2"}
    assert "milliseconds=2: the run in kept was started with milliseconds=1" in refused(
        replace(RESUME, defines=other)
    )
    assert "kept holds the checkpoint of another run: checkpointed.coven -D milliseconds=1" in refused(
        replace(RUN, defines=other)
    )
    assert "holds no checkpoint" in refused(replace(RESUME, checkpoint="elsewhere"))
    assert "--every 3: the run writes no checkpoints" in refused(replace(RUN, checkpoint=None, every="3"))
    assert "--every 3m: expected a number of rounds or of seconds" in refused(replace(RUN, every="3m"))


def test_the_same_run_begins_anew_in_its_directory_and_says_so(left):
    warnings = prepare(RUN).remarks
    assert "warning: kept holds a checkpoint of this program at checkpointed.coven:15:3, k = 3; " in warnings
    assert "`pse resume kept` continues from it" in warnings
    whole(left)


def test_a_directory_with_something_else_in_it_is_left_alone(left):
    (left / "kept" / MANIFEST).write_text("mine")
    assert "kept/checkpoint.json is not a checkpoint manifest of pse, or it is damaged" in refused(RUN)
    assert (left / "kept" / MANIFEST).read_text() == "mine"


def test_what_has_changed_since_is_said(left):
    assert "changed" not in prepare(RESUME).remarks
    with open("checkpointed.py", "a") as file:
        file.write("# another\n")
    with open("checkpointed.coven", "w") as file:
        file.write("coven 1\nprogram other { }\n")
    prepared = prepare(RESUME)
    assert prepared.program.name == "checkpointed"
    assert re.search(r"warning: \S+checkpointed\.py has changed since the run was started", prepared.remarks)
    assert re.search(
        r"warning: \S+checkpointed\.coven has changed .* part of the checkpoint", prepared.remarks
    )


def test_a_checkpoint_that_cannot_be_written_costs_a_warning(tmp_path, undisturbed):
    """The disk is full for the first one."""
    directory = work(tmp_path / "work")
    (directory / "kept").mkdir()
    (directory / "kept" / "000001-rank-1.npz.part").symlink_to("/dev/full")
    said = run(directory, "run", "checkpointed.coven", "--checkpoint", "kept", "--every", "1")
    assert [line for line in said.splitlines() if line.startswith("warning")] == [
        "warning: a checkpoint can't be written: kept/000001-rank-1.npz: No space left on device; "
        "the run continues; it has none yet"
    ]
    assert files(directory) == undisturbed


def test_checkpoints_that_fail_one_after_the_other_are_told_ever_less_often(tmp_path):
    directory = work(tmp_path / "work")
    for serial in range(1, 40):
        (directory / "kept" / f"{serial:06}-rank-1.npz.part").mkdir(parents=True)
    said = run(directory, "run", "checkpointed.coven", "--checkpoint", "kept", "--every", "1")
    told = [line for line in said.splitlines() if line.startswith("warning")]
    serials = [int(line.partition("kept/")[2][:6]) for line in told]
    assert serials == [1, 2, 4, 8, 16, 32][: len(told)]
    assert len(told) > 2
    assert told[2].endswith(": Is a directory; the run continues; it has none yet; 4 in a row have failed")


def test_a_second_run_is_kept_out_of_a_directory_in_use(left):
    taken = Directory("kept").lock()
    said = run(left, "resume", "kept", code=2)
    assert "error: kept: another run is writing its checkpoints there\n" in said
    os.close(taken)


@pytest.fixture(scope="module")
def received(tmp_path_factory):
    """What pending_messages.coven writes when nobody disturbs it."""
    directory = work(
        tmp_path_factory.mktemp("received") / "work", "pending_messages.coven", "pending_messages.py"
    )
    (directory / "failed").touch()
    run(directory, "run", "pending_messages.coven")
    return files(directory)


@pytest.mark.parametrize(("place", "again"), [({}, "2"), (TWO_NODES, "1")], ids=["one node", "two nodes"])
def test_messages_under_way_are_kept(tmp_path, received, place, again):
    """Each round receives what the one before has sent; the seventh is killed."""
    directory = work(tmp_path / "work", "pending_messages.coven", "pending_messages.py")
    said = run(
        directory,
        "run",
        "pending_messages.coven",
        "-p",
        "3",
        "--checkpoint",
        "kept",
        "--every",
        "1",
        code=3,
        **place,
    )
    assert re.search(r"`pse resume kept` continues at pending_messages\.coven:10:3, k = [67]\n", said)
    run(directory, "resume", "kept", "-p", again)
    assert files(directory) == received


def test_large_messages_under_way_are_kept(tmp_path):
    """What is too large to be copied when it is sent waits for its receiver over a checkpoint as well."""
    undisturbed, directory = (
        work(tmp_path / name, "pending_messages.coven", "pending_messages.py") for name in "ab"
    )
    for place in (undisturbed, directory):
        modules = place / "pending_messages.py"
        modules.write_text(modules.read_text().replace("700", "7000"))
    (undisturbed / "failed").touch()
    run(undisturbed, "run", "pending_messages.coven", "-p", "1")
    run(directory, "run", "pending_messages.coven", "-p", "3", "--checkpoint", "kept", "--every", "1", code=3)
    run(directory, "resume", "kept", "-p", "2")
    assert (directory / "whole.npy").read_bytes() == (undisturbed / "whole.npy").read_bytes()


def test_messages_of_another_number_of_partitions_are_refused():
    text = (PROGRAMS / "pending_messages.coven").read_text().replace("P = count", "P = count * procs")
    result = check_program(text, str(PROGRAMS / "pending_messages.coven"), modules=Finder())
    assert result.program is not None
    loop = next(s.id for s in number_statements(result.program).steps if isinstance(s.statement, For))
    now = bind_parameters(result.program, {}, 3).environment
    counts = FileNote("000001-rank-1.npz", 0, "", ("%mail.thread_B.P@0",))
    letter = FileNote("000001-rank-2.npz", 0, "", ("%letter1.thread_B.P@9",))
    kept = Manifest("", "", text, {}, {}, (), "1", 2, {"P": 10}, point=loop, files=(counts,))
    check_processors(result.program, now, kept)
    with pytest.raises(UsageError, match="messages among the 10 partitions of P have been sent and not rec"):
        check_processors(result.program, now, replace(kept, files=(counts, letter)))


PROCS = """coven 1
import "checkpointed.py" as c
param i64 N = 12
param i64 M = 6 * procs
partition P = procs
program counted {{
  let share = N / procs
  let twice = 2 * share
  thread_A c.begin(N) -> start, _notes, _wave
  thread_A c.begin(M) -> long, _more, _other
  thread_A scatter(start) -> u @ block(0)
  PARALLEL over P {{ thread_B c.shrink(u) -> mine }}
  for k in 0 .. {upper} {{
    {body}
  }}
}}
"""
OBSTACLES = [
    ("9", "thread_A print(twice)", r"twice \(.*:8:7\) was computed from the number of processors"),
    ("share", "thread_A print(k)", r"the bounds of the loop at .*:13:3 were computed from the number of"),
    (
        "9",
        'PARALLEL over P { thread_B report("x", mine) }',
        r"mine .* each of 2 partitions; there would now be 3",
    ),
    ("9", "thread_A c.frame(k, long, 1.0, 1, 0)", r"long .* has the shape \[12\] .*; now it would be \[18\]"),
    ("9", "thread_A print(k)", None),
    ("9", "PARALLEL over P { thread_B c.shrink(u) -> _x }", None),
]


@pytest.mark.parametrize(("upper", "body", "reason"), OBSTACLES)
def test_what_depends_on_the_number_of_processors_is_named(upper, body, reason):
    text, path = PROCS.format(upper=upper, body=body), str(PROGRAMS / "counted.coven")
    result = check_program(text, path, modules=Finder())
    assert result.program is not None, render_diagnostics(result.diagnostics, {path: text})
    steps = number_statements(result.program).steps
    point = next(step.id for step in steps if isinstance(step.statement, For))
    kept = Manifest(path, path, text, {}, {}, (), "1", processors=2, partitions={"P": 2}, point=point)
    now, same = (bind_parameters(result.program, {}, processors).environment for processors in (3, 2))
    check_processors(result.program, same, kept)
    if reason is None:
        check_processors(result.program, now, kept)
        return
    with pytest.raises(UsageError, match=rf"the run can't be resumed on 3 processors: {reason}") as refused:
        check_processors(result.program, now, kept)
    assert refused.value.help == "resume it on 2: -p 2"
