"""The results of a measurement: one row for each cycle and rank, one for each exchange, and all metadata."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from pse.errors import UsageError
from pse.files import draft_directory, explained, require_directory
from pse.text import list_text

if TYPE_CHECKING:
    import pandas as pd

SUFFIX: Final = ".ace"
VERSION: Final = 1
PLACES: Final = ("nodes", "placed")
"""What the metadata of an application say of where it ran; it may differ between launches."""
_MOST_APPLICATIONS: Final = 1_000_000
"""Of rows whose applications the metadata don't name."""

CYCLE: Final = np.dtype(
    [
        *((name, "i4") for name in ("launch", "application", "rank", "cycle")),
        ("size", "i8"),
        *((name, "f8") for name in ("load", "start", "calculated", "compute")),
        *((name, "f8") for name in ("communication", "barrier", "predicted")),
    ]
)
"""A cycle of one rank.  `application` is an index of the metadata's applications, `rank` counts from 0 in
each of them, `size` is bytes, `load` percent; all times are seconds, `start` since the launch's begin."""

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
        so on, and there are host, MPI, cores, date, configuration and seeds.

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

    def require_applications(self, others: Iterable[Mapping[str, Any]]) -> None:
        """Refuse what was measured of other applications: it can't be joined to these results.

        Parameters
        ----------
        others : iterable of mapping
            What the metadata of the other results say of their applications, or
            `Configuration.application_facts`.

        Raises
        ------
        UsageError
            There are other applications, or they differ.
        """
        own, theirs = (
            json.loads(json.dumps([{**one, **dict.fromkeys(PLACES)} for one in listed]))
            for listed in (self.metadata.get("applications", ()), others)
        )
        if own == theirs:
            return
        names = [list_text(f"`{one.get('name')}`" for one in listed) or "none" for listed in (own, theirs)]
        what = f"the applications {names[0]}, not {names[1]}"
        if names[0] == names[1]:
            pairs = list(zip(own, theirs, strict=True))
            keys = {key for one, other in pairs for key in {*one, *other} if one.get(key) != other.get(key)}
            what = f"applications with other values of {list_text(sorted(keys))}"
        raise UsageError(f"the earlier results are of {what}", help="choose another name with -o")

    def frame(self) -> pd.DataFrame:
        """Give the cycles as a tidy data frame.

        Returns
        -------
        pandas.DataFrame
            A row for each cycle and rank: the columns of `CYCLE`, and ``application_name``.
        """
        import pandas as pd

        frame = pd.DataFrame({name: self.cycles[name] for name in CYCLE.names or ()})
        names = dict(enumerate(one.get("name") for one in self.metadata.get("applications", ())))
        frame.insert(2, "application_name", frame["application"].map(names))
        return frame

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
            return cls(tables[0], tables[1], metadata)
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


def _problem(tables: Sequence[NDArray[Any]], metadata: Mapping[str, Any]) -> str | None:
    """Say what results can't have, whoever wrote them; None if all is well."""
    for name, known in (("applications", "name"), ("launches", "launch")):
        listed = metadata.get(name, [])
        if not isinstance(listed, list) or not all(isinstance(one, dict) and known in one for one in listed):
            return f"{name} of the metadata is not a list of objects with the key {known}"
    for name, table in zip(("cycles", "exchanges"), tables, strict=True):
        if table.ndim != 1:
            return f"{name}.npy has {table.ndim} dimensions instead of one"
    cycles = tables[0]
    if cycles.dtype != CYCLE or not len(cycles):
        return None
    most = len(metadata.get("applications", [])) or _MOST_APPLICATIONS
    for name, limit in (("application", most), ("rank", np.inf), ("size", np.inf)):
        wrong = cycles[name][(cycles[name] < 0) | (cycles[name] >= limit)]
        if len(wrong):
            return f"cycles.npy has a row with the {name} {wrong[0]}"
    return None if np.isfinite(cycles["load"]).all() else "cycles.npy has a load that is not a number"


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
