"""The desk's page in a real browser, with a file that is gone from the disk, or is no text there."""

import pytest

pytest.importorskip("starlette", reason="starlette is in the extra desk: pip install 'pse[desk]'")
pytest.importorskip("selenium", reason="selenium isn't installed")

from .test_page import HEAT, STATE, browser, open_desk

__all__ = ["browser", "open_desk"]


def test_what_the_disk_has_no_more_or_no_text_of_is_not_taken_for_a_text(open_desk):
    page = open_desk("heat.coven")
    page.wait(lambda: page.calls())
    disk, latin = page.folder / "heat.coven", HEAT.read_bytes() + "// Wärme\n".encode("latin-1")
    page.fill("parameter NX", "512")
    disk.write_text(HEAT.read_text().replace("tol = 1e-6", "tol = 1e-4"))
    page.wait(lambda: len(page.all("dialog .cm-content")) == 2)
    disk.write_bytes(latin)
    page.press("Escape")
    page.wait(lambda: "not UTF-8" in page.one(".banner").text)
    page.press("Control", "s")
    page.wait(lambda: "not a text" in page.one("dialog .content h2").text)
    assert page.all("dialog .cm-content") == []
    page.click("Decide later")
    assert (page.one(STATE).text != "saved", disk.read_bytes()) == (True, latin)
    page.press("Control", "s")
    page.click("Save this page’s text")
    page.wait(lambda: page.one(STATE).text == "saved")
    assert (b"NX = 512" in disk.read_bytes(), page.all(".banner")) == (True, [])
    page.fill("parameter NX", "2048")
    disk.write_text(HEAT.read_text())
    page.wait(lambda: len(page.all("dialog .cm-content")) == 2)
    disk.unlink()
    page.wait(lambda: "was deleted" in page.one("dialog .content h2").text)
    assert page.all("dialog .cm-content") == []
    page.click("Save this page’s text")
    page.wait(lambda: page.one(STATE).text == "saved")
    assert "NX = 2048" in disk.read_text()
