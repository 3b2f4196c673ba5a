"""The extension for VS Code: its grammar, its types, and the file that is installed."""

import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EXTENSION = Path(__file__).parents[2] / "pse/lsp/editors/vscode"


@pytest.fixture
def npm(tmp_path):
    """Run npm in a copy of the extension; skip where it or its registry isn't there."""
    if shutil.which("npm") is None:
        pytest.skip("npm isn't installed")
    copy = tmp_path / "vscode"
    shutil.copytree(EXTENSION, copy, ignore=shutil.ignore_patterns("node_modules", "dist"))

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["npm", *command], cwd=copy, capture_output=True, text=True, timeout=250)

    installed = run("ci", "--prefer-offline", "--no-audit", "--no-fund")
    if installed.returncode:
        pytest.skip(f"npm can't install what makes the extension: {installed.stderr.strip()[:200]}")
    run.copy = copy  # type: ignore[attr-defined]
    return run


def values(grammar: Any, name: str) -> Iterator[str]:
    """Give what stands under a name anywhere in a grammar."""
    inside = grammar.values() if isinstance(grammar, dict) else grammar if isinstance(grammar, list) else ()
    if isinstance(grammar, dict) and isinstance(grammar.get(name), str):
        yield grammar[name]
    for one in inside:
        yield from values(one, name)


def test_grammars_are_sound():
    """Their rules are there, and their expressions are ones; what they say of words is seen every night."""
    manifest = json.loads((EXTENSION / "package.json").read_text())
    for known in manifest["contributes"]["grammars"]:
        grammar = json.loads((EXTENSION / known["path"]).read_text())
        assert grammar["scopeName"] == known["scopeName"]
        included = {name[1:] for name in values(grammar, "include") if name.startswith("#")}
        assert included <= grammar.get("repository", {}).keys()
        for name in ("match", "begin", "end"):
            assert all(map(re.compile, values(grammar, name)))


@pytest.mark.nightly
def test_the_grammar_says_what_words_are_and_the_extension_is_packed(npm):
    """What npm installs for it takes most of the time; that the grammar is sound is looked at each time."""
    tested = npm("run", "--silent", "test")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    packed = npm("run", "--silent", "package")
    assert packed.returncode == 0, packed.stdout + packed.stderr
    names = set(zipfile.ZipFile(npm.copy / "coven.vsix").namelist())
    assert {"extension/dist/extension.js", "extension/syntaxes/coven.tmLanguage.json"} <= names
    assert not [name for name in names if "node_modules" in name or "/src/" in name]
