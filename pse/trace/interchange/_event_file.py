"""Writes one rank's file of events, as the recorder does, from another tool's trace."""

from __future__ import annotations

import array
import contextlib
import os
import struct
from pathlib import Path

import numpy as np

from pse.trace.format._events import (
    EVENT_DTYPE,
    NONE,
    EventType,
    State,
    TextKind,
)
from pse.trace.format._header import HEADER_SIZE, header_bytes, new_header
from pse.trace.store._residuals import RESIDUAL_DTYPE, residuals_path

BUFFER_RECORDS = 16384
_LETTERS = {1: "B", 2: "H", 4: "I", 8: "Q"}
_FORMS = {name: f"<{_LETTERS[field[0].itemsize]}" for name, field in (EVENT_DTYPE.fields or {}).items()}
_RECORD = struct.Struct("<" + "".join(form[1] for form in _FORMS.values()))


class EventFile:
    """The events of one rank, written in order; some fields may be set later.

    Parameters
    ----------
    path : Path
        The file.
    rank : int
        Whose events these are.
    host : str
        Where it ran.
    start_real, start_clock : int
        One moment by the wall clock (ns since 1970, UTC) and by the clock of the events.
    with_residuals : bool
        Whether parts of a ns are written too, to a file beside (`pse.trace.store._residuals`).

    Attributes
    ----------
    residual : int
        Part of a ns that the times of the next events lack, in 65,536ths.
    """

    def __init__(
        self,
        path: Path,
        rank: int,
        host: str,
        start_real: int,
        start_clock: int,
        with_residuals: bool = False,
    ) -> None:
        self.path = path
        self._file = path.open("wb+")
        self._header = new_header(rank, start_real, start_clock, host)
        self._buffer = bytearray(BUFFER_RECORDS * _RECORD.size)
        self._flushed = self.count = self.residual = 0
        self._residuals = array.array("h")
        self._beside = residuals_path(path).open("wb") if with_residuals else None
        self._file.write(header_bytes(self._header))

    def append(
        self,
        time: int,
        kind: int,
        flags: int = 0,
        site: int = NONE,
        tph: int = 0,
        a: int = 0,
        b: int = 0,
        c: int = 0,
    ) -> int:
        """Write an event; give its position."""
        position = self.count
        if position - self._flushed == BUFFER_RECORDS:
            self._flush()
        place = (position - self._flushed) * _RECORD.size
        _RECORD.pack_into(self._buffer, place, time, kind, flags, site, tph, a, b, c)
        if self._beside is not None:
            self._residuals.append(self.residual)
        self.count = position + 1
        return position

    def amend(self, position: int, **fields: int) -> None:
        """Set fields of an event that was written before."""
        for name, value in fields.items():
            offset = EVENT_DTYPE.fields[name][1]  # type: ignore[index]
            if position >= self._flushed:
                place = (position - self._flushed) * _RECORD.size + offset
                struct.pack_into(_FORMS[name], self._buffer, place, value)
            else:
                place = HEADER_SIZE + position * _RECORD.size + offset
                os.pwrite(self._file.fileno(), struct.pack(_FORMS[name], value), place)

    def text(self, time: int, kind: TextKind, number: int, name: str) -> None:
        """Write the name of something that is numbered, 16 bytes in each event."""
        data = name.encode(errors="replace")
        for part in range(max(1, -(-len(data) // 16))):
            b, c = struct.unpack("<QQ", data[16 * part : 16 * part + 16].ljust(16, b"\0"))
            self.append(time, EventType.TEXT, kind, a=number | part << 32, b=b, c=c)

    def close(self, error: int = 0) -> None:
        """Write the rest and the header; `error` is the errno of what ended the events early."""
        self._flush()
        self._header["records"] = self.count
        self._header["state"] = State.CLOSED | (State.TRUNCATED if error else 0)
        self._header["error"] = error
        os.pwrite(self._file.fileno(), self._header.tobytes(), 0)
        self._file.close()

        if self._beside is not None:
            self._beside.close()

    def abandon(self) -> None:
        """Let go of the files, written or not."""
        with contextlib.suppress(OSError):
            self._file.close()
        if self._beside is not None:
            with contextlib.suppress(OSError):
                self._beside.close()

    def remove(self) -> None:
        """Remove the files again."""
        self.path.unlink()
        residuals_path(self.path).unlink(missing_ok=True)

    def _flush(self) -> None:
        self._file.write(memoryview(self._buffer)[: (self.count - self._flushed) * _RECORD.size])
        self._file.flush()
        self._flushed = self.count
        if self._beside is not None:
            self._beside.write(np.array(self._residuals, RESIDUAL_DTYPE).tobytes())
            self._residuals = array.array("h")
