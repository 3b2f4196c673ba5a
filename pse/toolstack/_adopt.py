"""Rewriting a tool's binary: its imports of ``PMPI_x`` become ``XMPI_x``, as the first P^NMPI did it.

The stack doesn't need this, since it binds imports when it has loaded a tool.  It is here for those who want
a tool that can't run without a stack: nothing else defines ``XMPI_x``.  The imports become weak, so that the
tool loads although they have no definition.  Only names in the dynamic string table and two bytes of each
symbol change.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from pse.errors import UsageError
from pse.files import draft_file, explained
from pse.toolstack import _elf as elf

_WEAK = 2


def adopt(tool: Path, out: Path) -> int:
    """Write a copy of a tool that imports XMPI_x in place of PMPI_x.

    Parameters
    ----------
    tool : path
        The tool's shared object, which is not changed.
    out : path
        The file to write.

    Returns
    -------
    int
        How many imports were renamed.

    Raises
    ------
    UsageError
        If the tool imports no PMPI_x or defines one itself, or if the copy can't be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> adopt(Path("libtool.so"), Path("adopted.so"))  # doctest: +SKIP
    12
    """
    symbols = [symbol for symbol in elf.read(tool).symbols if symbol.name.startswith("PMPI_")]
    if own := [symbol.name for symbol in symbols if symbol.defined]:
        raise UsageError(
            f"{tool} defines {own[0]} itself: it is linked with an MPI library, not a tool",
            help="link the tool with -shared, and without -lmpi",
        )
    if not symbols:
        raise UsageError(
            f"{tool} imports no PMPI_x: there is nothing to rewrite",
            help="name the tool in the configuration as it is: it runs in a stack already",
        )
    data = bytearray(tool.read_bytes())
    for symbol in symbols:
        data[symbol.text] = ord("X")
        data[symbol.entry + 4] = _WEAK << 4 | data[symbol.entry + 4] & 15
    with explained(out), draft_file(out) as draft:
        draft.write_bytes(data)
        shutil.copymode(tool, draft)
    return len(symbols)
