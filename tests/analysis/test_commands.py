"""`pse trace why`, `follow` and `critical`: what they print, and what they refuse."""

import json
import shutil
import signal
import struct

import pytest
from pse_testing.jobs import Job, beside_python
from pse_testing.planted_waits import PlantedWaits
from pse_testing.traces import patch_header

from pse.analysis import analyze, read_cube


def test_the_commands_print_text_and_json(pse, pipeline):
    done = pse("trace", "why", pipeline.path, "--rank", 1, "--at", "20%")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "so rank 1 waited for rank 0, which executed load (line 3)"
    done = pse("trace", "why", pipeline.path, "--rank", 1, "--at", "20%", "--format", "json")
    assert [link["state"] for link in json.loads(done.out)["links"]] == ["wait", "call"]
    done = pse("trace", "follow", pipeline.path, "--tph", "k=7")
    assert done.out.splitlines()[0] == "TPH 65536 (k = 7), an iteration of the loop at line 8 of " \
                                       "programs/small.coven, in the program"  # fmt: skip
    assert "waited for image 4.65 µs" in done.out
    done = pse("trace", "follow", pipeline.path, "--tph", "k=7", "--format", "json")
    assert json.loads(done.out)["calls"] == 3
    done = pse("trace", "critical", pipeline.path)
    assert done.out.splitlines()[0] == "critical path of 9.90 µs: 2 hand-overs, 2 of 2 ranks"
    done = pse("trace", "critical", pipeline.path, "--format", "json")
    assert json.loads(done.out)["length"] == 9900


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("why", "--rank", 9, "--at", 0), "has no events of rank 9; it has those of the ranks 0, 1"),
        (("why", "--rank", 0, "--at", "soon"), "'soon' is not a time"),
        (("follow", "--tph", 3), "the trace has no TPH 3"),
    ],
)
def test_the_commands_say_what_is_wrong(pse, pipeline, options, message):
    name, *rest = options
    done = pse("trace", name, pipeline.path, *rest)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_an_archive_has_a_time_line_beside_its_page_and_statistics_of_messages(
    pse, archive, random_run, tmp_path
):
    done = pse("analyze", archive / "traces.otf2", "--top", 0, "-o", tmp_path / "cube.html")
    assert (done.code, done.err) == (0, "")
    assert '"timeline":"cube-timeline.html"' in (tmp_path / "cube.html").read_text().replace(": ", ":")
    assert f"<title>{archive.name}</title>" in (tmp_path / "cube-timeline.html").read_text()
    found = [
        json.loads(pse("trace", "messages", source, "--format", "json").out)
        for source in (archive, archive / "traces.otf2", random_run)
    ]
    assert found[0] == found[1] == found[2]
    assert found[0]["tables"]["MPI"]


def test_statistics_of_messages_are_of_repaired_clocks(pse, tmp_path):
    planted = PlantedWaits(
        2, [[0, 1]], ["a/n", "b/m"], {"a/n": (5000, 0.0), "b/m": (3, 0.0)}, are_compared=False
    )
    planted.late_sender(0, 0, 1, wait=100, tag=1, wildcard=False)
    run = planted.write(tmp_path / "run")
    for rank in range(2):
        patch_header(run.path / f"rank-{rank:05}.mpi.events", "start_real", struct.pack("<qQ", 0, 0))
    done = pse("trace", "messages", run.path, "--format", "json")
    assert json.loads(done.out)["tables"]["MPI"][0]["duration"] == 1
    assert "their times can't be repaired" in done.err
    left = pse("trace", "messages", run.path, "--format", "json", "--no-repair")
    assert json.loads(left.out)["tables"]["MPI"][0]["duration"] is None
    assert "1 message received before being sent" in left.err


@pytest.mark.parametrize(
    ("name", "message", "help"),
    [
        ("run.npz", "is a cube that pse analyze wrote, not a trace", "read it with: pse cube mean "),
        ("run.cubex", "is a cube in the format of Cube, not a trace", "open it with Cube's own tools: cube "),
    ],
)
def test_a_cube_is_no_trace_and_the_command_that_reads_it_is_named(pse, tmp_path, name, message, help):
    (tmp_path / name).write_bytes(b"PK")
    done = pse("analyze", tmp_path / name)
    assert (done.code, done.out) == (2, "")
    assert f"{name} {message}" in done.err
    assert f"{help}{tmp_path / name}" in done.err


