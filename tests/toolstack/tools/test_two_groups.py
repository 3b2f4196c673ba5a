"""Every tool stands below programs whose collective operations are between two groups, or are persistent."""

from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "two_groups.py"
ALL = ("check", "profile", "trace", "record", "piggyback", "coopwait")

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("tools", [*[(tool,) for tool in ALL if tool != "record"], ALL], ids="+".join)
def test_operations_between_two_groups_end(stacked, tools, tmp_path):
    where = {"trace": "directory", "record": "directory", "profile": "output"}
    lines = [
        f"module {tool}\n" + (f"  argument {where[tool]} {tmp_path / tool}\n" if tool in where else "")
        for tool in tools
    ]
    done = stacked(3, "".join(lines), PROGRAM)
    assert (done.code, done.err) == (0, "")
