"""Checkpoints of a program whose ranks communicate in slices: their arrays, and the messages in flight.

Files and manifest are written and checked as those of other runs are (`pse.runtime.checkpoint`): whenever
ranks are killed, or their machine stops, one complete checkpoint is there.

While ranks write, all of them are in here: no operation of the program is matched meanwhile.
"""

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from pse._abi.coschedule import DescriptorKind
from pse.coschedule._coschedule import Engine
from pse.coschedule._errors import operation_text
from pse.errors import UsageError
from pse.runtime.checkpoint import (
    MANIFEST,
    CheckpointRefused,
    Directory,
    FileNote,
    ManifestFormat,
    Saved,
    verify,
)
from pse.text import count_text, exception_text

Arrays = dict[str, NDArray[Any]]
_FORMAT: Final = ManifestFormat("pse bcs checkpoint", 1, "a checkpoint of pse.bcs")
_TITLE: Final = "the checkpoint's directory"
_GIVEN, _OWN = "array.", "layer."
"""What names in a file begin with: those that the program gave, and the layer's own."""
_WORDS: Final = 1024
_ANEW: Final = "put back what it was, or remove the directory, and the program begins anew"


class Communicator(Protocol):
    """What checkpoints need of one."""

    rank: int
    size: int

    def Barrier(self) -> None: ...
    def Bcast(self, buf: Any, root: int = 0) -> None: ...
    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None: ...


def _agree(comm: Communicator, work: Callable[[], None]) -> None:
    """Do something on all ranks; where it fails on one, raise the same error on all."""
    said = np.zeros(_WORDS, np.uint8)
    try:
        work()
    except (UsageError, OSError, ValueError, KeyError) as error:
        help = None if isinstance(error, CheckpointRefused) else getattr(error, "help", None)
        words = f"rank {comm.rank}: {exception_text(error)}\n{help or _ANEW}"
        text = words.encode()[:_WORDS]
        said[: len(text)] = np.frombuffer(text, np.uint8)
    heard = np.zeros((comm.size, _WORDS), np.uint8)
    comm.Allgather(said, heard)
    for row in heard[heard[:, 0] != 0]:
        told, _, help = row.tobytes().rstrip(b"\0").decode(errors="replace").partition("\n")
        raise UsageError(told, help=help)


def is_due(comm: Communicator, path: str, every: float) -> bool:
    """Say whether it is time to write: rank 0's clock decides; all ranks are here afterwards."""
    answer = np.ones(1, np.uint8)
    if comm.rank == 0 and every > 0:
        with contextlib.suppress(OSError):
            answer[0] = time.time() - os.stat(Path(path, MANIFEST)).st_mtime >= every
    comm.Bcast(answer)
    return bool(answer[0])


def write(comm: Communicator, engine: Engine, path: str, arrays: Mapping[str, Any]) -> None:
    """Write a checkpoint, when all ranks are here.

    Raises
    ------
    UsageError
        A rank has receives or collective operations under way, an array can't be saved, or the system
        refuses.
    """
    mark = engine.mark()
    serial, note = np.zeros(1, np.int64), np.zeros(2, "S32")

    def begin() -> None:
        if comm.rank == 0:
            old = _manifest_of(path)[0] if Path(path, MANIFEST).exists() else 0
            serial[0] = old + 1

    def save() -> None:
        _refuse_open(engine)
        contents = _contents(comm, engine, mark, arrays)
        values = [Saved(name, None, array) for name, array in contents.items()]
        file = Directory(path, _TITLE).write(int(serial[0]), comm.rank, values)
        note[:] = str(file.size), file.checksum

    def commit() -> None:
        if comm.rank == 0:
            _commit(path, int(serial[0]), notes)

    _agree(comm, begin)
    comm.Bcast(serial)
    _agree(comm, save)
    notes = np.zeros((comm.size, 2), "S32")
    comm.Allgather(note.view(np.uint8), notes.view(np.uint8))
    _agree(comm, commit)
    engine.set_sequence(mark[0])


