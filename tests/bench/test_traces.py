"""Traces that are made are sound, and as large as asked for."""

import numpy as np
import pytest

from pse import trace
from pse.bench._synthetic_trace import write_trace


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    directory = tmp_path_factory.mktemp("made")
    return write_trace(directory, 1_300_000, processors=3), trace.open(directory)


def test_all_events_are_there_in_order(made):
    count, read = made
    assert read.problems == ()
    assert count == pytest.approx(1_300_000, rel=1e-3)
    assert sum(len(read.events(rank)) for rank in read.ranks) == count
    assert len(read.ranks) == 7
    assert read.program_text.startswith("program pipeline")


def test_every_message_has_both_ends_and_every_block_lasts(made):
    _, read = made
    messages = read.messages()
    assert [len(ends) for ends in read.unmatched_messages()] == [0, 0]
    assert (messages["received"] > messages["sent"]).all()
    for name, begin, end in (("module_calls", "enter", "leave"), ("waits", "begin", "end")):
        table = getattr(read, name)()
        assert (table[end] > table[begin]).all()
        assert table["complete"].all()


def test_memory_that_is_taken_is_given_back(made):
    _, read = made
    changes = read.memory()
    assert changes["bytes"].sum() == 0
    assert np.cumsum(changes["bytes"]).min() >= 0
