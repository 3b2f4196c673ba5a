"""What a report says, as JSON: all figures of its tables, in seconds and bytes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any

from pse.emulate.model._loggp import loggp_parameters
from pse.emulate.results._results import Results
from pse.emulate.statistics._disturbances import disturbances
from pse.emulate.statistics._prediction import loaded_ratios, run_times
from pse.emulate.statistics._summary import summaries


def report_json(results: Results, *, by: str = "application", alone: Results | None = None) -> dict[str, Any]:
    """Give what `print_report` prints, as JSON can say it.

    Parameters
    ----------
    results : Results
        What was measured.
    by : {"application", "rank", "pattern"}
        What gets a summary of its own.
    alone : Results, optional
        The same applications, each alone.

    Returns
    -------
    dict
        ``run_times``, ``dispersion``, ``loaded``, ``loggp`` and ``disturbances``: lists of objects, whose
        keys are the attributes of `RunTime`, `Summary`, `Loaded`, `LogGPParameter` and `Disturbance`; and
        ``metadata``.

    Raises
    ------
    UsageError
        There are neither cycles nor exchanges.

    Examples
    --------
    >>> report_json(pse.ace.Results.load("run.ace"))["run_times"]
    [{'name': 'halo', 'ranks': 4, 'size': 1024, ...}]
    """
    has_cycles = len(results.cycles) > 0
    listed = results.metadata.get("applications", ())
    has_alone = has_cycles and (alone is not None or any(one.get("alone") for one in listed))
    return {
        "run_times": _objects(run_times(results) if has_cycles else ()),
        "dispersion": _objects(summaries(results, by) if has_cycles else ()),
        "loaded": _objects(loaded_ratios(results, alone) if has_alone else ()),
        "loggp": _objects(loggp_parameters(results)),
        "disturbances": _objects(disturbances(results)),
        "metadata": dict(results.metadata),
    }


def _objects(found: Iterable[Any]) -> list[Any]:
    return [_without_nan(dataclasses.asdict(one)) for one in found]


def _without_nan(value: Any) -> Any:
    """Replace what JSON has no number for by null."""
    if isinstance(value, Mapping):
        return {str(key): _without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
