"""A source tree without its extensions explains itself."""

import subprocess
import sys
from pathlib import Path

import pytest

import pse


@pytest.fixture
def bare_tree(tmp_path):
    """Make a source tree of one room whose extension is declared but not built."""
    package = tmp_path / "pse"
    room = package / "memory"
    room.mkdir(parents=True)
    for name in ("__init__.py", "_unbuilt.py", "_version.py"):
        (package / name).write_text(Path(pse.__file__).with_name(name).read_text())
    (room / "__init__.py").write_text("")
    (room / "_arena.pyi").write_text("")
    return tmp_path


def import_in(tree, statement):
    """Run one import in a source tree, with nothing else of the environment; return what it said last."""
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import sys; sys.path.insert(0, {str(tree)!r}); {statement}",
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stderr.splitlines()[-1]


@pytest.mark.parametrize("statement", ["import pse.memory._arena", "from pse.memory._arena import Arena"])
def test_missing_extension_says_what_to_do(bare_tree, statement):
    said = import_in(bare_tree, statement)
    assert said.startswith(
        "ModuleNotFoundError: pse.memory._arena is a compiled part of pse and is not built in"
    )
    assert str(bare_tree) in said
    assert "make ext" in said


@pytest.mark.parametrize("name", ["pse.memory._other", "pse._arena", "no_such_package"])
def test_other_missing_modules_are_left_alone(bare_tree, name):
    assert import_in(bare_tree, f"import {name}") == f"ModuleNotFoundError: No module named {name!r}"
