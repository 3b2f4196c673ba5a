"""What the numbers in a trace stand for: the program, its call sites, edges, loops, ranks, and where it ran.

The root rank writes them once, when the run starts, to ``definitions.json``; the events refer to them by
number.  Everything is checked at construction, so what was read is as sound as what was made.  Beside them
lies a copy of the program, so that views and advice outlive its changes.

May touch: these two files of the directory it is given, and (``create``) an older trace's files there.
Next room: ``reader.py`` puts events and definitions together.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import re
import tempfile
import types
import typing
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pse.trace.errors import TraceError
from pse.trace.events import NONE

FILE_NAME = "definitions.json"
PROGRAM_NAME = "program.coven"
RESIDUALS = ".residuals"  # What imported times lack (``residuals.py``).
FORMAT = "pse-trace"
FORMAT_VERSION = 1
RANK_FILE = re.compile(r"rank-(\d{5,})(\.mpi)?\.events")  # The runtime's, and the tool `trace`'s.

JsonScalar = str | int | float | bool | None


@dataclass(frozen=True)
class SiteDefinition:
    """A call site.

    Parameters
    ----------
    id : int
        Number of the call site in the program: `site` of the events.
    label : str
        As written in the program: ``fft.rows``.
    module : str
        Name of the module.
    place : str
        ``file:line:col`` in the program.
    thread : str
        Label of the thread that it runs on.
    parallel : bool
        Whether it stands inside PARALLEL.
    """

    id: int
    label: str
    module: str
    place: str
    thread: str
    parallel: bool = False

    def __post_init__(self) -> None:
        _check_fields(self)


@dataclass(frozen=True)
class EdgeDefinition:
    """A way that a tag takes: from the call site that defines it to those that read this definition.

    Parameters
    ----------
    id : int
        Number of the edge: field `b` of SEND and RECEIVE, high half.
    tag : str
        Name of the tag as the user wrote it.
    source : int or None
        Call site that defines it; None for what no call defines (a parameter, a ``let``).
    targets : tuple of int
        Call sites that read it.
    type : str
        Its type as the program would write it: ``c128[N, N] @ block(0)``.
    """

    id: int
    tag: str
    source: int | None
    targets: tuple[int, ...]
    type: str = ""

    def __post_init__(self) -> None:
        _check_fields(self)


@dataclass(frozen=True)
class LoopDefinition:
    """A loop: its number in CONTEXT_BEGIN, the name of its counter ("" for ``while``), its place."""

    id: int
    counter: str
    place: str

    def __post_init__(self) -> None:
        _check_fields(self)


@dataclass(frozen=True)
class RankDefinition:
    """One rank of the job.

    Parameters
    ----------
    rank : int
        Rank of the whole job.
    region : str
        ``root`` or ``parallel``.
    thread : str
        Label of its thread.
    processor : int or None
        Its processor, None for the root's ranks.
    host : str
        Where it runs.
    """

    rank: int
    region: str
    thread: str
    processor: int | None
    host: str

    def __post_init__(self) -> None:
        _check_fields(self)
        if self.region not in ("root", "parallel"):
            raise TraceError(f"rank {self.rank}: the region is root or parallel, not {self.region!r}")


@dataclass(frozen=True)
class Definitions:
    """Everything about a run that its events refer to.

    Parameters
    ----------
    program : str
        Path of the program as the user typed it.
    text_sha256 : str
        SHA-256 of the program's text, 64 hexadecimal digits.
    parameters, options : mapping of str to str, int, float, bool or None
        What the program ran with.
    sites : tuple of SiteDefinition
        All call sites.
    edges : tuple of EdgeDefinition
        All edges.
    ranks : tuple of RankDefinition
        All ranks, in order, from 0.
    environment : mapping
        Machine and versions: JSON values.
    started : str
        When the run started, ISO 8601 with the offset from UTC.
    loops : tuple of LoopDefinition
        All loops.

    Raises
    ------
    TraceError
        A value has the wrong type, a number is used twice, or one refers to nothing.
    """

    program: str
    text_sha256: str
    parameters: Mapping[str, JsonScalar]
    options: Mapping[str, JsonScalar]
    sites: tuple[SiteDefinition, ...]
    edges: tuple[EdgeDefinition, ...]
    ranks: tuple[RankDefinition, ...]
    environment: Mapping[str, Any]
    started: str
    loops: tuple[LoopDefinition, ...] = field(default=())

    def __post_init__(self) -> None:
        _check_fields(self)
        if not re.fullmatch("[0-9a-f]{64}", self.text_sha256):
            raise TraceError(f"text_sha256 has 64 hexadecimal digits, not {self.text_sha256!r}")
        _check_time(self.started)
        sites = _unique("call site", (site.id for site in self.sites))
        _unique("edge", (edge.id for edge in self.edges))
        _unique("loop", (loop.id for loop in self.loops))
        for edge in self.edges:
            _check_ends(edge, sites)
        if [rank.rank for rank in self.ranks] != list(range(len(self.ranks))):
            raise TraceError(f"ranks are listed in order from 0, not {[rank.rank for rank in self.ranks]}")

    def site(self, number: int) -> SiteDefinition | None:
        """Call site of this number; None if there is none."""
        return next((site for site in self.sites if site.id == number), None)

    def to_json(self) -> str:
        """The text of ``definitions.json``."""
        head = {"format": FORMAT, "version": FORMAT_VERSION}
        return json.dumps(head | dataclasses.asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Definitions:
        """Read what `to_json` wrote.

        Raises
        ------
        TraceError
            It isn't JSON, not of this format, newer than this reader, or not sound.
        """
        values = _json_object(text)
        if values.pop("format", None) != FORMAT:
            raise TraceError(f'it isn\'t the definitions of a trace: no "format": "{FORMAT}"')
        version = values.pop("version", None)
        if version != FORMAT_VERSION:
            raise TraceError(
                f"its format has version {version!r}, this pse reads version {FORMAT_VERSION}",
                help="read it with the pse that recorded it, or a newer one",
            )
        made: Definitions = _from_values(cls, values, "definitions")
        return made


def create(directory: str | os.PathLike[str]) -> None:
    """Make a directory ready for a new trace; an older trace in it is removed, other files are left alone.

    The launcher calls it once per host, before any rank opens its recorder.  The tool ``trace`` is earlier:
    where it writes to the same directory (PSE_TRACE_DIRECTORY), its files are left to it.

    Raises
    ------
    TraceError
        It can't be made or is not writable.
    """
    path = Path(directory)
    try:
        path.mkdir(parents=True, exist_ok=True)
        for old in path.iterdir():
            found = RANK_FILE.fullmatch(old.name)
            ours = old.name in (FILE_NAME, PROGRAM_NAME) or old.suffix == RESIDUALS
            if ours or (found and not (found[2] and _is_tools(path))):
                old.unlink(missing_ok=True)  # Hosts may share the directory.
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        raise TraceError(
            f"no trace can be written to {path}: {error.strerror}",
            help="name a directory that you may write to",
        ) from error


def _is_tools(path: Path) -> bool:
    return os.environ.get("PSE_TRACE_DIRECTORY") == os.path.abspath(path)


def write_definitions(directory: str | os.PathLike[str], definitions: Definitions) -> None:
    """Write ``definitions.json`` in one step: a reader sees all of it or nothing.

    Raises
    ------
    TraceError
        It can't be written there.
    """
    _write(Path(directory) / FILE_NAME, definitions.to_json())


def write_program(directory: str | os.PathLike[str], text: str) -> None:
    """Write a copy of the program, of which `Definitions.text_sha256` is the `digest`.

    Raises
    ------
    TraceError
        It can't be written there.
    """
    _write(Path(directory) / PROGRAM_NAME, text)


def digest(text: str) -> str:
    """SHA-256 of a program's text, 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def _write(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    try:
        part.write_bytes(text.encode())
        part.replace(path)
    except OSError as error:
        raise TraceError(f"{path} can't be written: {error.strerror}") from error


