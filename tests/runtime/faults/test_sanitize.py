"""`--sanitize`: modules are built with sanitizers, and the first error that they find ends the run."""

import re
import subprocess
import sys

import pytest
from pse_testing.jobs import PROGRAMS, Job, beside_python

from pse.modules import BuildError
from pse.modules.build import _sanitizers as sanitizers, sanitizer_environment

LINES = (PROGRAMS / "unsound.c").read_text().splitlines()


def line_of(what):
    """Give the number of the line with a comment."""
    return next(number for number, text in enumerate(LINES, 1) if text.endswith(f"// {what}"))


def test_without_errors_a_run_is_as_always_and_so_are_exceptions():
    command = [sys.executable, "-m", "pse", "--serial", "-q", "unsound.coven"]
    job = Job([*command, "--sanitize", "address,undefined"])
    assert job.wait() == 3
    assert re.search(r"error: unsound\.coven:\d+:3: module refuse .* threw: no more", job.err), job.err
    assert job.out == "[0. 1. 2. 3.]\n"


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("how", "words", "what"),
    [
        (
            "overflow",
            r"AddressSanitizer: heap-buffer-overflow .*\n(.*\n)*?    #0 .*unsound\.c:{line}\n",
            "heap-buffer-overflow, found by the address sanitizer,",
        ),
        (
            "shift",
            r"unsound\.c:{line}:\d+: runtime error: shift exponent 40 is too large",
            "report of a sanitizer",
        ),
        ("crash", "", "segmentation fault"),
    ],
)
@pytest.mark.usefixtures("nothing_left_behind")
def test_what_a_sanitizer_finds_ends_the_run_and_the_line_is_named(how, words, what):
    job = Job(
        [
            beside_python("pse"),
            "run",
            "-q",
            "unsound.coven",
            "-D",
            f"how={how}",
            "--sanitize",
            "address,undefined",
        ]
    )
    assert job.wait() == 3
    assert re.search(words.replace("{line}", str(line_of(how))), job.err), job.err
    said = r" in module unsound, unsound\.coven:\d+:3\n  where: rank 1 \(root .*\n"
    line = r"  in unsound, unsound\.c:{line}\n".replace("{line}", str(line_of(how)))
    assert re.search(f"error: {what}{said}{line}", job.err), job.err


def test_a_compiler_without_the_runtime_is_named(tmp_path, monkeypatch):
    compiler = tmp_path / "gcc"
    compiler.write_text('#!/bin/sh\necho "${1#*=}"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(BuildError, match=r"gcc has no runtime of the address sanitizer \(libasan\.so\)"):
        sanitizer_environment(["address"], {})


def test_clang_is_named(tmp_path, monkeypatch):
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho '#define __clang__ 1'\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(BuildError, match=r"sanitizers are built by GCC, and .*/cc is clang") as refused:
        sanitizer_environment(["undefined"], {})
    assert refused.value.help == "set CC and CXX to GCC's compilers:  CC=gcc CXX=g++"


def test_the_runtime_comes_before_other_preloads(monkeypatch):
    monkeypatch.setattr(sanitizers, "_file", lambda command, name: f"/lib/{name}")
    found = sanitizer_environment(["undefined", "address"], {"LD_PRELOAD": "tools.so", "ASAN_OPTIONS": "a=1"})
    assert found["LD_PRELOAD"] == "/lib/libasan.so:/lib/libstdc++.so.6:tools.so"
    assert found["ASAN_OPTIONS"].endswith(":a=1")
    assert "LD_PRELOAD" not in sanitizer_environment(["undefined"], {})


def test_other_sanitizers_are_refused():
    command = [beside_python("pse"), "run", "unsound.coven", "--sanitize", "memory"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr == (
        "error: --sanitize memory: expected address and undefined, or one of the two\n"
        "help: for example:  --sanitize address,undefined\n"
    )
