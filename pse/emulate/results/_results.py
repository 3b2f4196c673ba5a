"""The results of a measurement: one row for each cycle and rank, one for each exchange, and all metadata."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from pse.errors import UsageError
from pse.files import draft_directory, explained, require_directory
from pse.text import list_text, size_text

if TYPE_CHECKING:
    import pandas as pd

SUFFIX: Final = ".ace"
VERSION: Final = 1
_MOST_APPLICATIONS: Final = 1_000_000
"""Of rows whose applications the metadata don't name."""

CYCLE: Final = np.dtype(
    [
        *((name, "i4") for name in ("launch", "application", "rank", "cycle")),
        ("size", "i8"),
        ("load", "f8"),
        ("setting", "i8"),
        *((name, "f8") for name in ("start", "calculated", "compute")),
        *((name, "f8") for name in ("communication", "barrier", "predicted")),
    ]
)
"""A cycle of one rank.  `application` is an index of the metadata's applications, `rank` counts from 0 in
each of them, `size` is bytes, `load` percent, `setting` an index of the metadata's settings, which say what
ran at once (-1: results of old don't say it); all times are seconds, `start` since the launch's begin."""

_WITHOUT_SETTING = np.dtype([(name, CYCLE[name]) for name in CYCLE.names or () if name != "setting"])
_PART: Final = frozenset({"application", "size", "load"})

EXCHANGE: Final = np.dtype(
    [
        *((name, "i4") for name in ("launch", "rank", "partner")),
        ("size", "i8"),
        ("repetition", "i4"),
        ("seconds", "f8"),
    ]
)
"""An exchange of phase one: `seconds` is the time of one way between two ranks of the job."""


class ResultsError(UsageError):
    """A directory holds no results, or results that can't be read.

    Examples
    --------
    >>> pse.ace.Results.load("none.ace")
    Traceback (most recent call last):
        ...
    ResultsError: there is no directory none.ace
    """


