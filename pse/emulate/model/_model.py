"""The cost model: lines over ranges of sizes, a table of measured sizes, and the file that holds both."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pse.emulate.model._loggp import LogGPParameter
from pse.errors import UsageError, system_help
from pse.files import require_directory, write_file
from pse.text import damage_text

VERSION: Final = 1
FORMAT: Final = "pse communication model"
_FIT_AGAIN: Final = "fit it again: pse ace fit RESULTS.ace -o MODEL.json"
MODES: Final = ("piecewise", "paper", "given")

Interval = tuple[float, float] | None


class ModelError(UsageError):
    """There is no model: measurements that allow none, or a file that holds none.

    Examples
    --------
    >>> pse.ace.Model.load("none.json")
    Traceback (most recent call last):
        ...
    ModelError: cannot read the model none.json: No such file or directory
    """


@dataclass(frozen=True)
class Segment:
    """A line over a range of sizes.

    Parameters
    ----------
    begin : int
        The first measured size of the segment, bytes; 0 in the first one.
    alpha : float
        Startup time, s.  In segments after the first one it may be negative.
    beta : float
        Transfer time, s per byte.
    alpha_interval, beta_interval : tuple of (float, float), optional
        95 % confidence intervals; None: there were too few launches.

    Examples
    --------
    >>> model = Model(2e-6, 1e-9, (Segment(0, 2e-6, 1e-9), Segment(8192, 5e-6, 5e-10)))
    >>> round(model.seconds(16384), 9)
    1.8384e-05
    """

    begin: int
    alpha: float
    beta: float
    alpha_interval: Interval = None
    beta_interval: Interval = None


@dataclass(frozen=True)
class Measured:
    """What was measured of one size.

    Parameters
    ----------
    size : int
        Bytes.
    seconds : float
        Median over launches of the ranks' mean, s.
    interval : tuple of (float, float), optional
        95 % confidence interval of `seconds`.
    residual : float
        By how much the line misses `seconds`, as a part of it.

    See Also
    --------
    fit

    Examples
    --------
    >>> model = pse.ace.fit(pse.ace.Results.load("run.ace").exchanges)
    >>> [one.size for one in model.table][:4]
    [0, 1, 2, 4]
    """

    size: int
    seconds: float
    interval: Interval = None
    residual: float = 0.0


@dataclass(frozen=True)
class RankLine:
    """The line of one rank, or of one pair of ranks.

    Parameters
    ----------
    rank : int
        The rank that measured.
    alpha, beta : float
        Startup time in s and transfer time in s per byte.
    factor : float
        Times of this rank or pair over those of all, the median over sizes.
    partner : int, optional
        The other rank of a pair; None: the line is that of all exchanges of the rank.

    See Also
    --------
    fit

    Examples
    --------
    >>> model = pse.ace.fit(pse.ace.Results.load("run.ace").exchanges)
    >>> [(line.rank, line.partner) for line in model.ranks]
    [(0, None), (1, None)]
    """

    rank: int
    alpha: float
    beta: float
    factor: float
    partner: int | None = None


@dataclass(frozen=True)
class Dispersion:
    """How much measured times vary, as factors of the model's time.

    Parameters
    ----------
    launches : tuple of float
        The factor of each launch, over all sizes.
    messages : tuple of (int, tuple of float)
        By size (ascending) quantiles of a message's time over the median of its launch, evenly spaced from
        the least to the greatest.

    Examples
    --------
    >>> dispersion = pse.ace.fit(pse.ace.Results.load("run.ace").exchanges).dispersion
    >>> len(dispersion.launches), dispersion.quantiles(1024)[0] < 1 < dispersion.quantiles(1024)[-1]
    (10, True)
    """

    launches: tuple[float, ...]
    messages: tuple[tuple[int, tuple[float, ...]], ...]

    def quantiles(self, size: float) -> tuple[float, ...]:
        """Give the factors of the measured size that is nearest to a size, on a logarithmic scale."""
        return min(self.messages, key=lambda known: abs(math.log((1 + known[0]) / (1 + size))))[1]


@dataclass(frozen=True)
class Model:
    """What a message costs by its size.

    Parameters
    ----------
    alpha : float
        Startup time, s; of a fitted model that of the smallest messages.
    beta : float
        Transfer time, s per byte; of a fitted model that of the largest messages.
    mode : str
        ``given``, ``paper`` (one line by ordinary least squares per rank, averaged), or ``piecewise``.
    segments : tuple of Segment
        By ascending sizes; by default one, of `alpha` and `beta`.
    table : tuple of Measured
        What was measured, by ascending sizes.
    ranks, pairs : tuple of RankLine
        The line of each rank, and of each pair of ranks.
    launches : int
        How many launches were measured.
    dispersion : Dispersion, optional
        How much times vary.
    loggp : tuple of LogGPParameter
        The parameters of LogGP, if they were measured.

    Raises
    ------
    ModelError
        A parameter is negative or not finite, or both are 0.

    Examples
    --------
    >>> model = Model(2e-6, 1e-9)
    >>> model.seconds(1000)
    3e-06
    >>> model.seconds([0, 8000]).tolist()
    [2e-06, 1e-05]
    """

    alpha: float
    beta: float
    mode: str = "given"
    segments: tuple[Segment, ...] = ()
    table: tuple[Measured, ...] = ()
    ranks: tuple[RankLine, ...] = ()
    pairs: tuple[RankLine, ...] = ()
    launches: int = 0
    dispersion: Dispersion | None = None
    loggp: tuple[LogGPParameter, ...] = ()

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise ModelError(
                    f"{name} is {value!r}: it must be a finite number that isn't negative",
                    help=f"give {name} in seconds, from 0",
                )
        if not (self.alpha or self.beta):
            raise ModelError(
                "alpha and beta are both 0: then messages take no time",
                help="give the seconds that a message takes to start (alpha), or those of a byte (beta)",
            )
        if not self.segments:
            object.__setattr__(self, "segments", (Segment(0, self.alpha, self.beta),))

    @overload
    def seconds(self, size: float) -> float: ...
    @overload
    def seconds(self, size: Sequence[float] | NDArray[Any]) -> NDArray[np.float64]: ...
    def seconds(self, size: ArrayLike) -> float | NDArray[np.float64]:
        """Predict what a message takes one way.

        Parameters
        ----------
        size : float or array of float
            Bytes.

        Returns
        -------
        float or array of float64
            Seconds, in the shape of `size`.  In ``piecewise`` mode a measured size costs what was measured;
            all others are on the line of their segment.
        """
        sizes = np.asarray(size, float)
        found = self.line(sizes)
        if self.mode == "piecewise" and self.table:
            known = np.array([one.size for one in self.table], float)
            places = np.searchsorted(known, sizes).clip(max=len(known) - 1)
            times = np.array([one.seconds for one in self.table])
            found = np.where(known[places] == sizes, times[places], found)
        return float(found) if sizes.ndim == 0 else found

    def line(self, sizes: ArrayLike) -> NDArray[np.float64]:
        """Give what the lines alone predict, in s."""
        begins = [one.begin for one in self.segments]
        places = (np.searchsorted(begins, np.asarray(sizes, float), side="right") - 1).clip(min=0)
        alpha, beta = (np.array([getattr(one, name) for one in self.segments]) for name in ("alpha", "beta"))
        return np.asarray(alpha[places] + beta[places] * np.asarray(sizes, float))

    @property
    def switches(self) -> tuple[tuple[int, int], ...]:
        """Where the protocol changes: the last measured size of a segment, and the first of the next."""
        sizes = [one.size for one in self.table]
        return tuple(
            (max((size for size in sizes if size < one.begin), default=0), one.begin)
            for one in self.segments[1:]
        )

    def to_json(self) -> dict[str, Any]:
        """Give all that JSON can say."""
        return {"format": FORMAT, "version": VERSION, **dataclasses.asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], source: str = "the model") -> Model:
        """Make the model that `to_json` described.

        Parameters
        ----------
        data : mapping
            What `to_json` gave.
        source : str
            What messages call it.

        Returns
        -------
        Model
            An equal model.

        Raises
        ------
        ModelError
            It describes none, or is of another version.
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise ModelError(
                f"{source} is not a communication model",
                help="`pse ace fit RESULTS.ace -o MODEL.json` makes one",
            )
        if data.get("version") != VERSION:
            raise ModelError(
                f"{source} has version {data.get('version')!r}; this pse reads version {VERSION}",
                help=_FIT_AGAIN,
            )
        try:
            return _from_fields(cls, data)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{source} is damaged: {damage_text(error)}", help=_FIT_AGAIN) from None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the model to a JSON file, and give its path; raise UsageError where that isn't possible."""
        require_directory(path)
        write_file(f"{json.dumps(self.to_json(), indent=1)}\n".encode(), path)
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model that `save` wrote.

        Parameters
        ----------
        path : path
            The JSON file.

        Returns
        -------
        Model
            An equal model.

        Raises
        ------
        ModelError
            The file can't be read, or holds no model.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            message = f"cannot read the model {path}: {error.strerror or error}"
            raise ModelError(message, help=system_help(error, path)) from None
        except ValueError as error:
            raise ModelError(
                f"{path} is not a communication model: {error}",
                help="`pse ace fit RESULTS.ace -o MODEL.json` makes one",
            ) from None
        return cls.from_json(data, str(path))


