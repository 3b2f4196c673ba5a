# Bounds are checked once a call, which costs nothing there.
# cython: show_performance_hints=False
"""Python's face of the analysis of traces (one C file each): records in, call paths and operations out."""

from libc.stdint cimport int16_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from pse._abi.replay cimport (
    pse_replay_call, pse_replay_node, pse_replay_operation, pse_replay_profile_row, pse_replay_shift,
    pse_replay_span,
)
from pse.trace._recorder cimport pse_event


cdef extern from "call_paths.h" nogil:
    ctypedef struct pse_replay_paths:
        pse_replay_node *nodes
        uint64_t node_count
        pse_replay_call *calls
        uint64_t call_count
        pse_replay_operation *operations
        uint64_t operation_count, operation_room
        uint64_t lost_ends, open_calls, outside
        pse_replay_span *spans
        uint64_t span_count
        uint8_t has_spans

    int pse_replay_paths_begin(pse_replay_paths *paths)
    int pse_replay_paths_take(pse_replay_paths *paths, const pse_event *events, const int16_t *residuals,
                              uint64_t count)
    int pse_replay_paths_rest(pse_replay_paths *paths, uint64_t now, int16_t residual)
    int pse_replay_paths_finish(pse_replay_paths *paths, uint64_t last)
    void pse_replay_paths_free(pse_replay_paths *paths)

cdef extern from "wrong_order.h" nogil:
    void pse_replay_wrong_order(const double *sent, const uint8_t *late, const uint32_t *sender,
                                const uint32_t *call, uint64_t count, uint8_t *order)

cdef extern from "logical_clock.h" nogil:
    ctypedef struct pse_replay_order_of_events:
        const int64_t *time
        const uint8_t *is_first
        uint64_t events, joins
        const uint64_t *before
        const uint64_t *after
        const int64_t *latency
        uint64_t edges
        int64_t amortisation, reach

    int pse_replay_logical_clock(const pse_replay_order_of_events *order, int64_t *corrected,
                                 uint8_t *moved, uint64_t *circular)

cdef extern from "backward_amortisation.h" nogil:
    ctypedef struct pse_replay_shifts:
        pse_replay_shift *rows
        uint64_t count, room

    int pse_replay_amortise_backward(const pse_replay_order_of_events *order, const int64_t *corrected,
                                     const uint8_t *moved, pse_replay_shifts *found)

cdef extern from "time_profiles.h" nogil:
    ctypedef struct pse_replay_timeline:
        const double *begin
        const double *end
        const uint32_t *path
        uint64_t spans, paths
        const uint64_t *threads
        uint64_t thread_count

    ctypedef struct pse_replay_profiles:
        pse_replay_profile_row *rows
        uint64_t count, room

    int pse_replay_profile(const pse_replay_timeline *timeline, const double *starts, const double *stops,
                           uint64_t intervals, pse_replay_profiles *profiles)

cdef extern from "wait_propagation.h" nogil:
    ctypedef struct pse_replay_waits:
        const double *wait
        const double *cost
        const double *cause
        const uint64_t *first
        const uint64_t *last
        const double *before
        const uint64_t *order
        uint64_t count

    int pse_replay_propagate(const pse_replay_waits *waits, double *indirect)


