"""What may help against the longest waits: who waits where, and the usual remedy, a sentence each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pse.analysis.cube._cube import Cube
from pse.analysis.cube._cube_text import longest_waits
from pse.analysis.cube._metrics import BY_NAME, GRID, LISTED_WAITS
from pse.analysis.cube._root_cause_text import delay_costs
from pse.text import count_text, list_text, share_text, source_line
from pse.trace.format import Array

_LEAST = 0.01  # Of all time; shorter waits aren't worth a sentence.
_NAMED = 3  # Ranks, and causes.
_MOST = 0.9
_MAIN = 0.5

_REMEDIES = {
    "mpi_latesender": "Their senders come late: let these send before their other work, or share work evenly",
    "mpi_latesender_wo": "Other messages were there already: receive in the order in which they come, with"
    " MPI_ANY_SOURCE or one MPI_Waitall for all; if these are of a later step, share the work evenly",
    "mpi_latereceiver": "Post the receives with MPI_Irecv before the senders need them, or send with"
    " MPI_Isend and complete it later",
    "mpi_wait_nxn": "Ranks come at different times: share the work before it evenly, or start it with its"
    " non-blocking form and work on until its result is needed",
    "mpi_neighbor_wait": "Neighbours come at different times: share the work before it evenly, or start it"
    " with its non-blocking form and work on until its result is needed",
    "mpi_nxn_completion": "This is the operation's own time: call it less often with more data",
    "mpi_barrier_wait": "Ranks come at different times: leave the barrier out if messages order them anyway,"
    " or share the work before it evenly",
    "mpi_barrier_completion": "This is the barrier's own time: leave it out if messages order ranks anyway",
    "mpi_nonblocking_wait": "Other ranks start the operation late: let these start it before their other"
    " work, or complete it later",
    "mpi_nonblocking_barrier_wait": "The last rank starts the barrier late: let it start it before its other"
    " work, or complete it later",
    "mpi_other_wait": "Ranks come at different times: share the work before it evenly, or call it where all"
    " come together anyway",
    "mpi_earlyreduce": "The root comes first: give it more of the work, or let it start the non-blocking form"
    " and work on",
    "mpi_earlyscan": "Ranks before these come late: share the work before it evenly, the lower ranks' first",
    "mpi_latebroadcast": "The root comes late: let it send before its other work, or start the non-blocking"
    " form and work on until the data is needed",
    "partition_parked": "Partitions wait for each other's messages: send before other work, or let each"
    " processor have more partitions",
    "arena_wait": "Memory is short until readers free it: make these faster, or let fewer iterations be in"
    " flight; a larger arena helps only for a while, unless they keep up on average",
    "readers_wait": "A call changes in place what others still read: let it write another tag",
    "transfer_wait": "The link between nodes is slow for what is sent: keep calls that share large tags on"
    " one node, or let more iterations be in flight",
    "order_wait": "Calls with a communicator run in one order: use fewer of them, or one communicator each",
    "iteration_wait": "The loop's inflight is the limit, as many iterations are under way: a larger inflight"
    " lets the next one begin, until the slowest call is the limit",
}
_SAME_SENDER = (
    "Other messages of the same sender were there already: receive in the order in which it sends, or with"
    " MPI_ANY_TAG or one MPI_Waitall for all"
)
_EARLY_RECEIVE = (
    "Post the receive earlier with MPI_Irecv and wait where its data is needed; or let senders send"
)
_RING = (
    "Data goes round all ranks in {} shifts, each of which waits for the one before: let a collective"
    " operation do it in fewer steps, MPI_Allgather, or MPI_Allreduce where data is combined on the way"
)
_ONCE = (
    "Each waits once, as at the start, so that no other thread and no deeper queue can make it shorter: make"
    " what comes before it faster, or let it begin sooner"
)
_OF_QUEUES = {
    "queue_empty": (
        "What defines the tag is slower than its readers",
        "{} is the slowest call before the tag",
    ),
    "queue_full": ("What reads the tag is slower than this thread", "{} is the slowest call behind the tag"),
}
"""Waits at queues: what is slow, and the same if it is known."""
_ELSEWHERE = {
    "queue_empty": "give it a thread of its own, or let more iterations be in flight",
    "queue_full": "give it a thread of its own, or more processors; deeper queues help only for a while",
}
_FASTER = {
    "queue_empty": "make it faster, or share it among more processors",
    "queue_full": "make it faster, or share it among more processors; deeper queues help only for a while",
}
"""Where it has a thread of its own already."""
_NO_FUNCTIONS = (
    "The trace has no functions outside of MPI; to see which one it is, record them: compile with"
    " -finstrument-functions, or name regions with pse_regions.h. "
)
_ONE_SIDED = re.compile(
    r"MPI_Win_(post|start|complete|wait|(un)?lock(_all)?|flush(_local)?(_all)?)|MPI_(Fetch_and_op|Compare_and_swap)"
)
"""Routines that may wait for others, of which the trace does not tell for whom."""
_RING_WAITS = ("mpi_latesender", "mpi_latesender_wo", "mpi_latereceiver")
_BETWEEN_METAHOSTS = "If the link between metahosts is slow, let fewer and larger messages cross it"


def remedies(cube: Cube, top: int = 3) -> Iterator[str]:
    """Say in words who waits the longest where, and what usually helps.

    Parameters
    ----------
    cube : Cube
        The cube.
    top : int, default 3
        For how many waits. Those of less than 1 % of all time are left out.

    Yields
    ------
    str
        Two sentences for each, and a third where the late ranks are known.  Last come as many places of
        one-sided communication in which ranks are for 1 % of all time and more.

    Examples
    --------
    >>> print(*remedies(cube), sep="\\n")
    Late sender: rank 1 waits 37 % of all time in MPI_Recv. For 100 % of these waits rank 0 is late, ...
    """
    whole, hint = cube.total("time"), _NO_FUNCTIONS if _has_no_functions(cube) else ""
    for wait in _waits_by_place(cube)[: max(top, 0)]:
        if whole and wait.values.sum() >= _LEAST * whole:
            share = share_text(wait.values.sum() / whole)
            who = f"{_who(cube, wait.values)} {share} of all time in {wait.where}{_far(wait)}"
            crosses = wait.far >= _LEAST * whole and "barrier" not in wait.metric
            link = f"{_BETWEEN_METAHOSTS}. " if crosses else ""
            remedy = _remedy(cube, wait.metric, wait.paths[0])
            cause = _root_cause(cube, wait)
            said = hint if f", in {_outside_of_calls(cube.call_paths[0].name)}" in cause else ""
            hint = "" if said else hint
            yield f"{_title(wait)}: {who}. {cause}{said}{link}{remedy}."
    yield from _one_sided(cube, max(top, 0))


def _one_sided(cube: Cube, top: int) -> Iterator[str]:
    """Say where ranks are in one-sided communication that may wait."""
    chosen = [_ONE_SIDED.fullmatch(path.name) is not None for path in cube.call_paths]
    for where, values in _by_place(cube, cube.exclusive("mpi_other") * np.array(chosen)[:, None])[:top]:
        share = values.sum() / max(cube.total("time"), 1)
        if share >= _LEAST:
            ranks, several = _ranks(cube, values)
            who = f"{ranks} {'are' if several else 'is'} {share_text(share)} of all time in {where}"
            whom = f"For whom {'they wait' if several else 'it waits'} there, the trace does not tell"
            yield f"One-sided communication: {who}. {whom}."


class _Wait(NamedTuple):
    """A wait state in one place of the program, whatever called that, with its grid version."""

    metric: str
    where: str
    paths: list[int]  # The one with the longest waits first.
    values: Array  # By location.
    far: float  # Of the values, those of the grid version.


def _title(wait: _Wait) -> str:
    return BY_NAME[wait.metric + GRID if wait.far >= wait.values.sum() else wait.metric].title


def _far(wait: _Wait) -> str:
    """Say how much of a wait is between metahosts, if it is neither all nor nothing."""
    share = wait.far / wait.values.sum()
    return f", {share_text(share)} of that between metahosts" if 0 < share < 1 else ""


def _waits_by_place(cube: Cube) -> list[_Wait]:
    """Wait states by place, the longest first."""
    found: dict[tuple[str, str], _Wait] = {}
    for metric, path, values in longest_waits(cube, len(cube.call_paths) * len(LISTED_WAITS)):
        if _is_of_runtime(cube, path):
            continue
        state, where = metric.removesuffix(GRID), _where(cube, path)
        known = found.get((state, where), _Wait(state, where, [], np.zeros_like(values), 0.0))
        paths = known.paths if path in known.paths else [*known.paths, path]
        far = known.far + (values.sum() if metric != state else 0.0)
        found[state, where] = _Wait(state, where, paths, known.values + values, far)
    return sorted(found.values(), key=lambda wait: -wait.values.sum())


def _is_of_runtime(cube: Cube, path: int) -> bool:
    """Whether a routine of MPI is called by the runtime of a Coven program itself, as when ranks start."""
    if not cube.call_paths[0].name.endswith(".coven") or cube.call_paths[path].kind != "routine":
        return False
    while path >= 0 and cube.call_paths[path].kind != "module":
        path = cube.call_paths[path].parent
    return path < 0


def _by_place(cube: Cube, costs: Array) -> list[tuple[str, Array]]:
    """Costs of call paths by the place of the program that these end in, the largest first."""
    found: dict[str, Array] = {}
    for path in np.flatnonzero(costs.any(axis=1)).tolist():
        where = _where(cube, path)
        found[where] = found.get(where, np.zeros(costs.shape[1])) + costs[path]
    return sorted(found.items(), key=lambda place: -place[1].sum())


def _root_cause(cube: Cube, wait: _Wait) -> str:
    """Say where the late ranks were for most of the waiting in a place, else in the whole program."""
    nothing = np.zeros((len(cube.call_paths), len(cube.locations)))
    costs, whose = sum((cube.causes_of(wait.metric, path) for path in wait.paths), nothing), "these waits"
    if not costs.any():
        costs, whose = delay_costs(cube, wait.metric), "such waits in the whole program"
    if not costs.any():
        return ""
    places = _by_place(cube, costs)
    sums = np.array([own.sum() for _, own in places])
    enough = int(np.searchsorted(np.cumsum(sums), _MOST * sums.sum())) + 1
    causes = [
        (share_text(own.sum() / sums.sum()), *_ranks(cube, own), where)
        for where, own in places[: min(enough, _NAMED)]
    ]
    if len(causes) > 1:
        late = "; ".join(f"{share} are for {ranks}, in {where}" for share, ranks, _, where in causes)
        return f"Of {whose} {late}. "
    [(share, ranks, several, where)] = causes
    return f"For {share} of {whose} {ranks} {'are' if several else 'is'} late, in {where}. "


def _has_no_functions(cube: Cube) -> bool:
    """Whether no function of a program other than Coven's has time of its own."""
    is_coven = cube.call_paths[0].name.endswith(".coven")
    return not is_coven and not cube.exclusive("execution")[1:].any()


