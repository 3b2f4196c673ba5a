"""The parameters of LogGP: latency, overheads, gap and gap per byte, from what launches measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from pse.emulate.results._results import Results
from pse.emulate.statistics._bootstrap import Interval, launch_interval

if TYPE_CHECKING:
    import pandas as pd

MEASURED: Final = {
    "o_s": ("send_overhead", "s", "MPI_Send of 1 B"),
    "o_r": ("receive_overhead", "s", "MPI_Recv of 1 B that has arrived"),
    "L": ("latency", "s", "half of a round trip of 1 B, less o_s and o_r"),
    "g": ("gap", "s", "16 MPI_Isend or MPI_Irecv of 1 B and MPI_Waitall, by 16"),
    "G": ("gap_per_byte", "s/B", "half of a round trip: slope from 1 B to the largest size, 1 MiB at least"),
}
"""By symbol: the name in the metadata of launches, the unit, and how it is measured."""


@dataclass(frozen=True)
class LogGPParameter:
    """A parameter of LogGP.

    Parameters
    ----------
    symbol : str
        ``o_s`` and ``o_r`` (overheads of sending and receiving), ``L`` (latency), ``g`` (gap between
        messages), or ``G`` (gap per byte).
    value : float
        The median of the ranks' medians over launches.
    unit : str
        ``s``, or ``s/B``.
    interval : tuple of (float, float), optional
        95 % confidence interval of `value` by bootstrap over launches; None below three launches.
    least, greatest : float
        The least and the greatest of the ranks' medians over launches.
    source : str
        How it is measured.
    launches, ranks : int
        How many measured it.

    See Also
    --------
    loggp_parameters

    References
    ----------
    A. Alexandrov, M. F. Ionescu, K. E. Schauser, C. Scheiman, "LogGP: Incorporating Long Messages into the
    LogP Model", SPAA 1995.
    """

    symbol: str
    value: float
    unit: str
    interval: Interval
    least: float
    greatest: float
    source: str
    launches: int
    ranks: int


def loggp_parameters(results: Results) -> tuple[LogGPParameter, ...]:
    """Give the parameters of LogGP that launches measured.

    Parameters
    ----------
    results : Results
        Measured with ``loggp = true`` in ``[exchanges]``.

    Returns
    -------
    tuple of LogGPParameter
        In the order o_s, o_r, L, g, G; empty where they were not measured.

    Examples
    --------
    >>> import numpy as np
    >>> from pse.ace import CYCLE, EXCHANGE, Results
    >>> names = ("send_overhead", "receive_overhead", "latency", "gap", "gap_per_byte")
    >>> own = {"rank": 0, "partner": 1, **dict.fromkeys(names, 1e-6)}
    >>> tables = np.zeros(0, CYCLE), np.zeros(0, EXCHANGE)
    >>> found = loggp_parameters(Results(*tables, {"launches": [{"launch": 0, "loggp": [own]}]}))
    >>> found[0].symbol, found[0].value
    ('o_s', 1e-06)
    """
    measured = [launch["loggp"] for launch in results.metadata.get("launches", ()) if launch.get("loggp")]
    return tuple(_parameter(symbol, measured) for symbol in MEASURED) if measured else ()


def _parameter(symbol: str, launches: list[list[Mapping[str, Any]]]) -> LogGPParameter:
    name, unit, source = MEASURED[symbol]
    known = sorted({int(rank["rank"]) for launch in launches for rank in launch})
    values = np.full((len(launches), len(known)), np.nan)  # Of a rank without a partner a launch has none.
    for row, launch in zip(values, launches, strict=True):
        row[[known.index(int(rank["rank"])) for rank in launch]] = [rank[name] for rank in launch]
    ranks = np.nanmedian(values, axis=0)
    return LogGPParameter(
        symbol=symbol,
        value=float(np.median(ranks)),
        unit=unit,
        interval=launch_interval(values, _median_of_ranks),
        least=float(ranks.min()),
        greatest=float(ranks.max()),
        source=source,
        launches=len(launches),
        ranks=len(known),
    )


def _median_of_ranks(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Give the median over ranks, the last axis, of their medians over launches."""
    return np.asarray(np.nanmedian(np.nanmedian(values, axis=axis), axis=-1))


def loggp_frame(results: Results) -> pd.DataFrame:
    """Give the measured parameters of LogGP as a tidy data frame.

    Parameters
    ----------
    results : Results
        Measured with ``loggp = true`` in ``[exchanges]``.

    Returns
    -------
    pandas.DataFrame
        A row for each launch and rank: ``launch``, ``rank``, ``partner``, ``o_s``, ``o_r``, ``L`` and ``g``
        in s, ``G`` in s/B; no rows where they were not measured.

    Examples
    --------
    >>> import numpy as np
    >>> from pse.ace import CYCLE, EXCHANGE, Results
    >>> list(loggp_frame(Results(np.zeros(0, CYCLE), np.zeros(0, EXCHANGE), {})).columns)
    ['launch', 'rank', 'partner', 'o_s', 'o_r', 'L', 'g', 'G']
    """
    import pandas as pd

    rows = [
        (
            launch["launch"],
            int(own["rank"]),
            int(own["partner"]),
            *(own[name] for name, *_ in MEASURED.values()),
        )
        for launch in results.metadata.get("launches", ())
        for own in launch.get("loggp", ())
    ]
    return pd.DataFrame(rows, columns=["launch", "rank", "partner", *MEASURED])
