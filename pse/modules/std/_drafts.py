"""Drafts: files that are written beside the one that they become, which so appears complete or not at all.

A draft is locked as long as its writer lives.  One that nobody locks was left by a writer that was killed:
whoever saves to the same name next removes it.  Drafts of `pse.files` are known to one process only: these
have numbers, by which all ranks find the one that they write into together.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pse._locks import try_lock

_FOLDER = ".store"


def draft_name(file: str, number: int, folder: bool = False) -> str:
    """Give the name of a draft of a file or directory; a number tells those of several writers apart."""
    draft = os.path.join(os.path.dirname(file), f".{os.path.basename(file)}.{number}.draft")
    return draft + _FOLDER if folder else draft


@contextmanager
def appearing(file: str) -> Iterator[int]:
    """Make an empty draft of a file, and give its number; rename it at the end, remove it when that fails."""
    number, descriptor = _claimed(file)
    draft = draft_name(file, number)
    try:
        yield number
        os.replace(draft, file)
    except BaseException:
        if _is_named(descriptor, draft):
            os.unlink(draft)
        raise
    finally:
        os.close(descriptor)


@contextmanager
def appearing_folder(file: str) -> Iterator[int]:
    """Give the number of a draft that becomes a directory: an empty file beside it is locked.

    What had the name before is moved away first: a directory is not replaced in one step.
    """
    number, descriptor = _claimed(file)
    lock, draft = draft_name(file, number), draft_name(file, number, folder=True)
    try:
        yield number
        if os.path.lexists(file):
            os.rename(file, f"{draft}.old")
        os.rename(draft, file)
        remove(f"{draft}.old")
    except BaseException:
        remove(draft)
        raise
    finally:
        if _is_named(descriptor, lock):
            os.unlink(lock)
        os.close(descriptor)


def remove(path: str) -> None:
    """Remove a file or a whole directory, if there is one."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _claimed(file: str) -> tuple[int, int]:
    """Make the first draft that nobody else writes; gives its number and its locked descriptor."""
    for number in itertools.count(1):
        draft = draft_name(file, number)
        _remove_abandoned(draft)
        try:
            descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            continue
        if _is_ours(descriptor, draft):
            return number, descriptor
        os.close(descriptor)
    raise AssertionError("there is no end of numbers")


def _remove_abandoned(draft: str) -> None:
    """Remove a draft whose writer is gone.  It is not used again: other ranks of that run may still write."""
    try:
        descriptor = os.open(draft, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if try_lock(descriptor) and _is_named(descriptor, draft):
            remove(draft + _FOLDER)
            os.unlink(draft)
    except OSError:
        pass  # It is another user's, say, and stays.
    finally:
        os.close(descriptor)


def _is_ours(descriptor: int, draft: str) -> bool:
    """Lock a new draft; whoever cleans up may have locked it before, and removes it."""
    with suppress(OSError):  # Not every file system has locks.
        if not try_lock(descriptor):
            return False
    return _is_named(descriptor, draft)


def _is_named(descriptor: int, path: str) -> bool:
    """Say whether an open file still has a name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
