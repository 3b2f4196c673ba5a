"""What the monitor of processes (MMDS, section 5.1 of the paper) measured, and its files."""

import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pse._abi.coschedule import Collective, Primitive
from pse.coschedule._coschedule import Engine
from pse.errors import UsageError, system_help
from pse.files import draft_file

MMDS, EMDS = "PSE_BCS_MMDS", "PSE_BCS_EMDS"
"""Variables of the environment: the folder that gets a file for each process, or for each node."""
RESOLUTION: Final = 3
"""Each factor of two has 2**3 bins."""
_COMPUTATION, _COMMUNICATION = "computation", "communication"


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

    @property
    def mean(self) -> float:
        """Their mean; 0 if there were none."""
        return self.total / self.count if self.count else 0.0

    def edges(self) -> NDArray[np.uint64]:
        """Say where each bin begins, in ns or bytes."""
        bins, per_octave = np.arange(len(self.bins), dtype=np.uint64), np.uint64(1 << RESOLUTION)
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
            (_COMPUTATION, self.computation),
            (_COMMUNICATION, self.communication),
        ]
        return [
            {
                "routine": name, "count": one.count, "least": one.least / 1e6, "greatest": one.greatest / 1e6,
                "mean": one.mean / 1e6, "total": one.total / 1e6,
                "bytes": self.sizes[name].total if name in self.sizes else 0,
            }
            for name, one in named
        ]  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a .npz file.

        Parameters
        ----------
        path : path-like
            The file.
        """
        arrays = {name: _pack(one) for name, one in self._named()}
        with draft_file(Path(path)) as draft, open(draft, "wb") as file:
            np.savez_compressed(file, allow_pickle=False, rank=np.array(self.rank), **arrays)

    def _named(self) -> Iterator[tuple[str, Distribution]]:
        yield _COMPUTATION, self.computation
        yield _COMMUNICATION, self.communication
        for kind, found in (("latency", self.latencies), ("size", self.sizes)):
            yield from ((f"{kind}.{name}", one) for name, one in found.items())

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
            with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
                found = {name: file[name] for name in file.files}
            rank = int(found.pop("rank"))
            named = {name: _unpack(one) for name, one in found.items()}
            parts = [_part(named, kind) for kind in ("latency.", "size.")]
            return cls(rank, named[_COMPUTATION], named[_COMMUNICATION], *parts)
        except FileNotFoundError as error:
            raise UsageError(f"there is no file {path}", help=system_help(error, path)) from None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise UsageError(
                f"{path} is not a report of a process: {error}",
                help="name a file that a run with PSE_BCS_MMDS=FOLDER wrote into the folder",
            ) from None


def _part(named: dict[str, Distribution], prefix: str) -> dict[str, Distribution]:
    return {name.removeprefix(prefix): one for name, one in named.items() if name.startswith(prefix)}


def _pack(one: Distribution) -> NDArray[np.uint64]:
    return np.concatenate([np.array([one.count, one.total, one.least, one.greatest], np.uint64), one.bins])


def _unpack(packed: NDArray[np.uint64]) -> Distribution:
    count, total, least, greatest = (int(one) for one in packed[:4])
    return Distribution(count, total, least, greatest, packed[4:])


def _called(names: Sequence[str], found: Sequence[dict[str, Any]]) -> dict[str, Distribution]:
    return {name: Distribution(**one) for name, one in zip(names, found, strict=True) if one["count"]}


def report_of(engine: Engine, rank: int) -> Report:
    """Read what the monitor of this process has measured so far."""
    found = engine.monitored()
    names = names_of_routines()
    return Report(
        rank, Distribution(**found["computation"]), Distribution(**found["communication"]),
        _called(names, found["latencies"]), _called(names, found["sizes"]),
    )  # fmt: skip
