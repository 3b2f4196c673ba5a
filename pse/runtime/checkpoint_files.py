"""Checkpoints on disk: a file of arrays for each rank, and a manifest that makes them one checkpoint.

A rank's file is NumPy's own ``.npz`` (a zip of ``.npy``, nothing compressed, nothing pickled), so that
``numpy.load`` opens it. The manifest, ``checkpoint.json``, names the files with their sizes and checksums
and has one of its own, so any change is found. Every file is written under another name, synced and renamed;
the manifest comes last and the files of the checkpoint before it go after that: whenever the run is killed,
the directory holds one complete checkpoint.

Knows nothing of ranks that run: `checkpoint` saves through it, `resume` reads. Touches only the directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import os
import re
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from pse.language.errors import RunError, UsageError

MANIFEST = "checkpoint.json"
LOCK = "lock"
FORMAT = "pse checkpoint"
VERSION = 1
_LETTER = re.compile(r"%letter\d+\.\w+\.(\w+)@\d+")
_DATA = re.compile(r"\d{6,}-rank-\d+\.npz")
_CHUNK = 1 << 20
LOCK_PATIENCE = 3.0
"""Seconds that ranks of a run that was just killed may take to be gone."""
_LOCK_NAP = 0.02

Array = np.ndarray[Any, np.dtype[Any]]


class CheckpointRefused(UsageError):
    """A checkpoint that can't be read: which file, what is wrong with it, what was expected."""


@dataclass(frozen=True)
class Saved:
    """A value as it goes to disk: its name, the partition whose piece it is, an array (0-d for a number)."""

    name: str
    partition: int | None
    array: Array

    @property
    def member(self) -> str:
        """What it is called in its file."""
        return member_name(self.name, self.partition)


@dataclass(frozen=True)
class FileNote:
    """What the manifest says of one rank's file: size in bytes, checksum, and what is in it."""

    name: str
    size: int
    checksum: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class Manifest:
    """One checkpoint.

    Attributes
    ----------
    program, path, text : str
        The program as it was typed, its absolute path, and its text.
    modules : mapping of str to str
        Checksums of the modules' files, by path.
    defines, options : mapping and tuple of str
        What the command line said: `-D` and `-o`.
    every : str
        How often the run writes checkpoints.
    processors : int
    partitions : mapping of str to int
        How many partitions there were, by name.
    serial : int
        Number of the checkpoint in this directory, from 1.
    point, rounds : int
        Which pause of the program it was taken at, and how many had been passed.
    place : str
        The same for people: ``heat.coven:21:1``.
    iterations : int
        Iterations of the `inflight` loop at this point that are complete.
    figures : mapping of str to str
        What the program has reported so far; numbers as `float.hex` writes them.
    files : tuple of FileNote
    finished : bool
        The run has come to its end; there are no files.
    """

    program: str
    path: str
    text: str
    modules: Mapping[str, str]
    defines: Mapping[str, str]
    options: tuple[str, ...]
    every: str
    processors: int
    partitions: Mapping[str, int]
    serial: int = 0
    point: int = 0
    rounds: int = 0
    place: str = ""
    iterations: int = 0
    figures: Mapping[str, str] = field(default_factory=dict)
    files: tuple[FileNote, ...] = ()
    finished: bool = False

    def where(self, name: str, partition: int | None) -> str | None:
        """Give the file that holds a value; None if none does."""
        return self._places.get(member_name(name, partition))

    @property
    def _places(self) -> dict[str, str]:
        return {member: note.name for note in self.files for member in note.members}


def member_name(name: str, partition: int | None) -> str:
    """Name a value in a file: ``u@3`` is partition 3's piece of u."""
    return name if partition is None else f"{name}@{partition}"


def letter_name(number: int, place: str) -> str:
    """Name a message that a partition has not received yet; `place`: a thread, and a set of partitions."""
    return f"%letter{number}.{place}"


def set_of_letter(member: str) -> str | None:
    """Give the set of partitions to whose messages a value of a checkpoint belongs; None if it is no letter.

    Examples
    --------
    >>> set_of_letter("%letter0.thread_B.P@3"), set_of_letter("%mail.thread_B.P@3"), set_of_letter("u@3")
    ('P', None, None)
    """
    found = _LETTER.fullmatch(member)
    return found[1] if found else None


