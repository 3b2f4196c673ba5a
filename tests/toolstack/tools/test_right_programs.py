"""A right program gets from MPI under each of the tools what it gets without: data, statuses, errors."""

from pathlib import Path

import pytest

EXCHANGES = Path(__file__).parents[1] / "sources" / "exchanges.c"
THREADS = Path(__file__).parent / "programs" / "threads.py"
MANY_THREADS = THREADS.with_name("many_threads.c")


@pytest.mark.mpi
@pytest.mark.parametrize("tools", ["coopwait", "check", "count profile record trace"])
def test_messages_of_all_kinds_come_as_they_do_without_tools(tools, program, stacked_program, tmp_path, mpi):
    exchanges = program("exchanges", EXCHANGES.read_text())
    conf = "".join(f"module {name}\n  argument directory {tmp_path / name}\n" for name in tools.split())
    done = stacked_program(3, conf, exchanges)
    assert done.code == 0
    assert "step" not in done.err
    sends_too_long = "I_MPI_VERSION" not in (mpi.include / "mpi.h").read_text(errors="replace")
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
    done = stacked_program(3, f"module {tool}\n", threads, timeout=20)
    assert (done.code, done.err) == (0, "")