def _from_fields(cls: type[Model], data: Mapping[str, Any]) -> Model:
    if data["mode"] not in MODES or not data["segments"]:
        raise ValueError(f"mode {data['mode']!r} with {len(data['segments'])} segments")
    found = cls(
        alpha=float(data["alpha"]),
        beta=float(data["beta"]),
        mode=data["mode"],
        segments=tuple(Segment(**_with_tuples(one)) for one in data["segments"]),
        table=tuple(Measured(**_with_tuples(one)) for one in data["table"]),
        ranks=tuple(RankLine(**one) for one in data["ranks"]),
        pairs=tuple(RankLine(**one) for one in data["pairs"]),
        launches=int(data["launches"]),
        dispersion=_dispersion(data["dispersion"]),
        loggp=tuple(LogGPParameter(**_with_tuples(one)) for one in data.get("loggp", ())),
    )
    values = [found.line([one.begin for one in found.segments]), [one.seconds for one in found.table]]
    if not all(np.isfinite(np.asarray(numbers, float)).all() for numbers in values):
        raise ValueError("times that are not finite")
    return found


def _with_tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _dispersion(data: Mapping[str, Any] | None) -> Dispersion | None:
    if data is None:
        return None
    messages = tuple((int(size), tuple(map(float, factors))) for size, factors in data["messages"])
    return Dispersion(tuple(map(float, data["launches"])), messages)
