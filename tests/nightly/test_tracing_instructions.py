"""What tools add to a program's instructions, which valgrind counts: a number without the machine's noise."""

import re
import shutil
import subprocess
import sys
from importlib import resources

import pytest

from pse.bench.subjects.tools import compiled, linked
from pse.toolstack import environment, find_mpi

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed"),
]
BATCHES = (2, 22)
COUNT = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]


def instructions(command, variables):
    """How many instructions a program executes."""
    # UCX, which patches code to see memory go, yields meanwhile until the clock says that it may go on.
    same = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "UCX_MEM_EVENTS": "n"}
    given = [f"{name}={value}" for name, value in {**same, **variables}.items()]
    done = subprocess.run(["env", *given, *COUNT, *command], capture_output=True, text=True, check=True)
    return int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))


def of_a_step(program, tools, directory, steps, side):
    """How many instructions one rank executes for a step."""
    (directory / "tools.conf").write_text(tools)
    variables = environment(str(directory / "tools.conf"), find_mpi()) if tools else {}
    few, many = (
        instructions([*program, str(number), str(steps), str(side)], variables) for number in BATCHES
    )
    return (many - few) / (BATCHES[1] - BATCHES[0]) / steps


def test_profile_and_trace_add_few_instructions_to_a_program_in_c(tmp_path):
    program = compiled(find_mpi(), "heat.c", tmp_path / "heat", [*linked(find_mpi()), "-lm"])
    trace = f"module trace\nargument directory {tmp_path}/trace\n"
    profile = f"module profile\nargument output {tmp_path}/report\n"
    alone = of_a_step([program], "", tmp_path, 1, 512)
    both = of_a_step([program], profile + trace, tmp_path, 1, 512)
    print(alone, both, both / alone - 1)
    assert abs(both / alone - 1) < 0.002


@pytest.mark.parametrize(("name", "side"), [("heat", 362), ("spectrum", 90)])  # as of 512 and 128 on 2 ranks
def test_trace_with_all_functions_adds_few_instructions_to_programs_of_mpi4py(tmp_path, name, side):
    program = resources.files("pse.bench") / "stack" / "mpi4py_programs" / f"{name}.py"
    trace = f"module trace\nargument directory {tmp_path}/trace\n"
    command = [sys.executable, program]
    # Else the first run counted also compiles what Python has not cached yet.
    subprocess.run([*command, "1", "1", str(side)], capture_output=True, check=True)
    alone, traced = (of_a_step(command, tools, tmp_path, 5, side) for tools in ("", trace))
    assert 0 < traced / alone - 1 < 0.02
