"""What a checkpoint is: values by name, in a file for each rank, and a manifest that makes them one.

The manifest, ``checkpoint.json``, names the files with their sizes and checksums and has one of its own, so
any change is found.

Only `checksum_of` reads a file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, field, fields
from typing import Any

import numpy as np

from pse.errors import UsageError
from pse.records import dataclass

MANIFEST = "checkpoint.json"
FORMAT = "pse checkpoint"
VERSION = 1
LOST = "this checkpoint can't be used: put the file back, or start the program anew"
DATA = re.compile(r"\d{6,}-rank-\d+\.npz")
"""Names of ranks' files."""
_PENDING = re.compile(r"%letter\d+\.\w+\.(\w+)@\d+")

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
    """The manifest's entry for one rank's file: size in bytes, checksum, and what is in it."""

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


def new_checksum() -> Any:
    """Begin a checksum."""
    return hashlib.blake2b(digest_size=16)


def checksum_of(path: str) -> str:
    """Give the checksum of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, new_checksum).hexdigest()


def to_text(manifest: Manifest) -> str:
    """Write a manifest, with a checksum of itself."""
    return _summed({"format": FORMAT, "version": VERSION, **asdict(manifest)})


def _summed(body: Mapping[str, Any]) -> str:
    """Write an object as JSON with a checksum of itself as the last entry."""
    plain = json.dumps(body, indent=1).encode()
    checksum = new_checksum()
    checksum.update(plain)
    summed = {**body, "checksum": checksum.hexdigest()}
    return json.dumps(summed, indent=1) + "\n"


def from_text(data: bytes, path: str) -> Manifest:
    """Read a manifest; `path` is where it was, for errors.

    Raises
    ------
    CheckpointRefused
        If it can't be trusted.
    """
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise CheckpointRefused(f"{path} is not a checkpoint manifest of pse, or it is damaged", help=LOST)
    body.pop("checksum", None)
    if _summed(body).encode() != data:
        raise CheckpointRefused(f"{path} was altered: its checksum does not match its content", help=LOST)
    if body["version"] != VERSION:
        raise CheckpointRefused(
            f"{path} has version {body['version']} of the format; this pse reads version {VERSION}",
            help="resume with the pse that wrote it",
        )
    try:
        return _manifest(body)
    except (KeyError, TypeError, ValueError):
        raise CheckpointRefused(
            f"{path} does not have the form of a manifest of this version", help=LOST
        ) from None


def _manifest(body: dict[str, Any]) -> Manifest:
    given = {entry.name: body[entry.name] for entry in fields(Manifest)}
    notes = tuple(FileNote(**{**note, "members": tuple(note["members"])}) for note in given["files"])
    if not all(DATA.fullmatch(note.name) for note in notes):
        raise ValueError("a name is not that of a checkpoint's file")
    return Manifest(**{**given, "options": tuple(given["options"]), "files": notes})
