"""A world of partitions without an engine: the C library of messages and collectives, driven from Python.

All ranks are in this process (`partition_world.c`); what they post is delivered in random order, but for
the order of each pair of ranks.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from ctypes import (
    POINTER,
    Structure,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pse._abi.coven import CollectiveKind
from pse._abi.elements import TYPE_CODES
from pse.modules.messaging._requests import CLOSURE, OPERATIONS, Collective, Services

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MANY = 1 << 30


class Side(Structure):
    _fields_ = [
        *((name, c_uint32) for name in ("partition", "site", "kind", "extra", "type")),
        ("bytes", c_uint64),
    ]  # fmt: skip


class Fault(Structure):
    _fields_ = [
        ("kind", c_int32), ("tag", c_int32), ("partitions", c_uint32), ("peer", c_int64), ("index", c_int64),
        ("tph", c_uint64), ("here", Side), ("there", Side),
    ]  # fmt: skip


FAULTS = ("", "no partition", "tag", "type", "size", "mismatch", "confused", "left", "memory")
WAIT = np.dtype(
    [("tph", "u8"), ("index", "i8")]
    + [(name, "u4") for name in ("kind", "scope", "partition", "partitions", "site", "peer")]
    + [("tag", "i4"), ("collective", "u4"), ("sequence", "u4"), ("rank", "u4")]
)


def build_world(folder: Path) -> ctypes.CDLL:
    """Compile the library with the checks; undefined behaviour ends the test."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("there is no C compiler")
    names = ("messaging", "arena", "channel", "recorder", "backoff", "abi/include")
    rooms = [ROOT / "cext" / room for room in names]
    sources = [HERE / "partition_world.c"]
    sources += [ROOT / "cext" / file for file in ("channel/inbox.c", "recorder/recorder.c")]
    sources += sorted(rooms[0].rglob("*.c")) + sorted(rooms[1].glob("*.c"))
    flags = ["-std=gnu11", "-O1", "-Wall", "-shared", "-fPIC", "-pthread", *(f"-I{room}" for room in rooms)]
    library = folder / "partition_world.so"
    include = f"-I{ROOT / 'pse/modules/include'}"
    subprocess.run([compiler, *flags, include, *map(str, sources), "-o", str(library), "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    for name, result in {
        "world_create": c_void_p, "world_data": c_void_p, "world_take": c_uint64, "world_blocks": c_uint64,
        "world_waits": c_size_t, "world_enter": POINTER(Services), "world_fault": POINTER(Fault),
    }.items():  # fmt: skip
        getattr(loaded, name).restype = result
    return loaded


class World:
    """Partitions that live where `owners` says; pairs of ranks in different `nodes` are remote.

    What happens is recorded in the directory `trace`, if it is given.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        owners: Sequence[int],
        nodes: Sequence[int] | None = None,
        seed: int = 1,
        trace: Path | None = None,
    ) -> None:
        self.library, self.count, self.ranks = library, len(owners), max(owners) + 1
        nodes = nodes or [0] * self.ranks
        self.remote = np.array([a != b for a in nodes for b in nodes], dtype=np.uint8)
        places = np.array(owners, dtype=np.uint32)
        self.world = c_void_p(
            library.world_create(
                self.ranks,
                self.count,
                c_void_p(places.ctypes.data),
                c_void_p(self.remote.ctypes.data),
                c_uint64(seed),
                str(trace).encode() if trace else None,
            )
        )
        self.kept: list[Any] = []
        self.handles: list[int] = []
        self.services: Any = None

    def enter(self, partition: int, site: int = 0) -> None:
        self.services = self.library.world_enter(self.world, partition, site).contents

    def leave(self, partition: int) -> bool:
        return bool(self.library.world_rest(self.world, partition))

    def shared(self, array: np.ndarray) -> np.ndarray:
        """Give a copy of an array that lies in the arena."""
        handle = self.library.world_take(self.world, c_uint64(max(array.nbytes, 1)))
        assert handle
        self.handles.append(handle)
        place = self.library.world_data(self.world, c_uint64(handle))
        copy = np.frombuffer((ctypes.c_char * array.nbytes).from_address(place), array.dtype)
        copy = copy.reshape(array.shape)
        copy[...] = array
        return copy

    def send(self, to: int, array: np.ndarray, tag: int = 0) -> int:
        self.kept.append(array)
        return self.services.send(to, tag, array.ctypes.data, array.size, TYPE_CODES[array.dtype.str[1:]])

    def receive(self, source: int, array: np.ndarray, tag: int = 0) -> int:
        self.kept.append(array)
        return self.services.receive(
            source, tag, array.ctypes.data, array.size, TYPE_CODES[array.dtype.str[1:]]
        )

    def collective(
        self, kind: str, data=None, result=None, *, count=None, op=None, root=0, closure=None, lists=None
    ) -> int:
        model = data if data is not None else result
        what = Collective(kind=CollectiveKind[kind.upper()], root=root, op=OPERATIONS.get(op, 0))
        what.type = TYPE_CODES[model.dtype.str[1:]] if model is not None else 0
        what.count = count if count is not None else model.size if model is not None else 0
        what.data = data.ctypes.data if data is not None else None
        what.result = result.ctypes.data if result is not None else None
        if closure is not None:
            what.closure = CLOSURE(closure)
        for name, numbers in (lists or {}).items():
            setattr(what, name, numbers.ctypes.data)
        self.kept.append((data, result, lists, what.closure))
        return self.services.collective(ctypes.byref(what))

    def wait(self, *tickets: int) -> None:
        self.services.wait((c_int64 * len(tickets))(*tickets), len(tickets))

    def resting(self, partition: int) -> bool:
        return bool(self.library.world_resting(self.world, partition))

    def deliver(self, most: int = MANY) -> int:
        return self.library.world_deliver(self.world, most)

    def faults(self) -> list[Fault]:
        found = [self.library.world_fault(self.world, rank).contents for rank in range(self.ranks)]
        return [fault for fault in found if fault.kind]

    def waits(self) -> list[dict[str, Any]]:
        rows = []
        for rank in range(self.ranks):
            table = np.zeros(100, WAIT)
            count = self.library.world_waits(self.world, rank, c_void_p(table.ctypes.data), 100)
            rows += [dict(zip(WAIT.names, row.tolist(), strict=True)) for row in table[:count]]
        return rows

    def finish(self) -> None:
        """All partitions leave: nothing may be left of what was sent."""
        assert self.deliver() == 0, self.waits()
        for rank in range(self.ranks):
            self.library.world_close(self.world, rank)
        assert [FAULTS[fault.kind] for fault in self.faults()] == []
        for handle in self.handles:
            self.library.world_give(self.world, c_uint64(handle))
        assert self.library.world_blocks(self.world) == 0, "blocks are left in the arena"
        self.destroy()

    def destroy(self) -> None:
        self.library.world_destroy(self.world)
