"""Write what C, Cython and Python must agree on from one set of tables: cext/abi/NAME.def.

``python cext/abi/generate.py`` writes what is stale and names it; with ``--check`` it only names it (exit
code 1), and a test does that.  What it writes is committed, so building needs no generator.

Each table gives

- ``cext/abi/include/abi_NAME.h``: constants, enums, structs, with assertions that C lays structs out as NumPy
  does,
- ``pse/_abi/NAME.pxd``: the same for Cython, where a face cimports it,
- ``pse/_abi/NAME.py``: constants, enums, dtypes of structs (that of events.def is in ``pse/trace/format``),

and some give a part of a file that is written by hand: the enums of ``coven.h``, the tables of
``docs/trace.md``.  Structs of headers that users and shims include are written there alone; for ctypes
``pse/_abi/services.py`` has those of ``coven.h``, ``pse/_abi/shims.py`` those of the tool stack.

A table is a list of rows; each begins at the start of a line, all else is comment.  "-" stands for "none"; a
text may be several strings, as in C.

- A new *element type* is a row ``ELEMENT(name, number, NumPy, buffer format, C, C++, Cython, meaning)`` of
  elements.def.
- A new *field of a row* is ``FIELD(type, name, meaning)`` or ``ARRAY(type, name, length, meaning)`` below its
  ``STRUCT(name in C, dtype in Python, meaning)``; a new kind of row is one more ``STRUCT``, and ``ROW(class,
  table)`` below it gives it a tuple that Python fills in (a last column of ``FIELD`` is a default there).
- A new *reason to wait* is a row ``REASON(name, number, text for users, meaning)`` of waiting.def; it gives
  the reason in traces and the state of a rank that waits for it.
- A new *code* is ``CODE(name, number, meaning)`` below its ``ENUM(name in C, prefix in C, name in Python,
  base, meaning)``; a base of ``Texts`` means that users read the meanings, which C and Python have then.
- ``DOC(title, line, …)`` below an ``ENUM`` is a section of its docstring in Python.
- A new *event* is ``EVENT(name, number, meaning, flags, a, b, c, OTF2)`` of events.def, a new *collective* is
  ``COLLECTIVE(name, number, has a root)`` of coven.def.
- ``CONSTANT(name in C, name in Python, value, meaning)`` is a number, ``WORDS`` the same for text that users
  read, ``NAMES`` for several names, with blanks between them.
- ``INCLUDE`` is a header that the C header needs, ``IMPORT(table, name, …)`` a table, whose names
  the Python module passes on, ``POINTER(name, declaration)`` a type of a pointer to a function, ``UNION`` a
  struct whose members share their place: NumPy has its first member.

Numbers that are stored in files or travel between ranks are never used twice.
"""

from __future__ import annotations

import sys
from pathlib import Path

from abigen import c, ctypes_mirror, cython, manual, python
from abigen.layout import Layouts
from abigen.model import TableError, read

ROOM = Path(__file__).parent
ROOT = ROOM.parents[1]
NOT_FOR_CYTHON = ("blocks", "coschedule", "coven", "environment", "waiting")
"""Tables of which no face in Cython needs a line."""


def outputs() -> dict[Path, str]:
    """Give what is made from the tables: texts by path."""
    tables = {path.stem: read(path) for path in sorted(ROOM.glob("*.def"))}
    layouts = Layouts(tables.values())
    made: dict[Path, str] = {}
    for name, table in tables.items():
        made[ROOM / "include" / f"abi_{name}.h"] = c.header(table, layouts)
        if name not in NOT_FOR_CYTHON:
            made[ROOT / "pse" / "_abi" / f"{name}.pxd"] = cython.declarations(table, layouts)
        made[ROOT / f"{table.module.replace('.', '/')}.py"] = python.module(table, layouts)
    coven, page = ROOT / "pse" / "modules" / "include" / "coven.h", ROOT / "docs" / "trace.md"
    made[coven] = c.coven(coven.read_text(encoding="utf-8"), tables)
    for name, mirror in ctypes_mirror.MIRRORS.items():
        texts = [made.get(ROOT / path) or (ROOT / path).read_text("utf-8") for path in mirror.headers]
        made[ROOT / "pse" / "_abi" / f"{name}.py"] = ctypes_mirror.module(mirror, texts)
    made[page] = manual.page(page.read_text(encoding="utf-8"), tables, layouts)
    return made


def main(arguments: list[str]) -> int:
    """Write what is stale, or with ``--check`` only name it."""
    check = "--check" in arguments
    made = outputs()
    stale = [path for path, text in made.items() if not path.exists() or path.read_text("utf-8") != text]
    for path in stale:
        print(path.relative_to(ROOT))
        if not check:
            path.write_text(made[path], encoding="utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except TableError as error:
        sys.exit(f"error: {error}")
