"""The tables of cext/abi: what is made from them is fresh, complete, and lies in memory as C has it."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from abigen import c, python
from abigen.layout import Layouts
from abigen.model import Enum, Struct, TableError, parse, read

ROOM = Path(__file__).parents[2] / "cext" / "abi"
TABLES = [read(path) for path in sorted(ROOM.glob("*.def"))]
LAYOUTS = Layouts(TABLES)


def test_what_is_made_from_the_tables_is_fresh():
    done = subprocess.run([sys.executable, ROOM / "generate.py", "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_declarations_for_cython_are_made_of_tables_that_a_face_cimports():
    root = ROOM.parents[1]
    faces = [*root.glob("cext/**/*.pyx"), *root.glob("pse/**/*.pxd")]
    cimports = re.compile(r"^from pse\._abi\.(\w+) cimport", re.MULTILINE)
    cimported = {name for face in faces for name in cimports.findall(face.read_text())}
    assert cimported == {path.stem for path in root.glob("pse/_abi/*.pxd")}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_entry_of_a_table_is_read(table):
    text = (ROOM / f"{table.name}.def").read_text()
    rows = len(re.findall(r"^[A-Z]+\(", text, flags=re.MULTILINE)) + 2 * text.count("\nREASON(")
    members = [entry.codes if isinstance(entry, Enum) else entry.fields
               for entry in table.entries if isinstance(entry, Enum | Struct)]  # fmt: skip
    more = [*(struct.row for struct in table.structs), *(enum.doc for enum in table.enums), table.title]
    npy = [struct.npy for struct in table.structs]
    assert rows == len(table.entries) + sum(map(len, members)) + sum(map(bool, more)) + sum(map(len, npy))


@pytest.mark.parametrize(
    ("table", "struct"),
    [(table, struct) for table in TABLES for struct in table.structs if struct.python != "-"],
    ids=lambda what: what.name,
)
def test_a_dtype_lies_in_memory_as_the_struct_does(table, struct):
    """C's compiler asserts the same numbers in the headers."""
    dtype = getattr(importlib.import_module(table.module), struct.python)
    if struct.only_size:
        assert dtype == LAYOUTS.size(struct)
        return
    places = LAYOUTS.places(struct)
    assert dtype.itemsize == LAYOUTS.size(struct)
    assert {name: dtype.fields[name][1] for name in dtype.names} == {
        name: place.offset for name, place in places.items()
    }
    assert [dtype.fields[name][0].itemsize for name in places] == [place.size for place in places.values()]


@pytest.mark.parametrize(
    ("table", "struct"),
    [(table, struct) for table in TABLES for struct in table.structs if struct.row],
    ids=lambda what: what.name,
)
def test_a_row_has_the_fields_of_its_struct_in_order(table, struct):
    row = getattr(importlib.import_module(table.module), struct.row[0])
    assert list(row._fields) == [field.name for field in struct.fields]


def made(text):
    table = parse("numbers", text)
    layouts = Layouts([*TABLES, table])
    return c.header(table, layouts), python.module(table, layouts)


NUMBERS = """
TITLE("Numbers.")
CONSTANT(PSE_MOST, MOST, 3, "")
ENUM(pse_colour, PSE_COLOUR, Colour, IntEnum, "Colours.")
CODE(RED, 1, "like a rose")
STRUCT(pse_pixel, PIXEL_DTYPE, "A place.")
FIELD(uint8_t, alpha, "")
ARRAY(int16_t, at, PSE_MOST, "where")
"""


def test_a_struct_and_an_enum_are_written_for_c_and_python():
    header, module = made(NUMBERS)
    assert "    PSE_COLOUR_RED = 1, /* like a rose */\n" in header
    assert "    int16_t at[PSE_MOST]; /* where */\n" in header
    assert "sizeof(pse_pixel) == 8 && " in header
    assert "offsetof(pse_pixel, at) == 2" in header
    names = {}
    exec(module, names)
    assert (names["MOST"], names["Colour"].RED, names["PIXEL_DTYPE"].itemsize) == (3, 1, 8)


def test_a_change_of_a_table_changes_what_is_made():
    assert made(NUMBERS.replace("RED, 1", "RED, 7")) != made(NUMBERS)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('CODE(BLUE, 1, "again")', "pse_colour has BLUE or 1 already"),
        ('CODE(RED, 2, "again")', "pse_colour has RED or 2 already"),
        ("CODE(BLUE, 2)", r"numbers.def: CODE\(BLUE, 2\): "),
        ('LINE(BLUE, 2, "")', r"numbers.def: LINE\(BLUE, 2, \): 'LINE'"),
        ('CODE(BLUE, 2, "', "an entry doesn't end"),
        ('ENUM(pse_bits, PSE, Bits, IntFlag, "")\nCODE(BOTH, 3, "")', "a flag is a single bit"),
        ('FIELD(long, side, "")', "no type of a field: long"),
    ],
)
def test_a_row_that_is_wrong_is_refused(row, message):
    with pytest.raises(TableError, match=message):
        made(NUMBERS + row)