def read_definitions(directory: str | os.PathLike[str]) -> Definitions:
    """Read ``definitions.json``.

    Raises
    ------
    TraceError
        It isn't there, can't be read or isn't sound; the message says which file.
    """
    path = Path(directory) / FILE_NAME
    try:
        return Definitions.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TraceError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{path}: it isn't UTF-8 text") from error
    except TraceError as error:
        raise TraceError(f"{path}: {error.message}", help=error.help) from error


def read_program(directory: str | os.PathLike[str], definitions: Definitions) -> str | None:
    """Read the copy of the program; None if there is none.

    Raises
    ------
    TraceError
        It can't be read, or isn't the text that ran.
    """
    path = Path(directory) / PROGRAM_NAME
    try:
        text = path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TraceError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{path}: it isn't UTF-8 text") from error
    if digest(text) != definitions.text_sha256:
        raise TraceError(f"{path} isn't the text that ran: it was changed since")
    return text


def _json_object(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"it isn't JSON: {error}") from error
    if not isinstance(values, dict):
        raise TraceError("it isn't a JSON object")
    return values


def _from_values(cls: type, values: Any, where: str) -> Any:
    """Build a definition from what JSON gave, its parts included."""
    if not isinstance(values, dict):
        raise TraceError(f"{where}: expected an object, found {_shown(values)}")
    hints = _hints(cls)
    names = {item.name for item in dataclasses.fields(cls)}
    required = {item.name for item in dataclasses.fields(cls) if item.default is dataclasses.MISSING}
    if wrong := (values.keys() - names) | (required - values.keys()):
        raise TraceError(f"{where}: unknown or missing: {', '.join(sorted(wrong))}")
    return cls(**{name: _converted(hints[name], value, f"{where}.{name}") for name, value in values.items()})


