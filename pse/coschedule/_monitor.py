"""What the monitor of processes (MMDS, section 5.1 of the paper) measured, and its files."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pse._abi.coschedule import MMDS_METRICS, REPORT_DTYPE, RESOLUTION, Collective, Measure, Primitive
from pse.coschedule._coschedule import Engine, MonitorSettings
from pse.errors import UsageError, system_help
from pse.files import draft_file
from pse.text import damage_text, did_you_mean

_BINS: Final = "bins"
_OCTAVES: Final = 65
"""What distributions have bins for: 0, and the factors of two of 64 bits."""


def names_of_routines() -> list[str]:
    """Name the routines by their numbers, as mpi4py spells them."""
    calls = [one.name.capitalize() for one in Primitive if one < Primitive.FIRST_BLOCKING]
    operations = [one.name.capitalize() for one in Collective]
    return [*calls, *operations, *(f"I{name.lower()}" for name in operations)]


@dataclass(frozen=True)
class Distribution:
    """How often something took how long, or had which size.

    Attributes
    ----------
    count : int
        How many there were.
    total, least, greatest : int
        Their sum, the least and the greatest, in ns or bytes.
    bins : ndarray of uint64
        How many fell into each bin; `edges` says where bins begin.
    resolution : int
        Each factor of two has two to the power of this many bins.

    Examples
    --------
    >>> import numpy as np
    >>> from pse import bcs
    >>> one = bcs.Distribution(2, 12, 4, 8, np.array([0, 0, 0, 0, 1, 0, 0, 0, 1], np.uint64))
    >>> one.mean
    6.0
    >>> one.edges()[[4, 8]].tolist()
    [4, 8]
    """

    count: int
    total: int
    least: int
    greatest: int
    bins: NDArray[np.uint64]
    resolution: int = RESOLUTION

    @property
    def mean(self) -> float:
        """Their mean; 0 if there were none."""
        return self.total / self.count if self.count else 0.0

    def edges(self) -> NDArray[np.uint64]:
        """Say where each bin begins, in ns or bytes."""
        bins, per_octave = np.arange(len(self.bins), dtype=np.uint64), np.uint64(1 << self.resolution)
        octave, part = bins // per_octave, bins % per_octave
        shift = np.maximum(octave, 1) - np.uint64(1)
        return np.where(octave == 0, part, (per_octave + part) << shift)


@dataclass(frozen=True)
class Report:
    """What one process did (tables 5.3 and 6.1 of the paper).

    Attributes
    ----------
    rank : int
        Whose process it was.
    computation, communication : Distribution
        Stretches of computation between blocking operations, and times in those, in ns: together they are the
        time from the first use of the communicator to the last.
    latencies, sizes : dict of str to Distribution
        Time in each routine that was called, in ns, and the bytes that it was given.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> from pse import bcs
    >>> with bcs.Comm(MPI.COMM_SELF, mmds=True) as comm:
    ...     comm.Barrier()
    ...     report = comm.report()
    >>> report.latencies["Barrier"].count
    1
    """

    rank: int
    computation: Distribution
    communication: Distribution
    latencies: dict[str, Distribution]
    sizes: dict[str, Distribution]

    def rows(self) -> list[dict[str, Any]]:
        """Give a row for each routine, for a data frame; times in ms.

        Returns
        -------
        list of dict
            With ``routine``, ``count``, ``least``, ``greatest``, ``mean``, ``total`` (ms) and ``bytes``.
        """
        named = [
            *self.latencies.items(),
            ("computation", self.computation),
            ("communication", self.communication),
        ]
        return [
            {
                "routine": name, "count": one.count, "least": one.least / 1e6, "greatest": one.greatest / 1e6,
                "mean": one.mean / 1e6, "total": one.total / 1e6,
                "bytes": self.sizes[name].total if name in self.sizes else 0,
            }
            for name, one in named
            if one.count
        ]  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a .npy file: a row for each distribution.

        Parameters
        ----------
        path : path-like
            The file.
        """
        rows = list(self._rows())
        bins = (_BINS, "<u8", (max(len(row[-1]) for row in rows),))
        table = np.zeros(len(rows), [*REPORT_DTYPE.descr, bins])
        for place, (*values, counts) in enumerate(rows):
            for name, value in zip(REPORT_DTYPE.names or (), values, strict=True):
                table[name][place] = value
            table[_BINS][place, : len(counts)] = counts
        with draft_file(Path(path)) as draft, open(draft, "wb") as file:
            np.save(file, table, allow_pickle=False)

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        named = [
            (Measure.COMPUTATION, "", self.computation),
            (Measure.COMMUNICATION, "", self.communication),
            *((Measure.LATENCY, name, one) for name, one in self.latencies.items()),
            *((Measure.SIZE, name, one) for name, one in self.sizes.items()),
        ]
        for measure, name, one in named:
            summary = (one.count, one.total, one.least, one.greatest)
            yield self.rank, measure, name.encode(), *summary, one.bins

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Report":
        """Read a report from its file.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        Report
            What `save` wrote.

        Raises
        ------
        UsageError
            The file is not a report.
        """
        try:
            # A file that is opened here is closed, whatever np.load says of it.
            with open(path, "rb") as file:
                return _report(np.load(file, allow_pickle=False))
        except FileNotFoundError as error:
            raise UsageError(f"there is no file {path}", help=system_help(error, path)) from None
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise UsageError(
                f"{path} is not a report of a process: {damage_text(error)}",
                help="name a file that a run with PSE_BCS_MMDS=FOLDER wrote into the folder",
            ) from None


def _report(table: NDArray[Any]) -> Report:
    """Read a report from its rows.

    Raises
    ------
    ValueError
        They are not those of a report.
    """
    descr = [] if table.dtype.names is None else table.dtype.descr
    if descr[:-1] != REPORT_DTYPE.descr or descr[-1][0] != _BINS or len(table) < len(Measure) - 2:
        raise ValueError("its rows are not those of a report")
    found: dict[Measure, dict[str, Distribution]] = {measure: {} for measure in Measure}
    resolution = max(1, table[_BINS].shape[1] // _OCTAVES).bit_length() - 1
    for row in table:
        count, total, least, greatest = (int(row[name]) for name in ("count", "total", "least", "greatest"))
        one = Distribution(count, total, least, greatest, row[_BINS], resolution)
        found[Measure(row["measure"])][row["routine"].decode()] = one
    return Report(
        int(table["rank"][0]), found[Measure.COMPUTATION][""], found[Measure.COMMUNICATION][""],
        found[Measure.LATENCY], found[Measure.SIZE],
    )  # fmt: skip


def monitor_settings() -> MonitorSettings:
    """Read what the user asks of the monitors by variables of the environment.

    Raises
    ------
    UsageError
        One of them has a value that makes no sense.
    """
    try:
        settings = MonitorSettings()
    except ValueError as error:
        raise UsageError(str(error), help="set it to such a value, or unset it") from None
    known = ["computation", "communication", *names_of_routines()]
    for name in settings.metrics:
        if name not in known:
            raise UsageError(
                f"{MMDS_METRICS} names {name!r}, and there is no such metric",
                help=did_you_mean(name, known) or "there are computation, communication, Send, Recv, …",
            )
    return settings


def report_of(engine: Engine, rank: int) -> Report:
    """Read what the monitor of this process has measured so far."""
    found = engine.monitored()
    latencies, sizes = (
        {name: Distribution(**one) for name, one in found[kind].items()} for kind in ("latencies", "sizes")
    )
    computation, communication = (Distribution(**found[name]) for name in ("computation", "communication"))
    return Report(rank, computation, communication, latencies, sizes)
