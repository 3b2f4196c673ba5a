"""The one table: what is made from it is fresh, and it keeps the rules that let old traces live."""

from pse._abi.waiting import WaitReason
from pse.trace.format import _events as events


def test_every_event_has_a_record_of_otf2(table):
    assert all(event.more["otf2"] and event.meaning for event in table.enum("pse_event_type").codes)


def test_a_record_has_48_bytes_and_the_header_fits_its_room():
    assert events.EVENT_DTYPE.itemsize == 48
    assert events.HEADER_DTYPE.itemsize <= 4096


def test_numbers_of_version_1_stay():
    """Old traces hold these numbers: a test that fails here says that they became unreadable."""
    assert events.SCHEMA_VERSION == 1
    assert [kind.value for kind in events.EventType] == [
        *(1, 2, 3, 4, 5, 16, 17, 24, 25, 26, 32, 33, 34, 96, 97, 98, 99, 100, 101, 40, 41, 48, 49, 64, 65),
        *(66, 67, 72, 73, 74, 75, 76, 77, 78, 79, 82, 80, 81, 84, 85, 87, 86, 112, 113),
    ]
    assert {reason.name: reason.value for reason in WaitReason} == {
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
