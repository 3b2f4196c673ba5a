"""Where partitions live: every placement gives each partition one processor, and says why if it can't."""

import os

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mpi4py import MPI

from pse.errors import ProgramError, PseError, RunError, UsageError
from pse.language.check._ir import Option
from pse.language.diagnostics._source import Span
from pse.modules import ModuleError
from pse.runtime.distribution._partition_placement import agree, block, cyclic, place_partitions
from pse.runtime.request._options import resolve

COUNTS = {"P": 5, "Q": 2}


@pytest.fixture
def asked(tmp_path):
    """Ask a function of a user's file: ``asked(body, counts=…, processors=…)``."""

    def ask(body, counts=COUNTS, processors=3):
        (tmp_path / "place.py").write_text(
            f"import numpy as np\n\ndef near(partitions, processors):\n    {body}\n"
        )
        return place_partitions(f"{tmp_path / 'place.py'}:near", counts, processors)

    return ask


@settings(deadline=None)
@given(st.integers(0, 400), st.integers(1, 60))
def test_blocks_are_those_of_arrays(partitions, processors):
    runs = np.array_split(np.arange(partitions), processors)
    assert block(partitions, processors) == tuple(p for p, run in enumerate(runs) for _ in run)


@settings(deadline=None)
@given(st.integers(0, 400), st.integers(1, 60), st.sampled_from([block, cyclic]))
def test_no_processor_has_two_more_than_another(partitions, processors, rule):
    counts = np.bincount(rule(partitions, processors), minlength=processors)
    assert counts.sum() == partitions
    assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("rule", [block, cyclic])
def test_as_many_partitions_as_processors_are_one_each(rule):
    assert rule(6, 6) == tuple(range(6))


@pytest.mark.parametrize(
    "body",
    [
        "return [p % 2 * 2 for p in range(partitions)]",
        "return tuple(p % 2 * 2 for p in range(partitions))",
        "return np.arange(partitions) % 2 * 2",
    ],
)
def test_a_function_places_every_partition(asked, body):
    assert asked(body) == {"P": (0, 2, 0, 2, 0), "Q": (0, 2)}


EXPECTED = "expected a processor from 0 to 2 for each of 5 partitions"
WRONG = {
    "too few": ("return [0]", RunError, f"near(5, 3) returned 1 processor; {EXPECTED}"),
    "negative": ("return [0, 1, -1, 0, 0]", RunError, f"near(5, 3) returned -1 for partition 2; {EXPECTED}"),
    "too high": ("return [0, 1, 3, 0, 0]", RunError, f"near(5, 3) returned 3 for partition 2; {EXPECTED}"),
    "real": ("return [0.0] * 5", RunError, f"near(5, 3) returned 0.0 for partition 0; {EXPECTED}"),
    "table": ("return np.zeros((5, 2), int)", RunError, "for partition 0"),
    "nothing": ("pass", RunError, f"near(5, 3) returned None; {EXPECTED}"),
    "raises": ("return 1 / 0", ModuleError, "near(5, 3) failed for partition P"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_placement_is_named(asked, case):
    body, kind, words = WRONG[case]
    with pytest.raises(kind) as caught:
        asked(body)
    assert words in caught.value.message
    if kind is ModuleError:
        assert "ZeroDivisionError: division by zero" in caught.value.traceback


def test_a_file_that_cannot_be_asked_is_named(tmp_path):
    with pytest.raises(ProgramError, match=r"there is no file .*gone\.py"):
        place_partitions(f"{tmp_path}/gone.py:near", COUNTS, 2)
    (tmp_path / "other.py").write_text("near = 3\n")
    with pytest.raises(ProgramError, match=r"other\.py has no function near"):
        place_partitions(f"{tmp_path}/other.py:near", COUNTS, 2)
    (tmp_path / "broken.py").write_text("def near(:\n")
    with pytest.raises(PseError, match=r"broken\.py can't be imported: SyntaxError"):
        place_partitions(f"{tmp_path}/broken.py:near", COUNTS, 2)


def test_all_ranks_have_the_first_ones_answer(tmp_path):
    (tmp_path / "once.py").write_text(
        "calls = []\ndef near(n, processors):\n    calls.append(n)\n    return [len(calls)] * n\n"
    )
    placement = f"{tmp_path / 'once.py'}:near"
    assert agree(MPI.COMM_SELF, placement, COUNTS, 4) == {"P": (1,) * 5, "Q": (2,) * 2}
    assert agree(MPI.COMM_SELF, "cyclic", COUNTS, 4) == {"P": (0, 1, 2, 3, 0), "Q": (0, 1)}


def test_a_file_of_the_program_lies_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = Span(os.path.join("jobs", "p.coven"), 3, 1, 3, 9)
    program = [Option("placement", "place.py:near", None, place), Option("balance", 5, None, place)]
    options = resolve(program, (), ())
    assert (options.placement, options.balance) == (os.path.join("jobs", "place.py:near"), 5)
    with pytest.raises(UsageError, match=r"there is no file /.*place\.py"):
        resolve(program, ["placement=place.py:near"], ())
    (tmp_path / "place.py").touch()
    options = resolve(program, ["placement=place.py:near", "balance=off"], ())
    assert (options.placement, options.balance) == ("place.py:near", 0)
    assert resolve([Option("placement", "cyclic", None, place)], (), ()).placement == "cyclic"
