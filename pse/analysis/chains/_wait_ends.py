"""How every wait of a run ended, as one table: what a page holds to tell the chain of each of them."""

from __future__ import annotations

import numpy as np

from pse.analysis._activity import Activity, BlockKind, rank_activity
from pse.analysis.chains._mpi_wait_causes import mpi_wait_causes
from pse.analysis.waits._chain_text import RELEASES
from pse.analysis.waits._wait_causes import wait_causes
from pse.analysis.waits._wake_candidates import CauseKind
from pse.text import size_text
from pse.trace.format import NONE, Array, WaitReason
from pse.trace.query import Names, Trace, mpi_messages, transfer_way

WAIT_END_DTYPE = np.dtype(
    [
        ("rank", "<u4"),
        ("begin", "<i8"),  # ns: of the wait, or of the call of MPI
        ("since", "<i8"),  # ns: begin of the first wait for the same
        ("until", "<i8"),  # ns: end of the last wait for the same
        ("late", "<u4"),  # the rank that ended it; NONE: nobody that the trace shows
        ("time", "<i8"),  # ns: when that rank did so
        ("how", "<u4"),  # what it did, in the list of texts
    ]
)


def wait_ends(trace: Trace) -> tuple[Array, list[str]]:
    """Tell of all waits, and all calls of MPI in which a rank waited, how they ended.

    Parameters
    ----------
    trace : Trace
        The run.

    Returns
    -------
    array of WAIT_END_DTYPE
        By rank, then by begin: ``rank``, ``begin``, ``since`` and ``until`` (begin of the first and end of
        the last wait for the same), ``late`` (the rank that ended it, or `NONE`), ``time`` (when it did so)
        and ``how`` (what it did); times in ns since the run's origin.
    list of str
        What ``how`` counts in: ``handed over image (4.00 KiB by descriptor)``.

    Examples
    --------
    >>> ends, texts = pse.analysis.wait_ends(trace)
    >>> [(int(end["late"]), int(end["time"]), texts[end["how"]]) for end in ends[:1]]
    [(1, 14000000, 'handed over result (4.00 KiB by descriptor)')]
    """
    activity = rank_activity(trace)
    waits, texts = _of_waits(activity)
    routines, more = _of_routines(activity)
    routines["how"] += len(texts)
    found = np.concatenate([waits, routines])
    return found[np.lexsort((found["begin"], found["rank"]))], texts + more


def _of_waits(activity: Activity) -> tuple[Array, list[str]]:
    blocks = activity.blocks
    waits = blocks[blocks["kind"] == BlockKind.WAIT]
    causes = wait_causes(activity)[waits["last"]]
    found = _ends(waits["rank"], waits["begin"], waits["since"], blocks["end"][waits["last"]], causes)
    reasons = activity.waits["reason"][waits["row"]]
    tags, among = activity.messages, activity.partition_messages
    edge, size, flags = (
        np.full(len(waits), NONE, "<u4"),
        np.zeros(len(waits), "<i8"),
        np.zeros(len(waits), "<i8"),
    )
    is_tag = (causes["kind"] == CauseKind.TAG) & (causes["message"] >= 0)
    is_message = (causes["message"] >= 0) & ~is_tag
    for chosen, table in ((is_tag, tags), (is_message, among)):
        size[chosen], flags[chosen] = (table[name][causes["message"][chosen]] for name in ("bytes", "flags"))
    edge[is_tag] = tags["edge"][causes["message"][is_tag]]
    names = Names(activity.trace)
    keys = np.stack([causes["kind"], np.where(causes["message"] >= 0, 0, reasons), edge, size, flags], axis=1)
    rows, found["how"] = _numbered(keys)
    return found, [_text(names, *row) for row in rows]


def _of_routines(activity: Activity) -> tuple[Array, list[str]]:
    causes = mpi_wait_causes(activity)[:, 1]
    chosen = causes["rank"] != NONE
    calls, causes = activity.routines[chosen], causes[chosen]
    found = _ends(calls["rank"], calls["enter"], calls["enter"], calls["leave"], causes)
    size, is_message = np.zeros(len(calls), "<i8"), causes["message"] >= 0
    if is_message.any():
        size[is_message] = mpi_messages(activity.trace)["bytes"][causes["message"][is_message]]
    rows, found["how"] = _numbered(np.stack([causes["kind"], size], axis=1))
    return found, [_routine_text(*row) for row in rows]


def _numbered(keys: Array) -> tuple[list[list[int]], Array]:
    """The different rows, and for each row its number among them."""
    rows, numbers = np.unique(keys.astype("<i8"), axis=0, return_inverse=True)
    return rows.tolist(), numbers.reshape(-1)


def _ends(rank: Array, begin: Array, since: Array, until: Array, causes: Array) -> Array:
    found = np.zeros(len(rank), WAIT_END_DTYPE)
    columns = (rank, begin, since, until, causes["rank"], causes["time"])
    for name, column in zip(("rank", "begin", "since", "until", "late", "time"), columns, strict=True):
        found[name] = column
    return found


def _text(names: Names, kind: int, reason: int, edge: int, size: int, flags: int) -> str:
    """What a rank did that ended a wait between calls."""
    if kind == CauseKind.OTHER:
        known = WaitReason(reason).name.lower() if reason in WaitReason.__members__.values() else ""
        return RELEASES.get(known, "woke it")
    way = transfer_way(flags)
    amount = f"{size_text(size)} {way}" if size else way
    if kind == CauseKind.TAG:
        return f"handed over {names.tag(edge)} ({amount})"
    return f"{'took' if kind == CauseKind.LATE_RECEIVER else 'sent'} a message ({amount})"


def _routine_text(kind: int, size: int) -> str:
    """What a rank did that ended the waiting in a call of MPI."""
    did = {
        CauseKind.MESSAGE: "sent its message",
        CauseKind.LATE_RECEIVER: "posted the receive for its message",
    }
    text = did.get(CauseKind(kind), "came to it")
    return f"{text} ({size_text(size)})" if size else text
