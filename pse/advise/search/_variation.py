"""How a run time varies, and which parts of the variance call sites carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pse.advise.model._cost_model import Floats

BOUNDS = (0.025, 0.5, 0.975)


@dataclass(frozen=True)
class SiteVariation:
    """What the messages of one call site do to the run time.

    Parameters
    ----------
    site : str
        The call site, with its line.
    messages : int
        How many messages it sends from node to node in a run; of an MPI program also how many collective
        operations it takes part in.
    seconds : float
        What they take together without variation, s.
    share : float
        The part of the run time's variance that they carry.
    noun : str
        What is counted: ``message``, or ``collective operation``.

    See Also
    --------
    sensitivity
    """

    site: str
    messages: int
    seconds: float
    share: float
    noun: str = "message"


@dataclass(frozen=True)
class Sensitivity:
    """How a program's run time varies with the network.

    Parameters
    ----------
    program : str
        Path of the program, or of the trace of an MPI program.
    measured : float
        Seconds that the traced run took.
    simulated : float
        Seconds that its simulation takes: a check of the model.  All other times are scaled by the ratio.
    steady : float
        Seconds that it takes if all messages take what the model says.
    median, low, high : float
        Seconds with variation: the median, and the interval of 95 % of runs.
    sigma : float
        Standard deviation of the run time, s.
    launches : float
        The part of the variance that whole runs carry: days and launches on which all messages are slow.
    sites : tuple of SiteVariation
        Call sites, or call paths of an MPI program, those first that carry most.
    draws : int
        How many runs were simulated.
    notes : tuple of str
        What the trace lacks, or what is replayed otherwise than it was.

    See Also
    --------
    sensitivity
    """

    program: str
    measured: float
    simulated: float
    steady: float
    median: float
    low: float
    high: float
    sigma: float
    launches: float
    sites: tuple[SiteVariation, ...]
    draws: int
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give all that JSON can say."""
        return asdict(self)


def varied(times: Floats, *, sites: Sequence[SiteVariation], **known: Any) -> Sensitivity:
    """Describe the distribution of run times, s."""
    low, median, high = np.quantile(times, BOUNDS)
    return Sensitivity(
        median=float(median),
        low=float(low),
        high=float(high),
        sigma=float(times.std(ddof=1)),
        sites=tuple(sorted(sites, key=lambda one: -one.share)),
        draws=len(times),
        **known,
    )


def attributed(times: Floats, columns: Floats, rounds: float = 1.0) -> tuple[Floats, list[float]]:
    """Give run times, and the parts of their variance that each column carries.

    Columns are the factors of whole runs, then the extra seconds of each site's messages; a row is a draw.
    Where a simulated round stands for several, the deviations of its messages count for all of them alike;
    in a real run they would be drawn for each, so what is due to messages is reduced accordingly.
    """
    columns = columns - columns.mean(axis=0)
    scale = columns.std(axis=0)
    columns /= np.where(scale > 0, scale, 1.0)
    centred = times - times.mean()
    weights = np.linalg.lstsq(columns, centred, rcond=1e-9)[0]
    by_launch = columns[:, 0] * weights[0]
    centred = by_launch + (centred - by_launch) / np.sqrt(rounds)
    weights[1:] /= np.sqrt(rounds)
    whole = float(centred @ centred)
    parts = weights * (columns.T @ centred) / whole if whole > 0 else np.zeros(len(weights))
    return times.mean() + centred, np.clip(parts, 0, 1).tolist()
