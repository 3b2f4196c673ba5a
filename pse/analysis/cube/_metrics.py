"""The tree of metrics: what each measures, under which it counts, and what the routines of MPI are for.

Names are those of SCALASCA where it has the metric.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pse.errors import UsageError
from pse.text import did_you_mean


@dataclass(frozen=True)
class Metric:
    """A metric.

    Parameters
    ----------
    name : str
        Its name in files and reports.
    parent : str
        The metric that includes it; "" for none.
    unit : str
        ``ns``, ``bytes``, or "" for counts.
    title : str
        A few words for people.
    meaning : str
        A sentence.

    Examples
    --------
    >>> metric = next(one for one in pse.analysis.METRICS if one.name == "mpi_latesender")
    >>> metric.title, metric.unit, metric.parent
    ('Late sender', 'ns', 'mpi_point2point')
    """

    name: str
    parent: str
    unit: str
    title: str
    meaning: str


def _metric(name: str, parent: str, title: str, meaning: str, unit: str = "ns") -> Metric:
    return Metric(name, parent, unit, title, meaning)


WAIT_OF_DELAY = {
    "latesender": "mpi_latesender",
    "latereceiver": "mpi_latereceiver",
    "barrier": "mpi_barrier_wait",
    "n2n": "mpi_wait_nxn",
    "neighbor": "mpi_neighbor_wait",
    "12n": "mpi_latebroadcast",
    "n21": "mpi_earlyreduce",
    "scan": "mpi_earlyscan",
    "nonblocking": "mpi_nonblocking_wait",
    "nonblocking_barrier": "mpi_nonblocking_barrier_wait",
    "other": "mpi_other_wait",
    **{name: name for name in ("queue_empty", "queue_full", "partition_parked", "arena_wait")},
    **{name: name for name in ("readers_wait", "transfer_wait", "order_wait")},
    **{name: name for name in ("iteration_wait", "start_wait")},
}
"""The wait states of which the root causes are known, by what names of metrics of their costs end in."""

_TIMES: tuple[Metric, ...] = (
    _metric("time", "", "Time", "All time of all ranks."),
    _metric("execution", "time", "Execution", "Time outside of MPI and of the runtime's waits."),
    _metric("thread_wait", "time", "Wait for threads", "A thread waits for another one of its rank to end."),
    _metric("mpi", "time", "MPI", "Time in routines of MPI."),
    _metric("mpi_communication", "mpi", "MPI communication", "Time in routines that exchange data."),
    _metric("mpi_point2point", "mpi_communication", "Point-to-point communication", "Time in messages."),
    _metric(
        "mpi_latesender",
        "mpi_point2point",
        "Late sender",
        "A receiver waits for a message of which sending begins late.",
    ),
    _metric(
        "mpi_latesender_wo",
        "mpi_latesender",
        "Messages in wrong order",
        "A receiver waits for a message, and receives another that was sent earlier later.",
    ),
    _metric(
        "mpi_lswo_different",
        "mpi_latesender_wo",
        "Wrong order, different sources",
        "The earlier message has another sender.",
    ),
    _metric(
        "mpi_lswo_same",
        "mpi_latesender_wo",
        "Wrong order, same source",
        "The earlier message has the same sender.",
    ),
    _metric(
        "mpi_latereceiver",
        "mpi_point2point",
        "Late receiver",
        "A sender waits for a receive that is posted late.",
    ),
    _metric(
        "mpi_collective",
        "mpi_communication",
        "Collective communication",
        "Time in collective operations that exchange data.",
    ),
    _metric(
        "mpi_earlyreduce", "mpi_collective", "Early reduce", "A root waits for the first rank with data."
    ),
    _metric("mpi_earlyscan", "mpi_collective", "Early scan", "A rank waits for those before it in a scan."),
    _metric(
        "mpi_latebroadcast", "mpi_collective", "Late broadcast", "Ranks wait for the root with their data."
    ),
    _metric(
        "mpi_wait_nxn",
        "mpi_collective",
        "Wait at N×N",
        "Ranks wait until the last one has come to an operation in which all need data of all.",
    ),
    _metric(
        "mpi_nxn_completion",
        "mpi_collective",
        "N×N completion",
        "Ranks stay in such an operation after the first one left it.",
    ),
    _metric(
        "mpi_neighbor_wait",
        "mpi_collective",
        "Wait for neighbours",
        "Ranks wait until the last neighbour has come that sends them data.",
    ),
    _metric(
        "mpi_nonblocking_wait",
        "mpi_collective",
        "Wait for non-blocking operation",
        "A call that completes a collective operation waits until those start it whose data it needs.",
    ),
    _metric(
        "mpi_synchronization", "mpi", "MPI synchronization", "Time in routines that only synchronize ranks."
    ),
    _metric(
        "mpi_barrier_wait",
        "mpi_synchronization",
        "Wait at barrier",
        "Ranks wait until the last one has come to a barrier.",
    ),
    _metric(
        "mpi_barrier_completion",
        "mpi_synchronization",
        "Barrier completion",
        "Ranks stay in a barrier after the first one left it.",
    ),
    _metric(
        "mpi_nonblocking_barrier_wait",
        "mpi_synchronization",
        "Wait for non-blocking barrier",
        "Ranks wait in the call that completes a barrier until the last one starts it.",
    ),
    _metric("mpi_init_exit", "mpi", "MPI start and end", "Time in MPI_Init, MPI_Finalize and their kin."),
    _metric("mpi_other", "mpi", "Other MPI", "Time in all other routines of MPI."),
    _metric(
        "mpi_other_wait",
        "mpi_other",
        "Wait at communicators, windows, files",
        "Ranks wait until the last one has come to an operation of all on a communicator, window or file.",
    ),
    _metric(
        "idle_end",
        "time",
        "Idle at the end",
        "A rank of the runtime has no more work, until its last event: others still work, or all end.",
    ),
    _metric("waiting", "time", "Waits between calls", "A rank of the runtime has no call that can start."),
    _metric("queue_empty", "waiting", "Queue empty", "A thread waits for a tag that another rank defines."),
    _metric("queue_full", "waiting", "Queue full", "A producer waits for a place in a queue."),
    _metric("partition_parked", "waiting", "Parked partition", "Partitions wait for messages of others."),
    _metric("arena_wait", "waiting", "Arena wait", "A call waits for room in the node's shared memory."),
    _metric(
        "readers_wait", "waiting", "Other readers", "A call waits for readers of what it changes in place."
    ),
    _metric("transfer_wait", "waiting", "Transfer between nodes", "A rank waits for a transfer to complete."),
    _metric("order_wait", "waiting", "Collective order", "A call waits for its turn among collective calls."),
    _metric("iteration_wait", "waiting", "Earlier iteration", "An iteration waits for one before it."),
    _metric(
        "start_wait", "waiting", "Start and end", "A rank waits for others at the start or end of the run."
    ),
)
_TITLES = {metric.name: metric.title for metric in _TIMES}
_DELAYS = tuple(
    _metric(
        f"delay_{name}{suffix}", "delay", f"{_TITLES[wait]}: {term} costs", f"Ranks wait for one that {late}."
    )
    for name, wait in WAIT_OF_DELAY.items()
    for suffix, term, late in (
        ("", "short-term", "spent more time here than they did"),
        ("_longterm", "long-term", "waited itself, for one that spent more time here"),
    )
)
"""Delay costs, named as by SCALASCA, which has only those of the first five wait states."""

_WITHOUT_GRID: tuple[Metric, ...] = (
    *_TIMES,
    _metric("delay", "", "Delay costs", "Waiting of others that a call path causes because ranks are late."),
    *_DELAYS,
    _metric(
        "critical_path",
        "",
        "Critical path",
        "Time on the path of calls that the end of the run waited for: only shortening it shortens the run.",
    ),
    _metric(
        "critical_path_imbalance",
        "critical_path",
        "Critical-path imbalance",
        "Time on that path beyond what ranks spent in the call path on average.",
    ),
    _metric("visits", "", "Visits", "How often a call path was entered.", unit=""),
    _metric("ring_shifts", "", "Shifts in rings", "Receives of data that goes round all ranks.", unit=""),
    _metric("bytes_sent", "", "Bytes sent", "Bytes that MPI's messages and collectives sent.", unit="bytes"),
    _metric("bytes_received", "", "Bytes received", "Bytes that they received.", unit="bytes"),
)

GRID = "_grid"
MORE_WAIT_STATES = (
    *("mpi_neighbor_wait", "mpi_nonblocking_wait", "mpi_nonblocking_barrier_wait", "mpi_other_wait"),
)
"""Wait states of MPI that SCALASCA does not have."""
_WITH_GRID = (
    *("mpi_latesender", "mpi_lswo_different", "mpi_lswo_same", "mpi_latereceiver", "mpi_earlyreduce"),
    *("mpi_earlyscan", "mpi_latebroadcast", "mpi_wait_nxn", "mpi_nxn_completion", "mpi_barrier_wait"),
    *("mpi_barrier_completion", "queue_full", "queue_empty", "partition_parked", "arena_wait"),
    *MORE_WAIT_STATES,
)


def _versions(metric: Metric) -> tuple[Metric, ...]:
    """A metric, and its part among several metahosts if there is one."""
    if metric.name not in _WITH_GRID:
        return (metric,)
    meaning = f"{metric.meaning} Ranks on different metahosts take part."
    return metric, _metric(metric.name + GRID, metric.name, f"{metric.title} (grid)", meaning)


METRICS = tuple(version for metric in _WITHOUT_GRID for version in _versions(metric))
"""All metrics, each followed by those that it includes."""

BY_NAME = {metric.name: metric for metric in METRICS}


def metric_named(name: str) -> Metric:
    """Find a metric by its name.

    Raises
    ------
    UsageError
        There is none of this name.
    """
    found = BY_NAME.get(name)
    if found is None:
        help = did_you_mean(name, BY_NAME) or "pse.analysis.METRICS has all of them"
        raise UsageError(f"there is no metric {name!r}", help=help)
    return found


def ancestors(name: str) -> tuple[str, ...]:
    """Name a metric and all that include it."""
    found = []
    while name:
        found.append(name)
        name = BY_NAME[name].parent
    return tuple(found)


GRID_STATES = tuple(name + GRID for name in _WITH_GRID)
"""Wait states among several metahosts."""

WAIT_STATES = (
    *("mpi_latesender", "mpi_latesender_wo", "mpi_latereceiver", "mpi_barrier_wait"),
    *("mpi_barrier_completion", "mpi_wait_nxn", "mpi_nxn_completion", "mpi_earlyreduce"),
    *("mpi_earlyscan", "mpi_latebroadcast"),
)
"""Wait states of MPI that SCALASCA has, too."""

ROOT_CAUSES = tuple(
    metric.name
    for metric in METRICS
    if "delay" in (metric.name, metric.parent) or metric.name.startswith("critical")
)
"""Delay costs, and the critical path."""

LISTED_WAITS = (
    *(*WAIT_STATES, *MORE_WAIT_STATES),
    *(name for name in GRID_STATES if BY_NAME[name].parent in (*WAIT_STATES, *MORE_WAIT_STATES)),
    *(metric.name for metric in METRICS if "waiting" in ancestors(metric.name)[1:]),
)
"""Waits in MPI and between calls, of which reports list the longest by call path."""

_JOINS = ("Thread.join", "pthread_join")
"""Functions and regions in which a thread only waits for another one of its rank."""
_SUFFIX = r"(_c)?"
_POINT_TO_POINT = re.compile(
    r"MPI_(I?[bsr]?send|I?m?recv|I?sendrecv(_replace)?|[bsr]?send_init|recv_init|p(send|recv)_init|start(all)?"
    r"|wait(all|any|some)?|test(all|any|some)?|i?m?probe|pready.*|parrived)" + _SUFFIX,
    re.IGNORECASE,
)
_COLLECTIVE = re.compile(
    r"MPI_I?(neighbor_)?(bcast|reduce|allreduce|reduce_scatter(_block)?|gatherv?|scatterv?|allgatherv?"
    r"|alltoall[vw]?|scan|exscan)(_init)?" + _SUFFIX,
    re.IGNORECASE,
)
_BARRIER = re.compile(r"MPI_I?barrier(_init)?", re.IGNORECASE)
_START_AND_END = re.compile(r"MPI_(init(_thread)?|finalize|session_(init|finalize))", re.IGNORECASE)


def metric_of_routine(name: str) -> str:
    """Give the metric that the time of a routine belongs to.

    Parameters
    ----------
    name : str
        Name of a routine.

    Returns
    -------
    str
        A metric's name.

    Examples
    --------
    >>> metric_of_routine("MPI_Recv"), metric_of_routine("MPI_Allreduce_c"), metric_of_routine("main")
    ('mpi_point2point', 'mpi_collective', 'execution')
    """
    kinds = {
        "mpi_point2point": _POINT_TO_POINT,
        "mpi_collective": _COLLECTIVE,
        "mpi_synchronization": _BARRIER,
        "mpi_init_exit": _START_AND_END,
    }
    if not name.startswith("MPI_"):
        return "thread_wait" if name in _JOINS else "execution"
    return next((metric for metric, pattern in kinds.items() if pattern.fullmatch(name)), "mpi_other")
