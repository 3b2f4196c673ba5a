"""A right program gets from MPI under each of the tools what it gets without: data, statuses, errors."""

from pathlib import Path

import pytest

import pse.trace
from pse.trace import EventType
from pse.trace.format import high32

EXCHANGES = Path(__file__).parents[1] / "sources" / "exchanges.c"
THREADS = Path(__file__).parent / "programs" / "threads.py"
MANY_THREADS = THREADS.with_name("many_threads.c")
FORGIVEN = THREADS.with_name("forgiven.c")


@pytest.mark.mpi
@pytest.mark.parametrize("tools", ["coopwait", "check", "count profile record trace"])
def test_messages_of_all_kinds_come_as_they_do_without_tools(
    tools, program, stacked_program, tmp_path, is_intels_or_mpich_4_0
):
    exchanges = program("exchanges", EXCHANGES.read_text())
    conf = "".join(f"module {name}\n  argument directory {tmp_path / name}\n" for name in tools.split())
    done = stacked_program(3, conf, exchanges)
    assert done.code == 0
    assert "step" not in done.err
    sends_too_long = not is_intels_or_mpich_4_0
    assert done.err.count("longer than the buffer") == (tools == "check" and sends_too_long) * 3


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [1, 3])
def test_threads_of_python_do_not_stop_each_other(ranks, stacked, tmp_path):
    names = ("check", "profile", "record", "trace")
    conf = "".join(f"module {name}\n  argument directory {tmp_path / name}\n" for name in names)
    done = stacked(ranks, conf + "module coopwait\n", THREADS)
    assert done.code == 0
    assert "pse check" not in done.err


@pytest.mark.mpi
@pytest.mark.parametrize("tool", ["check", "coopwait", "piggyback"])
def test_threads_do_not_take_requests_of_others_for_theirs(tool, program, stacked_program):
    threads = program("many_threads", MANY_THREADS.read_text(), "-pthread")
    done = stacked_program(3, f"module {tool}\n", threads)  # Without tools MPICH 4.0 may take 20 s, too.
    assert (done.code, done.err) == (0, "")


@pytest.mark.mpi
@pytest.mark.parametrize("tools", ["coopwait", "check", "piggyback", "count profile record trace"])
@pytest.mark.parametrize("handlers", [[], ["alone"]], ids=["world and self", "world"])
def test_what_fails_by_an_error_that_is_forgiven_is_over(tools, handlers, program, stacked_program, tmp_path):
    forgiven = program("forgiven", FORGIVEN.read_text())
    conf = "".join(f"module {name}\n  argument directory {tmp_path / name}\n" for name in tools.split())
    plain, done = (stacked_program(3, tools, forgiven, *handlers, timeout=60) for tools in ("", conf))
    assert (plain.code, done.code) == (0, 0), plain.err + done.err
    assert sorted(done.out.splitlines()) == sorted(plain.out.splitlines())
    said = {line for line in done.err.splitlines() if line.startswith("pse")}
    assert said <= {"pse check: a message is longer than the buffer that receives it"}


@pytest.mark.mpi
def test_what_an_error_cuts_is_traced_as_received(program, stacked_program, tmp_path):
    forgiven = program("forgiven", FORGIVEN.read_text())
    assert (
        stacked_program(3, f"module trace\n  argument directory {tmp_path}\n", forgiven, timeout=60).code == 0
    )
    trace = pse.trace.open(tmp_path)
    assert trace.problems == ()
    for rank in trace.ranks:
        sent, received = (trace.select(rank, kind) for kind in (EventType.MPI_SEND, EventType.MPI_RECEIVE))
        assert sorted(high32(sent["b"]).tolist()) == sorted(high32(received["b"]).tolist())
