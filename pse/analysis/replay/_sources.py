"""What is analysed: a trace of pse as it is, an OTF2 archive through a trace in a temporary directory."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pse.trace import Trace, open as open_trace
from pse.trace.interchange import import_otf2

ANCHOR = "traces.otf2"


@contextlib.contextmanager
def opened(source: str | os.PathLike[str] | Trace) -> Iterator[tuple[Trace, list[str]]]:
    """Open what is to be analysed; give the trace, and what an import has to say.

    Parameters
    ----------
    source : Trace or path
        A trace, its directory, the anchor file of an OTF2 archive, or the directory that this file is in.

    Yields
    ------
    trace : Trace
        The trace; an imported one is there until the end of the context.
    notes : list of str
        What could not be imported.

    Raises
    ------
    TraceError
        It is neither, or nothing of it can be read.
    """
    if isinstance(source, Trace):
        yield source, []
        return
    path = Path(source)
    anchor = path / ANCHOR if (path / ANCHOR).is_file() else path
    if not anchor.is_file():
        yield open_trace(path), []
        return
    with tempfile.TemporaryDirectory(prefix="pse-analyze-") as directory:
        notes = import_otf2(anchor, Path(directory) / "trace")
        yield open_trace(Path(directory) / "trace"), notes
