"""The extension for VS Code: its grammar, its types, and the file that is installed."""

import shutil
import subprocess
import zipfile
from pathlib import Path

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


@pytest.mark.slow
def test_the_grammar_says_what_words_are_and_the_extension_is_packed(npm):
    tested = npm("run", "--silent", "test")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    packed = npm("run", "--silent", "package")
    assert packed.returncode == 0, packed.stdout + packed.stderr
    names = set(zipfile.ZipFile(npm.copy / "coven.vsix").namelist())
    assert {"extension/dist/extension.js", "extension/syntaxes/coven.tmLanguage.json"} <= names
    assert not [name for name in names if "node_modules" in name or "/src/" in name]