def _converted(hint: Any, value: Any, where: str) -> Any:
    """JSON has lists where definitions have tuples, and objects where they have parts."""
    if typing.get_origin(hint) is not tuple or not isinstance(value, list):
        return value
    part: Any = typing.get_args(hint)[0]
    if isinstance(part, type) and dataclasses.is_dataclass(part):
        return tuple(_from_values(part, item, f"{where}[{index}]") for index, item in enumerate(value))
    return tuple(value)


@functools.cache
def _hints(cls: Hashable) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _check_fields(definition: Any) -> None:
    for name, hint in _hints(definition.__class__).items():
        value = getattr(definition, name)
        if not _fits(hint, value):
            raise TraceError(f"{type(definition).__name__}.{name}: {_expected(hint)}, not {_shown(value)}")


def _fits(hint: Any, value: Any) -> bool:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin is types.UnionType:
        return any(_fits(choice, value) for choice in arguments)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(arguments[0], item) for item in value)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(
            isinstance(key, str) and _fits(arguments[1], item) for key, item in value.items()
        )
    if hint is int:
        return type(value) is int and -(2**63) <= value < 2**64
    return isinstance(value, hint)


def _expected(hint: Any) -> str:
    return f"expected {hint.__name__ if isinstance(hint, type) else str(hint).replace('typing.', '')}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _unique(what: str, numbers: Iterable[int]) -> set[int]:
    seen: set[int] = set()
    for number in numbers:
        if not 0 <= number < NONE:
            raise TraceError(f"{what} {number}: numbers are from 0 to {NONE - 1}")
        if number in seen:
            raise TraceError(f"{what} {number} is defined twice")
        seen.add(number)
    return seen


def _check_ends(edge: EdgeDefinition, sites: set[int]) -> None:
    ends = set(edge.targets) | ({edge.source} if edge.source is not None else set())
    if unknown := ends - sites:
        raise TraceError(f"edge {edge.id} ({edge.tag}) names call sites that don't exist: {sorted(unknown)}")


def _check_time(text: str) -> None:
    try:
        if datetime.fromisoformat(text).tzinfo is None:
            raise ValueError
    except ValueError:
        raise TraceError(f"started is an ISO 8601 time with its offset from UTC, not {text!r}") from None
