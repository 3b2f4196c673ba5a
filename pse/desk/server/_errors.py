"""What the page is told when something can't be done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pse.desk.model import diagnostic_json
from pse.errors import PseError
from pse.language.diagnostics import Diagnostic


class Refusal(PseError):
    """A request that is not carried out, with the status of HTTP that it has."""

    def __init__(
        self,
        message: str,
        status: int = 400,
        *,
        help: str | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, help=help)
        self.status, self.more = status, more or {}


def error_json(error: PseError, root: str) -> dict[str, Any]:
    """Give an error as data for JSON, with the diagnostics that it has."""
    found: list[Diagnostic] = list(getattr(error, "diagnostics", ()))
    listed = {"diagnostics": [diagnostic_json(d, root) for d in found]} if found else {}
    return {"message": error.message, "help": error.help, **listed}


async def answer_error(request: Request, error: Exception) -> Response:
    """Answer a request that can't be carried out."""
    assert isinstance(error, PseError)
    root = str(request.app.state.desk.directory.path)
    more = error.more if isinstance(error, Refusal) else {}
    status = error.status if isinstance(error, Refusal) else 422
    return JSONResponse({"error": error_json(error, root), **more}, status)
