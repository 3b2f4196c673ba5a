"""Waiting in collective operations: the parts of all ranks put together, and the formulas of their kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pse.analysis.patterns import _collective as collective
from pse.analysis.patterns._collective import Operations
from pse.trace import NONE
from pse.trace.format import Array
from pse.trace.query import Communicators

_Formula = Callable[[Operations], Array]
_PATTERNS: tuple[tuple[tuple[int, ...], tuple[tuple[str, _Formula], ...]], ...] = (
    (
        collective.BARRIERS,
        (
            ("mpi_barrier_wait", collective.wait_at_barrier),
            ("mpi_barrier_completion", collective.barrier_completion),
        ),
    ),
    (
        collective.N_TO_N,
        (
            ("mpi_wait_nxn", collective.wait_at_n_to_n),
            ("mpi_nxn_completion", collective.n_to_n_completion),
        ),
    ),
    (collective.ONE_TO_N, (("mpi_latebroadcast", collective.late_broadcast),)),
    (collective.N_TO_ONE, (("mpi_earlyreduce", collective.early_reduce),)),
    (collective.SCANS, (("mpi_earlyscan", collective.early_scan),)),
)
"""Kinds of operations, and the metrics and formulas of each."""


def collective_waits(parts: Array, far: Array) -> Iterator[tuple[str, Array, Array, Array]]:
    """Search the wait states of collective operations.

    Parameters
    ----------
    parts : array of PART_DTYPE
        All parts of complete operations, by operation, then by place.
    far : array of bool, shape (parts,)
        Whether the operation has ranks on several metahosts.

    Yields
    ------
    metric : str
        Name of the metric.
    rows : array of PART_DTYPE
        Some of the parts.
    waits : array of float64, shape (rows,)
        Their waiting times, ns.
    far : array of bool, shape (rows,)
        What `far` says of them.
    """
    for kinds, patterns in _PATTERNS:
        chosen = np.isin(parts["operation"], kinds)
        rows = parts[chosen]
        if len(rows):
            operations = operations_of(rows)
            for metric, formula in patterns:
                yield metric, rows, formula(operations), far[chosen]


def complete_operations(parts: Array, known: Communicators) -> tuple[Array, int]:
    """The parts of operations with all ranks of their communicators, and the number of other operations.

    They come by operation, then by place.  Where ranks differ in what an operation is, it is not complete.
    """
    parts = parts[parts["communicator"] != NONE]
    sizes = [1 + int(parts[name].max(initial=0)) for name in ("ordinal", "place")]
    key = parts["communicator"].astype("<u8") * np.uint64(sizes[0]) + parts["ordinal"]
    if sizes[0] * sizes[1] * (1 + len(known.sizes)) < 1 << 64:
        order = np.argsort(key * np.uint64(sizes[1]) + parts["place"], kind="stable")
    else:
        order = np.lexsort((parts["place"], key))
    parts = parts[order]
    starts = operation_starts(parts)
    if not len(starts):
        return parts, 0
    counts = np.diff(np.append(starts, len(parts)))
    is_whole = counts == known.sizes[parts["communicator"][starts]]
    for name in ("operation", "root"):
        is_whole &= np.maximum.reduceat(parts[name], starts) == np.minimum.reduceat(parts[name], starts)
    return parts[np.repeat(is_whole, counts)], int((~is_whole).sum())


def operations_of(parts: Array) -> Operations:
    """The parts of operations as formulas take them; they come by operation, then by place."""
    begin, end = np.ascontiguousarray(parts["begin"]), np.ascontiguousarray(parts["end"])
    is_root = parts["root"] == parts["place"]
    return Operations(operation_starts(parts), begin, end, parts["sends"], parts["receives"], is_root)


def operation_starts(parts: Array) -> Array:
    """The first row of each operation; parts come by operation."""
    is_first = np.ones(len(parts), bool)
    is_first[1:] = (parts["ordinal"][1:] != parts["ordinal"][:-1]) | (
        parts["communicator"][1:] != parts["communicator"][:-1]
    )
    return np.flatnonzero(is_first)
