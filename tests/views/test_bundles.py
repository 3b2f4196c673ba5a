"""The scripts of pages: what is in the package is what TypeScript makes of `pse/views/web`."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUNDLES = ("page/assets/page.js", "cube/assets/cube.js")


def test_a_bundle_loads_nothing_and_ends_no_element():
    for bundle in BUNDLES:
        text = (ROOT / "pse/views" / bundle).read_text(encoding="utf-8")
        assert text.startswith("var page=")
        assert not [word for word in ("</script", "<!--", "import(", "https:") if word in text]


@pytest.mark.slow
def test_bundles_are_made_of_the_sources(tmp_path):
    if shutil.which("npm") is None:
        pytest.skip("npm isn't installed")
    shutil.copytree(ROOT / "pse/views/web", tmp_path / "web")
    npm(tmp_path, "ci", "--prefer-offline", "--no-audit", "--no-fund", needs_network=True)
    npm(tmp_path, "run", "--silent", "check")
    npm(tmp_path, "run", "--silent", "build")
    for bundle in BUNDLES:
        made, there = (tmp_path / "made" / bundle).read_bytes(), (ROOT / "pse/views" / bundle).read_bytes()
        assert made == there, f"pse/views/{bundle} is not what its sources make: make bundles"


def npm(folder, *command, needs_network=False):
    """Run npm in the copy; a registry that can't be reached is a reason to skip."""
    environment = os.environ | {"PSE_PAGES": str(folder / "made")}
    done = subprocess.run(
        ["npm", *command], cwd=folder / "web", env=environment, capture_output=True, text=True, timeout=200
    )
    if needs_network and done.returncode:
        pytest.skip(f"npm can't install what makes the scripts: {done.stderr.strip()[:200]}")
    assert done.returncode == 0, done.stdout + done.stderr