def checksum_of(path: str) -> str:
    """Give the checksum of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, _hash).hexdigest()


def _hash() -> Any:
    return hashlib.blake2b(digest_size=16)


# Writing


class Directory:
    """A directory of checkpoints that a run writes to; one run at a time.

    Raises
    ------
    UsageError
        If it can't be written to.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            os.makedirs(path, exist_ok=True)
        except FileExistsError:
            raise UsageError(f"--checkpoint {path}: it is a file; expected a directory") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise UsageError(f"--checkpoint {path!r}: {reason}") from None
        if not os.access(path, os.W_OK | os.X_OK):
            raise UsageError(f"--checkpoint {path}: the directory can't be written to")

    def lock(self, patience: float = LOCK_PATIENCE) -> int:
        """Keep other runs away for as long as the descriptor is open; a process's death opens it to others.

        Raises
        ------
        UsageError
            If another run writes here, and still does after so many seconds.
        """
        descriptor = os.open(self._at(LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        deadline = time.monotonic() + patience
        while not _locked(descriptor):
            if time.monotonic() >= deadline:
                os.close(descriptor)
                raise UsageError(
                    f"{self.path}: another run writes its checkpoints there",
                    help="wait for its end, or give this one a directory of its own",
                )
            time.sleep(_LOCK_NAP)
        return descriptor

    def write(self, serial: int, rank: int, values: Iterable[Saved]) -> FileNote:
        """Write one rank's file of a checkpoint; it counts once a manifest names it.

        Raises
        ------
        OSError
            If that fails; `filename` says where.
        """
        name = f"{serial:06}-rank-{rank}.npz"
        members = []
        with self._replacing(name) as file:
            stream = _Summed(file)
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
                for value in values:
                    members.append(value.member)
                    with archive.open(zipfile.ZipInfo(f"{value.member}.npy"), "w", force_zip64=True) as into:
                        array = np.asarray(value.array, order="C")
                        npy.write_array(into, array, version=(1, 0), allow_pickle=False)
        return FileNote(name, stream.size, stream.hash.hexdigest(), tuple(members))

    def commit(self, manifest: Manifest) -> None:
        """Make the files that a manifest names the checkpoint of this directory, and remove all others.

        Raises
        ------
        OSError
            If the manifest can't be written; then the checkpoint before stays.
        """
        self._sync()
        with self._replacing(MANIFEST) as file:
            file.write(_to_text(manifest).encode())
        self._sync()
        self.prune(note.name for note in manifest.files)

    def prune(self, keep: Iterable[str]) -> None:
        """Remove the files of other checkpoints, and what a killed run left half written."""
        kept = set(keep)
        for name in os.listdir(self.path):
            whole = name.removesuffix(".part")
            stale = name not in kept if _DATA.fullmatch(whole) else name == f"{MANIFEST}.part"
            if stale:
                with contextlib.suppress(OSError):
                    os.unlink(self._at(name))

    def _at(self, name: str) -> str:
        return os.path.join(self.path, name)

    @contextlib.contextmanager
    def _replacing(self, name: str) -> Iterator[IO[bytes]]:
        """Write a file under another name; it gets its own once everything is on the disk."""
        path, part = self._at(name), self._at(f"{name}.part")
        try:
            with open(part, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.rename(part, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(part)
            error.filename = error.filename or path
            raise

    def _sync(self) -> None:
        """Make renames last."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class _Summed(io.RawIOBase):
    """A stream that a zip is written to from its first byte to its last, and the checksum of it."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self.file, self.hash, self.size = file, _hash(), 0

    def write(self, data: Any, /) -> int:
        """Write what comes next."""
        self.hash.update(data)
        self.file.write(data)
        length = memoryview(data).nbytes
        self.size += length
        return length


# Reading


def read_manifest(directory: str) -> Manifest:
    """Read the manifest of a directory.

    Raises
    ------
    CheckpointRefused
        If there is none, or it can't be trusted.
    """
    path = os.path.join(directory, MANIFEST)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointRefused(
            f"{directory} holds no checkpoint: there is no {path}",
            help="give the directory that --checkpoint named",
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise CheckpointRefused(f"{path!r} can't be read: {reason}") from None
    return _from_text(data, path)


def verify(directory: str, note: FileNote) -> None:
    """Make sure that a file is the one that was written.

    Raises
    ------
    CheckpointRefused
        If it is missing, cut short, or altered.
    """
    path = os.path.join(directory, note.name)
    try:
        size = os.stat(path).st_size
        if size != note.size:
            raise CheckpointRefused(f"{path} has {size} bytes; {MANIFEST} says {note.size}", help=_LOST)
        if checksum_of(path) != note.checksum:
            raise CheckpointRefused(f"{path} was altered: its checksum is not {note.checksum}", help=_LOST)
    except FileNotFoundError:
        raise CheckpointRefused(f"{path} is missing; {MANIFEST} names it", help=_LOST) from None
    except OSError as error:
        raise CheckpointRefused(f"{path} can't be read: {error.strerror}", help=_LOST) from None


_LOST = "this checkpoint can't be used: put the file back, or start the program anew"


class Reader:
    """Reads values of a checkpoint whose files have been verified; files stay open till `close`."""

    def __init__(self, directory: str, manifest: Manifest) -> None:
        self.directory, self._places = directory, manifest._places
        self._archives: dict[str, zipfile.ZipFile] = {}

    def __contains__(self, member: str) -> bool:
        return member in self._places

    def read(self, member: str) -> Array:
        """Give a value.

        Raises
        ------
        RunError
            If it can't be read (its file has changed since it was verified).
        """
        with self._opened(member) as file:
            return npy.read_array(file, allow_pickle=False)

    def describe(self, member: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Give element type and shape of a value."""
        with self._opened(member) as file:
            return _header(file)

    def read_into(self, member: str, target: Array) -> None:
        """Read a value into a C-ordered array of its type and shape."""
        with self._opened(member) as file:
            _header(file)
            left = target.reshape(-1).view(np.uint8).data
            while left.nbytes:
                data = file.read(min(_CHUNK, left.nbytes))
                if not data:
                    raise EOFError("it ends too early")
                left[: len(data)] = data
                left = left[len(data) :]
            file.read(1)  # At its end the zip compares checksums.

    def close(self) -> None:
        """Close the files."""
        for archive in self._archives.values():
            archive.close()
        self._archives.clear()

    @contextlib.contextmanager
    def _opened(self, member: str) -> Iterator[IO[bytes]]:
        name = self._places[member]
        path = os.path.join(self.directory, name)
        try:
            if name not in self._archives:
                self._archives[name] = zipfile.ZipFile(path)
            with self._archives[name].open(f"{member}.npy") as file:
                yield file
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise RunError(f"{path}: {member} can't be read: {error}", help=_LOST) from error


def _header(file: IO[bytes]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    if npy.read_magic(file) != (1, 0):
        raise ValueError("it has another format")
    shape, fortran, dtype = npy.read_array_header_1_0(file)
    if fortran:
        raise ValueError("it is not C-ordered")
    return dtype, shape


# The manifest as text


def _to_text(manifest: Manifest) -> str:
    return _summed({"format": FORMAT, "version": VERSION, **asdict(manifest)})


def _summed(body: Mapping[str, Any]) -> str:
    """Write an object as JSON with a checksum of itself as the last entry."""
    plain = json.dumps(body, indent=1).encode()
    summed = {**body, "checksum": hashlib.blake2b(plain, digest_size=16).hexdigest()}
    return json.dumps(summed, indent=1) + "\n"


def _from_text(data: bytes, path: str) -> Manifest:
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise CheckpointRefused(f"{path} is no manifest of pse, or damaged", help=_LOST)
    body.pop("checksum", None)
    if _summed(body).encode() != data:
        raise CheckpointRefused(f"{path} was altered: its checksum doesn't fit", help=_LOST)
    if body["version"] != VERSION:
        raise CheckpointRefused(
            f"{path} has version {body['version']} of the format; this pse reads version {VERSION}",
            help="resume with the pse that wrote it",
        )
    try:
        return _manifest(body)
    except (KeyError, TypeError, ValueError):
        raise CheckpointRefused(f"{path} is no manifest of this version's form", help=_LOST) from None


def _manifest(body: dict[str, Any]) -> Manifest:
    given = {entry.name: body[entry.name] for entry in fields(Manifest)}
    notes = tuple(FileNote(**{**note, "members": tuple(note["members"])}) for note in given["files"])
    if not all(_DATA.fullmatch(note.name) for note in notes):
        raise ValueError("a file's name is none of ours")
    return Manifest(**{**given, "options": tuple(given["options"]), "files": notes})
