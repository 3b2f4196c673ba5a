"""The desk as a person uses it: `pse desk` on a directory, and its page in a real browser."""

import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, "-P", "-u", "-c", "from pse.cli import main; main()", "desk")
PLACES = """
if (document.querySelector("section.graph").ariaBusy === "true") return null;
const moved = document.querySelectorAll(".react-flow__node, .react-flow__viewport");
return [...moved].map((one) => one.style.transform);
"""
CALLS = """
const drawn = document.querySelectorAll(".call[data-kind='call'], .call[data-kind='segment']");
return [...drawn].map((one) => one.dataset.call);
"""
NAMED_PLACES = """
const nodes = [...document.querySelectorAll(".react-flow__node")];
return nodes.map((one) => [one.dataset.id, one.style.transform]);
"""
PATIENCE = 30
"""Seconds that the page may take for anything: other tests run beside."""


@contextmanager
def serving(target: Path, *options: str) -> Iterator[str]:
    """Run `pse desk` on a program or directory; give the address that it prints."""
    command = [*COMMAND, "--no-browser", *options, str(target)]
    server = subprocess.Popen(command, cwd=target.parent, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        found = (re.search(r"http://\S+", line) for line in server.stdout)
        yield next(address[0] for address in found if address)
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=PATIENCE)


