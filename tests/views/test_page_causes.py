"""Why a rank waited, in the page: its chains are those that the command line tells."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pse_testing.planted_waits import PlantedWaits

from pse import trace
from pse.analysis import METRICS, wait_chain, wait_chain_text, wait_states
from pse.bench._synthetic_trace import write_trace as write_synthetic
from pse.trace import EventType
from pse.views.page import _causes, write_html


def planted(directory: Path) -> None:
    """MPI alone: a late sender, whom another rank waits for."""
    made = PlantedWaits(3, [[0, 1, 2]])
    made.late_sender(on=0, source=0, target=1, wait=3000, tag=1, wildcard=False)
    made.late_sender(on=0, source=1, target=2, wait=2000, tag=2, wildcard=False)
    made.write(directory)


@pytest.fixture
def load(browser: Any) -> Callable[[Path], Callable[..., Any]]:
    """Open a page, for scripts to run in it."""

    def opened(path: Path) -> Callable[..., Any]:
        browser.get(path.as_uri())
        for _ in range(1000):
            if browser.execute_script("return Boolean(globalThis.gantt)"):
                break
        return browser.execute_script

    return opened


def chains(opened: trace.Trace, moments: list[tuple[int, int]]) -> list[list[Any]]:
    """For each rank and time: rank, who ended its wait and when, of each link."""
    found = (wait_chain(opened, rank, time) for rank, time in moments)
    return [[[link.rank, *_ended(link.ended_by)] for link in chain.links] for chain in found]


def _ended(end: Any) -> tuple[Any, Any]:
    return (None, None) if end is None else (end.rank, end.time)


IN_THE_PAGE = """
return arguments[0].map(([rank, time]) => {
  const row = gantt.model.rows.findIndex((row) => row.rank === rank);
  const { links } = gantt.chainAt(row, time);
  return links.map(({ rank, ending }) => [rank, ending?.rank ?? null, ending?.time ?? null]);
});
"""


def waits_of(opened: trace.Trace) -> list[tuple[int, int, int]]:
    """Rank, begin and end of all waits, or of calls of MPI where there are none."""
    waits, (calls, _) = opened.waits(), opened.routine_calls()
    found = zip(waits["rank"].tolist(), waits["begin"].tolist(), waits["end"].tolist(), strict=True)
    of_mpi = zip(calls["rank"].tolist(), calls["enter"].tolist(), calls["leave"].tolist(), strict=True)
    return list(found) or list(of_mpi)


@pytest.mark.parametrize("write", [planted, lambda directory: write_synthetic(directory, 2000, 3)])
def test_chains_are_those_of_the_command_line(tmp_path, load, write) -> None:
    write(tmp_path / "trace")
    opened = trace.open(tmp_path / "trace")
    write_html(opened, tmp_path / "view.html")
    moments = [
        (rank, time)
        for rank, begin, end in waits_of(opened)[:120]
        for time in (begin, (begin + end) // 2, end - 1)
    ]
    expected = chains(opened, moments)
    assert load(tmp_path / "view.html")(IN_THE_PAGE, moments) == expected
    assert max(map(len, expected)) > 1


SELECT = """
const model = gantt.model, row = model.rows.findIndex((row) => row.rank === arguments[0]);
gantt.timeline.select(model.base.from[model.rows[row].lanes[0]], arguments[1]);
return document.getElementById('selected').innerText
"""


def test_a_click_on_a_wait_tells_why_in_words_and_arrows(tmp_path, load) -> None:
    write_synthetic(tmp_path / "trace", 300, 1)
    opened = trace.open(tmp_path / "trace")
    write_html(opened, tmp_path / "view.html")
    run = load(tmp_path / "view.html")
    rank, begin, end = next(wait for wait in waits_of(opened) if wait[0] == 2)
    told = run(SELECT, 2, (begin + end) // 2)
    chain = wait_chain(opened, rank, (begin + end) // 2)
    assert f"rank {chain.links[0].ended_by.rank} handed over" in told
    assert f"So rank 2 waited for rank {chain.links[-1].rank}, which " in told
    assert run("return gantt.view.chain.links.length") == len(chain.links)
    link = chain.links[0]
    times = "return Object.fromEntries(gantt.accounted(arguments[0], arguments[1]).times)"
    assert run(f"{times}.waking", begin, end) >= end - link.ended_by.time > 0
    assert "of waits: over, not awake yet" in run("return document.getElementById('legend').innerText")


def test_a_late_rank_is_in_its_innermost_function(tmp_path, load) -> None:
    made = PlantedWaits(2, [[0, 1]])
    for function in ("solve", "halo"):
        made.enter(0, function)
    made.late_sender(on=0, source=0, target=1, wait=3000, tag=1, wildcard=False)
    made.leave(0)
    made.leave(0)
    opened = made.write(tmp_path / "trace")
    write_html(opened, tmp_path / "view.html")
    begin, end = next((begin, end) for rank, begin, end in waits_of(opened) if rank == 1)
    moment = (begin + end) // 2
    said = "waited for rank 0, which was outside of MPI, in halo"
    assert list(wait_chain_text(wait_chain(opened, 1, moment)))[-1] == f"so rank 1 {said}"
    told = load(tmp_path / "view.html")(SELECT, 1, moment)
    assert f"So rank 1 {said}" in told
    assert "rank 1 (rank 1)" not in told


def test_a_wait_that_never_ended_names_who_should_have_ended_it(small_trace, load, tmp_path) -> None:
    write_html(small_trace, tmp_path / "view.html")
    run = load(tmp_path / "view.html")
    for rank in small_trace.ranks:
        found = run(
            "const { links } = gantt.chainAt(gantt.model.rows.findIndex((row) => row.rank === arguments[0]),"
            " arguments[1]); return links.map(({ rank, ending }) => [rank, ending?.rank ?? null,"
            " ending?.certain ?? null])",
            rank,
            small_trace.span - 1,
        )
        chain = wait_chain(small_trace, rank, small_trace.span - 1)
        ends = [(link.rank, link.ended_by) for link in chain.links]
        assert found == [[one, end and end.rank, end and end.certain] for one, end in ends]
    assert [2, 0, False] in found
    run("const row = gantt.model.rows[2]; gantt.timeline.select(gantt.model.base.from[row.lanes[0]])")
    assert "it never ended; rank 0 should have ended it" in run(
        "return document.getElementById('selected').innerText"
    )


def test_a_page_of_too_many_waits_says_that_it_has_no_causes(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(_causes, "MOST_WAITS", 3)
    write_synthetic(tmp_path / "trace", 300, 1)
    write_html(trace.open(tmp_path / "trace"), tmp_path / "view.html")
    assert "pse trace why tells them" in (tmp_path / "view.html").read_text()


def test_wait_states_are_those_of_the_analysis(tmp_path, load) -> None:
    planted(tmp_path / "trace")
    opened = trace.open(tmp_path / "trace")
    write_html(opened, tmp_path / "view.html")
    found = load(tmp_path / "view.html")(
        "const { base, kinds, lanes, rows } = gantt.model; return lanes.flatMap((lane, number) =>"
        " lane.layer !== 'states' ? [] : [...base.start.slice(base.from[number], base.from[number + 1])]"
        ".map((begin, n) => [rows[lane.row].rank,"
        " kinds[base.kind[base.first[base.from[number] + n]]].label, begin,"
        " base.end[base.from[number] + n]]))"
    )
    expected = wait_states(opened)
    assert len(expected) == 2
    assert sorted(found) == sorted(
        [int(one["rank"]), METRICS[one["metric"]].title, round(one["begin"]), round(one["end"])]
        for one in expected
    )


def test_flows_of_a_call_are_the_hand_overs_of_its_tags(tmp_path, load) -> None:
    write_synthetic(tmp_path / "trace", 1500, 2)
    opened = trace.open(tmp_path / "trace")
    write_html(opened, tmp_path / "view.html")
    found = load(tmp_path / "view.html")(
        "const { base, rows, messages } = gantt.model, made = [];"
        "const row = rows.findIndex((row) => row.rank === 3);"
        "for (let i = base.from[rows[row].lanes[0]]; i < base.from[rows[row].lanes[0] + 1]; i++)"
        " made.push(...gantt.flowsOf(i, row).map(({ message: n, into }) =>"
        " [base.start[i], rows[into ? messages.sender[n] : messages.receiver[n]].rank, messages.sent[n]]));"
        "return made"
    )
    calls, handed = opened.module_calls(), opened.messages()
    calls = calls[calls["rank"] == 3]
    assert len(calls) > 5
    expected = []
    for call in calls:
        to_it = handed[(handed["receiver"] == 3) & (handed["tph"] == call["tph"])]
        of_it = handed[(handed["sender"] == 3) & (handed["tph"] == call["tph"])]
        expected += [[call["enter"], 0, to_it["sent"][0]], [call["enter"], 4, of_it["sent"][0]]]
    assert found == expected


def test_the_legend_tells_how_long_modules_were_without_a_core(load, make, write_trace, tmp_path) -> None:
    enter, leave = make.call(0, 1_000_000, 5_000_000)
    lost = {"time": leave["time"], "type": EventType.MODULE_PREEMPTED, "a": 1_000_000}
    opened = write_trace([[enter, leave, lost]], make.definitions(1))
    write_html(opened, tmp_path / "view.html")
    lost = int(opened.module_calls()["preempted"].sum())
    ask = "return Object.fromEntries(gantt.accounted(arguments[0], arguments[1]).times).preempted"
    run = load(tmp_path / "view.html")
    assert run(ask, 0, 5_000_000) == lost > 0
    assert run(ask, 2_000_000, 4_000_000) == pytest.approx(lost / 2)
