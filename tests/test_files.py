"""Files and directories appear whole or not at all: on a full disk, and after a failure."""

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from pse import files
from pse.emulate import CYCLE, EXCHANGE, RecordedProgram, Results, Step
from pse.errors import UsageError
from pse.files import brief_directory, draft_directory, draft_file, locked_output, replace_file, write_file
from pse.trace import TraceError, write_program


@pytest.fixture(scope="module")
def full_disk(tmp_path_factory):
    """A file system of 64 KiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    path = tmp_path_factory.mktemp("disk")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", path], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.strip()}")
    yield path
    subprocess.run(["umount", path], check=True)


def tables(rows):
    return Results(np.zeros(rows, CYCLE), np.zeros(0, EXCHANGE), {"rows": rows})


def test_results_survive_a_full_disk(full_disk):
    tables(10).save(full_disk / "first.ace")
    with pytest.raises(UsageError, match=r"cannot write .*first\.ace: No space left on device"):
        tables(10_000).save(full_disk / "first.ace")
    assert len(Results.load(full_disk / "first.ace").cycles) == 10
    assert [path.name for path in full_disk.iterdir()] == ["first.ace"]


def test_files_survive_a_full_disk(full_disk):
    target = full_disk / "model.json"
    write_file(b"old", target)
    with pytest.raises(UsageError, match=r"cannot write .*model\.json: No space left on device"):
        write_file(bytes(100_000), target)
    assert target.read_bytes() == b"old"
    seconds = np.random.default_rng(0).random(20_000)
    program = RecordedProgram((tuple(Step(0, seconds=one) for one in seconds),))
    with pytest.raises(UsageError, match="No space left on device"):
        program.save(full_disk / "program.npz")
    assert not [path.name for path in full_disk.iterdir() if path.suffix in (".part", ".npz")]


def test_the_program_of_a_trace_survives_a_full_disk(full_disk):
    write_program(full_disk, "program p { }\n")
    with pytest.raises(TraceError, match=r"program\.coven can't be written: No space left on device"):
        write_program(full_disk, "// long\n" * 20_000)
    assert (full_disk / "program.coven").read_text() == "program p { }\n"
    assert not list(full_disk.glob("*.part"))


def test_a_replaced_directory_is_there_at_every_moment(tmp_path, monkeypatch):
    target = tmp_path / "results"
    target.mkdir()
    (target / "old").touch()
    seen = []
    monkeypatch.setattr(files.shutil, "rmtree", lambda path, **_: seen.append((path, os.listdir(target))))
    with draft_directory(target) as draft:
        (draft / "new").touch()
        assert os.listdir(target) == ["old"]
    assert seen == [(draft, ["new"])]
    assert os.listdir(draft) == ["old"]


def test_directories_change_places_where_the_system_has_no_call_for_it(tmp_path, monkeypatch):
    class Without:
        def __init__(self, *_, **__):
            pass

    monkeypatch.setattr(files.ctypes, "CDLL", Without)
    target = tmp_path / "results"
    for name in ("old", "new"):
        with draft_directory(target) as draft:
            (draft / name).touch()
    assert os.listdir(target) == ["new"]
    assert os.listdir(tmp_path) == ["results"]


def test_a_failed_writer_leaves_what_was_there(tmp_path):
    target = tmp_path / "results"
    with draft_directory(target) as draft:
        (draft / "old").touch()
    with pytest.raises(FileNotFoundError), draft_directory(target) as draft:
        (draft / "none" / "new").touch()
    with pytest.raises(FileNotFoundError), draft_file(tmp_path / "file") as draft:
        (draft.parent / "none" / "new").touch()
    assert os.listdir(tmp_path) == ["results"]
    assert os.listdir(target) == ["old"]


def test_modes_are_those_of_the_umask_or_of_what_was_there(tmp_path):
    before = os.umask(0o027)
    try:
        write_file(b"1", tmp_path / "file")
        with draft_directory(tmp_path / "directory"):
            pass
    finally:
        os.umask(before)
    assert Path(tmp_path / "file").stat().st_mode & 0o777 == 0o640
    assert Path(tmp_path / "directory").stat().st_mode & 0o777 == 0o750
    (tmp_path / "file").chmod(0o755)
    (tmp_path / "link").symlink_to("file")
    replace_file(tmp_path / "link", b"2")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"2"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o755


def test_devices_are_written_to_directly():
    write_file(b"gone", os.devnull)
    with pytest.raises(UsageError, match="cannot write /dev/full: No space left on device"):
        write_file(b"x", "/dev/full")


def test_a_brief_directory_goes_even_if_its_process_is_killed(tmp_path):
    with brief_directory("brief-", str(tmp_path)) as directory:
        Path(directory, "file").touch()
    assert os.listdir(tmp_path) == []
    killed = (
        "import os, sys; from pse.files import brief_directory\n"
        "with brief_directory('brief-', sys.argv[1]) as directory:\n"
        "    open(directory + '/file', 'w').close(); os.kill(os.getpid(), 9)"
    )
    job = [sys.executable, "-c", killed, tmp_path]
    assert subprocess.run(job, capture_output=True).returncode == -9  # Its output ends with what removes.
    assert os.listdir(tmp_path) == []


def test_an_output_is_locked_until_its_writer_has_ended(tmp_path):
    def is_free():
        other = os.open(tmp_path, os.O_RDONLY)
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(other)
        return True

    with locked_output(tmp_path / "output"):
        assert not is_free()
    assert is_free()
    assert not any(tmp_path.iterdir())


def test_a_file_that_may_not_be_written_to_stays_though_its_folder_would_let_it_go(another_user):
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "kept.json")
        path.write_text("[]")
        path.chmod(0o444)
        with another_user(name), pytest.raises(UsageError, match=r"kept\.json: it is read-only") as refused:
            write_file(b"", path)
        assert refused.value.help.startswith("change who may use it")
        assert (path.read_text(), os.listdir(name)) == ("[]", ["kept.json"])


def test_a_pipe_is_no_program_and_no_module(tmp_path):
    os.mkfifo(tmp_path / "pipe.coven")
    os.mkfifo(tmp_path / "pipe.c")
    text = 'coven 1\nimport "pipe.c" { f }\nprogram p { f() }\n'
    (tmp_path / "p.coven").write_text(text)
    (tmp_path / "q.coven").write_text(text.replace("pipe.c", "pipe.coven"))
    for words, said in (
        (["check", "pipe.coven"], "error: the program pipe.coven cannot be read: it is a pipe or a device"),
        (["fmt", "pipe.coven"], "error: the program pipe.coven cannot be read: it is a pipe or a device"),
        (["check", "p.coven"], "pipe.c can't be read: it is a pipe or a device, not a file"),
        (["check", "q.coven"], "pipe.coven cannot be read: it is a pipe or a device, not a file"),
    ):
        command = [sys.executable, "-P", "-c", "from pse.cli import main; main()", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode
        assert said in done.stdout + done.stderr
