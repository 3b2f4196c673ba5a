"""The scripts of pages: what is in the package is what TypeScript makes of `pse/views/web`."""

from pathlib import Path

import pytest
from pse_testing.browser import build_pages

VIEWS = Path(__file__).parents[2] / "pse/views"
PAGES = ("page/assets/page.js", "cube/assets/cube.js")
BUNDLES = (*PAGES, "page/assets/element.js")


def test_a_bundle_loads_nothing_and_ends_no_element():
    for bundle in BUNDLES:
        text = (VIEWS / bundle).read_text(encoding="utf-8")
        assert text.startswith("var page=" if bundle in PAGES else "(function(){")
        assert not [word for word in ("</script", "<!--", "import(", "https:") if word in text]


@pytest.mark.slow
def test_bundles_are_made_of_the_sources(tmp_path):
    made = build_pages(VIEWS / "web", tmp_path)
    for bundle in BUNDLES:
        same = (made / bundle).read_bytes() == (VIEWS / bundle).read_bytes()
        assert same, f"pse/views/{bundle} is not what its sources make: make bundles"
