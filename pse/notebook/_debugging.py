"""How a run is debugged: what `pse.run` takes for it, which are options of `pse run`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pse.modules.build import parse_sanitizers
from pse.notebook._errors import NotebookError, translated


def debugging_options(
    *,
    debug: bool = False,
    prefix: bool = False,
    serial: bool = False,
    sanitize: str | Iterable[str] | None = None,
    gdb: int | str | None = None,
) -> dict[str, Any]:
    """Give what a `Request` has for it.

    Raises
    ------
    NotebookError
        If a value is wrong.
    """
    found: dict[str, Any] = {"debug": debug, "prefix": prefix, "serial": serial}
    for name, value in found.items():
        if not isinstance(value, bool):
            raise NotebookError(
                f"{name} must be True or False, not {value!r}", help=f"write {name}=True, or leave it out"
            )
    if sanitize is not None:
        with translated():
            found["sanitize"] = parse_sanitizers(
                sanitize if isinstance(sanitize, str) else ",".join(sanitize)
            )
    return found | ({} if gdb is None else {"gdb": str(gdb)})
