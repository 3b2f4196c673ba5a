"""Reading the checkpoints of runs: the manifest, and the values in files that have been verified.

Only reads, and only the directory that it is given.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from pse.errors import RunError, system_help
from pse.runtime.checkpoint._manifest import LOST, MANIFEST, CheckpointRefused, Manifest, from_text
from pse.text import damage_text

if TYPE_CHECKING:
    import zipfile

    import numpy as np

    from pse.runtime.checkpoint._manifest import Array

_CHUNK = 1 << 20


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
        raise CheckpointRefused(f"{path!r} can't be read: {reason}", help=system_help(error, path)) from None
    return from_text(data, path)


class Reader:
    """Reads values of a checkpoint whose files have been verified; files stay open till `close`."""

    def __init__(self, directory: str, manifest: Manifest) -> None:
        self.directory, self._places = directory, manifest.places
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
        from numpy.lib import format as npy  # Not for the launcher, which only reads manifests.

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
            left = target.reshape(-1).view("u1").data
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
        import zipfile  # Not for the launcher, which only reads manifests.

        name = self._places[member]
        path = os.path.join(self.directory, name)
        try:
            if name not in self._archives:
                self._archives[name] = zipfile.ZipFile(path)
            with self._archives[name].open(f"{member}.npy") as file:
                yield file
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise RunError(f"{path}: {member} can't be read: {damage_text(error)}", help=LOST) from error


def _header(file: IO[bytes]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    from numpy.lib import format as npy

    if npy.read_magic(file) != (1, 0):
        raise ValueError("it has another format")
    shape, fortran, dtype = npy.read_array_header_1_0(file)
    if fortran:
        raise ValueError("it is not C-ordered")
    return dtype, shape
