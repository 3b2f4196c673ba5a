"""Tools are made alike whatever an mpi.h calls the parameters of MPI's routines."""

from pathlib import Path

import pytest

from pse.toolstack import _mpi_header as mpi_header, _shims, _wrappers

LISTS = sorted(Path(__file__).parents[2].glob("cext/toolstack/tools/*/*.def"))


@pytest.fixture(scope="module")
def headers(mpi):
    """Give this MPI's header, and the same with other names of parameters."""
    known = mpi_header.read(mpi.include / "mpi.h")
    lines = [f"typedef {type_} {name};" for name, type_ in known.typedefs.items() if "(" not in type_]
    for prototype in known.prototypes.values():
        renamed = [of.named(f"arg{at}") for at, of in enumerate(prototype.parameters)]
        text = ", ".join(of.declaration for of in renamed) + ", ..." * prototype.variadic
        prefixes = ("", "P") if prototype.name in known.profiled else ("",)
        lines += [f"{prototype.result} {prefix}{prototype.name}({text or 'void'});" for prefix in prefixes]
    return known, mpi_header.parse("\n".join(lines))


@pytest.mark.parametrize("listed", LISTS, ids=lambda path: path.stem)
def test_wrappers_with_code_do_not_depend_on_the_headers_names(headers, listed):
    entries = _wrappers._entries(listed.read_text())
    ours, theirs = (header.prototypes for header in headers)
    assert ours.keys() == theirs.keys()
    for name in ours:
        entry = max(entries, key=lambda entry, name=name: entry.rank(name))
        if entry.rank(name) and (entry.before or entry.call or entry.after):
            assert _wrappers._wrapper(ours[name], entry) == _wrappers._wrapper(theirs[name], entry)


@pytest.mark.usefixtures("needs_large_counts")
def test_shims_with_conversions_do_not_depend_on_the_headers_names(headers):
    ours, theirs = (_shims.text(header, list(header.prototypes)) for header in headers)
    assert theirs.count("pse_toolstack_ints(") == ours.count("pse_toolstack_ints(") > 20
    assert theirs.count("array_of_large_counts") == ours.count("array_of_large_counts") > 0
