"""A real browser for the tests of pages, and pages built anew of their sources."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 60
"""Seconds that a page may take for anything: other programs run beside."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One headless Chromium for all tests; the sandbox has no place for root, and pages here are our own."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium isn't installed")
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("chromium and chromedriver aren't both on the PATH")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (
        "headless=new",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        "window-size=1300,800",
    ):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(prefix="pse-", ignore_cleanup_errors=True) as folder:
        environment = os.environ | {"NO_PROXY": "*", "TMPDIR": folder}  # It leaves files in the latter.
        service = webdriver.ChromeService(executable_path=chromedriver, env=environment)
        driver = webdriver.Chrome(options=options, service=service)
        yield driver
        driver.quit()


def until(browser: Any, expression: str, *values: Any) -> Any:
    """Wait until what JavaScript says is true, on however busy a machine, and give it."""
    from selenium.webdriver.support.ui import WebDriverWait

    wait = WebDriverWait(browser, PATIENCE, 0.02)
    return wait.until(lambda _: browser.execute_script(f"return {expression}", *values), expression)


PACKAGE = Path(__file__).parents[2] / "pse"
SHARED = "views/web/shared"
"""What scripts of all pages use."""


def build_pages(sources: Path, folder: Path) -> Path:
    """Build pages with npm in a copy of their sources; skip where npm or its registry isn't there.

    Types are left to ``make bundles``, which checks them before it builds.
    """
    if shutil.which("npm") is None:
        pytest.skip("npm isn't installed")
    copy = folder / sources.relative_to(PACKAGE)
    shutil.copytree(sources, copy, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copytree(PACKAGE / SHARED, folder / SHARED, dirs_exist_ok=True)
    _npm(copy, folder / "made", "ci", "--prefer-offline", "--no-audit", "--no-fund", needs_network=True)
    _npm(copy, folder / "made", "run", "--silent", "build")
    return folder / "made"


def _npm(sources: Path, made: Path, *command: str, needs_network: bool = False) -> None:
    environment = os.environ | {"PSE_PAGES": str(made)}
    done = subprocess.run(
        ["npm", *command],
        cwd=sources,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    if needs_network and done.returncode:
        pytest.skip(f"npm can't install what makes the scripts: {done.stderr.strip()[:200]}")
    assert done.returncode == 0, done.stdout + done.stderr