cdef class CallPathReader:
    """Reads the records of one rank.

    Parameters
    ----------
    calls : bytes that can be written, 24 for each operation
        Gets the calls in which operations happened.
    operations : bytes that can be written, 40 for each operation of MPI among the records
        Gets the operations.
    has_spans : bool, default False
        Whether to keep when each call path's time was spent.
    """

    cdef pse_replay_paths *paths
    cdef uint8_t[::1] calls, operations

    def __cinit__(self, uint8_t[::1] calls, uint8_t[::1] operations, bint has_spans=False):
        cdef uint64_t room = operations.shape[0] // sizeof(pse_replay_operation)
        if calls.shape[0] // sizeof(pse_replay_call) < room:
            raise ValueError(f"room for {room} calls is expected")
        self.paths = <pse_replay_paths *>calloc(1, sizeof(pse_replay_paths))
        if self.paths == NULL:
            raise MemoryError()
        self.calls, self.operations = calls, operations
        self.paths.operation_room, self.paths.has_spans = room, has_spans
        if room:
            self.paths.calls = <pse_replay_call *>&calls[0]
            self.paths.operations = <pse_replay_operation *>&operations[0]
        if pse_replay_paths_begin(self.paths):
            raise MemoryError()

    def __dealloc__(self):
        if self.paths != NULL:
            pse_replay_paths_free(self.paths)
            free(self.paths)

    def take(self, const uint8_t[::1] records, const int16_t[::1] residuals=None):
        """Take the next records in; residuals: 65,536ths of a ns to add to their times."""
        cdef uint64_t count = records.shape[0] // sizeof(pse_event)
        cdef const int16_t *added = NULL
        cdef int failed
        if count == 0:
            return
        if residuals is not None:
            if <uint64_t>residuals.shape[0] != count:
                raise ValueError(f"{count} residuals are expected")
            added = &residuals[0]
        with nogil:
            failed = pse_replay_paths_take(self.paths, <const pse_event *>&records[0], added, count)
        if failed:
            raise MemoryError()

    def rest(self, uint64_t now, int16_t residual=0):
        """Take all time outside of calls from now on for the end of a rank that has no more work."""
        if pse_replay_paths_rest(self.paths, now, residual):
            raise MemoryError()

    def finish(self, uint64_t last):
        """End all calls that are open, at a time of the rank's clock; once, after all records."""
        if pse_replay_paths_finish(self.paths, last):
            raise MemoryError()

    @property
    def nodes(self):
        """The tree of calls, as bytes of `pse_replay_node`."""
        return (<const char *>self.paths.nodes)[:self.paths.node_count * sizeof(pse_replay_node)]

    @property
    def spans(self):
        """When its call paths' time was spent, as bytes of `pse_replay_span`."""
        return (<const char *>self.paths.spans)[:self.paths.span_count * sizeof(pse_replay_span)]

    @property
    def counts(self):
        """How many calls, operations, ends without begin, calls without end, operations in no call."""
        return (self.paths.call_count, self.paths.operation_count, self.paths.lost_ends,
                self.paths.open_calls, self.paths.outside)


def wrong_order(const double[::1] sent, const uint8_t[::1] late, const uint32_t[::1] sender,
                const uint32_t[::1] call, uint8_t[::1] order):
    """Mark the late messages of one rank that were received in wrong order.

    Parameters
    ----------
    sent : array of float64, shape (n,)
        For each message in the order of receiving, when its sending began.
    late : array of uint8, shape (n,)
        Whether the receiver waited for it.
    sender : array of uint32, shape (n,)
        Who sent it.
    call : array of uint32, shape (n,)
        Which call received it; at most one message of a call is late.
    order : array of uint8, shape (n,)
        Zeros; gets 1 where a message of the same sender was overtaken, 2 where one of another sender was.
    """
    cdef uint64_t count = sent.shape[0]
    if {late.shape[0], sender.shape[0], call.shape[0], order.shape[0]} != {sent.shape[0]}:
        raise ValueError(f"{count} messages are expected")
    if count:
        with nogil:
            pse_replay_wrong_order(&sent[0], &late[0], &sender[0], &call[0], count, &order[0])


def logical_clock(const int64_t[::1] time, const uint8_t[::1] is_first, const uint64_t[::1] before,
                  const uint64_t[::1] after, const int64_t[::1] latency, int64_t amortisation,
                  int64_t reach, int64_t[::1] corrected, uint8_t[::1] moved):
    """Correct the times of events so that what happened before is earlier.

    Parameters
    ----------
    time : array of int64, shape (n,)
        Times of events, ns; by rank, then in the rank's order.
    is_first : array of uint8, shape (n,)
        Whether an event is its rank's first.
    before, after : array of uint64, shape (m,)
        What happened before what: numbers of events, and from n on of joins, which have no time of their own.
    latency : array of int64, shape (m,)
        ns between the two at least.
    amortisation : int
        One n-th of the rank's time is gained after an event was moved.
    reach : int
        Before it, n times the time by which it was moved is stretched.
    corrected : array of int64, shape (n + joins,)
        Gets the corrected times.
    moved : array of uint8, shape (n,)
        Zeros; gets 1 for events that are later than what earlier ones of the rank explain.

    Returns
    -------
    circular : int
        How many events and joins wait for each other in a circle.
    shifts : bytes
        Records of SHIFT_DTYPE: by how much events before those that were moved are later than their
        corrected times, the last ones first.
    """
    cdef pse_replay_order_of_events order
    cdef pse_replay_shifts found
    cdef uint64_t circular = 0
    cdef int failed
    order.events, order.edges = time.shape[0], before.shape[0]
    if is_first.shape[0] != time.shape[0] or moved.shape[0] != time.shape[0] \
            or corrected.shape[0] < time.shape[0] or after.shape[0] != before.shape[0] \
            or latency.shape[0] != before.shape[0]:
        raise ValueError(f"{order.events} events and {order.edges} edges are expected")
    order.joins = corrected.shape[0] - order.events
    for i in range(before.shape[0]):
        if max(before[i], after[i]) >= <uint64_t>corrected.shape[0]:
            raise ValueError(f"edge {i} is of an event that does not exist")
    order.amortisation, order.reach = amortisation, reach
    if order.events == 0:
        return 0, b""
    order.time, order.is_first = &time[0], &is_first[0]
    if order.edges:
        order.before, order.after, order.latency = &before[0], &after[0], &latency[0]
    found.rows, found.count, found.room = NULL, 0, 0
    try:
        with nogil:
            failed = pse_replay_logical_clock(&order, &corrected[0], &moved[0], &circular) \
                or pse_replay_amortise_backward(&order, &corrected[0], &moved[0], &found)
        if failed:
            raise MemoryError()
        return circular, (<const char *>found.rows)[:found.count * sizeof(pse_replay_shift)]
    finally:
        free(found.rows)


