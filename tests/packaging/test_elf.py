"""What the built extensions ask of the dynamic linker: nothing of the environment that they were built in.

Read by the tool stack's own reader, so that the tests need no binutils.
"""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

import pse
from pse.toolstack import _elf as elf

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
WEAK = {"coven_engine"}
"""What ``coven.h`` defines in everything that includes it, so that modules run without an engine too."""
REGIONS = {
    *("pse_region_enter", "pse_region_leave", "pse_region_leave_at"),
    *("__cyg_profile_func_enter", "__cyg_profile_func_exit"),
}
"""What the tool `trace` gives to programs that say where their regions are."""
PAGE, LINE = 4096, 64
EXTENSIONS = sorted(Path(pse.__file__).parent.rglob("*.so"))
OWN_LIBRARIES = {path.name: path for path in EXTENSIONS if path.name.startswith("lib")}
"""What the tools of MPI share, whatever the MPI: beside them, in a directory of its own."""


def exported(path: Path) -> set[str]:
    return {symbol.name for symbol in elf.read(path).symbols if symbol.defined} - WEAK


def sections(path: Path) -> dict[str, range]:
    """Give the addresses of an object's sections by their names."""
    data = path.read_bytes()
    (at,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQ", data, at + number * size) for number in range(count)]
    texts = data[rows[names][4] :]
    return {texts[row[0] : texts.index(0, row[0])].decode(): range(row[3], row[3] + row[5]) for row in rows}


def test_the_build_has_extension_modules():
    assert EXTENSIONS, "nothing is built; run `make ext`"


@pytest.mark.parametrize("path", EXTENSIONS, ids=lambda path: path.name)
def test_extension_is_self_contained(path):
    shared = elf.read(path)
    own = OWN_LIBRARIES.keys() & set(shared.needed)
    assert set(shared.paths) <= {"$ORIGIN", *("$ORIGIN/../lib" for _ in own)}
    assert all((path.parent / "../lib" / name).exists() for name in own)
    assert [name for name in {*shared.needed} - own if not name.startswith(SYSTEM_LIBRARIES)] == []


@pytest.mark.parametrize("path", EXTENSIONS, ids=lambda path: path.name)
def test_extension_exports_its_entry_point_only(path):
    names = exported(path)
    if path.parent.name == "tools":
        allowed = {"pse_tool_start", "pse_tool_end"} | (REGIONS if path.stem == "trace" else set())
        assert {name for name in names if not name.startswith("MPI")} <= allowed
    elif path.name in OWN_LIBRARIES:
        assert names
        assert all(name.startswith(f"{path.stem.removeprefix('lib')}_") for name in names)
    else:
        name = path.name.split(".")[0]
        assert names == {f"PyInit_{name}"} | ({"MPI_Abort"} if name == "_faults" else set())


@pytest.mark.skipif("trace" not in {path.stem for path in EXTENSIONS}, reason="MPI's tools are not built")
def test_what_each_recorded_call_needs_is_in_few_pages():
    """After a program has computed, all of it comes from memory."""
    (tool,) = (path for path in EXTENSIONS if path.parent.name == "tools" and path.stem == "trace")
    found = sections(tool)
    data, tables = found["trace_hot"], found["trace_hot_tables"]
    assert data.start % PAGE == 0
    assert tables.start - data.stop < LINE
    assert tables.stop - data.start <= 2 * PAGE
    assert len(found["trace_calls"]) <= 8 * PAGE


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_reader_sees_a_leak(tmp_path):
    source, library = tmp_path / "leak.c", tmp_path / "leak.so"
    source.write_text("int pse_leak(void) { return 0; }\n")
    link = ["-shared", "-fPIC", "-Wl,-rpath,/build/env,--no-as-needed", "-lm"]
    subprocess.run(["cc", *link, "-o", library, source], check=True)
    assert elf.read(library).paths == ("/build/env",)
    assert "pse_leak" in exported(library)
    assert any(name.startswith("libm.") for name in elf.read(library).needed)