def _who(cube: Cube, values: Array) -> str:
    """The ranks that wait for most of the time, and the verb."""
    ranks, several = _ranks(cube, values)
    return f"{ranks} wait" if several else f"{ranks} waits"


def _ranks(cube: Cube, values: Array) -> tuple[str, bool]:
    """The ranks that most of the values are of, and whether they are several."""
    order = np.argsort(-values, kind="stable")
    enough = int(np.searchsorted(np.cumsum(values[order]), _MOST * values.sum())) + 1
    if enough > _NAMED:
        return count_text(enough, "rank"), True
    ranks = sorted({cube.locations[place].rank for place in order[:enough].tolist()})
    words = list_text(map(str, ranks))
    return (f"ranks {words}", True) if len(ranks) > 1 else (f"rank {words}", False)


def _where(cube: Cube, path: int) -> str:
    """The routine or call of a call path, and the nearest place in a text that is known."""
    if cube.call_paths[path].kind == "wait":
        path = cube.call_paths[path].parent
    if cube.call_paths[path].kind == "program":
        return _outside_of_calls(cube.call_paths[path].name)
    name = cube.call_paths[path].name.partition(" (line ")[0]
    start = path
    while path >= 0 and not cube.call_paths[path].place:
        path = cube.call_paths[path].parent
    around = cube.call_paths[cube.call_paths[start].parent]
    if path < 0:
        return f"{name} of {around.name}" if around.kind == "routine" else name
    own = cube.call_paths[path]
    of = f" of {own.name}" if own.kind == "routine" and path != start else ""
    if of and around is not own and around.kind == "routine":
        of = f" of {around.name}, called from {own.name}"
    place = source_line(own.place) if own.kind == "routine" else ""
    return f"{name}{of} ({place or own.place})"


