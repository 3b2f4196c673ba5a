"""A right program gets from MPI under each of the tools what it gets without: data, statuses, errors."""

from pathlib import Path

import pytest

EXCHANGES = Path(__file__).parents[1] / "sources" / "exchanges.c"


@pytest.mark.mpi
@pytest.mark.parametrize("tools", ["coopwait", "check", "count profile record trace"])
def test_messages_of_all_kinds_come_as_they_do_without_tools(tools, program, stacked_program, tmp_path):
    exchanges = program("exchanges", EXCHANGES.read_text())
    conf = "".join(f"module {name}\n  argument directory {tmp_path / name}\n" for name in tools.split())
    done = stacked_program(3, conf, exchanges)
    assert done.code == 0
    assert "step" not in done.err
    assert done.err.count("longer than the buffer") == (tools == "check") * 3
