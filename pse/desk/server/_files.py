"""Files of the opened directory: found, read and saved; nothing outside it, by whatever name or link.

A text has `\\n` between its lines on its way to the page; on its way back the lines that did not change keep
the ends that the file has, and its byte order mark.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pse.desk.server._errors import Refusal
from pse.errors import DISK_FULL, system_help
from pse.files import locked_output, replace_file
from pse.language import open_text
from pse.language.types import LANGUAGES

LARGEST = 16 << 20
"""Bytes of the largest file that is opened."""
MOST = 5000
"""Files that are listed."""
PROGRAM = ".coven"
_IGNORED = {"__pycache__", "build", "node_modules"}
_BOM = b"\xef\xbb\xbf"
_UNTOLD = (-1, -1)
"""The stamp of no file: pages are told of one that has it, whatever becomes of it."""
_END = re.compile(r"\r\n|\n|\r")


class Directory:
    """The opened directory.

    Parameters
    ----------
    path : Path
        Where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.stamps: dict[str, tuple[int, int] | None] = {}

    def find(self, name: object) -> Path:
        """Give the file of a path that the page names.

        Raises
        ------
        Refusal
            If it is outside the directory, links followed.
        """
        if not isinstance(name, str) or not name or "\0" in name:
            raise Refusal("a path is missing", help='give it as  "path": "heat.coven"')
        try:
            found = (self.path / name).resolve()
        except (OSError, RuntimeError):
            raise Refusal(f"{name} can't be followed: its links go in a circle", help="name a file") from None
        if Path(name).is_absolute() or not found.is_relative_to(self.path):
            raise Refusal(f"{name} is outside the opened directory", 403, help="open its directory instead")
        return found

    def shown(self, path: Path) -> str:
        """Give a file's path as the page names it."""
        return path.relative_to(self.path).as_posix()

    def listed(self) -> dict[str, Any]:
        """Give the files, programs and modules among them marked."""
        found = []
        for number, path in enumerate(self._walk()):
            if number == MOST:
                break
            kind, language = kind_of(path)
            size = path.lstat().st_size
            found.append({"path": self.shown(path), "kind": kind, "language": language, "size": size})
        return {"files": found, "truncated": len(found) == MOST}

    def _walk(self) -> Iterator[Path]:
        for folder, folders, names in os.walk(self.path):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _IGNORED)
            for name in sorted(names):
                path = Path(folder, name)
                if not name.startswith(".") and path.resolve().is_relative_to(self.path) and path.is_file():
                    yield path

    # Reading and saving.

    def read(self, name: object) -> dict[str, Any]:
        """Give a file's text and its revision."""
        path = self.find(name)
        self.watch([str(path)])
        data = _data(path, str(name))
        return {
            "path": self.shown(path),
            "uri": path.as_uri(),
            "text": plain(_decoded(data, str(name))),
            "revision": revision(data),
            "kind": kind_of(path)[0],
        }

    def text(self, name: object) -> str:
        """Give a file's text."""
        return plain(_decoded(_data(self.find(name), str(name)), str(name)))

    def save(self, name: object, text: object, known: object) -> dict[str, Any]:
        """Save a file whose revision the page knows; None: a new one.

        Raises
        ------
        Refusal
            If the file is another by now: with the file's present text; or if it can't be written.
        """
        path = self.find(name)
        if not isinstance(text, str):
            raise Refusal("the text is missing", help='give it as  "text": "…"')
        try:
            with locked_output(path):
                before = _read(path) if path.exists() else None
                if (revision(before) if before is not None else None) != known:
                    raise _changed(str(name), before)
                data = _encoded(text, before or b"", str(name))
                replace_file(path, data)
        except OSError as error:
            raise _unwritable(str(name), error, path.parent) from None
        self.stamps[self.shown(path)] = _UNTOLD
        return {"revision": revision(data), "path": self.shown(path), "uri": path.as_uri()}

    def watch(self, paths: Iterable[str]) -> None:
        """Look at these files from now on; if one has changed already, all pages will be told."""
        for path in paths:
            name, now = Path(os.path.relpath(path, self.path)).as_posix(), _stamp(Path(path))
            if self.stamps.setdefault(name, now) != now:
                self.stamps[name] = _UNTOLD

    def forget_missing(self, paths: Iterable[str]) -> None:
        """Look no longer at those of these files that are not there."""
        for path in paths:
            name = Path(os.path.relpath(path, self.path)).as_posix()
            if self.stamps.get(name) is None:
                self.stamps.pop(name, None)

    def changes(self) -> list[dict[str, Any]]:
        """Give the files that are looked at and have changed since, by a page or by whomever else."""
        found = []
        for name, stamp in list(self.stamps.items()):
            now = _stamp(self.path / name)
            if now != stamp:
                self.stamps[name] = now
                found.append({"path": name, "revision": _present_revision(self.path / name)})
        return found


