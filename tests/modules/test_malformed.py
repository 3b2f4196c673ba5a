"""Module files with their expected diagnostics (`pse_testing.expectations` has the form), and mended.

A line `== NAME` in `malformed_modules.txt` begins a file of this name.
"""

import re
from pathlib import Path

import pytest
from pse_testing.expectations import described, expected_in, mended

from pse.language.check._ir import ModuleReference
from pse.modules import Finder, find_unbuildable

LISTED = Path(__file__).with_name("malformed_modules.txt").read_text()
FILES = dict(re.findall(r"^== (\S+)\n(.*?)(?=^== |\Z)", LISTED, re.MULTILINE | re.DOTALL))


def diagnose(write, name, text):
    """Write a file without its expectations; find what is wrong with it, as a check does."""
    write(name, re.split(r"^// (?:expect|mended) ", text, maxsplit=1, flags=re.MULTILINE)[0])
    file = Finder().find(name, "program.coven")
    modules = [
        ModuleReference(s.name, s, file.source, file.path, s.span.line, file.language)
        for s in file.signatures
    ]
    return described(file.diagnostics or (find_unbuildable(modules) if name.startswith("e0526") else ()))


@pytest.mark.parametrize("name", FILES)
def test_a_malformed_module_has_its_diagnostics(write, name):
    assert diagnose(write, name, FILES[name]) == expected_in(FILES[name])
    assert expected_in(FILES[name])


@pytest.mark.parametrize("name", FILES)
def test_a_module_is_correct_after_what_its_helps_say(write, name):
    assert mended(FILES[name]) != FILES[name]
    assert diagnose(write, name, mended(FILES[name])) == []
