"""The scripts of pages: what is in the package is what TypeScript makes of `pse/views/web`."""

import gzip
from pathlib import Path

import pytest
from pse_testing.browser import build_pages

VIEWS = Path(__file__).parents[2] / "pse/views"
PAGES = ("page/assets/page.js", "cube/assets/cube.js")
BUNDLES = (*PAGES, "page/assets/element.js")
FRAMES = tuple(f"frames/assets/{name}" for name in ("frames.js", "space.js", "licences.md"))


def test_a_bundle_loads_nothing_and_ends_no_element():
    for bundle in BUNDLES:
        text = (VIEWS / bundle).read_text(encoding="utf-8")
        assert text.startswith("var page=" if bundle in PAGES else "(function(){")
        assert not [word for word in ("</script", "<!--", "import(", "https:") if word in text]


def test_scripts_of_frames_load_nothing_from_elsewhere_and_three_dimensions_apart():
    scripts = {path.name: path.read_text(encoding="utf-8") for path in (VIEWS / "frames/assets").iterdir()}
    assert len(scripts["frames.js"]) < 20_000
    assert "https:" not in scripts["frames.js"]
    assert len(gzip.compress(scripts["space.js"].encode())) < 200_000
    assert "## three - " in scripts["licences.md"]


@pytest.mark.slow
def test_bundles_are_made_of_the_sources(tmp_path):
    made = build_pages(VIEWS / "web", tmp_path)
    for bundle in (*BUNDLES, *FRAMES):
        same = (made / bundle).read_bytes() == (VIEWS / bundle).read_bytes()
        assert same, f"pse/views/{bundle} is not what its sources make: make bundles"
