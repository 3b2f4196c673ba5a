"""The options of a program: which there are, what they may be, and how their values are read.

The program's `options { … }` and the command line read values through the same table.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pse._abi.elements import SMALLEST_ARENA
from pse.language.types._expressions import Value
from pse.records import dataclass

_UNITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4}
_BINARY = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}
_FUNCTION = re.compile(r"[^\0\n]+\.py:[^\W\d]\w*")
_CORES = re.compile(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*")
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)([KMGT]i?)?B")


@dataclass(frozen=True)
class OptionKind:
    """What values an option takes.

    Parameters
    ----------
    read : callable
        Gives the value of a text, or None if the option can't be that.
    expected : str
        What it may be, in words.
    example : str
        A value, as it is written.
    per_thread : bool, default False
        Whether a thread can have its own.
    quoted : bool, default False
        Whether a program may write its value in quotation marks.

    Examples
    --------
    >>> from pse.language.types import OPTIONS
    >>> OPTIONS["queue_depth"].expected, OPTIONS["queue_depth"].per_thread
    ('an integer from 1', True)
    """

    read: Callable[[str], Value | None]
    expected: str
    example: str
    per_thread: bool = False
    quoted: bool = False


def read_switch(text: str) -> Value | None:
    """Read `on` or `off` (also true, false)."""
    return {"on": True, "true": True, "off": False, "false": False}.get(text)


def read_size(text: str) -> Value | None:
    """Read a size as a number of bytes.

    Parameters
    ----------
    text : str
        A number, or one with a unit, without blanks.

    Returns
    -------
    int or None
        Bytes; None if it is not a size.

    Examples
    --------
    >>> read_size("64KiB"), read_size("1.5GB"), read_size("4096"), read_size("many")
    (65536, 1500000000, 4096, None)
    """
    if re.fullmatch(r"\d{1,18}", text):
        return int(text)
    found = _SIZE.fullmatch(text)
    if found is None:
        return None
    unit = found[2] or ""
    size = float(found[1]) * (_BINARY.get(unit) or _UNITS[unit])
    return int(size) if size < 2**62 else None


def read_arena(text: str) -> Value | None:
    """Read a size that an arena can have, or `auto`."""
    size = read_size(text)
    return "auto" if text == "auto" else size if isinstance(size, int) and size >= SMALLEST_ARENA else None


def read_count(text: str) -> Value | None:
    """Read an integer from 1."""
    return int(text) if re.fullmatch(r"\d{1,9}", text) and int(text) >= 1 else None


def read_placement(text: str) -> Value | None:
    """Read `block`, `cyclic`, or a function of a Python file: `place.py:near`."""
    return text if text in ("block", "cyclic") or _FUNCTION.fullmatch(text) else None


def read_balance(text: str) -> Value | None:
    """Read after how many rounds of a loop load is balanced; 0 for `off`."""
    return 0 if text == "off" else read_count(text)


def read_check(text: str) -> Value | None:
    """Read what is looked for in outputs: `nan`, or `off`."""
    return text if text in ("off", "nan") else None


def read_transport(text: str) -> Value | None:
    """Read by what ranks communicate: `auto` or `bcs`."""
    return text if text in ("auto", "bcs") else None


def read_pin(text: str) -> Value | None:
    """Read `off`, `compact`, `spread`, or cores: `0,2,4-7`."""
    if text in ("off", "compact", "spread"):
        return text
    runs = [[int(end) for end in run.split("-")] for run in text.split(",")] if _CORES.fullmatch(text) else []
    return text if runs and all(run[0] <= run[-1] for run in runs) else None


_SMALLEST = f"{SMALLEST_ARENA >> 10}KiB"

OPTIONS = {
    "shared_memory": OptionKind(read_switch, "on or off", "on"),
    "transport": OptionKind(read_transport, "auto or bcs", "bcs"),
    "arena": OptionKind(read_arena, f"auto, or a size from {_SMALLEST}, such as 4GiB", "4GiB"),
    "local_limit": OptionKind(read_size, "a size such as 64KiB", "64KiB"),
    "queue_depth": OptionKind(read_count, "an integer from 1", "4", per_thread=True),
    "placement": OptionKind(
        read_placement, 'block, cyclic, or a function: "file.py:function"', "block", quoted=True
    ),
    "balance": OptionKind(read_balance, "off, or a number of rounds from 1", "10"),
    "fold": OptionKind(read_switch, "on or off", "off"),
    "check": OptionKind(read_check, "off or nan", "nan"),
    "pin": OptionKind(read_pin, 'off, compact, spread, or cores: "0,2,4-7"', "compact", quoted=True),
}
"""Every option by name."""
