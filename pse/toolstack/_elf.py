"""What the tool stack has to know of ELF files: names of shared objects, what they need, define and import.

Reads 64-bit little-endian files (x86-64, aarch64) and nothing else; changes none.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

from pse.errors import UsageError, system_help
from pse.records import dataclass

_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NEEDED, _DT_STRTAB, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 1, 5, 14, 15, 29
_SHT_DYNSYM = 11
_FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
_HEADERS = 4096  # What linkers put at the begin of a file is shorter.
_SYMBOL = struct.Struct("<IBBHQQ")
MACHINES = {62: "x86_64", 183: "aarch64"}


@dataclass(frozen=True)
class Symbol:
    """A dynamic symbol: its name, where its entry and its name lie in the file, what it is."""

    name: str
    entry: int
    text: int
    function: bool
    defined: bool


@dataclass(frozen=True)
class Shared:
    """A shared object's dynamic side; `needed` is looked for in `paths` before the system's places."""

    path: Path
    machine: str
    soname: str
    needed: tuple[str, ...]
    paths: tuple[str, ...]
    symbols: tuple[Symbol, ...]

    @property
    def functions(self) -> frozenset[str]:
        """The names of the functions that it defines."""
        return frozenset(symbol.name for symbol in self.symbols if symbol.function and symbol.defined)


def read(path: Path) -> Shared:
    """Read a shared object.

    Raises
    ------
    UsageError
        If it can't be read, or is none.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}", help=system_help(error, path)) from None
    try:
        return _parse(path, data)
    except (struct.error, StopIteration, ValueError, IndexError):
        message = f"{path} is not a shared object for x86-64 or aarch64"
        raise UsageError(message, help="name a library that was linked with -shared: lib….so") from None


def is_whole(path: Path) -> bool:
    """Say whether a file is there, with all that will be mapped: to load one that is cut short is a crash."""
    try:
        with path.open("rb") as file:
            loads, _ = _segments(file.read(_HEADERS))
            end = os.fstat(file.fileno()).st_size
    except (OSError, struct.error):
        return False
    return bool(loads) and all(offset + length <= end for _, offset, length in loads)


def _parse(path: Path, data: bytes) -> Shared:
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError
    machine = MACHINES[struct.unpack_from("<H", data, 18)[0]] if data[18] in MACHINES else ""
    if not machine:
        raise ValueError
    loads, dynamic = _segments(data)
    entries = list(_dynamic_entries(data, dynamic))
    strings = _offset(loads, next(value for tag, value in entries if tag == _DT_STRTAB))

    def texts(*tags: int) -> tuple[str, ...]:
        return tuple(_text(data, strings + value) for found, value in entries if found in tags)

    soname, paths = "".join(texts(_DT_SONAME)), texts(_DT_RPATH, _DT_RUNPATH)
    return Shared(path, machine, soname, texts(_DT_NEEDED), paths, tuple(_symbols(data, strings)))


def _segments(data: bytes) -> tuple[list[tuple[int, int, int]], tuple[int, int]]:
    """Give (address, offset, size) of the loaded segments, and (offset, size) of the dynamic one."""
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    loads, dynamic = [], (0, 0)
    for header in range(start, start + size * count, size):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, header)
        if kind == _PT_LOAD:
            loads.append((address, offset, length))
        elif kind == _PT_DYNAMIC:
            dynamic = (offset, length)
    return loads, dynamic


def _dynamic_entries(data: bytes, dynamic: tuple[int, int]) -> Iterator[tuple[int, int]]:
    offset, length = dynamic
    for tag, value in struct.iter_unpack("<QQ", data[offset : offset + length]):
        if tag == 0:
            return
        yield tag, value


def _offset(loads: list[tuple[int, int, int]], address: int) -> int:
    for start, offset, size in loads:
        if start <= address < start + size:
            return address - start + offset
    raise ValueError


def _text(data: bytes, offset: int) -> str:
    return data[offset : data.index(b"\0", offset)].decode(errors="replace")


def _symbols(data: bytes, strings: int) -> Iterator[Symbol]:
    """Yield the dynamic symbols; the section table has their number."""
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    for header in range(start, start + size * count, size):
        _, kind, _, _, offset, length = struct.unpack_from("<IIQQQQ", data, header)
        if kind != _SHT_DYNSYM:
            continue
        for entry in range(offset + _SYMBOL.size, offset + length, _SYMBOL.size):
            name, info, _, section, _, _ = _SYMBOL.unpack_from(data, entry)
            text = strings + name
            yield Symbol(_text(data, text), entry, text, info & 15 in _FUNCTIONS, section != 0)
