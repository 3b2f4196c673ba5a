"""Checkpoints of a program whose ranks communicate in slices: their arrays, and the messages in flight.

A directory holds a file for each rank, ``SERIAL-rank-RANK.npz``, and a manifest that names the files of the
one complete checkpoint with their checksums.  The manifest is written last, and only then the files of the
checkpoint before it are removed: whenever ranks are killed, one complete checkpoint is there.

While ranks write, all of them are in here: no operation of the program is matched meanwhile.
"""

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from pse._abi.coschedule import DescriptorKind
from pse.coschedule._coschedule import Engine
from pse.coschedule._errors import operation_text
from pse.errors import UsageError
from pse.files import draft_file, replace_file
from pse.text import count_text, exception_text

Arrays = dict[str, NDArray[Any]]
MANIFEST: Final = "checkpoint.json"
_FORMAT: Final = "pse bcs checkpoint 1"
_FILES: Final = re.compile(r"\.?(?:\d+-rank-\d+\.npz|checkpoint\.json\.).*")
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


@dataclass(frozen=True)
class _File:
    name: str
    size: int
    checksum: str


@dataclass(frozen=True)
class _Manifest:
    serial: int
    ranks: int
    files: tuple[_File, ...]


def _checksum(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _agree(comm: Communicator, work: Callable[[], None]) -> None:
    """Do something on all ranks; where it fails on one, raise the same error on all."""
    said = np.zeros(_WORDS, np.uint8)
    try:
        work()
    except (UsageError, OSError, ValueError, KeyError) as error:
        words = f"rank {comm.rank}: {exception_text(error)}\n{getattr(error, 'help', None) or _ANEW}"
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
    serial = np.zeros(1, np.int64)
    folder, note = Path(path), np.zeros(2, "S32")

    def begin() -> None:
        if comm.rank == 0:
            folder.mkdir(parents=True, exist_ok=True)
            old = _read_manifest(folder) if (folder / MANIFEST).exists() else None
            serial[0] = old.serial + 1 if old else 1

    def save() -> None:
        _refuse_open(engine)
        file = _save(folder / f"{serial[0]:06}-rank-{comm.rank}.npz", _contents(comm, engine, mark, arrays))
        note[:] = str(file.size), file.checksum

    _agree(comm, begin)
    comm.Bcast(serial)
    _agree(comm, save)
    notes = np.zeros((comm.size, 2), "S32")
    comm.Allgather(note.view(np.uint8), notes.view(np.uint8))
    _agree(comm, lambda: _commit(folder, int(serial[0]), notes) if comm.rank == 0 else None)
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
        "schedule": np.frombuffer(engine.matches() if comm.rank == 0 else b"", np.uint8),
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


def _save(path: Path, arrays: Arrays) -> _File:
    with draft_file(path) as draft:
        with open(draft, "wb") as file:
            np.savez(file, **cast(Any, arrays))
            file.flush()
            os.fsync(file.fileno())
        data = draft.read_bytes()
    return _File(path.name, len(data), _checksum(data))


def _commit(folder: Path, serial: int, notes: NDArray[Any]) -> None:
    files = [
        _File(f"{serial:06}-rank-{rank}.npz", int(size), checksum.decode())
        for rank, (size, checksum) in enumerate(notes)
    ]
    body = json.dumps(asdict(_Manifest(serial, len(files), tuple(files))))
    whole = {"format": _FORMAT, "checksum": _checksum(body.encode()), "body": body}
    replace_file(folder / MANIFEST, json.dumps(whole, indent=1).encode())
    kept = {MANIFEST, *(file.name for file in files)}
    for name in os.listdir(folder):
        if _FILES.fullmatch(name) and name not in kept:
            with contextlib.suppress(OSError):
                os.unlink(folder / name)


def _read_manifest(folder: Path) -> _Manifest:
    path = folder / MANIFEST
    try:
        whole = json.loads(path.read_bytes())
        body, known = whole["body"], whole["format"] == _FORMAT
    except (ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise UsageError(f"{path} is not a checkpoint of pse.bcs, or it is damaged", help=_ANEW)
    if _checksum(body.encode()) != whole["checksum"]:
        raise UsageError(f"{path} was altered: its checksum doesn't match its content", help=_ANEW)
    found = json.loads(body)
    return _Manifest(found["serial"], found["ranks"], tuple(_File(**file) for file in found["files"]))


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
        arrays.update(_load(comm, Path(path)))

    _agree(comm, load)
    own = {name: arrays.pop(_OWN + name) for name in ("mark", "messages", "sizes", "payload", "schedule")}
    ends = np.cumsum(own["sizes"]).tolist()
    payload = own["payload"].tobytes()
    messages += [payload[end - size : end] for size, end in zip(own["sizes"].tolist(), ends, strict=True)]
    mark = tuple(own["mark"].tolist())
    rows = [(*row, message) for row, message in zip(own["messages"].tolist(), messages, strict=True)]

    def give_back() -> None:
        if not engine.restore(mark, rows, own["schedule"].tobytes()):
            raise UsageError(
                f"{path} has {count_text(len(rows), 'message')} in flight, more than the table has room for",
                help="make the communicator with the table that it had: Comm(table=…)",
            )

    _agree(comm, give_back)
    engine.set_sequence(mark[0])
    return {name.removeprefix(_GIVEN): array for name, array in arrays.items()}, messages


def _load(comm: Communicator, folder: Path) -> Arrays:
    manifest = _read_manifest(folder)
    if manifest.ranks != comm.size:
        raise UsageError(
            f"{folder} is a checkpoint of {count_text(manifest.ranks, 'rank')}, and there are {comm.size}",
            help=f"start the program on {count_text(manifest.ranks, 'rank')}",
        )
    note = manifest.files[comm.rank]
    path = folder / note.name
    if not path.exists():
        raise UsageError(f"{path} is missing: {MANIFEST} names it", help=_ANEW)
    if path.stat().st_size != note.size or _checksum(path.read_bytes()) != note.checksum:
        raise UsageError(f"{path} was altered: its checksum doesn't match {MANIFEST}", help=_ANEW)
    with np.load(path, allow_pickle=False) as file:
        return dict(file)
