"""The one table: what is made from it is fresh, and it keeps the rules that let old traces live."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pse.trace.format import _events as events

ROOM = Path(__file__).parents[2] / "cext" / "recorder"


@pytest.fixture(scope="module")
def text():
    return (ROOM / "events.def").read_text()


def test_what_is_made_from_the_table_is_fresh():
    done = subprocess.run([sys.executable, ROOM / "generate.py", "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_entry_of_the_table_is_read(generate, text):
    table = generate.read_table(text)
    made = len(table.fields) + len(table.header) + len(table.events) + sum(map(len, table.codes.values()))
    entries = sum(
        line.startswith(("PSE_FIELD(", "PSE_HEADER_", "PSE_EVENT(", "PSE_CODE("))
        for line in text.splitlines()
    )
    assert made == entries
    assert all(event.otf2 and event.meaning for event in table.events)


def test_a_change_of_the_table_changes_what_is_made(generate, text):
    changed = text.replace("PSE_EVENT(SEND, 32,", "PSE_EVENT(SEND, 38,")
    assert generate.python_module(generate.read_table(changed)) != generate.python_module(
        generate.read_table(text)
    )


def test_a_record_has_48_bytes_and_the_header_fits_its_room():
    assert events.EVENT_DTYPE.itemsize == 48
    assert events.HEADER_DTYPE.itemsize <= 4096


def test_no_number_is_used_twice(generate, text):
    table = generate.read_table(text)
    assert Counter(event.number for event in table.events).most_common(1)[0][1] == 1
    for codes in table.codes.values():
        assert Counter(number for _, number, _ in codes).most_common(1)[0][1] == 1


def test_flags_are_single_bits(generate, text):
    table = generate.read_table(text)
    for group in generate.FLAG_GROUPS:
        assert all(number.bit_count() == 1 for _, number, _ in table.codes[group])


def test_numbers_of_version_1_stay():
    """Old traces hold these numbers: a test that fails here says that they became unreadable."""
    assert events.SCHEMA_VERSION == 1
    assert [kind.value for kind in events.EventType] == [
        *(1, 2, 3, 4, 5, 16, 17, 24, 25, 32, 33, 34, 96, 97, 98, 99, 100, 101, 40, 41, 48, 49, 64, 65),
        *(72, 73, 74, 75, 76, 77, 80, 81, 84, 85, 86),
    ]
    assert {reason.name: reason.value for reason in events.WaitReason} == {
        "INPUT": 1,
        "EXCLUSIVE": 2,
        "SPACE": 3,
        "CREDIT": 4,
        "REMOTE": 5,
        "ORDER": 6,
        "START": 7,
        "ITERATION": 8,
        "PARTITIONS": 9,
    }