def _outside_of_calls(program: str) -> str:
    is_coven = program.endswith(".coven")
    return f"{program}, before, between or after its calls" if is_coven else f"{program}, outside of MPI"


def _remedy(cube: Cube, metric: str, path: int) -> str:
    if metric in _RING_WAITS and (shifts := _shifts_beside(cube, path)):
        return _RING.format(shifts)
    if metric == "mpi_latesender" and not cube.call_paths[path].name.startswith("MPI_Wait"):
        return f"{_EARLY_RECEIVE} before their other work"
    if metric == "mpi_latesender_wo" and _is_of_one_sender(cube, path):
        return _SAME_SENDER
    if metric in _OF_QUEUES:
        return _ONCE if _is_once(cube, metric, path) else _of_queue(cube, metric, path)
    return _REMEDIES.get(metric) or BY_NAME[metric].meaning.rstrip(".")


def _is_once(cube: Cube, metric: str, path: int) -> bool:
    """Whether a single wait of each rank is most of its waiting in a call path."""
    longest, values = cube.longest_instance(metric, path), cube.exclusive(metric)[path]
    return longest is not None and bool(longest["value"] * np.count_nonzero(values) >= _MOST * values.sum())


def _is_of_one_sender(cube: Cube, path: int) -> bool:
    """Whether messages in wrong order are mostly those of one sender."""
    same, different = (cube.exclusive(f"mpi_lswo_{name}")[path].sum() for name in ("same", "different"))
    return bool(same > different)


