"""Pages that a server has made, in the cache: the next one for the same trace gives them at once.

A page is known by the files of its trace (names, sizes, times of change), what it shows, and the version and
scripts of pse.  Where the cache can't be written to, or others may change it, no page is kept.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from hashlib import sha256
from importlib import resources
from pathlib import Path

from pse import __version__, _cache
from pse.errors import RunError, UsageError
from pse.files import write_file
from pse.trace import Trace

MOST_KEPT = 32
"""Pages; of more, those that were asked for the longest ago are removed."""


class KeptPages:
    """The pages of a trace that are kept.

    Parameters
    ----------
    trace : Trace
        The trace, as it is now.
    """

    def __init__(self, trace: Trace) -> None:
        self._folder: Path | None = None
        with contextlib.suppress(RunError):
            self._folder = _cache.code_directory() / "pages"
        self._trace = _identity(trace.path)

    def page(self, what: str, make: Callable[[], bytes]) -> bytes:
        """The page that shows a part of the trace, kept or made."""
        if self._folder is None:
            return make()
        path = self._folder / f"{sha256(f'{self._trace}{what}'.encode()).hexdigest()}.html"
        try:
            page = path.read_bytes()
            os.utime(path)
        except OSError:
            page = make()
            self._keep(page, path)
        return page

    def _keep(self, page: bytes, path: Path) -> None:
        with contextlib.suppress(OSError, UsageError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(page, path)
            by_age = sorted(path.parent.glob("*.html"), key=lambda one: one.stat().st_mtime, reverse=True)
            for old in by_age[MOST_KEPT:]:
                old.unlink(missing_ok=True)


def _identity(path: Path) -> str:
    """What changes when the trace, or how its page looks, does."""
    files = sorted(one for one in path.rglob("*") if one.is_file())
    known = [(str(one.relative_to(path)), one.stat().st_size, one.stat().st_mtime_ns) for one in files]
    assets = resources.files("pse.views.page") / "assets"
    look = [(assets / name).read_bytes() for name in ("page.js", "page.css", "page.html")]
    return repr((__version__, str(path.resolve()), known, sha256(b"".join(look)).hexdigest()))
