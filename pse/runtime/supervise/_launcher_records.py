"""Records that ranks leave for their launcher: how the run failed, or its report.

A record file is a memfd of the launcher, which its ranks open through /proc and append to; it has no
name, so nothing is left of it.  A record is a head line ``kind rank exit_code``, a text, and a zero byte;
the C side writes the same form (cext/faults/report.c).
"""

from __future__ import annotations

import contextlib
import os

from pse.records import dataclass
from pse.text import text_bytes

LAUNCHER_VARIABLE = "PSE_LAUNCHER"
"""Environment variable by which ranks find their launcher: a boot id and the fields of `Launcher`."""


@dataclass(frozen=True)
class Record:
    """One record; `kind` is "failed" or "report"."""

    kind: str
    rank: int
    exit_code: int
    text: str


@dataclass(frozen=True)
class Launcher:
    """Where a launcher is to be found, and whether it has all ranks under its eyes.

    Attributes
    ----------
    pid : int
        Its process number.
    board, records : int
        Its descriptors of the board and of the record file.
    sees_all : int
        1 if every rank runs on its machine, else 0.
    """

    pid: int
    board: int
    records: int
    sees_all: int

    def variable(self) -> str:
        """Give the value for the environment of the ranks."""
        return f"{boot_id()}:{self.pid}:{self.board}:{self.records}:{self.sees_all}"

    def record_failure(self, rank: int, exit_code: int, text: str) -> bool:
        """Leave a record of why the run failed; false if the launcher can't be reached."""
        with contextlib.suppress(OSError):
            Records.open(self).write(Record("failed", rank, exit_code, text))
            return True
        return False


def boot_id() -> str:
    """Identify this machine since its last start.

    Returns
    -------
    str
        What no other machine has, nor this one after another start.

    Examples
    --------
    >>> boot_id() == boot_id()
    True
    """
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def find_launcher() -> Launcher | None:
    """Find the launcher that the environment of this rank names.

    Returns
    -------
    Launcher or None
        None if there is none, or if it is on another machine.

    Examples
    --------
    >>> find_launcher() is None  # No launcher started this process.
    True
    """
    boot, _, numbers = os.environ.get(LAUNCHER_VARIABLE, "").partition(":")
    parts = numbers.split(":")
    if boot != boot_id() or len(parts) != 4 or not all(part.isdecimal() for part in parts):
        return None
    return Launcher(*map(int, parts))


class Records:
    """The record file, at either end.

    Parameters
    ----------
    fd : int
        Its descriptor, which belongs to this object from now on.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd

    @classmethod
    def create(cls) -> Records:
        """Make a record file (the launcher's end)."""
        return cls(os.memfd_create("pse-records"))

    @classmethod
    def open(cls, launcher: Launcher) -> Records:
        """Open the launcher's record file (a rank's end).

        Raises
        ------
        OSError
            If the launcher is gone, or belongs to another user.
        """
        return cls(os.open(f"/proc/{launcher.pid}/fd/{launcher.records}", os.O_WRONLY | os.O_APPEND))

    def write(self, record: Record) -> None:
        """Append a record."""
        text = record.text.replace("\0", "")
        data = text_bytes(f"{record.kind} {record.rank} {record.exit_code}\n{text}\0")
        while data:
            data = data[os.write(self.fd, data) :]

    def read(self) -> list[Record]:
        """Read all complete records so far."""
        data = os.pread(self.fd, os.fstat(self.fd).st_size, 0).decode(errors="replace")
        return [_parse(text) for text in data.split("\0")[:-1]]

    def close(self) -> None:
        """Close this end."""
        os.close(self.fd)


def _parse(text: str) -> Record:
    head, _, body = text.partition("\n")
    kind, rank, code = head.split(" ")
    return Record(kind, int(rank), int(code), body)
