"""What can't be advised on is said, with what to do."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pse import trace
from pse.advise import AdviceError, advise, parse_whatif
from pse.trace import Phase
from tests.advise.conftest import PIPELINE

Record = Callable[..., Path]
CALLS = [(0, 0.25, 0.0), (1, 0.0, 0.25)] * 8


def test_a_trace_without_definitions_is_refused(pipeline: Path) -> None:
    (pipeline / "definitions.json").unlink()
    with pytest.raises(AdviceError, match=r"no definitions.*no call sites to give advice on"):
        advise(pipeline)


def test_a_trace_of_a_killed_rank_is_refused(recorded: Record) -> None:
    directory = recorded(PIPELINE, CALLS, phases=(Phase.READY,))
    with pytest.raises(AdviceError, match=r"not complete: rank 0 \(thread_A, root, host here\)"):
        advise(directory)


def test_a_trace_that_lacks_the_file_of_a_rank_is_refused(recorded: Record, pipeline: Path) -> None:
    text = PIPELINE.replace("thread_A transfer", "thread_B transfer")
    directory = recorded(text, CALLS)
    (directory / "rank-00001.events").unlink()
    with pytest.raises(AdviceError, match="not complete: rank 1"):
        advise(directory)


def test_a_trace_of_a_resumed_run_is_refused(recorded: Record) -> None:
    text = PIPELINE.replace("  for k", "  thread_A compute(0) -> w\n  for k").replace(
        "-> y", "-> y  thread_A print(y)"
    )
    directory = recorded(text, [(1, 0.25, 0.0), (2, 0.0, 0.25), (3, 0.0, 0.1)] * 8)
    with pytest.raises(
        AdviceError, match=r"never executed compute \(line 5\): it was resumed from a checkpoint"
    ):
        advise(directory)


def test_advice_on_a_trace_without_calls_is_refused(recorded: Record) -> None:
    with pytest.raises(AdviceError, match="no module calls"):
        advise(recorded(PIPELINE, []))


def test_a_single_call_site_stays_on_its_thread(recorded: Record) -> None:
    text = 'coven 1\nimport "stages.py" { compute }\nprogram p {\n  for k in 0 .. 4 { compute(k) -> x }\n}\n'
    advice = advise(recorded(text, [(0, 0.25, 0.25)] * 4))
    assert not advice.proposal
    assert "all of its work (compute) has to stay on one thread" in advice.reasons[0]


def test_a_program_that_is_gone_is_asked_for_by_name(pipeline: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    shutil.copy(tmp_path / "stages.py", moved)
    (tmp_path / "program.coven").rename(moved / "renamed.coven")
    with pytest.raises(AdviceError, match=r"program .* can't be read") as caught:
        advise(pipeline)
    assert "--program" in str(caught.value.help)
    assert advise(pipeline, program=str(moved / "renamed.coven")).proposal


def test_a_changed_program_without_a_copy_is_refused(pipeline: Path, tmp_path: Path) -> None:
    path = tmp_path / "program.coven"
    path.write_text(path.read_text() + "// more\n")
    with pytest.raises(AdviceError, match="not the program that ran"):
        advise(pipeline)


def test_advice_on_a_program_whose_modules_are_gone_is_refused(pipeline: Path, tmp_path: Path) -> None:
    (tmp_path / "stages.py").unlink()
    with pytest.raises(AdviceError, match="does not pass `pse check`"):
        advise(pipeline)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"link": "fast"}, "link fast: expected a rate such as 100Mbit"),
        ({"link": "0x"}, "link 0x"),
        ({"speeds": ["compute"]}, "expected MODULE=2x"),
        ({"speeds": ["compute=quick"]}, "how many times as fast"),
        ({"threads": ["compute=7"]}, "not a thread label"),
        ({"options": ["queue_depth=0"]}, "an integer from 1"),
        ({"options": ["arena=4GiB"]}, "advice knows only queue_depth"),
    ],
)
def test_what_if_words_that_make_no_sense(words: dict[str, object], message: str) -> None:
    with pytest.raises(AdviceError, match=message):
        parse_whatif(**words)


def test_names_that_the_program_has_not(pipeline: Path) -> None:
    with pytest.raises(AdviceError, match="no such call") as caught:
        advise(pipeline, whatif=parse_whatif(speeds=["transpose=2x"]))
    assert "compute, transfer" in str(caught.value.help)


def test_processors_that_the_program_can_not_have(recorded: Record) -> None:
    text = PIPELINE.replace("units = 8", "units = 8 where units % procs == 0")
    with pytest.raises(AdviceError, match="can't run on 3 processors"):
        advise(recorded(text, CALLS), whatif=parse_whatif(processors=3))


@pytest.mark.parametrize(
    ("words", "factor"), [("100Mbit", None), ("2x", 2.0), ("×0.5", 0.5), ("1.5Gbit/s", None)]
)
def test_links_are_rates_or_factors(words: str, factor: float | None) -> None:
    assert parse_whatif(link=words).link == words


def test_a_program_is_found_beside_its_trace_from_any_directory(
    pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    definitions = trace.read_definitions(pipeline)
    trace.write_definitions(pipeline, replace(definitions, program="program.coven"))
    monkeypatch.chdir("/")
    assert advise(pipeline).proposal  # It lies beside the trace.
    trace.write_program(pipeline, (tmp_path / "program.coven").read_text())
    (tmp_path / "program.coven").unlink()
    with pytest.raises(
        AdviceError, match=r"program\.coven is not there, and modules that it imports"
    ) as caught:
        advise(pipeline)
    assert "--program" in str(caught.value.help)
    monkeypatch.chdir(tmp_path)
    assert advise(pipeline).proposal  # The trace has a copy.