@dataclass(frozen=True, eq=False)
class Results:
    """What one measurement found.

    Parameters
    ----------
    cycles : numpy.ndarray
        Phase two, `CYCLE`\\[n].
    exchanges : numpy.ndarray
        Phase one, `EXCHANGE`\\[n].
    metadata : mapping of str to value
        What JSON can say: ``applications`` is a list of objects with ``name``, ``pattern``, ``ranks`` and
        so on, ``settings`` one of what ran at once: ``parts``, each an ``application`` (an index) with
        ``size`` and ``load``; and there are host, MPI, cores, date, configuration and seeds.

    Raises
    ------
    TypeError
        A table has other columns.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.zeros(3, CYCLE)
    >>> results = Results(rows, np.zeros(0, EXCHANGE), {"applications": [{"name": "halo"}]})
    >>> results.frame()["application_name"].tolist()
    ['halo', 'halo', 'halo']
    """

    cycles: NDArray[np.void]
    exchanges: NDArray[np.void]
    metadata: Mapping[str, Any]

    def __post_init__(self) -> None:
        for name, dtype in (("cycles", CYCLE), ("exchanges", EXCHANGE)):
            if getattr(self, name).dtype != dtype:
                raise TypeError(f"{name}: expected the columns {dtype.names}")

    @property
    def launches(self) -> tuple[int, ...]:
        """The numbers of its launches, in ascending order."""
        told = (one["launch"] for one in self.metadata.get("launches", ()))
        return tuple(sorted({*told, *self.cycles["launch"].tolist(), *self.exchanges["launch"].tolist()}))

    def frame(self) -> pd.DataFrame:
        """Give the cycles as a tidy data frame.

        Returns
        -------
        pandas.DataFrame
            A row for each cycle and rank: the columns of `CYCLE`, ``application_name``, and ``beside``:
            what else ran at once.
        """
        import pandas as pd

        frame = pd.DataFrame({name: self.cycles[name] for name in CYCLE.names or ()})
        names = dict(enumerate(one.get("name") for one in self.metadata.get("applications", ())))
        frame.insert(2, "application_name", frame["application"].map(names))
        texts, numbers = self.beside()
        frame.insert(list(frame).index("setting") + 1, "beside", np.array(texts, object)[numbers])
        return frame

    def beside(self, *, ambiguous: bool = False) -> tuple[list[str], NDArray[np.int64]]:
        """Give what ran beside the application of each row.

        Parameters
        ----------
        ambiguous : bool, default False
            Whether to say it only where the same application ran at the same size and load beside several.

        Returns
        -------
        tuple of (list of str, numpy.ndarray)
            Texts, of which the first is empty, and the number of one for each of the cycles.

        Examples
        --------
        >>> texts, numbers = pse.ace.Results.load("run.ace").beside()
        >>> texts, int(numbers[0])
        ([''], 0)
        """
        settings = [one["parts"] for one in self.metadata.get("settings", ())]
        known = [str(one.get("name")) for one in self.metadata.get("applications", ())]
        counts = Counter(tuple(part.values()) for parts in settings for part in parts)
        texts = {"": 0}
        # The last column is for -1: what results don't say.
        table = np.zeros((int(self.cycles["application"].max(initial=-1)) + 1, len(settings) + 1), np.int64)
        for place, parts in enumerate(settings):
            for part in parts:
                if part["application"] < len(table) and (not ambiguous or counts[tuple(part.values())] > 1):
                    text = list_text(_part_text(one, known) for one in parts if one is not part)
                    table[part["application"], place] = texts.setdefault(text, len(texts))
        column = np.where(self.cycles["setting"] < len(settings), self.cycles["setting"], -1)
        return list(texts), table[self.cycles["application"], column]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a directory with both tables and the metadata; it replaces results of the same name.

        Parameters
        ----------
        path : path
            A name that ends in ``.ace``.

        Returns
        -------
        Path
            The directory.

        Raises
        ------
        UsageError
            The name ends differently, its parent doesn't exist, something else has that name, or the system
            refuses; what was there before stays.
        """
        target = check_target(path)
        text = json.dumps({"version": VERSION, **self.metadata}, indent=1, ensure_ascii=False)
        with explained(target), draft_directory(target) as draft:
            _write_table(self.cycles, draft / "cycles.npy")
            _write_table(self.exchanges, draft / "exchanges.npy")
            (draft / "metadata.json").write_text(f"{text}\n", encoding="utf-8")
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Results:
        """Read what `save` wrote.

        Parameters
        ----------
        path : path
            The directory.

        Returns
        -------
        Results
            The same tables and metadata.

        Raises
        ------
        ResultsError
            There are no such results, they are damaged, or a newer version of pse wrote them.
        """
        directory = Path(path)
        if not (directory / "metadata.json").is_file():
            there = (
                f"{directory} holds no results of ACE"
                if directory.exists()
                else f"there is no directory {directory}"
            )
            raise ResultsError(
                there,
                help="`pse ace run CONFIG.toml -o NAME.ace` makes some",
            )
        try:
            metadata = json.loads((directory / "metadata.json").read_text(encoding="utf-8"))
            if not isinstance(metadata, dict):
                raise ValueError("metadata.json holds no object")
            version = metadata.pop("version", None)
            tables = [_read_table(directory / f"{name}.npy") for name in ("cycles", "exchanges")]
        except (OSError, ValueError, EOFError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise ResultsError(
                f"the results in {directory} can't be read: {reason}",
                help="check that all its files are there and may be read, or measure again",
            ) from None
        if version != VERSION:
            raise ResultsError(
                f"the results in {directory} have version {version}; this pse reads version {VERSION}",
                help="read them with the pse that measured them, or measure again with `pse ace run`",
            )
        if (problem := _problem(tables, metadata)) is not None:
            raise ResultsError(
                f"the results in {directory} are damaged: {problem}", help="measure again with `pse ace run`"
            )
        try:
            return cls(_with_settings(tables[0]), tables[1], metadata)
        except TypeError as error:
            raise ResultsError(
                f"the results in {directory} can't be read: {error}",
                help="read them with the pse that measured them, or measure again with `pse ace run`",
            ) from None


def _read_table(path: Path) -> NDArray[Any]:
    """Read a table; ValueError tells that the file has none, or less than all of it."""
    with path.open("rb") as file:
        if file.read(len(npy.MAGIC_PREFIX)) != npy.MAGIC_PREFIX:
            raise ValueError(f"{path.name} holds no table")
        file.seek(0)
        return np.asarray(npy.read_array(file, allow_pickle=False))


def _with_settings(cycles: NDArray[Any]) -> NDArray[Any]:
    """Give cycles of old, which don't say what ran at once, the column for it."""
    if cycles.dtype != _WITHOUT_SETTING:
        return cycles
    found = np.zeros(len(cycles), CYCLE)
    for name in _WITHOUT_SETTING.names or ():
        found[name] = cycles[name]
    found["setting"] = -1
    return found


