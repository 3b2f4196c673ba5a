"""Texts with their expected diagnostics in comments behind them: code, place, and the words.

::

    // expect E0312 15:22
    //   message: distribution mismatch: `img` is @ root, but `fft_rows` needs @ block(0)
    //   help: scatter it first:  scatter(img) -> rows @ block(0)
    // mended +15:  scatter(img) -> rows @ block(0)
    // mended 15:   thread_B fft_rows(rows)

The line of the help stands there if, and only if, the diagnostic has one.  The last lines do what the helps
say: a line is inserted before the 15th, which is replaced; `-15` removes it.  Then the text is correct.

A program that is wrong with some values only says with which, and with which it is correct::

    // with -p 3 -D N=4
    // mended with -p 2 -D N=4
"""

import re
from collections.abc import Iterable

from pse.language import Diagnostic

EXPECTATION = re.compile(
    r"^// expect ([EW]\d{4}) (\d+):(\d+)\n//   message: (.+)\n(?://   help: (.+)\n)?", re.MULTILINE
)
MENDED = re.compile(r"^// mended ([+-]?)(\d+)(?::(.*))?$", re.MULTILINE)
VALUES = re.compile(r"^// (mended )?with -p (\d+)((?: -D \w+=\S+)*)$", re.MULTILINE)

Expected = tuple[str, int, int, str, str]


def expected_in(text: str) -> list[Expected]:
    """List what a text says that is wrong with it: code, line, column, message, and help or nothing."""
    found = [
        (code, int(line), int(column), message, help)
        for code, line, column, message, help in EXPECTATION.findall(text)
    ]
    assert len(found) == text.count("// expect "), "each expectation has its message"
    return found


def described(diagnostics: Iterable[Diagnostic]) -> list[Expected]:
    """Give diagnostics in the same form."""
    return [(d.code, d.span.line, d.span.column, d.message, d.help or "") for d in diagnostics]


def mended(text: str) -> str:
    """Change the lines of a text as it says: replace one, insert before one (+), or remove one (-)."""
    lines = {number: [line] for number, line in enumerate(text.split("\n"), 1)}
    for sign, number, line in MENDED.findall(text):
        at = lines[int(number)]
        if sign == "+":
            at.insert(len(at) - 1, line)
        else:
            at[-1:] = [line] if sign == "" else []
    return "\n".join(line for at in lines.values() for line in at)


def values_in(text: str, *, mended: bool) -> tuple[dict[str, str], int] | None:
    """Give the parameters and the number of processors with which a text is wrong, or correct."""
    for remedy, procs, given in VALUES.findall(text):
        if bool(remedy) == mended:
            return dict(value.split("=", 1) for value in given.split(" -D ")[1:]), int(procs)
    return None
