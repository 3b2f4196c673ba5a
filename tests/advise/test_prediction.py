"""Predictions where the right one is known in closed form."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pse.advise import Advice, advise, parse_whatif
from pse.advise.model._program_subject import Subject, checked
from pse.advise.rewrite._edits import edits
from pse.advise.rewrite._explanation import explain_partitions
from pse.advise.rewrite._rewriting import Change
from pse.advise.search._partitioning import partition_changes
from tests.advise.conftest import PIPELINE

Record = Callable[..., Path]
EXACT = 2e-3

PARALLEL = """\
coven 1
import "stages.py" { fill, change, look, burn }
param i64 n = 6
partition P = procs
program spread {
  var f64[64] @ block(0) u
  var f64 size = 0.0
  var f64 most = 0.0
  PARALLEL over P { fill() -> u }
  for k in 0 .. n {
    PARALLEL over P {
      change(u)
      look(u) -> s reduce size(max)
    }
  }
}
"""


def near(seconds: float) -> object:
    return pytest.approx(seconds, rel=EXACT)


def labels(advice: Advice) -> dict[int, str]:
    return {edit.line: edit.after for edit in advice.proposal}


def test_one_that_computes_and_one_that_waits_take_two_threads(pipeline: Path) -> None:
    advice = advise(pipeline)
    assert advice.measured == pytest.approx(4.0)
    assert advice.simulated == near(4.0)
    assert advice.prediction.seconds == near(2.25)
    assert advice.gain == pytest.approx(1 - 2.25 / 4, abs=EXACT)
    assert len(advice.proposal) == 1
    assert set(labels(advice).values()) == {"thread_B"}


@pytest.mark.parametrize("slow", [1, 2])
def test_new_threads_have_letters_in_the_order_of_the_text(recorded: Record, slow: int) -> None:
    text = PIPELINE.replace("-> y\n", "-> y\n    thread_A transfer(y) -> z\n")
    waits = [0.3, 0.3]
    waits[slow - 1] = 0.4
    calls = [(0, 0.3, 0.0), (1, 0.0, waits[0]), (2, 0.0, waits[1])] * 8
    assert list(labels(advise(recorded(text, calls))).values()) == ["thread_B", "thread_C"]


def test_the_interval_holds_the_prediction_and_is_narrow_for_even_durations(pipeline: Path) -> None:
    found = advise(pipeline).prediction
    assert found.low < found.seconds < found.high
    assert found.high - found.low < 0.1 * found.seconds


def test_durations_that_vary_widen_the_interval(recorded: Record) -> None:
    calls = [
        call for k in range(8) for call in ((0, 0.05 + 0.1 * (k % 5), 0.0), (1, 0.0, 0.45 - 0.1 * (k % 5)))
    ]
    found = advise(recorded(PIPELINE, calls)).prediction
    assert found.high - found.low > 0.1 * found.seconds


@pytest.mark.parametrize(("cores", "seconds"), [(1, 4.0), (2, 2.25)])
def test_two_that_compute_need_two_cores(recorded: Record, cores: int, seconds: float) -> None:
    advice = advise(recorded(PIPELINE, [(0, 0.25, 0.0), (1, 0.25, 0.0)] * 8, cores=cores))
    assert advice.prediction.seconds == near(seconds)
    assert bool(advice.proposal) == (cores == 2)


def test_a_busy_core_is_the_reason_to_leave_a_program_as_it_is(recorded: Record) -> None:
    advice = advise(recorded(PIPELINE, [(0, 0.25, 0.0), (1, 0.25, 0.0)] * 8))
    assert advice.diff == ""
    assert advice.reasons == (
        "leave it as it is: the cores are busy 100 % of the time; threads would only take turns",
    )


def test_a_program_stays_as_it_is_where_nothing_that_is_tried_may_be(pipeline: Path, monkeypatch) -> None:
    monkeypatch.setattr("pse.advise.rewrite._proposal._Proposing._is_legal", lambda *_: False)
    assert advise(pipeline).diff == ""


def test_a_share_of_a_core_stretches_computing_but_not_waiting(recorded: Record) -> None:
    advice = advise(recorded(PIPELINE, [(0, 0.1, 0.0), (1, 0.0, 0.2)] * 8, share=0.5))
    assert advice.measured == pytest.approx(3.2)
    assert advice.prediction.seconds == near(8 * 0.2 + 0.2)


def test_reasons_name_loads_and_threads(pipeline: Path) -> None:
    (reason,) = advise(pipeline).reasons
    assert "loads the CPU" in reason
    assert "give it a thread of its own, thread_B" in reason


def test_a_module_twice_as_fast_shortens_the_prediction(pipeline: Path) -> None:
    advice = advise(pipeline, whatif=parse_whatif(speeds=["compute=2x"]))
    assert advice.present.seconds == near(8 * (0.125 + 0.25))
    assert advice.prediction.seconds == near(0.125 + 8 * 0.25)
    assert advice.supposed == "compute 2 × as fast"


def test_threads_of_the_users_choice_are_predicted(pipeline: Path) -> None:
    advice = advise(pipeline, whatif=parse_whatif(threads=["transfer:8=thread_X"]))
    assert advice.prediction.seconds == near(2.25)
    assert labels(advice) == {8: "thread_X"}


def test_long_loops_are_simulated_in_part(recorded: Record) -> None:
    units = 1500  # Calls of two modules: more than are simulated.
    directory = recorded(PIPELINE, [(0, 0.002, 0.0), (1, 0.0, 0.001)] * units, parameters={"units": units})
    advice = advise(directory)
    assert advice.simulated == near(0.003 * units)
    assert advice.prediction.seconds == near(0.002 * units)


@pytest.mark.parametrize(("processors", "preempted"), [(2, 0.1), (4, 0.3)])
def test_cores_that_other_users_took_are_left_to_nobody(
    recorded: Record, processors: int, preempted: float
) -> None:
    calls = [(0, 0.1, 0.0), *[(1, 0.1, 0.0), (2, 0.1, 0.0)] * 6]
    advice = advise(recorded(PARALLEL, calls, processors=processors, cores=2, preempted=preempted))
    assert advice.simulated == near(advice.measured)
    assert not advice.proposal


@pytest.mark.parametrize(("cores", "factor"), [(1, 1.0), (4, 0.5)])
def test_twice_as_many_processors_halve_the_work_of_each(recorded: Record, cores: int, factor: float) -> None:
    calls = [(0, 0.1, 0.0), *[(1, 0.2, 0.0), (2, 0.1, 0.0)] * 6]
    advice = advise(recorded(PARALLEL, calls, cores=cores), whatif=parse_whatif(processors=2))
    assert advice.simulated == near(1.9)
    assert advice.present.seconds == near(1.9 * factor)


def test_reductions_hold_processors_together(recorded: Record) -> None:
    calls = [(0, 0.1, 0.0), *[(1, 0.2, 0.0), (2, 0.1, 0.0)] * 6]
    advice = advise(recorded(PARALLEL, calls, processors=3, cores=4))
    assert advice.simulated == near(1.9)


def test_several_partitions_of_a_processor_take_turns(recorded: Record) -> None:
    text = PARALLEL.replace("P = procs", "P = 2 * procs")
    calls = [(0, 0.1, 0.0), *[(1, 0.2, 0.0), (2, 0.1, 0.0)] * 6]
    advice = advise(recorded(text, calls, processors=2, partitions=4, cores=2))
    assert advice.simulated == near(2 * 1.9)


def test_while_loops_go_on_as_long_as_the_trace_does(recorded: Record) -> None:
    text = PARALLEL.replace("for k in 0 .. n {", "while size < 7.0 max 100 {")
    text = text.replace("param i64 n = 6\n", "")
    calls = [(0, 0.1, 0.0), *[(1, 0.2, 0.0), (2, 0.1, 0.0)] * 9]
    assert advise(recorded(text, calls)).simulated == near(0.1 + 9 * 0.3)


def test_branches_are_taken_as_the_trace_has_it(recorded: Record) -> None:
    text = PARALLEL.replace("      look(u)", "      if size > 2.0 { change(u) }\n      look(u)")
    calls = [(0, 0.1, 0.0)]
    for k in range(6):
        calls += [(1, 0.2, 0.0), *([(2, 0.5, 0.0)] if k % 2 else []), (3, 0.1, 0.0)]
    assert advise(recorded(text, calls)).simulated == near(0.1 + 6 * 0.3 + 3 * 0.5)


def test_segments_are_one_text_and_stay_together(recorded: Record) -> None:
    text = """\
