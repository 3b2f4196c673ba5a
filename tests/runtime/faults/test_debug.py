"""`pse run --debug`: modules are built to be debugged, and an overrun crashes at its line."""

import re

import pytest
from pse_testing.jobs import PROGRAMS, Job, beside_python

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("nothing_left_behind")]

SOURCE = (PROGRAMS / "overrun.c").read_text().splitlines()
PLACES = {
    "a small buffer": ("n=10", 1),
    "a shared buffer": ("n=30001", 1),
    "an input": ("n=30001", 2),
    "before a buffer of whole pages": ("n=1024", 3),
}


def debugged(*arguments):
    return Job([beside_python("pse"), "run", "-q", "overrun.coven", "-p", "2", *arguments])


@pytest.mark.parametrize("place", PLACES)
def test_an_overrun_crashes_at_its_line(place):
    size, how = PLACES[place]
    job = debugged("--debug", "-D", size, "-D", f"how={how}")
    line = next(number for number, text in enumerate(SOURCE, 1) if text.endswith(f"// line of {how}"))
    assert job.wait() == 3
    assert re.search(
        rf"error: segmentation fault in module overrun, overrun\.coven:9:5\n  where: .*\n"
        rf"  in overrun, \S*overrun\.c:{line}\n",
        job.err,
    ), job.err


@pytest.mark.parametrize("option", ["shared_memory=on", "shared_memory=off"])
def test_a_write_to_an_input_whose_const_is_cast_away_is_named(option):
    job = debugged("--debug", "-D", "how=5", "-o", option)
    line = next(number for number, text in enumerate(SOURCE, 1) if text.endswith("// line of 5"))
    assert job.wait() == 3
    assert re.search(
        rf"error: write to an input, a, in module overrun, overrun\.coven:9:5\n  where: .*\n"
        rf"  in overrun, \S*overrun\.c:{line}\n(.*\n)*"
        r"help: its directive says `in` of this array: declare it inout, or copy it\n",
        job.err,
    ), job.err


def test_a_right_program_gives_the_same_between_guard_pages():
    outputs = []
    for arguments in ([], ["--debug"], ["--debug", "-o", "shared_memory=off"]):
        job = debugged(*arguments)
        assert job.wait() == 0, job.err
        outputs.append(job.out)
    assert outputs[0] == outputs[1] == outputs[2] == "[1. 1. 1. 1. 1. 1. 1. 1. 1. 1.]\n"


@pytest.mark.parametrize("size", [10, 30001])
def test_a_write_before_a_buffer_that_begins_within_a_page_is_named_after_the_call(size):
    job = debugged("--debug", "-D", f"n={size}", "-D", "how=4")
    assert job.wait() == 3
    assert re.search(
        r"error: overrun\.coven:9:5: module overrun .*wrote before the first element of `moved`: "
        r"what is 9 bytes before it has changed\n",
        job.err,
    ), job.err
