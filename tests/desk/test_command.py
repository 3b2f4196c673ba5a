"""The command: what it opens, what it refuses, and how it ends."""

import os
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from pse_testing.commands import EndlessCompiler, write_module

from .conftest import COMMAND, PROGRAMS, started


def refused(*words):
    done = subprocess.run([*COMMAND, *words, "--no-browser"], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def test_a_program_is_shown_first(programs):
    with started(programs / "heat.coven") as desk:
        session = desk.api("/session")
    assert (session["program"], session["directory"]) == ("heat.coven", str(programs))
    assert len(session["colours"]) == 7
    assert "queue_depth" in session["options"]


def test_a_program_that_is_not_there_is_begun(tmp_path):
    with started(tmp_path / "new.coven") as desk:
        assert desk.api("/session")["program"] == "new.coven"
        assert desk.ask("/api/file?path=new.coven").status == 404


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "nowhere is not there"),
        (["nowhere/x.coven"], "there is no directory nowhere"),
        ([str(PROGRAMS / "heat.c")], "heat.c is not a program"),
        (["--port", "70000"], "70000 is not in the range"),
        (["--host", "192.0.2.1"], "can't listen at 192.0.2.1"),
    ],
)
def test_what_cannot_be_opened_is_refused_in_words(words, message):
    code, text = refused(*words)
    assert code == 2
    assert message in text


def test_a_compiler_ends_with_the_desk_and_so_does_what_it_has_started(tmp_path):
    compiler = EndlessCompiler(tmp_path)
    (tmp_path / "work").mkdir()
    write_module(tmp_path / "work")
    with ThreadPoolExecutor(1) as pool, started(tmp_path / "work", **compiler.environment) as desk:
        build = pool.submit(desk.ask, "/api/builds", "POST", {"path": "slow.c"})
        while not compiler.has_started:
            assert not build.done(), build.result().body
            time.sleep(0.05)
    assert compiler.is_gone


def test_a_browser_that_is_waited_for_holds_nothing_up(programs, tmp_path):
    """As w3m, and scripts: it ends after the desk."""
    waiting = tmp_path / "browse"
    waiting.write_text("#!/bin/sh\nwhile kill -0 $PPID 2> /dev/null; do sleep 0.1; done\n")
    waiting.chmod(0o755)
    with started(programs, browser=True, BROWSER=f"{waiting} %s") as desk:
        assert desk.ask("/api/files").status == 200


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, text = refused(str(PROGRAMS), "--port", str(port))
    assert (code, f"the desk can't listen at 127.0.0.1, port {port}: " in text) == (2, True)
    assert "leave --port out" in text


def test_an_interrupt_ends_it_and_the_runs_that_it_started(programs, tmp_path):
    long = {"NX": "256", "NY": "256", "tol": "1e-30"}
    said = tmp_path / "stderr"
    with (
        said.open("w") as complaints,
        started(programs, complaints=complaints) as desk,
        desk.socket("/events"),  # As of a page that is open, which is not asked.
        desk.socket("/lsp", close_timeout=0) as leaving,
    ):
        leaving.close()  # Without its answer.
        run = desk.api("/runs", "POST", {"program": "heat.coven", "parameters": long}, 201)["run"]
        desk.process.send_signal(signal.SIGINT)
        assert (desk.process.wait(30), said.read_text()) == (0, "")
    with started(programs) as desk:
        kept = {one["id"]: one for one in desk.api("/runs")["runs"]}[run["id"]]
        assert kept["state"] == "stopped"


def test_an_interrupt_ends_it_though_all_its_threads_wait(tmp_path):
    """Each build waits in its compiler, which waits for somebody to write into a pipe."""
    threads = min(32, (os.cpu_count() or 1) + 4)
    os.mkfifo(tmp_path / "started")
    os.mkfifo(tmp_path / "never")
    compiler = tmp_path / "cc"
    compiler.write_text(f"#!/bin/sh\necho x > {tmp_path}/started\nread line < {tmp_path}/never\n")
    compiler.chmod(0o755)
    for number in range(threads):
        source = f"// @ coven module f{number}(in i64 n, out i64 m)\nint f{number};\n"
        (tmp_path / f"f{number}.c").write_text(source)
    cache = str(tmp_path / "cache")
    with (
        started(tmp_path, CC=str(compiler), PSE_CACHE=cache, XDG_CACHE_HOME=cache) as desk,
        ThreadPoolExecutor(threads) as pages,
    ):
        for number in range(threads):
            pages.submit(desk.ask, "/api/builds", "POST", {"path": f"f{number}.c"})
        with (tmp_path / "started").open() as lines:
            for _ in range(threads):
                lines.readline()
        desk.process.send_signal(signal.SIGINT)
        assert desk.process.wait(30) == 0


def test_without_a_built_page_it_says_so(desk):
    from pse.desk.server._application import assets

    answer = desk.ask("/")
    if (assets() / "index.html").is_file():
        assert answer.status == 200
    else:
        assert (answer.status, b"make bundles" in answer.body) == (503, True)