class Page:
    """What a person sees and does; names are those on the page."""

    def __init__(self, browser: Any, address: str, folder: Path) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        self.browser, self.address, self.folder = browser, address, folder
        self.hands = ActionChains
        browser.get(address)
        self.wait(lambda: self.all(".bar .title"))

    def all(self, selector: str) -> list[Any]:
        return list(self.browser.find_elements("css selector", selector))

    def one(self, selector: str) -> Any:
        return self.wait(lambda: next(iter(self.all(selector)), None))

    def script(self, text: str, *arguments: Any) -> Any:
        return self.browser.execute_script(text, *arguments)

    def wait(self, condition: Callable[[], Any]) -> Any:
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(self.browser, PATIENCE, 0.05, [StaleElementReferenceException])
        return wait.until(lambda _: condition())

    # Keys and forms.

    def press(self, *keys: str) -> None:
        """Press a key while others are held: ``press("Control", "s")``."""
        from selenium.webdriver import Keys

        held, last = keys[:-1], getattr(Keys, keys[-1].upper(), keys[-1])
        hands = self.hands(self.browser)
        for key in held:
            hands.key_down(getattr(Keys, key.upper()))
        hands.send_keys(last)
        for key in held:
            hands.key_up(getattr(Keys, key.upper()))
        hands.perform()

    def command(self, title: str) -> None:
        """Choose a command by its name."""
        self.press("Control", "k")
        self.one("dialog input").send_keys(title)
        self.press("Enter")

    def click(self, text: str) -> None:
        """Press the first button that says this."""
        self.wait(lambda: next((one for one in self.all("button") if one.text == text), None)).click()

    def answer(self, **values: str) -> None:
        """Fill the dialog that asks for something in, and confirm it."""
        for name, value in values.items():
            self._type(self.one(f"dialog input[name='{name}']"), value)
        self.one("dialog button.main").click()
        self.wait(lambda: not self.all("dialog"))

    def fill(self, name: str, value: str) -> None:
        """Set a field of the form of what is selected, unless the desk has guessed it."""
        before, field = self.text(), self.one(f".side .form [name='{name}']")
        if field.get_attribute("value") == value:
            return
        self._type(field, value)
        self.press("Enter")
        self.wait(lambda: self.text() != before)
        self.settle()

    def write(self, selector: str, value: str) -> None:
        """Type into a field, and confirm it."""
        self._type(self.one(selector), value)
        self.press("Enter")

    def choose(self, name: str, value: str) -> None:
        """Set a list of the form of what is selected."""
        from selenium.webdriver.support.ui import Select

        before = self.text()
        Select(self.one(f".side .form select[name='{name}']")).select_by_value(value)
        self.wait(lambda: self.text() != before)
        self.settle()

    def _type(self, field: Any, value: str) -> None:
        from selenium.webdriver import Keys

        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(value if value else Keys.DELETE)

    def type(self, text: str) -> None:
        """Type where the cursor is."""
        self.hands(self.browser).send_keys(text).perform()

    def abandon(self) -> None:
        """Leave the page, though it has edits."""
        self.browser.execute_cdp_cmd("Page.navigate", {"url": "about:blank"})
        with contextlib.suppress(Exception):
            self.browser.switch_to.alert.accept()

    # Text.

    def text(self) -> str:
        """The text as the page shows it; programs of tests are short enough to be shown whole."""
        lines = self.script("return [...document.querySelectorAll('.cm-line')].map((one) => one.textContent)")
        return "\n".join(lines)

    def save(self) -> str:
        """Save, and give what is on the disk."""
        self.press("Control", "s")
        self.wait(lambda: self.one("[aria-label='State of the file']").text == "saved")
        return (self.folder / self.one(".bar .title").text).read_text()

    # The graph.

    def calls(self) -> list[str]:
        """The names of all calls that are drawn."""
        return list(self.script(CALLS))

    def call(self, label: str) -> Any:
        return self.one(f".call[data-call='{label}']")

    def select(self, label: str) -> None:
        """Click on a call, whatever lies over it."""
        self.hands(self.browser, duration=0).move_to_element(self.call(label)).click().perform()
        self.wait(lambda: self.all(f".react-flow__node.selected .call[data-call='{label}']"))

    def deselect(self) -> None:
        """Leave the form, then select nothing."""
        self.press("Escape")
        self.press("Escape")
        self.wait(lambda: self.one(".side .form h2").text == "Program")

    def select_frame(self, kind: str) -> None:
        """Click on the head of the first frame of a kind."""
        self.lay_out()
        self.hands(self.browser).move_to_element(self.one(f".frame.{kind} > .head > span")).click().perform()
        self.wait(lambda: self.all(f".react-flow__node.selected > .frame.{kind}"))

    def add(self, module: str, **values: str) -> None:
        """Put a module or statement of the palette after what is selected."""
        before = self.text()
        item = self.one(f"[data-module='{module}']")
        self.script("arguments[0].scrollIntoView({block: 'center'})", item)
        self.hands(self.browser).double_click(item).perform()
        self._added(module, before, values)

    def _added(self, module: str, before: str, values: dict[str, str]) -> None:
        if values:
            self.answer(**values)
        self.wait(lambda: self.text() != before and module in self.one(".side .form h2").text)
        self.settle()

    def drag(self, module: str, onto: str, down: int = 0, **values: str) -> None:
        """Drag a module or statement of the palette onto an element of the graph, below its middle."""
        before = self.text()
        item = self.one(f"[data-module='{module}']")
        self.script("arguments[0].scrollIntoView({block: 'center'})", item)
        hands = self.hands(self.browser).click_and_hold(item)
        hands.move_to_element_with_offset(self.one(onto), 0, down).release().perform()
        self._added(module, before, values)

    def port(self, label: str, name: str, *, output: bool) -> Any:
        node = self.script("return arguments[0].closest('.react-flow__node').dataset.id", self.call(label))
        kind = "source" if output else "target"
        return self.one(f".react-flow__handle.{kind}[data-nodeid='{node}'][data-handleid='{name}']")

    def lay_out(self) -> None:
        """Lay the graph out anew, all of it in view; the focus leaves forms."""
        self.press("Escape")
        self.command("Lay the graph out")
        self.settle()

    def settle(self) -> None:
        """Wait until the graph is drawn as it is now, and nothing on it moves any more."""
        seen: list[Any] = []

        def rests() -> bool:
            seen.append(self.script(PLACES))
            return len(seen) > 2 and seen[-1] is not None and seen[-1] == seen[-2] == seen[-3]

        self.wait(rests)

    def connect(self, start: tuple[str, str], end: tuple[str, str]) -> None:
        """Draw a line from an output to an input: ``connect(("init", "u"), ("exchange", "u"))``."""
        self.lay_out()
        before = self.text()
        self.draw(start, end).release().perform()
        self.wait(lambda: self.text() != before)
        self.settle()

    def places(self) -> dict[str, str]:
        """Where all calls and frames are, by what they are in the text."""
        return dict(self.script(NAMED_PLACES))

    def draw(self, start: tuple[str, str], end: tuple[str, str]) -> Any:
        source, target = self.port(*start, output=True), self.port(*end, output=False)
        self.hands(self.browser).click_and_hold(source).move_by_offset(3, 9).perform()
        self.wait(lambda: self.all(".react-flow__handle.fits, .react-flow__handle.refuses"))
        return self.hands(self.browser).move_to_element(target)
