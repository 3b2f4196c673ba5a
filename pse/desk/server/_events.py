"""What the server tells pages by itself: to every page that listens, from whatever thread."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterable
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

_MOST = 10_000
"""Events that wait for a slow page; then it is let go, and comes again."""
_CHANGES_INTERVAL = 1.0
"""Seconds between two looks at the files that pages have read."""

Event = dict[str, Any]


class Events:
    """The pages that listen.

    Parameters
    ----------
    present : callable
        Gives the events that a new page is told first.
    changes : callable
        Gives the files that have changed on disk.
    """

    def __init__(self, present: Callable[[], Iterable[Event]], changes: Callable[[], list[Event]]) -> None:
        self._present, self._changes = present, changes
        self._pages: set[asyncio.Queue[Event | None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def heard(self) -> bool:
        """Whether a page listens."""
        return bool(self._pages)

    def publish(self, event: Event) -> None:
        """Tell all pages, from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):  # The loop has ended just now.
                self._loop.call_soon_threadsafe(self._tell, event)

    def _tell(self, event: Event) -> None:
        for page in list(self._pages):
            if page.qsize() >= _MOST:
                self._pages.discard(page)
                page.put_nowait(None)
            else:
                page.put_nowait(event)

    async def listen(self, socket: WebSocket) -> None:
        """Tell one page, until it goes."""
        self._loop = asyncio.get_running_loop()
        await socket.accept()
        page: asyncio.Queue[Event | None] = asyncio.Queue()
        for event in self._present():
            page.put_nowait(event)
        self._pages.add(page)
        tasks = [asyncio.create_task(work) for work in (_send(socket, page), _until_gone(socket))]
        tasks.append(asyncio.create_task(self._look_for_changes(page)))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._pages.discard(page)
            for task in tasks:
                task.cancel()
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):
                await socket.close()

    async def _look_for_changes(self, page: asyncio.Queue[Event | None]) -> None:
        """Look at files, while this page is the first: once for all pages."""
        while True:
            await asyncio.sleep(_CHANGES_INTERVAL)
            if page is min(self._pages, key=id, default=None):
                for change in self._changes():
                    self._tell({"type": "file", **change})


async def _send(socket: WebSocket, page: asyncio.Queue[Event | None]) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while (event := await page.get()) is not None:
            await socket.send_text(json.dumps(event))


async def _until_gone(socket: WebSocket) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError, KeyError):
        while True:
            await socket.receive_text()
