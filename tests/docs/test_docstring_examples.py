"""Examples in docstrings, run: each room's in one test, in a directory with the files that they name."""

import contextlib
import doctest
import importlib
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from pse_testing.example_files import write_example_files

from pse.emulate.patterns._registry import PATTERNS

ROOT = Path(__file__).parents[2]
MODULE = re.compile(r"^(?:[a-z_]\w*\.)+(?=[A-Z]\w*(?::|$))")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Checker(doctest.OutputChecker):
    """Compares names of errors without the modules that define them, which are private."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        want, got = (MODULE.sub("", text) for text in (want, got))
        return super().check_output(want, got, optionflags)


def names() -> Iterator[str]:
    """Name the modules whose sources have examples; those in Cython are where their types are."""
    written = {file.stem: file for file in (ROOT / "cext").rglob("*.pyx")}
    for file in sorted(file for ending in ("py", "pyi") for file in (ROOT / "pse").rglob(f"*.{ending}")):
        source = written.get(file.stem, file) if file.suffix == ".pyi" else file
        if ">>> " in source.read_text() and "notebook/project" not in str(file):
            yield ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


ROOMS = {room: list(found) for room, found in groupby(names(), lambda name: name.split(".")[1])}


@pytest.fixture(scope="module")
def known(tmp_path_factory) -> Iterator[dict[str, Any]]:
    """Be in a directory with the files; give the names that every example finds."""
    with contextlib.chdir(tmp_path_factory.mktemp("examples")), mock.patch.dict(PATTERNS):
        yield write_example_files()


def failures(module: ModuleType, known: dict[str, Any]) -> list[str]:
    """Run the examples of a module; give what doctest says about those that fail."""
    said: list[str] = []
    runner = doctest.DocTestRunner(Checker(), verbose=False, optionflags=FLAGS)
    for test in doctest.DocTestFinder().find(module, globs={**vars(module), **known}):
        runner.run(test, out=said.append)
    return said


@pytest.mark.parametrize("room", ROOMS)
def test_examples_of_docstrings_print_what_they_show(room, known):
    said = [text for name in ROOMS[room] for text in failures(importlib.import_module(name), known)]
    assert not said, "\n".join(said)


def test_an_example_that_does_not_hold_is_told():
    module = ModuleType("m", ">>> 1 + 1\n3\n")
    assert "Got:\n    2" in "".join(failures(module, {}))


def test_the_reference_says_which_names_examples_find(known):
    text = (ROOT / "docs" / "generate" / "api.py").read_text()
    assert [name for name in known if not re.search(rf"(`|import |as ){name}`", text)] == []
