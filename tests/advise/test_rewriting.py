"""What is written into programs: labels and little else."""

import os
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pse_testing.example_counts import some_of

from pse.advise import AdviceError, advise, parse_whatif
from pse.advise.model._program_subject import Subject, checked
from pse.advise.rewrite._rewriting import Change, rewrite, write
from pse.language import format_program
from tests.advise.conftest import PIPELINE, STAGES

Record = Callable[..., Path]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the tests' modules."""
    directory = tmp_path_factory.mktemp("programs")
    (directory / "stages.py").write_text(STAGES)
    return directory


def subject(text: str, place: Path) -> Subject:
    path = str(place / "program.coven")
    return Subject(path, *checked(text, path))


def without_labels(text: str) -> str:
    return re.sub(r"\bthread_\w+\s+", "", text)


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["", "thread_A ", "thread_B ", "thread_C  "]),
        st.booleans(),
        st.sampled_from(["", "  // a note", '   # another note: thread_Q { } ; "', " ;"]),
        st.sampled_from(["\n", "\n\n", "\n\n\n", "\n  // alone\n"]),
    ),
    min_size=1,
    max_size=6,
)


def program(calls: list[tuple[str, bool, str, str]]) -> str:
    lines = ""
    for index, (label, first, note, gap) in enumerate(calls):
        call = "compute(0)" if first or not index else f"transfer(x{index - 1})"
        lines += f"    {label}{call} -> x{index}{note}{gap}"
    return f'coven 1\nimport "stages.py" {{ compute, transfer }}\nprogram p {{\n{lines}}}\n'


@settings(
    max_examples=some_of(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(CALLS, st.data())
def test_labels_change_and_nothing_else(
    place: Path, calls: list[tuple[str, bool, str, str]], data: st.DataObject
) -> None:
    before = subject(program(calls), place)
    spots = sorted(before.calls)
    new = data.draw(st.dictionaries(st.sampled_from(spots), st.sampled_from(["thread_B", "thread_Z"])))
    text = rewrite(before, Change(labels=new))
    after = subject(text, place)
    assert without_labels(text) == without_labels(before.text)
    for spot, node in zip(spots, [after.calls[key] for key in sorted(after.calls)], strict=True):
        label = before.calls[spot].label
        assert (node.label and node.label.id) == new.get(spot, label and label.id)


def test_a_formatted_program_stays_formatted(place: Path) -> None:
    text = format_program(PIPELINE, "p.coven")
    before = subject(text, place)
    changed = rewrite(before, Change(labels=dict.fromkeys(before.calls, "thread_Long_name"), depth=4))
    assert format_program(changed, "p.coven") == changed
    assert "// takes the CPU" in changed
    assert "    // and this waits:\n" in changed


def test_what_was_not_formatted_is_not_formatted(place: Path) -> None:
    text = PIPELINE.replace("    thread_A compute", "\t   thread_A   compute")
    before = subject(text, place)
    changed = rewrite(before, Change(labels={min(before.calls): "thread_D"}))
    assert changed == text.replace("thread_A   compute", "thread_D   compute")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("for k in 0 .. units {", "for k in 0 .. units inflight 3 {"),
        ("for k in 0 .. (units) {", "for k in 0 .. (units) inflight 3 {"),
        ("for k in 0 .. units inflight 2 {", "for k in 0 .. units inflight 3 {"),
    ],
)
def test_iterations_in_flight_are_written_into_the_head_of_a_loop(
    place: Path, head: str, expected: str
) -> None:
    before = subject(PIPELINE.replace("for k in 0 .. units {", head), place)
    (step,) = [s.id for s in before.walk.steps if type(s.statement).__name__ == "For"]
    assert expected in rewrite(before, Change(inflight={step: 3}))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", "options { queue_depth = 6 }"),
        ("options { queue_depth = 3 }\n", "options { queue_depth = 6 }"),
        ("options { arena = auto  queue_depth thread_A = 3 }\n", "queue_depth thread_A = 3"),
    ],
)
def test_the_depth_of_queues_is_written_into_the_options_once(
    place: Path, options: str, expected: str
) -> None:
    before = subject(PIPELINE.replace("program pipeline", f"{options}program pipeline"), place)
    text = rewrite(before, Change(depth=6))
    assert expected in text
    assert text.count("queue_depth = 6") == 1
    assert subject(text, place).program.options


def test_a_count_of_partitions_is_replaced_and_the_comment_behind_it_stays(place: Path) -> None:
    text = 'coven 1\nimport "stages.py" { fill }\npartition P = procs  // one each\nprogram p {\n'
    text += "  var f64[64] @ block(0) u\n  PARALLEL over P { fill() -> u }\n}\n"
    assert "partition P = 4 * procs  // one each" in rewrite(
        subject(text, place), Change(partitions={"P": "4 * procs"})
    )


def test_apply_writes_the_program(pipeline: Path, tmp_path: Path) -> None:
    path = tmp_path / "program.coven"
    path.chmod(0o640)
    advice = advise(pipeline)
    advice.apply()
    assert path.read_text() == advice.text
    assert "// takes the CPU" in advice.text
    assert path.stat().st_mode & 0o777 == 0o640
    assert checked(advice.text, str(path))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["program.coven", "stages.py", "trace"]


def test_calls_of_unrolled_loops_are_known_by_what_the_program_writes(recorded: Record) -> None:
    text = """coven 1
import "stages.py" { fill, look }
program levels {
  var f64[4] u[l in 0 .. 2]
  for l in 0 .. 2 {
    fill() -> u[l]
    look(u[l]) -> size
    print(size)
  }
}
"""
    calls = [(site, 0.1, 0.0) for site in range(6)]
    found = advise(recorded(text, calls), whatif=parse_whatif(speeds=["look=2x"], threads=["fill=thread_B"]))
    assert [(edit.what, edit.line) for edit in found.proposal] == [("thread of fill", 6)]
    assert "    thread_B fill() -> u[l]\n" in found.text


def test_a_program_that_changed_since_is_left_alone(pipeline: Path, tmp_path: Path) -> None:
    advice = advise(pipeline)
    path = tmp_path / "program.coven"
    path.write_text(other := path.read_text() + "// mine\n")
    with pytest.raises(AdviceError, match="changed since this run was recorded"):
        advice.apply()
    assert path.read_text() == other


def test_a_byte_order_mark_stays(place: Path) -> None:
    path = place / "marked.coven"
    path.write_bytes(b"\xef\xbb\xbf" + PIPELINE.encode())
    before = Subject(str(path), *checked(PIPELINE, str(path)))
    write(before, PIPELINE + "// more\n", sha256(PIPELINE.encode()).hexdigest())
    assert path.read_bytes() == b"\xef\xbb\xbf" + PIPELINE.encode() + b"// more\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_is_not_to_be_written(pipeline: Path, tmp_path: Path) -> None:
    advice = advise(pipeline)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(AdviceError, match="can't be written"):
            advice.apply()
    finally:
        tmp_path.chmod(0o700)


def test_the_users_threads_are_written_too(pipeline: Path, tmp_path: Path) -> None:
    advice = advise(pipeline, whatif=parse_whatif(threads=["compute=thread_Q"]))
    advice.apply()
    assert "thread_Q compute(k) -> x   // takes the CPU" in (tmp_path / "program.coven").read_text()