def test_what_is_missing_in_a_trace_is_said_of_its_archive_too_and_the_critical_path_is_the_same(
    pse, pipeline, tmp_path
):
    pytest.importorskip("otf2")
    patch_header(pipeline.path / "rank-00001.events", "state", bytes(4))
    assert pse("trace", "export", pipeline.path, "--to", "otf2", "-o", tmp_path / "out").code == 0
    one, other = analyze(pipeline.path), analyze(tmp_path / "out")
    assert one.total("critical_path") == other.total("critical_path") == 9900
    assert one.problems == other.problems
    assert "it was killed or still runs" in one.problems[0]


def test_events_of_an_archive_that_cannot_be_read_are_counted_once(pse, archive, tmp_path):
    shutil.copytree(archive, tmp_path / "archive")
    path = tmp_path / "archive" / "traces" / "1.evt"
    data = bytearray(path.read_bytes())
    middle = len(data.rstrip(b"\0")) // 2
    data[middle : middle + 40] = b"\xff" * 40
    path.write_bytes(data)
    problems = analyze(tmp_path / "archive").problems
    assert len([text for text in problems if "events can be read" in text]) == 1
    assert not [text for text in problems if "recording stopped" in text or "not all events" in text]


@pytest.mark.mpi
def test_ranks_of_a_job_analyze_together(pse, mpiexec, tmp_path, random_run):
    """As many ranks as streams, fewer, and more than there are; rank 0 alone prints."""
    alone = json.loads(pse("analyze", random_run, "--report", "json").out)
    for ranks in (3, 5):
        done = mpiexec(ranks, "-m", "pse", "analyze", random_run, "--report", "json")
        assert done.code == 0, done.err
        assert json.loads(done.out) == alone
    assert "note: 5 processes for 4 streams of events: 1 had nothing to read" in done.err
    (tmp_path / "click.py").write_text("raise SystemExit('a file of the user')")
    command = ["analyze", random_run, "-n", 2, "--top", 0, "-o", tmp_path / "cube.npz"]
    started = pse(*command, own_process=True, cwd=tmp_path)
    assert started.code == 0, started.err
    assert read_cube(tmp_path / "cube.npz").values.keys() == analyze(random_run).values.keys()
    done = mpiexec(3, "-m", "pse", "analyze", tmp_path / "none")
    assert done.code == 2
    assert done.err.count("there is no trace or archive") == 1


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGINT, 130, "stopped by SIGINT"),
        (signal.SIGTERM, 143, "stopped by SIGTERM"),
        (signal.SIGKILL, 3, "error: a process of `pse analyze` was killed, or not even started"),
    ],
)
def test_an_analysis_by_several_processes_ends_in_words_of_its_own(random_run, number, code, words):
    """A Ctrl-C reaches the command, which was started; the kernel kills what needs too much memory."""
    job = Job([beside_python("pse"), "analyze", str(random_run), "-n", "2"])
    ranks = job.wait_for_ranks(2)
    job.hit(ranks[1] if number == signal.SIGKILL else job.process.pid, number)
    assert job.wait() == code
    _, found, rest = f"\n{job.err}".partition(f"\n{words}")  # Some MPIs' launchers have their say before.
    assert (job.out, found) == ("", f"\n{words}")
    assert rest.count("\n") == (2 if number == signal.SIGKILL else 1)
    job.wait_until_gone()


def test_without_its_page_a_time_line_is_not_left_behind(pse, random_run, tmp_path):
    (tmp_path / "cube.html").mkdir()
    done = pse("analyze", random_run, "-o", tmp_path / "cube.html")
    assert done.code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["cube.html"]


def test_more_processes_than_a_machine_takes_are_refused(pse, random_run):
    done = pse("analyze", random_run, "-n", 100_000)
    assert done.code == 2
    assert done.err.startswith("error: -n 100000: this machine takes at most ")


@pytest.mark.mpi
def test_a_full_disk_is_told_once_however_many_processes_analyze(random_run):
    endings = []
    for processes in ((), ("-n", "2")):
        command = [beside_python("pse"), "analyze", str(random_run), *processes]
        job = Job(["sh", "-c", 'exec "$@" >/dev/full', "sh", *command])
        endings.append((job.wait(), job.err))
    assert endings[0] == endings[1]
    assert "No space left on device" in endings[1][1]
