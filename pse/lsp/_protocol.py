"""Answers to what is asked wrongly: each request has one, and a mistake of a user is no traceback."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from typing import Any

import cattrs
from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol

from pse.errors import PseError
from pse.records import dataclass

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Wrong:
    """A message whose parameters are wrong; one without a number is a notification."""

    number: int | str | None
    said: str


class ProgramProtocol(LanguageServerProtocol):
    """The protocol, as pygls has it, with an answer to every request.

    Attributes
    ----------
    exit_code : int
        The process's: 1 if the editor has sent ``exit`` and no ``shutdown`` before, as the protocol wants it.
    """

    exit_code = 0

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Read a message, or say what is wrong with it."""
        method = data.get("method")
        kind = self.get_message_type(method) if "jsonrpc" in data and isinstance(method, str) else None
        if kind is None:
            return super().structure_message(data)
        try:
            return self._converter.structure(data, kind)
        except Exception as error:
            found = "; ".join(cattrs.transform_error(error, path="message"))
            return _Wrong(data.get("id"), f"wrong parameters of {method}: {found}")

    def handle_message(self, message: Any) -> None:
        """Carry out a message, or refuse it."""
        if getattr(message, "method", None) == types.EXIT and not self._shutdown:
            self.exit_code = 1
        refused = self._refusal(message)
        number = message.number if isinstance(message, _Wrong) else getattr(message, "id", None)
        if refused is None:
            super().handle_message(message)
        elif number is not None:
            self._send_response(number, error=refused.to_response_error())
        elif isinstance(message, _Wrong):
            _logger.error(message.said)

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification that is JSON already: to make that of hundreds of objects takes its time."""
        self._send_data({"jsonrpc": self.VERSION, "method": method, "params": params})

    def _refusal(self, message: Any) -> JsonRpcException | None:
        """Say why a message is not carried out."""
        if isinstance(message, _Wrong):
            return JsonRpcInvalidParams(message.said)
        method = getattr(message, "method", None)
        if method in (None, types.EXIT):
            return None
        if self._shutdown:
            return JsonRpcInvalidRequest("the server has been shut down")
        if self._workspace is None and method != types.INITIALIZE:
            return JsonRpcServerNotInitialized("the server has not been initialized")
        return None

    def _send_handler_result(self, future: Future[Any], *, msg_id: int | str) -> None:
        """Answer a request; what the user is told has nothing to do with the server's health."""
        error = None if future.cancelled() else future.exception()
        if not isinstance(error, PseError):
            super()._send_handler_result(future, msg_id=msg_id)
            return
        self._request_futures.pop(msg_id, None)
        help = f": {error.help}" if error.help else ""
        self._send_response(msg_id, error=JsonRpcInvalidParams(f"{error.message}{help}").to_response_error())
