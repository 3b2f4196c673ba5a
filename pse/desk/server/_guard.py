"""Who may talk to the desk: the browser that knows the token, from the desk's own page, under its own name.

Names other than the desk's in `Host` are DNS rebinding; another `Origin` is another site's page.  Both are
refused before the token is looked at.  Whoever uses this machine may read the address in the command line of
the browser that is opened with it, so other users' connections get no cookie for it, and the cookie is no
part of it.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pse import _proc

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; "
    "form-action 'none'; frame-src 'self'; frame-ancestors 'none'"
)
"""Nothing inline but styles, nothing from elsewhere."""
PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "worker-src blob:; frame-ancestors 'self'; sandbox allow-scripts allow-downloads allow-modals"
)
"""Of the page of a run, in a frame: whatever its trace says, it reaches nothing of the desk."""
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_READING = ("GET", "HEAD")


class Guard:
    """Lets requests through to an application, or refuses them.

    Parameters
    ----------
    application : ASGI application
        What is guarded.
    token : str
        The secret of the address that was printed.
    hosts : iterable of str
        The names under which the desk may be asked for, beside addresses in numbers.
    cookie : str
        The name of the cookie.
    proxied : bool
        Whether requests come through a proxy, under any name: it has the address, and knows who may come in.
    """

    def __init__(
        self, application: ASGIApp, token: str, hosts: Iterable[str], cookie: str, *, proxied: bool
    ) -> None:
        self._application, self._token = application, token
        self._hosts, self._cookie = {host.lower() for host in hosts}, cookie
        self._proxied = proxied
        self._secret = secrets.token_urlsafe(24)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or open one WebSocket."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        answer = self._answer(scope)
        if answer is None:
            await self._application(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await answer(scope, receive, _with_headers(send))

    def _answer(self, scope: Scope) -> Response | None:
        """Give the answer to what does not go through."""
        headers = Headers(scope=scope)
        if not self._proxied and not self._is_own_name(headers.get("host", "")):
            return _refusal("this is not the desk's address; open the one that `pse desk` printed", 403)
        if not _is_own_origin(scope, headers):
            return _refusal("this request comes from another page than the desk's", 403)
        if scope["type"] == "http" and scope["path"] == "/" and (given := _query_token(scope)):
            return self._welcome(scope) if _is_equal(given, self._token) else _unknown()
        return None if self._knows(headers.get("cookie", "")) else _unknown()

    def _is_own_name(self, host: str) -> bool:
        """Whether a `Host` is the desk's, at any port: a forwarded one is another."""
        name = host.lower()
        name = name[1 : name.find("]")] if name.startswith("[") else name.partition(":")[0]
        return name in self._hosts or _is_address(name)

    def _knows(self, cookies: str) -> bool:
        try:
            found = SimpleCookie(cookies).get(self._cookie)
        except CookieError:
            return False
        return found is not None and _is_equal(found.value, self._secret)

    def _welcome(self, scope: Scope) -> Response:
        if not self._proxied and _is_of_another_user(scope):
            return _refusal("the desk is another user's of this machine; start one with `pse desk`", 403)
        # Behind a proxy the page, and its cookie, are in a folder.
        response = RedirectResponse("./", 303)
        response.set_cookie(self._cookie, self._secret, path=None, httponly=True, samesite="strict")
        return response


def _is_equal(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(), secret.encode())


def _is_of_another_user(scope: Scope) -> bool:
    """Whether somebody else on this machine asks; what root forwards, as containers do, may be the user's."""
    if not (scope.get("client") and scope.get("server")):
        return False
    users = _proc.connecting_users(scope["client"][1], scope["server"][1])
    return not users <= {0, os.geteuid()}


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _query_token(scope: Scope) -> str | None:
    found = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token")
    return found[0] if found else None


def _is_own_origin(scope: Scope, headers: Headers) -> bool:
    """Whether a page of the desk asks; only reading may come without an origin: a typed address."""
    origin = headers.get("origin")
    if origin is None:
        return scope["type"] == "http" and scope["method"] in _READING
    return origin.partition("://")[2].lower() == headers.get("host", "").lower()


def _unknown() -> Response:
    return _refusal("open the address that `pse desk` printed: it has the token", 401)


def _refusal(text: str, status: int) -> Response:
    return PlainTextResponse(f"{text}\n", status)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