def kind_of(path: Path) -> tuple[str, str | None]:
    """Give what a file is by its ending: program, module (and its language) or other."""
    language = LANGUAGES.get(path.suffix.lower())
    return "program" if path.suffix == PROGRAM else "module" if language else "other", language


def revision(data: bytes) -> str:
    """Give what tells one state of a file from another."""
    return hashlib.sha256(data).hexdigest()[:16]


def plain(text: str) -> str:
    """Give a text with `\\n` between its lines."""
    return _END.sub("\n", text)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _present_revision(path: Path) -> str | None:
    try:
        return revision(_read(path))
    except OSError:
        return None


def _read(path: Path) -> bytes:
    with open_text(path) as file:
        return file.read()


def _data(path: Path, name: str) -> bytes:
    try:
        if path.is_dir():
            raise Refusal(f"{name} is a directory", help="name a file in it")
        if path.stat().st_size > LARGEST:
            raise _too_large(name)
        return _read(path)
    except FileNotFoundError:
        raise Refusal(f"there is no file {name}", 404, help="load the list of files again") from None
    except OSError as error:
        help = system_help(error, name)
        raise Refusal(f"{name} can't be read: {error.strerror}", 403, help=help) from None


def _too_large(name: str) -> Refusal:
    return Refusal(f"{name} is larger than {LARGEST >> 20} MiB", 413, help="use another editor for it")


def _decoded(data: bytes, name: str) -> str:
    if b"\0" in data:
        raise Refusal(f"{name} is not a text file", 415, help="open it with what has made it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refusal(f"{name} is not UTF-8 text", 415, help="save the file as UTF-8") from None


def _encoded(text: str, before: bytes, name: str) -> bytes:
    """Give a text's bytes, with the line ends and the mark that the file has."""
    mark = _BOM if before.startswith(_BOM) else b""
    old = before.removeprefix(_BOM).decode("utf-8", errors="replace")
    try:
        data = mark + _with_line_ends(plain(text), old).encode("utf-8")
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        message = f"{name} can't be saved: line {line} has half of a character (a surrogate)"
        raise Refusal(message, 415, help="take it out; UTF-8 has no bytes for it") from None
    if len(data) > LARGEST:
        raise _too_large(name)
    return data


def _with_line_ends(text: str, old: str) -> str:
    if "\r" not in old:
        return text
    ends = _END.findall(old)
    usual = Counter(ends).most_common(1)[0][0]
    lines, known = text.split("\n"), _END.split(old)
    least = min(len(lines), len(known))
    before = next((i for i in range(least) if lines[i] != known[i]), least)
    after = next((i for i in range(least - before) if lines[-1 - i] != known[-1 - i]), least - before)
    count = len(lines) - 1
    first, last = ends[:before][:count], ends[len(ends) - after :][-count:] if after else []
    kept = min(len(first), count)
    last = last[max(0, len(last) - (count - kept)) :]
    chosen = [*first, *[usual] * (count - kept - len(last)), *last, ""]
    return "".join(line + end for line, end in zip(lines, chosen, strict=True))


def _changed(name: str, data: bytes | None) -> Refusal:
    if data is None:
        gone = {"revision": None, "text": None}
        return Refusal(f"{name} was deleted meanwhile", 409, help="save it anew, or close it", more=gone)
    try:
        there = plain(_decoded(data, name)) if len(data) <= LARGEST else None
    except Refusal:
        there = None
    now = (
        "has changed on disk" if there is not None else "is on disk now, but not as a text that can be shown"
    )
    help = "merge the two, or choose one" if there is not None else "save over it, or decide later"
    return Refusal(f"{name} {now}", 409, help=help, more={"revision": revision(data), "text": there})


def _unwritable(name: str, error: OSError, parent: Path) -> Refusal:
    reason, status, help = error.strerror, 403, system_help(error, name, writing=True)
    if error.errno in DISK_FULL:
        status, help = 507, "free some space; nothing is lost, neither here nor on disk"
    elif error.errno == errno.ENOENT:
        folder = os.path.dirname(name) or parent
        reason, status, help = f"there is no folder {folder}", 404, f"make it with: mkdir -p {folder}"
    return Refusal(f"{name} can't be saved: {reason}", status, help=help)
