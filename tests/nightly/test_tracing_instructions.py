"""What tools add to a program's instructions, which valgrind counts: a number without the machine's noise."""

import re
import shutil
import subprocess

import pytest

from pse.bench.subjects.tools import compiled, linked
from pse.toolstack import environment, find_mpi

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed"),
]
BATCHES = (2, 7)
COUNT = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]


def instructions(command, variables):
    """How many instructions a program executes."""
    given = [f"{name}={value}" for name, value in variables.items()]
    done = subprocess.run(["env", *given, *COUNT, *command], capture_output=True, text=True, check=True)
    return int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))


def of_a_step(program, tools, directory):
    """How many instructions one rank executes for a 2-D FFT of 256 × 256, there and back."""
    (directory / "tools.conf").write_text(tools)
    variables = environment(str(directory / "tools.conf"), find_mpi()) if tools else {}
    few, many = (instructions([program, str(number), "1", "256"], variables) for number in BATCHES)
    return (many - few) / (BATCHES[1] - BATCHES[0])


def test_profile_and_trace_add_nearly_no_instructions_to_a_transform(tmp_path):
    program = compiled(find_mpi(), "spectrum.c", tmp_path / "spectrum", [*linked(find_mpi()), "-lm"])
    trace = f"module trace\nargument directory {tmp_path}/trace\n"
    profile = f"module profile\nargument output {tmp_path}/report\n"
    alone = of_a_step(program, "", tmp_path)
    both = of_a_step(program, profile + trace, tmp_path)
    assert abs(both / alone - 1) < 0.002
