"""Reading the values of a table: each key has a kind; what is wrong is said with file and line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from pse.emulate.configuration._configuration import ConfigurationError
from pse.emulate.configuration._toml_lines import Place
from pse.emulate.patterns._cycle import LARGEST_MESSAGE, LONGEST_STEP
from pse.language.types import read_size
from pse.text import list_text, nearest_word


@dataclass(frozen=True)
class Source:
    """The file of a configuration: where its keys are."""

    path: str
    lines: Mapping[tuple[Place, str], int]

    def fail(self, table: Place, key: str, message: str, help: str | None) -> NoReturn:
        """Raise ConfigurationError with the place of a key, or of its table."""
        raise ConfigurationError(f"{self.place(table, key)}: {message}", help=help)

    def place(self, table: Place, key: str) -> str:
        """Give the file and the line of a key, or of its table."""
        known = ((table, key), ((key, 0), ""), (table, ""))  # A key of the file may be the name of a table.
        return f"{self.path}:{next((self.lines[one] for one in known if one in self.lines), 1)}"


class Table:
    """A table of the file whose keys are taken one by one.

    Parameters
    ----------
    source : Source
        The file.
    place : (str, int)
        Its name, and its number among those of that name.
    values : mapping
        What it has.
    """

    def __init__(self, source: Source, place: Place, values: Mapping[str, Any]) -> None:
        self._source, self._place, self._values = source, place, values

    def fail(self, key: str, message: str, help: str | None) -> NoReturn:
        """Raise ConfigurationError with the place of a key."""
        self._source.fail(self._place, key, message, help)

    def place(self, key: str) -> str:
        """Give the file and the line of a key."""
        return self._source.place(self._place, key)

    def has(self, key: str) -> bool:
        """Say whether a key is there."""
        return key in self._values

    def check_keys(self, known: set[str]) -> None:
        """Refuse keys that don't exist."""
        for key in self._values:
            if key not in known:
                near = nearest_word(key, known)
                help = f"did you mean {near}?" if near else f"the keys are {list_text(sorted(known))}"
                self.fail(key, f"unknown key `{key}` in {self.name}", help)

    @property
    def name(self) -> str:
        """The table's name, as a file has it."""
        return f"[{self._place[0]}]" if self._place[0] else "the file"

    def raw(self, key: str) -> Any:
        """Give a value as it is."""
        return self._values[key]

    def take(self, key: str, read: Callable[[Any], Any], expected: str, default: Any) -> Any:
        """Read a value; `read` gives None for what isn't expected."""
        if key not in self._values:
            return default
        value = self._values[key]
        found = read(value)
        if found is None:
            self.fail(key, f"{key} = {_shown(value)}: expected {expected}", _or_none(key, default))
        return found

    def many(self, key: str, read: Callable[[Any], Any], expected: str, default: tuple[Any, ...]) -> Any:
        """Read a value or a list of values, as a tuple."""
        if key not in self._values:
            return default
        values = self._values[key]
        values = values if isinstance(values, list) else [values]
        if not values:
            self.fail(key, f"{key} is empty: expected {expected}, or a list of such", _or_none(key, default))
        found = []
        for value in values:
            found.append(read(value))
            if found[-1] is None:
                self.fail(key, f"{key} has {_shown(value)}: expected {expected}", _or_none(key, default))
        return tuple(dict.fromkeys(found))


def _or_none(key: str, default: Any) -> str:
    """Say that a value may be left out, and what it is then."""
    known = f": it is {_shown(default)} then" if isinstance(default, int | float | str) else ""
    return f"give such a value, or leave {key} out{known}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, str | list | dict) else str(value)


def switch(value: Any) -> bool | None:
    """Read true or false."""
    return value if isinstance(value, bool) else None


def text(value: Any) -> str | None:
    """Read a text that isn't empty."""
    return value if isinstance(value, str) and value else None


def name(value: Any) -> str | None:
    """Read a text that fits into a line of a table."""
    return value if isinstance(value, str) and value.strip() and value.isprintable() else None


def plain(value: Any) -> Any:
    """Read whatever JSON can say, too."""
    try:
        return json.loads(json.dumps(value))
    except TypeError:
        return None


def one_of(words: tuple[str, ...]) -> Callable[[Any], str | None]:
    """Read one of some words."""
    return lambda value: value if value in words else None


def count(value: Any) -> int | None:
    """Read an integer from 1."""
    return value if type(value) is int and value >= 1 else None


def whole(value: Any) -> int | None:
    """Read an integer from 0."""
    return value if type(value) is int and value >= 0 else None


def size(value: Any) -> int | None:
    """Read a size: a number of bytes, or a text such as 4 KiB."""
    found = read_size(value.replace(" ", "")) if isinstance(value, str) else value
    return found if type(found) is int and 0 <= found <= LARGEST_MESSAGE else None


def load(value: Any) -> float | None:
    """Read a load in percent."""
    return float(value) if _is_number(value) and 1 <= value <= 100 else None


def seconds(value: Any) -> float | None:
    """Read a time in seconds, a day at most."""
    return float(value) if _is_number(value) and 0 <= value <= LONGEST_STEP else None


def positive(value: Any) -> float | None:
    """Read a number above 0."""
    return float(value) if _is_number(value) and value > 0 else None


def node(value: Any) -> int | str | None:
    """Read a node: its number or name."""
    return whole(value) if not isinstance(value, str) else text(value)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
