"""The page of the desk: what is in the package is what its sources make, and is small."""

import gzip
from pathlib import Path

import pytest
from pse_testing.browser import build_pages

DESK = Path(__file__).parents[2] / "pse/desk"
LARGEST = 3_000_000
"""Bytes of the compressed page: it is in every wheel."""


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_page_is_small_has_no_inline_script_and_names_the_licences_of_what_is_in_it():
    found = files(DESK / "assets")
    assert sum(len(gzip.compress(data)) for data in found.values()) < LARGEST
    assert b"<script>" not in found["index.html"]
    assert b"https:" not in found["index.html"]
    for package in ("@codemirror/view", "@xyflow/react", "elkjs", "react", "zustand"):
        assert f"## {package} - ".encode() in found["licences.md"]


@pytest.mark.slow
def test_the_page_is_made_of_its_sources(tmp_path):
    made, there = files(build_pages(DESK / "page", tmp_path) / "assets"), files(DESK / "assets")
    different = sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))
    assert different == [], "pse/desk/assets is not what pse/desk/page makes: make bundles"