def _part_text(part: Mapping[str, Any], names: Sequence[str]) -> str:
    """Say which application ran, and how."""
    number = part["application"]
    name = names[number] if number < len(names) else f"application {number}"
    return f"`{name}` ({size_text(part['size'], zeros=False)}, {part['load']:g} %)"


def _problem(tables: Sequence[NDArray[Any]], metadata: Mapping[str, Any]) -> str | None:
    """Say what results can't have, whoever wrote them; None if all is well."""
    for name, known in (("applications", "name"), ("launches", "launch"), ("settings", "parts")):
        listed = metadata.get(name, [])
        if not isinstance(listed, list) or not all(isinstance(one, dict) and known in one for one in listed):
            return f"{name} of the metadata is not a list of objects with the key {known}"
    for one in metadata.get("settings", []):
        if not isinstance(one["parts"], list) or not all(map(_is_part, one["parts"])):
            return "settings of the metadata have parts that are not an application with size and load"
    for name, table in zip(("cycles", "exchanges"), tables, strict=True):
        if table.ndim != 1:
            return f"{name}.npy has {table.ndim} dimensions instead of one"
    cycles = tables[0]
    if cycles.dtype not in (CYCLE, _WITHOUT_SETTING) or not len(cycles):
        return None
    most = len(metadata.get("applications", [])) or _MOST_APPLICATIONS
    for name, limit in (("application", most), ("rank", np.inf), ("size", np.inf)):
        wrong = cycles[name][(cycles[name] < 0) | (cycles[name] >= limit)]
        if len(wrong):
            return f"cycles.npy has a row with the {name} {wrong[0]}"
    return None if np.isfinite(cycles["load"]).all() else "cycles.npy has a load that is not a number"


def _is_part(part: Any) -> bool:
    return (
        isinstance(part, dict)
        and part.keys() == _PART
        and all(isinstance(value, int | float) and value >= 0 for value in part.values())
        and isinstance(part["application"], int)
    )


def check_target(path: str | os.PathLike[str]) -> Path:
    """Make sure that results can be written to a directory.

    Parameters
    ----------
    path : path
        Its name, which must end in ``.ace``.

    Returns
    -------
    Path
        The directory.

    Raises
    ------
    UsageError
        It can't be: the name ends differently or is too long, its parent doesn't exist, or something else
        has that name.

    Examples
    --------
    >>> check_target("first.ace")
    PosixPath('first.ace')
    """
    target = Path(path)
    if target.suffix != SUFFIX:
        raise UsageError(
            f"results can't be written to {target}: their name must end in {SUFFIX}",
            help=f"write it as {'results' if target.name in ('', SUFFIX) else target.name}{SUFFIX}",
        )
    require_directory(target)
    with explained(target):  # The name may be too long.
        taken = target.exists() and not (target / "metadata.json").is_file()
    if taken:
        raise UsageError(f"{target} exists and holds no results", help="choose another name, or remove it")
    return target


def _write_table(table: NDArray[np.void], path: Path) -> None:
    """Write what `np.save` would, but let the system say why it can't."""
    rows = np.ascontiguousarray(table)
    with path.open("wb") as file:
        npy.write_array_header_1_0(file, npy.header_data_from_array_1_0(rows))
        file.write(rows.view(np.uint8).data)
