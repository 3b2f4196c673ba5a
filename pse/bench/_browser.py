"""Chromium without a screen and without a graphics card, for benches of pages."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pse.errors import UsageError


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Any]:
    """Give a Chromium without a screen."""
    try:
        from selenium import webdriver
    except ImportError as error:
        message = "this bench needs selenium, which isn't installed"
        raise UsageError(message, help="install it with: pip install selenium") from error
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        message = "this bench needs Chromium and its driver, which aren't both on the PATH"
        raise UsageError(
            message, help="install them, with apt for example: apt install chromium chromium-driver"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("headless=new", "disable-gpu", "disable-dev-shm-usage", "window-size=1300,900"):
        options.add_argument(f"--{argument}")
    if os.geteuid() == 0:  # Its sandbox has no place for root, and the pages are our own.
        options.add_argument("--no-sandbox")
    environment = os.environ | {"NO_PROXY": "*", "TMPDIR": os.fspath(folder)}
    service = webdriver.ChromeService(executable_path=chromedriver, env=environment)
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_script_timeout(100)
    try:
        yield driver
    finally:
        driver.quit()
