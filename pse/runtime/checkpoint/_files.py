"""Writing checkpoints: a file of arrays for each rank, then the manifest that makes them one checkpoint.

A rank's file is NumPy's own ``.npz`` (a zip of ``.npy``, nothing compressed, nothing pickled), so that
``numpy.load`` opens it. Every file is written under another name, synced and renamed; the manifest comes last
and the files of the checkpoint before it go after that: whenever the run is killed, the directory holds one
complete checkpoint.

Touches the directory only, and knows nothing of ranks: `pause` writes checkpoints through it, and so do
coscheduled programs.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterable, Iterator
from typing import IO, Any

from pse._locks import try_lock
from pse.errors import UsageError, system_help
from pse.runtime.checkpoint._manifest import DATA, MANIFEST, FileNote, Saved, new_checksum
from pse.runtime.supervise._backoff import Backoff

LOCK = "lock"
LOCK_PATIENCE = 3.0
"""Seconds that ranks of a run that was just killed may take to be gone."""


def make_directory(option: str, path: str) -> None:
    """Make the directory that an option names, if it isn't there.

    Raises
    ------
    UsageError
        If it can't be made, or written to.
    """
    try:
        os.makedirs(path, exist_ok=True)
    except FileExistsError:
        message = f"{option} {path}: it is a file; expected a directory"
        raise UsageError(message, help="name a directory, which need not exist yet") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        message = f"{option} {path or repr(path)}: the directory can't be made: {reason}"
        raise UsageError(message, help=system_help(error, path, writing=True)) from None
    if not os.access(path, os.W_OK | os.X_OK):
        message = f"{option} {path}: the directory can't be written to"
        raise UsageError(message, help="name a directory that you can write to")


@contextlib.contextmanager
def removed_if_empty(*paths: str | None) -> Iterator[None]:
    """Remove directories that were not there before, and into which nothing was written: no run has begun."""
    made = [directory for path in paths if path for directory in _absent(path)]
    try:
        yield
    finally:
        for directory in made:
            with contextlib.suppress(OSError, ValueError):  # It has files, or was never made.
                os.rmdir(directory)


def _absent(path: str) -> Iterator[str]:
    """A directory and those above it, as far as they aren't there."""
    path = os.path.abspath(path)
    while not os.path.lexists(path):
        yield path
        path = os.path.dirname(path)


class Directory:
    """A directory of checkpoints that a run writes to; one run at a time.

    Parameters
    ----------
    path : str
        Where it is, or will be.
    title : str
        What errors call it.

    Raises
    ------
    UsageError
        If it can't be written to.

    Examples
    --------
    >>> import numpy as np
    >>> from pse.runtime.checkpoint import Directory, Saved, verify
    >>> directory = Directory("saved")
    >>> note = directory.write(1, 0, [Saved("u", None, np.zeros(3))])
    >>> note.name, note.members
    ('000001-rank-0.npz', ('u',))
    >>> directory.commit("{}", [note])
    >>> verify("saved", note)
    """

    def __init__(self, path: str, title: str = "--checkpoint") -> None:
        self.path, self.title = path, title
        make_directory(title, path)

    def lock(self, patience: float = LOCK_PATIENCE) -> int:
        """Keep other runs away for as long as the descriptor is open; a process's death opens it to others.

        Parameters
        ----------
        patience : float
            Seconds to wait for another run.

        Returns
        -------
        int
            The descriptor.

        Raises
        ------
        UsageError
            If another run writes here, and still does after so many seconds; if the file can't be opened.
        """
        try:
            descriptor = os.open(self._at(LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise UsageError(
                f"{self.title} {self.path}: {self._at(LOCK)} can't be opened for writing: {error.strerror}",
                help=f"remove {self._at(LOCK)} if nothing else needs it, or name another directory",
            ) from None
        if Backoff().sleep_until(lambda: try_lock(descriptor), patience):
            return descriptor
        os.close(descriptor)
        raise _in_use(self.path)

    def write(self, serial: int, rank: int, values: Iterable[Saved]) -> FileNote:
        """Write one rank's file of a checkpoint; it counts once a manifest names it.

        Parameters
        ----------
        serial : int
            Number of the checkpoint.
        rank : int
            Whose file it is.
        values : iterable of Saved
            What goes into it.

        Returns
        -------
        FileNote
            For the manifest.

        Raises
        ------
        OSError
            If that fails; `filename` says where.
        """
        import zipfile  # Not for the launcher, which only looks at the directory.

        import numpy as np
        from numpy.lib import format as npy

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

    def commit(self, manifest: str, files: Iterable[FileNote]) -> None:
        """Make the files that a manifest names the checkpoint of this directory, and remove all others.

        Parameters
        ----------
        manifest : str
            Its text.
        files : iterable of FileNote
            Those that it names.

        Raises
        ------
        OSError
            If the manifest can't be written; then the checkpoint before stays.
        """
        self._sync()
        with self._replacing(MANIFEST) as file:
            file.write(manifest.encode())
        self._sync()
        self.prune(note.name for note in files)

    def prune(self, keep: Iterable[str]) -> None:
        """Remove the files of other checkpoints, and what a killed run left half written.

        Parameters
        ----------
        keep : iterable of str
            Names of the files that stay.
        """
        kept = set(keep)
        for name in os.listdir(self.path):
            whole = name.removesuffix(".part")
            stale = name not in kept if DATA.fullmatch(whole) else name == f"{MANIFEST}.part"
            if stale:
                with contextlib.suppress(OSError):
                    os.unlink(self._at(name))

    def _at(self, name: str) -> str:
        return os.path.join(self.path, name)

    @contextlib.contextmanager
    def _replacing(self, name: str) -> Iterator[IO[bytes]]:
        """Write a file under another name; it gets its own once everything is on the disk.

        `pse.files` doesn't wait for the disk, and `prune` knows this other name after a kill.
        """
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


def await_writer(path: str) -> None:
    """Wait until no run writes to a directory of checkpoints: what is read there stays as it is then.

    Ranks outlive a launcher that was killed, for a second under Open MPI, and may write another checkpoint
    meanwhile, for which the files of the last one go.

    Raises
    ------
    UsageError
        If a run still does after `LOCK_PATIENCE`.
    """
    try:
        descriptor = os.open(os.path.join(path, LOCK), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # No run has ever written there.
        return
    try:
        # Shared: all ranks of a resumed run may look at once.
        if not Backoff().sleep_until(lambda: try_lock(descriptor, shared=True), LOCK_PATIENCE):
            raise _in_use(path)
    finally:
        os.close(descriptor)


def _in_use(path: str) -> UsageError:
    return UsageError(
        f"{path}: another run is writing its checkpoints there",
        help="wait until it has ended, or name another directory",
    )


class _Summed(io.RawIOBase):
    """A stream that a zip is written to from its first byte to its last, and the checksum of it."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self.file, self.hash, self.size = file, new_checksum(), 0

    def write(self, data: Any, /) -> int:
        """Write what comes next."""
        self.hash.update(data)
        self.file.write(data)
        length = memoryview(data).nbytes
        self.size += length
        return length
