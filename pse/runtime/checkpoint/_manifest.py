"""Manifests of checkpoints, by which it is known whether their files are as they were written.

A directory holds a file for each rank, and ``checkpoint.json``, the manifest.  It names the files of the one
complete checkpoint with their sizes and checksums and has one of its own, so any change is found.  What else
it says depends on what wrote it: each kind of checkpoint has a `ManifestFormat`.  That of a run says what
program it was, and where it had come to; its files hold values by name.

Only `checksum_of` and `verify` read files.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from pse.errors import UsageError
from pse.records import dataclass

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

MANIFEST = "checkpoint.json"
LOST = "this checkpoint can't be used: put the file back, or start the program anew"
DATA = re.compile(r"\d{6,}-rank-\d+\.npz")
"""Names of ranks' files."""

_Made = TypeVar("_Made")


class CheckpointRefused(UsageError):
    """A checkpoint that can't be read: which file, what is wrong with it, what was expected.

    See Also
    --------
    ManifestFormat
    """


@dataclass(frozen=True)
class FileNote:
    """The manifest's entry for one rank's file.

    Attributes
    ----------
    name : str
        In the directory.
    size : int
        Bytes.
    checksum : str
        BLAKE2b of 16 bytes, in hexadecimal digits.
    members : tuple of str
        What is in it, if the manifest is to say so.

    See Also
    --------
    Directory
    """

    name: str
    size: int
    checksum: str
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class ManifestFormat:
    """How manifests of one kind of checkpoint begin.

    Attributes
    ----------
    name : str
        The entry ``format``.
    version : int
        The entry ``version``.
    title : str
        What errors call such a file.

    Examples
    --------
    >>> from pse.runtime.checkpoint import ManifestFormat
    >>> own = ManifestFormat("an example", 1, "a manifest of examples")
    >>> data = own.text({"serial": 3, "files": ()}).encode()
    >>> own.parse(data, "checkpoint.json", lambda entries: entries["serial"])
    3
    >>> own.parse(data.replace(b"3", b"4"), "checkpoint.json", lambda entries: entries["serial"])
    Traceback (most recent call last):
        ...
    CheckpointRefused: checkpoint.json was altered: its checksum does not match its content
    """

    name: str
    version: int
    title: str

    def text(self, entries: Mapping[str, Any]) -> str:
        """Write a manifest, with a checksum of itself.

        Parameters
        ----------
        entries : mapping
            What it says; ``files`` are the files' notes as dicts.

        Returns
        -------
        str
            JSON.
        """
        return _summed({"format": self.name, "version": self.version, **entries})

    def parse(self, data: bytes, path: str, make: Callable[[dict[str, Any]], _Made]) -> _Made:
        """Read a manifest.

        Parameters
        ----------
        data : bytes
            All of the file.
        path : str
            Where it was, for errors.
        make : callable
            Is given its entries, with `FileNote` for ``files``; a KeyError, TypeError or ValueError says
            that they have another form.

        Returns
        -------
        object
            What `make` returns.

        Raises
        ------
        CheckpointRefused
            It can't be trusted.
        """
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict) or body.get("format") != self.name:
            raise CheckpointRefused(f"{path} is not {self.title}, or it is damaged", help=LOST)
        body.pop("checksum", None)
        if _summed(body).encode() != data:
            raise CheckpointRefused(f"{path} was altered: its checksum does not match its content", help=LOST)
        if body["version"] != self.version:
            raise CheckpointRefused(
                f"{path} has version {body['version']} of the format; this pse reads version {self.version}",
                help="resume with the pse that wrote it",
            )
        try:
            return make({**body, "files": tuple(map(_note, body["files"]))})
        except (KeyError, TypeError, ValueError):
            raise CheckpointRefused(
                f"{path} does not have the form of a manifest of this version", help=LOST
            ) from None


def _note(entry: dict[str, Any]) -> FileNote:
    if not DATA.fullmatch(entry["name"]):
        raise ValueError("a name is not that of a checkpoint's file")
    return FileNote(**{**entry, "members": tuple(entry["members"])})


def _summed(body: Mapping[str, Any]) -> str:
    """Write an object as JSON with a checksum of itself as the last entry."""
    plain = json.dumps(body, indent=1).encode()
    checksum = new_checksum()
    checksum.update(plain)
    summed = {**body, "checksum": checksum.hexdigest()}
    return json.dumps(summed, indent=1) + "\n"


