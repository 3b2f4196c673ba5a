"""Which line of a TOML file a key is on: messages about values name it, and `tomllib` doesn't know."""

from __future__ import annotations

import re
import tomllib
from collections import Counter

_TABLE = re.compile(r"\s*\[(\[)?\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_NAME = re.compile(r"\"[^\"]+\"|[A-Za-z0-9_-]+")
_KEY = re.compile(rf"\s*((?:{_NAME.pattern})(?:\s*\.\s*(?:{_NAME.pattern}))*)\s*=")

Place = tuple[str, int]
"""A table's name, and its number among the tables of that name."""


def key_lines(text: str) -> dict[tuple[Place, str], int]:
    """Find the lines of keys.

    Parameters
    ----------
    text : str
        Of a TOML file.

    Returns
    -------
    dict
        By table (name, number) and key the line, from 1; a table itself has the key "".

    Examples
    --------
    >>> key_lines("[run]\\ntime = 3\\n")
    {(('run', 0), ''): 1, (('run', 0), 'time'): 2}
    """
    found: dict[tuple[Place, str], int] = {}
    counts: Counter[str] = Counter()
    table: Place = ("", 0)
    for number, line in enumerate(text.splitlines(), 1):
        if header := _TABLE.fullmatch(line):
            name = header[2].strip('"')
            table = (name, counts[name])
            counts[name] += 1
            found.setdefault((table, ""), number)
        elif key := _KEY.match(line):
            names = [name.strip('"') for name in _NAME.findall(key[1])]
            found.setdefault((table, names[0]), number)
            if table[0] == "" and len(names) > 1:  # run.time = 3 is what time = 3 is below [run].
                found.setdefault(((names[0], 0), ""), number)
                found.setdefault(((names[0], 0), names[1]), number)
    return found


_PLAIN = {
    "Illegal character '\\n'": ("this text has no closing quote on its line", 'close it with `"`'),
    'Expected "\'"': ("a text that begins with `'` is never closed", "close it with `'`"),
    "Unterminated string": (
        "a text that begins with three quotes is never closed",
        "close it with three quotes",
    ),
    "Unescaped": ("a text has a single backslash", "write each backslash twice"),
    "Invalid value": (
        "no value can be read behind the `=`",
        'texts stand in double quotes, such as "pairwise"; numbers, true and false without',
    ),
    "Expected ']]'": ("the name of this table is not closed", "write `]]` behind it"),
    "Expected ']'": ("the name of this table is not closed", "write `]` behind it"),
    "Expected '='": ("this key has no `=` behind it", 'write for example:  pattern = "pairwise"'),
    "Expected newline": ("something stands behind the value", "begin a new line for the next key"),
    "Cannot overwrite": ("this name is given twice", "leave out one of the two"),
    "Cannot declare": ("this table is given twice", "write the keys of both below one of them"),
    "Duplicate": ("a key is given twice in one pair of braces", "leave out one of the two"),
    "Unclosed inline table": ("this table is not closed on its line", "write `}` behind its last value"),
    "Invalid statement": ("this line has no key", 'write for example:  pattern = "pairwise"'),
}
"""What tomllib says, in words for those who write such files, and what they do."""


def toml_mistake(error: tomllib.TOMLDecodeError, text: str) -> tuple[int, str, str | None]:
    """Give the line of a mistake, what it is and what to do; a list that is not closed begins further above.

    Examples
    --------
    >>> text = "sizes = [1, 2\\ncount = 3\\n"
    >>> try:
    ...     tomllib.loads(text)
    ... except tomllib.TOMLDecodeError as error:
    ...     toml_mistake(error, text)
    (1, 'this list is never closed', 'write `]` behind its last value')
    """
    message, _, place = str(error).partition(" (at ")
    numbers = [int(number) for number in re.findall(r"\d+", place)]
    if numbers:
        *above, line = text.split("\n")[: numbers[0]]
        text = "\n".join([*above, line[: numbers[1] - 1]])
    if message == "Unclosed array":
        opened = text.count("\n", 0, text.rfind("[")) + 1
        return opened, "this list is never closed", "write `]` behind its last value"
    plain, help = next(
        (words for begin, words in _PLAIN.items() if message.startswith(begin)),
        (f"{message[:1].lower()}{message[1:]}", "write on each line one key, `=` and a value, or a [table]"),
    )
    return text.count("\n") + 1, plain, help