def time_profiles(const double[::1] begin, const double[::1] end, const uint32_t[::1] path, uint64_t paths,
                  const uint64_t[::1] threads, const double[::1] starts, const double[::1] stops):
    """Share the time of intervals among call paths.

    Parameters
    ----------
    begin, end : array of float64, shape (spans,)
        When call paths' time was spent, ns; by thread, then in the order of time.
    path : array of uint32, shape (spans,)
        The call path of each span.
    paths : int
        How many call paths there are.
    threads : array of uint64, shape (threads + 1,)
        Where the spans of each thread begin, and where the last one's end.
    starts, stops : array of float64, shape (intervals,)
        The intervals, ns.

    Returns
    -------
    bytes
        Of `pse_replay_profile_row`, by interval, then by call path.
    """
    cdef pse_replay_timeline timeline
    cdef pse_replay_profiles found
    cdef uint64_t count = starts.shape[0]
    cdef int failed
    timeline.spans, timeline.paths, timeline.thread_count = begin.shape[0], paths, threads.shape[0] - 1
    if <uint64_t>end.shape[0] != timeline.spans or <uint64_t>path.shape[0] != timeline.spans \
            or <uint64_t>stops.shape[0] != count:
        raise ValueError(f"{timeline.spans} spans and {count} intervals are expected")
    for i in range(threads.shape[0]):
        if threads[i] > timeline.spans or threads[max(i - 1, 0)] > threads[i]:
            raise ValueError(f"the spans of thread {i} do not exist")
    for i in range(path.shape[0]):
        if path[i] >= paths:
            raise ValueError(f"span {i} is of a call path that does not exist")
    found.rows, found.count, found.room = NULL, 0, 0
    if timeline.spans == 0 or count == 0:
        return b""
    timeline.begin, timeline.end, timeline.path = &begin[0], &end[0], &path[0]
    timeline.threads = &threads[0]
    try:
        with nogil:
            failed = pse_replay_profile(&timeline, &starts[0], &stops[0], count, &found)
        if failed:
            raise MemoryError()
        return (<const char *>found.rows)[:found.count * sizeof(pse_replay_profile_row)]
    finally:
        free(found.rows)


def propagate_waits(const double[::1] wait, const double[::1] cost, const double[::1] cause,
                    const uint64_t[::1] first, const uint64_t[::1] last, const double[::1] before,
                    const uint64_t[::1] order, double[::1] indirect):
    """Pass costs of waits back to earlier waits, of the ranks that they waited for.

    Parameters
    ----------
    wait, cost, cause : array of float64, shape (waits,)
        How long each is, what of it is to be explained, and how long the late rank computed longer or waited
        itself, ns; by rank, then by begin.
    first, last : array of uint64, shape (waits,)
        Which waits of the late rank these are.
    before : array of float64, shape (waits,)
        What of the first of these was before that time, ns.
    order : array of uint64, shape (waits,)
        All waits, the one that ended last at first.
    indirect : array of float64, shape (waits,)
        Gets what each wait gets of the costs of later ones.
    """
    cdef pse_replay_waits waits
    cdef uint64_t count = wait.shape[0]
    cdef int failed
    cdef uint64_t least = min(cost.shape[0], cause.shape[0], first.shape[0], last.shape[0], before.shape[0],
                              order.shape[0], indirect.shape[0])
    if least != count:
        raise ValueError(f"{count} waits are expected")
    for i in range(first.shape[0]):
        if last[i] > count or first[i] > last[i] or order[i] >= count:
            raise ValueError(f"wait {i} is for waits that do not exist")
    if count == 0:
        return
    waits.wait, waits.cost, waits.cause, waits.count = &wait[0], &cost[0], &cause[0], count
    waits.first, waits.last, waits.order = &first[0], &last[0], &order[0]
    waits.before = &before[0]
    with nogil:
        failed = pse_replay_propagate(&waits, &indirect[0])
    if failed:
        raise MemoryError()
