"""mpiP, unmodified: a profiler that knows mpi.h alone counts in a stack what it counts by itself.

Its source is not ours, so the test runs where somebody names what they have built: PSE_MPIP=/…/libmpiP.so.
"""

import os
import re
from collections import Counter
from pathlib import Path

import pytest

RING = Path(__file__).parent / "sources" / "ring.py"
PROGRAM = ("Send", "Recv", "Allreduce", "Bcast", "Barrier")


@pytest.fixture(scope="session")
def mpip() -> Path:
    given = os.environ.get("PSE_MPIP")
    if not given:
        pytest.skip("mpiP doesn't come with pse: name a build of it, PSE_MPIP=/…/libmpiP.so")
    return Path(given)


@pytest.fixture
def counts(tmp_path, monkeypatch):
    """Give a function that reads what mpiP has counted: calls of a routine by a rank."""
    monkeypatch.setenv("MPIP", f"-f {tmp_path}")
    monkeypatch.setenv("TALLY_DIRECTORY", str(tmp_path))

    def read() -> Counter[tuple[str, str]]:
        [report] = tmp_path.glob("*.mpiP")
        times = (
            report.read_text(errors="replace")
            .partition("Callsite Time statistics")[2]
            .partition("Callsite Message")[0]
        )
        report.unlink()
        found: Counter[tuple[str, str]] = Counter()
        for routine, rank, calls in re.findall(r"^(\w+) +\d+ +(\d+) +(\d+) ", times, re.MULTILINE):
            found[routine, rank] += int(calls)
        return Counter({key: calls for key, calls in found.items() if key[0] in PROGRAM})

    return read


@pytest.mark.mpi
def test_mpip_counts_between_tools_what_it_counts_alone(
    mpip, counts, tools, ring, mpiexec, stacked, stacked_program
):
    become = "import os, sys; os.environ['LD_PRELOAD'] = sys.argv[1]; os.execv(sys.argv[2], sys.argv[2:])"
    assert mpiexec(3, "-c", become, mpip, ring).code == 0
    alone = counts()
    assert alone["Send", "0"] == 3
    stack = f"module {tools['plain']}\nmodule {mpip}\nmodule {tools['looking']}\n"
    for run, program in ((stacked_program, ring), (stacked, RING)):
        assert run(3, stack, program).code == 0
        assert counts() == alone