def _refuse_open(engine: Engine) -> None:
    for kind, owner, peer, tag, operation in engine.open_operations():
        if kind != DescriptorKind.SEND:
            what = operation_text(kind, peer, tag, operation)
            raise UsageError(
                f"a checkpoint can't be written: {what} of rank {owner} is under way",
                help="wait for requests of receives and collective operations first; sends may be under way",
            )


def _contents(comm: Communicator, engine: Engine, mark: tuple[int, ...], arrays: Mapping[str, Any]) -> Arrays:
    messages = engine.unreceived()
    own: Arrays = {
        "mark": np.array(mark, np.uint64),
        "messages": np.array([message[:4] for message in messages], np.int64).reshape(-1, 4),
        "sizes": np.array([len(message[4]) for message in messages], np.int64),
        "payload": np.frombuffer(b"".join(message[4] for message in messages), np.uint8),
        "schedule": np.frombuffer(engine.matches() if engine.is_leader() else b"", np.uint8),
    }
    given: Arrays = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in given.items():
        if array.dtype.hasobject:
            raise UsageError(
                f"{name} can't be saved: it has objects of Python", help="save arrays of numbers"
            )
    return {
        **{_GIVEN + name: array for name, array in given.items()},
        **{_OWN + name: array for name, array in own.items()},
    }


def _commit(path: str, serial: int, notes: NDArray[Any]) -> None:
    files = [
        FileNote(f"{serial:06}-rank-{rank}.npz", int(size), checksum.decode())
        for rank, (size, checksum) in enumerate(notes)
    ]
    text = _FORMAT.text({"serial": serial, "files": [asdict(file) for file in files]})
    Directory(path, _TITLE).commit(text, files)


def _manifest_of(path: str) -> tuple[int, tuple[FileNote, ...]]:
    """Read the number of a directory's checkpoint, and what it says of each rank's file."""
    manifest = Path(path, MANIFEST)
    return _FORMAT.parse(
        manifest.read_bytes(), str(manifest), lambda entries: (int(entries["serial"]), entries["files"])
    )


def read(comm: Communicator, engine: Engine, path: str) -> tuple[Arrays, list[bytes]] | None:
    """Read a checkpoint and give the layer its messages and counters back.

    Returns
    -------
    (dict, list of bytes) or None
        The arrays of this rank, and the messages, which must live until they are received; None if there is
        no complete checkpoint.

    Raises
    ------
    UsageError
        It is damaged, of another number of ranks, or this communicator has operations under way.
    """
    there = np.array([Path(path, MANIFEST).exists()], np.uint8)
    comm.Bcast(there)
    if not there[0]:
        return None
    arrays: Arrays = {}
    messages: list[bytes] = []

    def load() -> None:
        if engine.open_operations():
            raise UsageError(
                f"{path} can't be restored: operations are under way",
                help="restore right after the communicator was made",
            )
        arrays.update(_load(comm, path))

    _agree(comm, load)
    own = {name: arrays.pop(_OWN + name) for name in ("mark", "messages", "sizes", "payload", "schedule")}
    ends = np.cumsum(own["sizes"]).tolist()
    payload = own["payload"].tobytes()
    messages += [payload[end - size : end] for size, end in zip(own["sizes"].tolist(), ends, strict=True)]
    mark = tuple(own["mark"].tolist())
    rows = [(*row, message) for row, message in zip(own["messages"].tolist(), messages, strict=True)]

    _agree(comm, lambda: engine.restore(mark, rows, own["schedule"].tobytes()))
    engine.set_sequence(mark[0])
    return {name.removeprefix(_GIVEN): array for name, array in arrays.items()}, messages


def _load(comm: Communicator, path: str) -> Arrays:
    _, files = _manifest_of(path)
    if len(files) != comm.size:
        ranks = count_text(len(files), "rank")
        raise UsageError(
            f"{path} is a checkpoint of {ranks}, and there are {comm.size}",
            help=f"start the program on {ranks}",
        )
    verify(path, files[comm.rank])
    with np.load(Path(path, files[comm.rank].name), allow_pickle=False) as file:
        return dict(file)
