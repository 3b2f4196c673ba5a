"""What the built extensions ask of the dynamic linker: nothing of the environment that they were built in.

The reader below knows just enough of the format for 64-bit little-endian files (x86-64 and aarch64), so that
the tests need no binutils.
"""

import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import pse

SYSTEM_LIBRARIES = (
    "libc.",
    "libm.",
    "libpthread.",
    "librt.",
    "libdl.",
    "libgcc_s.",
    "libstdc++.",
    "ld-linux",
)
EXTENSIONS = sorted(Path(pse.__file__).parent.rglob("*.so"))

DT_NEEDED, DT_STRTAB, DT_RPATH, DT_RUNPATH = 1, 5, 15, 29
SHT_DYNSYM = 11
PT_LOAD, PT_DYNAMIC = 1, 2


@dataclass(frozen=True)
class Dynamic:
    """The dynamic section of a shared object; `rpath` holds DT_RPATH and DT_RUNPATH together."""

    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    exported: frozenset[str]


def read(path: Path) -> Dynamic:
    """Read a shared object."""
    data = path.read_bytes()
    assert data[:6] == b"\x7fELF\x02\x01", f"{path} is not a 64-bit little-endian ELF file"
    loads, dynamic = _segments(data)
    entries = list(_dynamic_entries(data, dynamic))
    strings = _offset(loads, next(value for tag, value in entries if tag == DT_STRTAB))

    def texts(*tags: int) -> tuple[str, ...]:
        return tuple(_text(data, strings + value) for tag, value in entries if tag in tags)

    return Dynamic(texts(DT_NEEDED), texts(DT_RPATH, DT_RUNPATH), frozenset(_exported(data)))


def _segments(data: bytes) -> tuple[list[tuple[int, int, int]], tuple[int, int]]:
    """Return (address, offset, size) of the loaded segments and (offset, size) of the dynamic one."""
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    loads, dynamic = [], (0, 0)
    for header in range(start, start + size * count, size):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, header)
        if kind == PT_LOAD:
            loads.append((address, offset, length))
        elif kind == PT_DYNAMIC:
            dynamic = (offset, length)
    return loads, dynamic


def _dynamic_entries(data: bytes, dynamic: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Yield (tag, value) up to the terminating null entry."""
    offset, length = dynamic
    for tag, value in struct.iter_unpack("<QQ", data[offset : offset + length]):
        if tag == 0:
            return
        yield tag, value


def _offset(loads: list[tuple[int, int, int]], address: int) -> int:
    """Translate an address into an offset in the file."""
    return next(offset + address - base for base, offset, length in loads if base <= address < base + length)


def _exported(data: bytes) -> Iterator[str]:
    """Yield the names of the defined global symbols of the dynamic symbol table."""
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + size * index) for index in range(count)]
    for section in (found for found in sections if found[1] == SHT_DYNSYM):
        strings = sections[section[6]][4]
        symbols = data[section[4] : section[4] + section[5]]
        for name, info, _, index, _, _ in struct.iter_unpack("<IBBHQQ", symbols):
            if index != 0 and info >> 4 == 1:
                yield _text(data, strings + name)


def _text(data: bytes, offset: int) -> str:
    """Read a null-terminated string."""
    return data[offset : data.index(b"\0", offset)].decode()


def test_there_are_extensions():
    assert EXTENSIONS, "nothing is built; run `make ext`"


@pytest.mark.parametrize("path", EXTENSIONS, ids=lambda path: path.name)
def test_extension_is_self_contained(path):
    dynamic = read(path)
    assert set(dynamic.rpath) <= {"$ORIGIN"}
    assert [name for name in dynamic.needed if not name.startswith(SYSTEM_LIBRARIES)] == []


@pytest.mark.parametrize("path", EXTENSIONS, ids=lambda path: path.name)
def test_extension_exports_its_entry_point_only(path):
    exported = read(path).exported
    if path.parent.name == "tools":
        assert {name for name in exported if not name.startswith("MPI")} <= {"pse_tool_start", "pse_tool_end"}
    else:
        assert exported == {f"PyInit_{path.name.split('.')[0]}"}


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_reader_sees_a_leak(tmp_path):
    source, library = tmp_path / "leak.c", tmp_path / "leak.so"
    source.write_text("int pse_leak(void) { return 0; }\n")
    link = ["-shared", "-fPIC", "-Wl,-rpath,/build/env,--no-as-needed", "-lm"]
    subprocess.run(["cc", *link, "-o", library, source], check=True)
    dynamic = read(library)
    assert dynamic.rpath == ("/build/env",)
    assert "pse_leak" in dynamic.exported
    assert any(name.startswith("libm.") for name in dynamic.needed)
