"""The manual's table of keys is that of the page."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMAND = re.compile(r'\{ title: "([^"]+)", keys: "([^"]+)"')
ROW = re.compile(r"^\| `([^`]+)` \| (.+) \|$", re.MULTILINE)


def test_the_manual_lists_the_keys_of_the_page():
    commands = (ROOT / "pse/desk/page/src/commands.ts").read_text(encoding="utf-8")
    manual = (ROOT / "docs/desk.md").read_text(encoding="utf-8").partition("## The page")[2]
    assert [(title, keys) for keys, title in ROW.findall(manual)] == COMMAND.findall(commands)
