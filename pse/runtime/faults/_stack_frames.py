"""The stack frames of a rank that crashes: lines of its report that name the user's own source.

The crash handler starts this file as a script, without pse and without site-packages.  Its arguments are the
directory of built modules, what faulthandler says of Python's frames, and the addresses of the frames in
compiled code, innermost first; the crashed process waits.
"""

from __future__ import annotations

import os
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise

MOST_LINES = 12
"""So many frames of the user's source are shown."""

PATIENCE = 4.0
"""Seconds that `addr2line` may take for one library."""

PYTHON_FRAME = re.compile(r'^  File "(?P<path>.*)", line (?P<line>\d+) in (?P<name>.*)$', re.MULTILINE)
"""How faulthandler writes a frame."""

PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "")
"""Where pse's own Python files are."""

SANITIZER = re.compile(r"lib[a-z]+san\.so")
"""What a sanitizer does between an error and its report is not told."""

RANK_ENTRY = "in run_rank\n"
"""Below it are frames of who made this process a rank: of the launcher, whose copy a forked rank is."""

TRAMPOLINE = "pse_call_"
"""How the function begins through which the engine calls a module: what called it is the engine's."""


@dataclass(frozen=True)
class Frame:
    """A function on the stack: its name if that is known, and its source line or else its library."""

    function: str
    place: str
    own: bool

    def text(self) -> str:
        """Write it as a line of the report."""
        return f"in {self.function}, {self.place}" if self.function else f"in {self.place}"


@dataclass(frozen=True)
class Mapping:
    """A part of a process's memory that a file is mapped to, and where the file's first byte is."""

    begin: int
    end: int
    base: int
    path: str


def read_mappings(text: str) -> list[Mapping]:
    """Read the mapped files of ``/proc/PID/maps``; a file may be mapped again by who reads its symbols."""
    found: list[Mapping] = []
    bases: dict[str, int] = {}
    for line in text.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].startswith("/"):
            begin, end = (int(number, 16) for number in fields[0].split("-"))
            if int(fields[2], 16) == 0 or fields[5] not in bases:
                bases[fields[5]] = begin
            found.append(Mapping(begin, end, bases[fields[5]], fields[5]))
    return found


def find_mapping(mappings: list[Mapping], address: int) -> Mapping | None:
    """Find what an address is in; mappings are in order."""
    index = bisect_right(mappings, address, key=lambda one: one.begin) - 1
    return mappings[index] if index >= 0 and address < mappings[index].end else None


def resolve(addresses: list[int], mappings: list[Mapping], modules: str) -> list[Frame]:
    """Name the function and line of each address; a call that was inlined is a frame of its own."""
    frames: list[Frame] = []
    placed = [(address, find_mapping(mappings, address)) for address in addresses]
    for path, group in groupby(placed, lambda pair: pair[1].path if pair[1] else ""):
        offsets = [address - mapping.base for address, mapping in group if mapping]
        own = path.startswith(modules)
        listed = addr2line(path, offsets) if path else None
        if listed is None:
            where = "a module's library" if own else os.path.basename(path)
            frames += [Frame("", f"{where} at {offset:#x}", own) for offset in offsets]
        else:
            frames += [_frame(function, place, path, own) for function, place in listed]
    return frames


