"""Pages of real runs: causes, the critical path and wait states are those of the command line."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pse_testing.browser import until
from pse_testing.jobs import beside_python

from pse import trace
from pse.analysis import METRICS, critical_path, wait_chain, wait_states
from pse.trace import Trace
from pse.views.page import write_html

pytest.importorskip("selenium", reason="selenium isn't installed")

PROGRAMS = Path(__file__).parents[2] / "programs"
RUNS = {
    "fft2d": ["-D", "N=64", "-D", "frames=4"],
    "heat": ["-D", "NX=32", "-D", "NY=32", "-D", "tol=1e-2"],
    "matmul": ["-D", "M=96", "-D", "N=96", "-D", "K=96", "-D", "width=32"],
    "nbody": ["-D", "bodies=256", "-D", "steps=4"],
}
MOMENTS = 50

CHAINS = """
return arguments[0].map(([rank, time]) => {
  const row = gantt.model.rows.findIndex((row) => row.rank === rank);
  return gantt.chainAt(row, time).links.map(({ rank, ending }) =>
    [rank, ending?.rank ?? null, ending?.time ?? null, ending?.certain ?? null]);
});
"""
STATES = """
const { base, kinds, lanes, rows } = gantt.model, found = {};
lanes.forEach((lane, number) => {
  if (lane.layer !== "states") return;
  for (let i = base.from[number]; i < base.from[number + 1]; i++)
    for (let p = base.first[i]; p < base.first[i + 1]; p++) {
      const { label } = kinds[base.kind[p]];
      found[label] = (found[label] ?? 0) + base.time[p];
    }
});
return found;
"""


@pytest.fixture(scope="module")
def opened(browser: Any) -> Callable[[Trace, Path], Callable[..., Any]]:
    def show(run: Trace, path: Path) -> Callable[..., Any]:
        write_html(run, path)
        browser.get(path.as_uri())
        until(browser, "Boolean(globalThis.gantt)")
        ask: Callable[..., Any] = browser.execute_script
        return ask

    return show


def moments(run: Trace) -> list[tuple[int, int]]:
    """Ranks and times in the longest waits, or calls of MPI, and at both ends of them."""
    waits, (routines, _) = run.waits(), run.routine_calls()
    columns = [(waits["rank"], waits["begin"], waits["end"])]
    columns += [(routines["rank"], routines["enter"], routines["leave"])]
    rank, begin, end = (np.concatenate(parts).astype("<i8") for parts in zip(*columns, strict=True))
    longest = np.argsort(begin - end, kind="stable")[:MOMENTS]
    ends = zip(rank[longest].tolist(), begin[longest].tolist(), end[longest].tolist(), strict=True)
    return [
        (rank, time)
        for rank, begin, end in ends
        if end > begin
        for time in (begin, (begin + end) // 2, end - 1)
    ]


def told(run: Trace, rank: int, time: int) -> list[list[Any]]:
    links = [(link.rank, link.ended_by) for link in wait_chain(run, rank, time).links]
    return [[rank, *((end.rank, end.time, end.certain) if end else (None,) * 3)] for rank, end in links]


def same_as_command_line(run: Trace, ask: Callable[..., Any]) -> None:
    asked = moments(run)
    assert len(asked) > 20
    chains = ask(CHAINS, asked)
    expected = [told(run, *moment) for moment in asked]
    for moment, one, other in zip(asked, chains, expected, strict=True):
        assert one == other, moment
    assert max(map(len, expected)) > 1  # Somebody did wait for somebody.
    path = {
        part["name"]: (part["time"], part["count"])
        for part in ask("return gantt.pathParts(0, arguments[0])", run.span + 1)
    }
    assert path == {share.name: (share.time, share.count) for share in critical_path(run).shares()}


@pytest.mark.parametrize("program", RUNS)
def test_causes_and_path_of_programs_are_those_of_the_command_line(program, pse, opened, tmp_path) -> None:
    results = ["-D", f"results={tmp_path}"] if program == "fft2d" else []
    ran = pse(
        "run",
        PROGRAMS / f"{program}.coven",
        "-p",
        "2",
        *RUNS[program],
        *results,
        "--trace",
        tmp_path / "trace",
    )
    assert ran.code == 0, ran.err
    run = trace.open(tmp_path / "trace")
    same_as_command_line(run, opened(run, tmp_path / "page.html"))


def test_causes_and_wait_states_of_a_strange_mpi_program_are_those_of_the_command_line(
    pse, opened, tmp_path
) -> None:
    """mpi4py's own test of a ring, which knows nothing of pse."""
    (tmp_path / "tools.conf").write_text(f"module trace\n  argument directory {tmp_path / 'trace'}\n")
    command = [
        beside_python("mpiexec"),
        "-n",
        "4",
        sys.executable,
        "-m",
        "mpi4py.bench",
        "ringtest",
        "-l",
        "20",
        "-q",
    ]
    ran = pse("tools", "run", "-c", tmp_path / "tools.conf", "--", *command)
    assert ran.code == 0, ran.err
    run = trace.open(tmp_path / "trace")
    ask = opened(run, tmp_path / "page.html")
    same_as_command_line(run, ask)
    states = wait_states(run)
    times = states["end"] - states["begin"]
    expected = {
        METRICS[name].title: float(times[states["metric"] == name].sum())
        for name in np.unique(states["metric"])
    }
    assert ask(STATES) == pytest.approx(expected, abs=len(states))  # Rounded to ns, each.
    assert len(states) > 20


def test_causes_of_an_imported_trace_are_those_of_the_command_line(pse, opened, tmp_path) -> None:
    """A trace that Score-P has recorded."""
    archive = Path(__file__).parents[1] / "trace/data/pingpong-otf2/traces.otf2"
    assert pse("trace", "import", archive, "-o", tmp_path / "trace").code == 0
    run = trace.open(tmp_path / "trace")
    same_as_command_line(run, opened(run, tmp_path / "page.html"))