def _of_queue(cube: Cube, metric: str, path: int) -> str:
    """What helps at a queue: against the slowest call, or against inflight if that is waited for as long."""
    waits = cube.exclusive(metric)[path].sum()
    if metric == "queue_empty" and cube.total("iteration_wait") >= _MAIN * waits:
        return _REMEDIES["iteration_wait"]
    costs = cube.causes_of(metric, path)
    unknown, known = _OF_QUEUES[metric]
    slowest = int(costs.sum(axis=1).argmax())
    is_main = costs.any() and costs[slowest].sum() >= _MAIN * costs.sum()
    is_call = cube.call_paths[slowest].kind == "module"
    slow = known.format(cube.call_paths[slowest].name) if is_main and is_call else unknown
    alone = _is_alone(cube, costs)
    return f"{slow}, and alone on its thread: {_FASTER[metric]}" if alone else f"{slow}: {_ELSEWHERE[metric]}"


def _is_alone(cube: Cube, costs: Array) -> bool:
    """Whether the rank that is late the longest calls one module only."""
    modules = [number for number, own in enumerate(cube.call_paths) if own.kind == "module"]
    if not costs.any() or "visits" not in cube.values:
        return False
    late = int(costs.sum(axis=0).argmax())
    return int(np.count_nonzero(cube.values["visits"][modules, late])) == 1


def _shifts_beside(cube: Cube, path: int) -> int:
    """How many shifts the ring has that a call path belongs to; 0: there is none."""
    if "ring_shifts" not in cube.values:
        return 0
    parent = cube.call_paths[path].parent
    beside = [number for number, own in enumerate(cube.call_paths) if own.parent == parent]
    return len(cube.ranks) - 1 if cube.values["ring_shifts"][beside].any() else 0
