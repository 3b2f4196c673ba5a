"""The stack frames in the report of a crash: those of the user's source, the rest folded."""

import faulthandler
import os
import signal

import pytest

from pse.modules.build._trampolines import PREFIX
from pse.runtime.faults import _stack_frames
from pse.runtime.faults._stack_frames import (
    PACKAGE,
    Frame,
    _frame,
    describe_frames,
    find_mapping,
    python_frames,
    read_mappings,
    register_python_frames,
)

ENGINE = [Frame("call_module", "_sequencer.so", False), Frame("run", "_sequencer.so", False)]
TRAMPOLINE = Frame("pse_call_step", "pse_trampolines.c:14", True)


def test_trampolines_are_known_by_the_name_that_the_builder_gives_them():
    assert _stack_frames.TRAMPOLINE == PREFIX  # The script runs without pse, so it can't import the name.


def own(name, line):
    return Frame(name, f"step.c:{line}", True)


def library(name):
    return Frame(name, "libc.so.6", False)


CASES = {
    "what the engine does is folded": (
        [own("inner", 3), own("step", 9), TRAMPOLINE, *ENGINE],
        ["in inner, step.c:3", "in step, step.c:9", "… and 3 frames of the engine and of libraries"],
    ),
    "of a library only what the module called is shown": (
        [library("raise"), library("abort"), own("step", 9), TRAMPOLINE, *ENGINE],
        ["in abort, libc.so.6", "in step, step.c:9", "… and 3 frames of the engine and of libraries"],
    ),
    "a callback has frames on both sides of the library": (
        [own("compare", 2), library("msort"), library("qsort"), own("step", 9), TRAMPOLINE],
        [
            "in compare, step.c:2",
            "in qsort, libc.so.6",
            "in step, step.c:9",
            "… and 1 frame of the engine and of libraries",
        ],
    ),
    "an extension has no trampoline": (
        [own("peek", 4), library("PyObject_Call"), *ENGINE],
        ["in peek, step.c:4", "… and 3 frames of the engine and of libraries"],
    ),
    "recursion is one line": (
        [own("leaf", 1), *[own("recurse", 2)] * 5],
        ["in leaf, step.c:1", "in recurse, step.c:2 (5 frames)"],
    ),
    "a crash outside of modules shows where": (
        ENGINE,
        ["in call_module, _sequencer.so", "… and 1 frame of the engine and of libraries"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_frames_of_the_users_source_are_shown_and_others_folded(case):
    frames, lines = CASES[case]
    assert describe_frames(frames) == lines


NAMES = {
    "step.constprop.0": "step",
    "__GI_abort": "abort",
    "own::Walker::step(long)": "own::Walker::step",
    "std::sort<double*>(double*, double*)": "std::sort",
    "__pyx_f_13pse_module_cy_look": "look",
    "__pyx_pw_13pse_module_cy_1peek": "peek",
    "??": "",
}


@pytest.mark.parametrize("function", NAMES)
def test_names_are_those_of_the_source(function):
    place = os.path.join(os.getcwd(), "kernels/step.c:7 (discriminator 2)")
    assert _frame(function, place, "/cache/module.so", True) == Frame(
        NAMES[function], "kernels/step.c:7", True
    )


def test_headers_of_the_system_are_not_the_users_source():
    frame = _frame("sort<int>(int)", "/usr/include/c++/12/bits/stl_algo.h:9", "/cache/module.so", True)
    assert frame == Frame("sort", "stl_algo.h:9", False)


def test_an_address_belongs_to_the_file_that_is_mapped_there():
    maps = (
        "1000-2000 r--p 00000000 00:1 5 /lib/a b.so\n"
        "2000-4000 r-xp 00001000 00:1 5 /lib/a b.so\n"
        "5000-6000 rw-p 00000000 00:0 0 [heap]\n"
        "7000-8000 r-xp 00000000 00:1 6 /lib/c.so\n"
    )
    mappings = read_mappings(maps)
    found = find_mapping(mappings, 0x2F00)
    assert found is not None
    assert (found.path, found.base) == ("/lib/a b.so", 0x1000)
    assert [find_mapping(mappings, address) for address in (0, 0x4000, 0x5500)] == [None] * 3


def test_python_frames_are_those_between_the_engines_own():
    text = "".join(
        f'  File "{path}", line {line} in {name}\n'
        for path, line, name in [
            (PACKAGE + "runtime/rank/_node.py", 90, "_on_finalize"),
            ("steps.py", 7, "inner"),
            ("steps.py", 12, "step"),
            (PACKAGE + "runtime/rank/_python_calls.py", 50, "call"),
            ("<frozen runpy>", 88, "_run_code"),
        ]
    )
    frames = python_frames("Current thread 0x1 (most recent call first):\n" + text)
    assert [frame.text() for frame in frames] == ["in inner, steps.py:7", "in step, steps.py:12"]
    assert python_frames(text[text.index(PACKAGE + "runtime/rank/_py") - 8 :]) == []


def test_the_last_real_time_signal_is_left_to_valgrind():
    number, file = register_python_frames()
    os.close(file)
    faulthandler.unregister(number)
    assert number < signal.SIGRTMAX