coven 1
import "stages.py" { compute, transfer }
segment unit(i64 k) -> (f64[4] y) {
  thread_A compute(k) -> x
  thread_A transfer(x) -> y
}
program twice {
  for k in 0 .. 4 {
    unit(k) -> a
    unit(k + 1) -> b
  }
}
"""
    advice = advise(recorded(text, [(0, 0.25, 0.0), (1, 0.0, 0.25), (2, 0.25, 0.0), (3, 0.0, 0.25)] * 4))
    assert advice.prediction.seconds == near(2.25)
    assert advice.diff.count("\n+") == 2  # one label, and the head of the diff


def test_only_calls_that_move_get_labels_in_a_program_without(recorded: Record) -> None:
    text = PIPELINE.replace("thread_A ", "")
    advice = advise(recorded(text, [(0, 0.25, 0.0), (1, 0.0, 0.25)] * 8))
    assert advice.prediction.seconds == near(2.25)
    assert "    compute(k) -> x   // takes the CPU" in advice.text
    assert "thread_B transfer(x) -> y" in advice.text


def test_a_run_with_several_threads_is_taken_with_a_wider_interval(recorded: Record, pipeline: Path) -> None:
    one = advise(pipeline).present
    text = PIPELINE.replace("thread_A transfer", "thread_B transfer")
    calls = [(0, 0.25, 0.0)] * 8 + [(1, 0.0, 0.25)] * 8
    two = advise(recorded(text, calls))
    assert (two.present.high - two.present.low) / two.present.seconds > (one.high - one.low) / one.seconds
    assert any("several threads" in note for note in two.notes)


def test_modules_that_keep_data_between_calls_stay_together(recorded: Record, tmp_path: Path) -> None:
    directory = recorded(PIPELINE, [(0, 0.25, 0.0), (1, 0.0, 0.25)] * 8)
    source = tmp_path / "stages.py"
    source.write_text(source.read_text() + "\n\nSEEN = []\n")
    advice = advise(directory)
    assert not advice.proposal
    assert "has to stay on one thread" in advice.reasons[0]


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("P = procs", "P = procs", ["2 * procs", "4 * procs"]),
        ("P = procs", "P = 3 * procs", ["6 * procs", "12 * procs"]),
        ("P = procs", "P = procs + 1", []),
        ("f64[64]", "f64[64 * P]", []),  # The array's size depends on it.
        ("0 .. n {", "0 .. P {", []),
        ("change(u)\n", "change(u)\n      burn(k) -> y reduce most(max)\n", []),  # No array is cut.
    ],
)
def test_partitions_are_cut_finer_only_where_nothing_else_hangs_on_them(
    recorded: Record, tmp_path: Path, old: str, new: str, counts: list[str]
) -> None:
    recorded(PARALLEL, [(0, 0.1, 0.0)])
    path = str(tmp_path / "program.coven")
    subject = Subject(path, *checked(PARALLEL.replace(old, new), path))
    assert [change["P"] for change in partition_changes(subject)] == counts


def test_finer_partitions_are_explained_with_what_they_take_for_granted(
    recorded: Record, tmp_path: Path
) -> None:
    recorded(PARALLEL, [(0, 0.1, 0.0)])
    path = str(tmp_path / "program.coven")
    subject, change = Subject(path, *checked(PARALLEL, path)), Change(partitions={"P": "4 * procs"})
    assert [(edit.before, edit.after) for edit in edits(subject, change)] == [("procs", "4 * procs")]
    [reason] = explain_partitions(subject, change.partitions)
    assert reason.startswith("P = 4 * procs, not procs: ")
    assert "only if a call takes time in proportion to the size of its piece" in reason