def addr2line(path: str, offsets: list[int]) -> list[tuple[str, str]] | None:
    """Ask addr2line for functions and places; None where it is missing or fails."""
    import subprocess

    command = ["addr2line", "-f", "-i", "-C", "-e", path, *map(hex, offsets)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.splitlines()
    return list(zip(lines[::2], lines[1::2], strict=False))


def _frame(function: str, place: str, path: str, own: bool) -> Frame:
    """Make a frame; headers of the system count as libraries."""
    place = re.sub(r" \(discriminator \d+\)$", "", place)
    known = own and not place.startswith("?") and not place.endswith(":?")
    header = known and place.startswith("/usr/")
    where = shown_path(place) if known and not header else os.path.basename(place if header else path)
    return Frame(_name(function), where, own and not header)


def _name(function: str) -> str:
    """Give a function's name without parameters, template arguments, and what compilers add to it."""
    name = re.sub(r"[<(].*", "", function.removeprefix("__GI_").replace("operator()", "operator"))
    name = re.sub(r"\.(constprop|isra|part|cold|lto_priv)\b.*", "", name)
    cython = re.match(r"__pyx_p?[fw]_(\d+)", name)
    if cython:  # __pyx_f_2ab_name: a function of the module `ab`.
        name = re.sub(r"^_\d*", "", name[cython.end() + int(cython[1]) :])
    return "" if name == "??" else name


def shown_path(path: str) -> str:
    """Write a path relative to the current directory if it is below that."""
    here = os.path.join(os.getcwd(), "")
    return path.removeprefix(here)


def python_frames(text: str) -> list[Frame]:
    """Find the Python frames that the engine called: those between its own."""
    frames = [
        (match["path"], Frame(match["name"], f"{shown_path(match['path'])}:{match['line']}", True))
        for match in PYTHON_FRAME.finditer(text.partition(RANK_ENTRY)[0])
    ]
    groups = [(ours, [frame for _, frame in group]) for ours, group in groupby(frames, _is_ours)]
    called = (group for (ours, group), _ in pairwise(groups) if not ours)
    return next(called, [])


def _is_ours(frame: tuple[str, Frame]) -> bool:
    return frame[0].startswith(PACKAGE)


def describe_frames(frames: list[Frame], python: list[Frame] | None = None) -> list[str]:
    """Write the frames of the user's source, and fold those of libraries and of the engine."""
    own = next((i for i, frame in enumerate(frames) if frame.own), 0)
    if any(SANITIZER.match(frame.place) for frame in frames[:own]):
        frames = frames[own:]
    called = [frame.text() for frame in (python or [])[:MOST_LINES]]
    entry = next((i for i, frame in enumerate(frames) if frame.function.startswith(TRAMPOLINE)), None)
    last = max((i for i, frame in enumerate(frames[:entry]) if frame.own), default=-1) + 1
    if entry is not None:
        last = entry
    lines = called + list(fold(frames[:last]))[:MOST_LINES] or [frame.text() for frame in frames[:1]]
    rest = len(frames) - (last or not called)
    return [*lines, f"… and {rest} frame{'s' * (rest > 1)} of the engine and of libraries"] if rest else lines


def fold(frames: Iterable[Frame]) -> Iterator[str]:
    """Give one line for equal frames in a row; of a row in libraries, for what the user's source called."""
    for own, row in groupby(frames, lambda frame: frame.own):
        if not own:
            yield list(row)[-1].text()
            continue
        for frame, equal in groupby(row):
            count = len(list(equal))
            yield frame.text() + (f" ({count} frames)" if count > 1 else "")


def stack_frame_command() -> tuple[list[str], list[str]]:
    """Give the command that the crash handler completes with addresses, and its environment."""
    from pse._cache import directory

    modules = os.path.join(os.path.realpath(directory()), "modules", "")
    environment = [f"PATH={os.environ.get('PATH', os.defpath)}", "LC_ALL=C.UTF-8"]
    return [sys.executable, "-I", "-S", os.path.abspath(__file__), modules], environment


def register_python_frames() -> tuple[int, int]:
    """Have a signal write the Python frames of its thread to a file of no name; give both."""
    import faulthandler
    import signal

    number = signal.SIGRTMAX - 1  # The last one is valgrind's.
    file = os.memfd_create("python frames", os.MFD_CLOEXEC)
    faulthandler.register(number, file=file, all_threads=False)
    return number, file


def main() -> None:
    """Print the lines for the parent process's frames."""
    modules, python, *addresses = sys.argv[1:]
    with open(f"/proc/{os.getppid()}/maps", encoding="utf-8", errors="replace") as file:
        mappings = read_mappings(file.read())
    frames = resolve([int(address, 16) for address in addresses if address], mappings, modules)
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    print("".join(f"  {line}\n" for line in describe_frames(frames, python_frames(python))), end="")


if __name__ == "__main__":
    main()
