"""Rows for `Recorder.record_at` that several tests of this room need."""

import struct

from pse.trace import EventType, pair


def text_rows(time, kind, number, name):
    """The events for a name: 16 bytes in each."""
    data = name.encode()
    for part in range(max(1, -(-len(data) // 16))):
        b, c = struct.unpack("<QQ", data[16 * part : 16 * part + 16].ljust(16, b"\0"))
        yield {"type": EventType.TEXT, "time": time, "flags": kind, "a": pair(number, part), "b": b, "c": c}