def new_checksum() -> Any:
    """Begin a checksum."""
    import hashlib  # Most runs have no checkpoints.

    return hashlib.blake2b(digest_size=16)


def checksum_of(path: str) -> str:
    """Give the checksum of a file's bytes."""
    import hashlib

    with open(path, "rb") as file:
        return hashlib.file_digest(file, new_checksum).hexdigest()


def verify(directory: str, note: FileNote) -> None:
    """Make sure that a file is the one that was written.

    Parameters
    ----------
    directory : str
        Where the checkpoint is.
    note : FileNote
        What its manifest says of the file.

    Raises
    ------
    CheckpointRefused
        If it is missing, cut short, or altered.

    See Also
    --------
    ManifestFormat
    """
    path = os.path.join(directory, note.name)
    try:
        size = os.stat(path).st_size
        if size != note.size:
            raise CheckpointRefused(f"{path} has {size} bytes; {MANIFEST} says {note.size}", help=LOST)
        if checksum_of(path) != note.checksum:
            raise CheckpointRefused(f"{path} was altered: its checksum is not {note.checksum}", help=LOST)
    except FileNotFoundError:
        raise CheckpointRefused(f"{path} is missing; {MANIFEST} names it", help=LOST) from None
    except OSError as error:
        raise CheckpointRefused(f"{path} can't be read: {error.strerror}", help=LOST) from None


FORMAT = ManifestFormat("pse checkpoint", 1, "a checkpoint manifest of pse")
_PENDING = re.compile(r"%letter\d+\.\w+\.(\w+)@\d+")


@dataclass(frozen=True)
class Saved:
    """A value as it goes to disk.

    Attributes
    ----------
    name : str
    partition : int or None
        Whose piece of it this is.
    array : ndarray
        Of no dimensions for a number.

    Examples
    --------
    >>> import numpy as np
    >>> from pse.runtime.checkpoint import Saved
    >>> Saved("u", 3, np.zeros(2)).member
    'u@3'
    """

    name: str
    partition: int | None
    array: Array

    @property
    def member(self) -> str:
        """What it is called in its file."""
        return member_name(self.name, self.partition)


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
        From the command line: `-D` and `-o`.
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
        The run is complete; there are no files.
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
        return self.places.get(member_name(name, partition))

    @property
    def places(self) -> dict[str, str]:
        """The files that hold the values, by what these are called there."""
        return {member: note.name for note in self.files for member in note.members}


def member_name(name: str, partition: int | None) -> str:
    """Name a value in a file: ``u@3`` is partition 3's piece of u."""
    return name if partition is None else f"{name}@{partition}"


def pending_name(number: int, place: str) -> str:
    """Name a message that a partition has not received yet; `place`: a thread, and a set of partitions."""
    return f"%letter{number}.{place}"


def thread_of_pending(member: str) -> str | None:
    """Give the label of the thread whose messages a value of a checkpoint is; None if it is none.

    Examples
    --------
    >>> thread_of_pending("%letter0.thread_B.P@3"), thread_of_pending("%mail.thread_A")
    ('thread_B', 'thread_A')
    """
    found = re.match(r"%(?:mail|letter\d+)\.(\w+)", member)
    return found[1] if found else None


def set_of_pending(member: str) -> str | None:
    """Give the set of partitions whose message a value of a checkpoint is; None if it is not a message.

    Examples
    --------
    >>> set_of_pending("%letter0.thread_B.P@3"), set_of_pending("%mail.thread_B.P@3"), set_of_pending("u@3")
    ('P', None, None)
    """
    found = _PENDING.fullmatch(member)
    return found[1] if found else None


def to_text(manifest: Manifest) -> str:
    """Write a manifest, with a checksum of itself."""
    return FORMAT.text(asdict(manifest))


def from_text(data: bytes, path: str) -> Manifest:
    """Read a manifest; `path` is where it was, for errors.

    Raises
    ------
    CheckpointRefused
        If it can't be trusted.
    """
    return FORMAT.parse(data, path, _manifest)


def _manifest(body: dict[str, Any]) -> Manifest:
    given = {entry.name: body[entry.name] for entry in fields(Manifest)}
    return Manifest(**{**given, "options": tuple(given["options"])})
