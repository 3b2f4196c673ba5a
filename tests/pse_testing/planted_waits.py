"""Traces of MPI with wait states of known length, known by construction and not by a formula.

Every step begins when all ranks that take part are free.  Ranks wait only where a step says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pse import trace
from pse.trace import NONE, Collective, EventType, SendMode, pair
from pse.trace.format import CommunicatorFlag
from pse_testing.traces import Row, region_rows, text_rows, write_trace

E = EventType
STEP = 10  # ns between events that belong together.
ROUTINES = (
    *("MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Isend", "MPI_Recv", "MPI_Irecv", "MPI_Wait", "MPI_Waitall"),
    *("MPI_Testall", "MPI_Probe", "MPI_Barrier", "MPI_Allreduce", "MPI_Alltoall", "MPI_Bcast", "MPI_Scatter"),
    *("MPI_Reduce", "MPI_Gather", "MPI_Scan", "MPI_Init", "MPI_Neighbor_alltoall"),
    *("MPI_Neighbor_allgatherv", "MPI_Neighbor_alltoallw", "solve", "exchange", "halo", "Thread.join"),
    *("MPI_Start", "MPI_Startall", "MPI_Pready", "MPI_Waitsome", "MPI_Waitany", "MPI_Isendrecv"),
    *("MPI_Comm_dup", "MPI_Win_fence", "MPI_File_sync"),
)
MODES = {"MPI_Ssend": SendMode.SYNCHRONOUS, "MPI_Bsend": SendMode.BUFFERED}


class PlantedWaits:
    """Ranks that call MPI.

    Parameters
    ----------
    ranks : int
        How many there are.
    communicators : sequence of sequences of int
        The members of each in its order; the first has all ranks.
    hosts : sequence of str
        Where each rank runs, ``metahost/node``; none: they are all on one machine.
    clocks : mapping of str to (int, float), optional
        By host how far its clock is ahead, ns, and how much too fast it is; the others are right.
    are_compared : bool, default True
        Whether the trace tells that: nodes compare their clocks with the first of their metahost, these with
        the first of all.
    groups : mapping of int to int, optional
        Which of the communicators are between two groups, and how many of their ranks the first group has.

    Attributes
    ----------
    expected : Counter
        ns by metric, call path and rank.
    """

    def __init__(
        self,
        ranks: int,
        communicators: list[list[int]],
        hosts: Sequence[str] = (),
        clocks: Mapping[str, tuple[int, float]] | None = None,
        are_compared: bool = True,
        groups: Mapping[int, int] | None = None,
    ) -> None:
        self.ranks, self.communicators, self.hosts = ranks, communicators, hosts
        self.clocks, self.are_compared, self.groups = clocks or {}, are_compared, groups or {}
        self.rows: list[list[Row]] = [[] for _ in range(ranks)]
        self.now = [1000] * ranks
        self.expected: Counter[tuple[str, str, int]] = Counter()
        self._open: list[list[tuple[str, int]]] = [[] for _ in range(ranks)]
        self._requests = [0] * ranks
        self._channels: Counter[tuple[int, int, int]] = Counter()
        for rank in range(ranks):
            for number, name in enumerate(ROUTINES):
                self.rows[rank] += text_rows(number, name)
            self._join(rank)

    def _join(self, rank: int) -> None:
        for number, members in enumerate(self.communicators, 1):
            if rank not in members:
                continue
            place = members.index(rank)
            self._row(rank, E.MPI_COMMUNICATOR, 0, pair(number, 0), pair(members[0], number),
                      pair(len(members), place), self._side(number - 1, place))  # fmt: skip
            for first in range(0, len(members) if place == 0 else 0, 4):
                four = [*members[first : first + 4], *[NONE] * 3]
                self._row(rank, E.MPI_COMMUNICATOR_RANKS, 0, pair(number, first), pair(*four[:2]),
                          pair(*four[2:4]))  # fmt: skip
            if number - 1 in self.groups:
                continue
            targets = [other for other in range(len(members)) if place in self.sources(number - 1, other)]
            for first in range(0, len(targets), 4):
                four = [*targets[first : first + 4], *[NONE] * 3]
                self._row(rank, E.MPI_NEIGHBORS, 0, pair(number, first), pair(*four[:2]), pair(*four[2:4]),
                          len(targets))  # fmt: skip

    def _side(self, on: int, place: int) -> int:
        """Flags of the communicator on a rank."""
        if on not in self.groups:
            return 0
        second = CommunicatorFlag.SECOND_GROUP if place >= self.groups[on] else 0
        return CommunicatorFlag.TWO_GROUPS | second

    def partners(self, on: int, place: int) -> list[int]:
        """Give the places of those that exchange data with one in a collective operation; not its own."""
        every = range(len(self.communicators[on]))
        if on in self.groups:
            first = self.groups[on]
            return [other for other in every if (other < first) != (place < first)]
        return [other for other in every if other != place]

    def sources(self, on: int, place: int) -> list[int]:
        """The neighbours that send to a rank: in communicators by turns those of a ring and of a graph."""
        size = len(self.communicators[on])
        if on % 2 == 0:
            return [(place - 1) % size, (place + 1) % size]
        return [other for other in range(size) if (other * 3 + place) % 2]

    def _row(self, rank: int, kind: int, time: int, a: int, b: int, c: int, flags: int = 0) -> None:
        self.rows[rank].append({"type": kind, "time": time, "a": a, "b": b, "c": c, "flags": flags})

    # What all steps are made of.

    def enter(self, rank: int, name: str) -> None:
        """Enter a function of the program."""
        self.now[rank] += STEP
        self._open[rank].append((name, self.now[rank]))
        self.rows[rank].append({"type": E.REGION_ENTER, "time": self.now[rank], "a": ROUTINES.index(name)})

    def leave(self, rank: int) -> None:
        """Leave the innermost function, if there is one."""
        if self._open[rank]:
            name, begin = self._open[rank].pop()
            self.now[rank] += STEP
            self.rows[rank].append(
                {"type": E.REGION_LEAVE, "time": self.now[rank], "a": ROUTINES.index(name), "b": begin}
            )

    def path(self, rank: int, routine: str) -> str:
        """The call path of a routine that a rank calls now."""
        return " / ".join(["program", *(name for name, _ in self._open[rank]), routine])

    def expect(self, metrics: str, rank: int, routine: str, wait: int, others: Iterable[int]) -> None:
        """Expect a wait of a rank for others in a routine that it calls now, in each of some metrics."""
        names = metrics.split()
        if self.hosts and len({self.hosts[one].partition("/")[0] for one in (rank, *others)}) > 1:
            names.append(names[-1] + "_grid")
        for metric in names:
            if wait:
                self.expected[metric, self.path(rank, routine), rank] += wait

    def together(self, *ranks: int) -> int:
        """Let ranks be ready at one time; give it."""
        time = max(self.now[rank] for rank in ranks) + STEP
        for rank in ranks:
            self.now[rank] = time
        return time

    def call(self, rank: int, name: str, begin: int, end: int, *inside: Row) -> None:
        """Call a routine, with events in it."""
        self.rows[rank] += region_rows(ROUTINES.index(name), begin, end, inside)
        self.now[rank] = end

    def request(self, rank: int) -> int:
        """Give the number of a new request."""
        self._requests[rank] += 1
        return self._requests[rank]

    def send(self, rank: int, time: int, to: int, on: int, tag: int, request: int = 0, mode: int = 0) -> Row:
        """Give the event of a send; ranks are those of the job."""
        place = self.communicators[on].index(to)
        return {"type": E.MPI_SEND, "time": time, "a": 8, "b": pair(place, tag), "c": pair(on + 1, request),
                "flags": mode}  # fmt: skip

    def post(self, time: int, of: int, on: int, tag: int, request: int) -> Row:
        """Give the event of a posted receive; `of` may be NONE: from anybody."""
        asked = (NONE, NONE) if of == NONE else (self.communicators[on].index(of), tag)
        return {
            "type": E.MPI_RECEIVE_POST,
            "time": time,
            "a": 8,
            "b": pair(*asked),
            "c": pair(on + 1, request),
        }

    def receive(self, time: int, of: int, on: int, tag: int, request: int = 0) -> Row:
        """Give the event of a received message."""
        place = self.communicators[on].index(of)
        return {
            "type": E.MPI_RECEIVE,
            "time": time,
            "a": 8,
            "b": pair(place, tag),
            "c": pair(on + 1, request),
        }

    # Steps: each plants the waits that its name says, and no others.

    def late_sender(self, on: int, source: int, target: int, wait: int, tag: int, wildcard: bool) -> None:
        """A receive, by a request or not, that waits for its send to begin; 0: it doesn't."""
        begin = self.together(source, target)
        if wildcard:
            request = self.request(target)
            self.call(target, "MPI_Irecv", begin, begin + 4, self.post(begin + 2, NONE, on, tag, request))
            name, begin = "MPI_Wait", begin + 4
        else:
            name, request = "MPI_Recv", 0
        late = begin + wait
        self.call(source, "MPI_Send", late, late + 6, self.send(source, late + 2, target, on, tag))
        self.expect("mpi_latesender", target, name, wait, [source])
        self.call(target, name, begin, late + 9, self.receive(late + 8, source, on, tag, request))

    def late_receiver(self, on: int, source: int, target: int, wait: int, tag: int, buffered: bool) -> None:
        """A send that waits for its receive; a buffered one returns at once and waits for nothing."""
        begin = self.together(source, target)
        name = "MPI_Bsend" if buffered else "MPI_Ssend"
        post = begin + 5 + wait
        end = begin + 4 if buffered else post + 4
        self.call(source, name, begin, end, self.send(source, begin + 2, target, on, tag, mode=MODES[name]))
        self.expect("mpi_latereceiver", source, name, 0 if buffered else post - begin, [target])
        self.call(target, "MPI_Recv", post, post + 8, self.receive(post + 7, source, on, tag))

    def waitall(self, on: int, sources: list[int], target: int, waits: list[int], test: bool) -> None:
        """Several receives in flight; their call waits for the last send that begins. Tests don't wait."""
        begin = self.together(target, *sources)
        posted = [self.request(target) for _ in sources]
        for number, (source, request) in enumerate(zip(sources, posted, strict=True)):
            row = self.post(begin + 1, source, on, 100 + number, request)
            self.call(target, "MPI_Irecv", begin, begin + 2, row)
            begin += 2
        order = sorted(range(len(sources)), key=lambda number: waits[number])
        received = []
        for number in order:
            source, late = sources[number], max(begin + waits[number], self.now[sources[number]])
            self.call(
                source, "MPI_Send", late, late + 2, self.send(source, late + 1, target, on, 100 + number)
            )
            received.append((late, number))
        last, latest = max(received, key=lambda row: row[0])
        name = "MPI_Testall" if test else "MPI_Waitall"
        rows = [self.receive(last + 5, sources[n], on, 100 + n, posted[n]) for _, n in received]
        self.expect("mpi_latesender", target, name, 0 if test else last - begin, [sources[latest]])
        self.call(target, name, begin, last + 6, *rows)

    def wrong_order(self, on: int, first: int, second: int, target: int, wait: int) -> None:
        """A rank waits for a message while one lies there that was sent before and is received later."""
        begin = self.together(first, second, target)
        self.call(first, "MPI_Send", begin, begin + 2, self.send(first, begin + 1, target, on, 200))
        begin = max(begin, self.now[second])
        late = begin + wait
        self.call(second, "MPI_Send", late, late + 2, self.send(second, late + 1, target, on, 201))
        kind = "mpi_lswo_same" if first == second else "mpi_lswo_different"
        self.expect(f"mpi_latesender mpi_latesender_wo {kind}", target, "MPI_Recv", wait, [second])
        self.call(target, "MPI_Recv", begin, late + 5, self.receive(late + 4, second, on, 201))
        self.call(target, "MPI_Recv", late + 5, late + 7, self.receive(late + 6, first, on, 200))

    def waitsome(
        self, on: int, sources: list[int], target: int, waits: list[int], batches: list[int]
    ) -> None:
        """Receives that calls complete some at a time: each call waits for the last of its own."""
        begin = self.together(target, *sources)
        posted = [self.request(target) for _ in sources]
        rows = [self.post(begin + 1, source, on, 100 + n, posted[n]) for n, source in enumerate(sources)]
        self.call(target, "MPI_Startall", begin, begin + 2, *rows)
        order = sorted(range(len(sources)), key=lambda number: waits[number])
        sent = {}
        for number in order:
            source = sources[number]
            late = max(begin + waits[number], self.now[source], *sent.values(), begin + 2)
            row = self.send(source, late + 1, target, on, 100 + number)
            self.call(source, "MPI_Send", late, late + 2, row)
            sent[number] = late
        while order:
            count = batches.pop() if batches else len(order)
            batch, order = order[:count], order[count:]
            enter, last = self.now[target], max(sent[number] for number in batch)
            leave = max(enter, last) + 6
            found = [self.receive(leave - 1, sources[n], on, 100 + n, posted[n]) for n in reversed(batch)]
            self.expect("mpi_latesender", target, "MPI_Waitsome", max(last - enter, 0), [sources[batch[-1]]])
            self.call(target, "MPI_Waitsome", enter, leave, *found)

    def persistent(self, on: int, source: int, target: int, wait: int, is_late_receiver: bool) -> None:
        """Requests of one message that are started, one of them late, and completed."""
        begin = self.together(source, target)
        sent, posted = self.request(source), self.request(target)
        send, post = (begin, begin + 2 + wait) if is_late_receiver else (begin + 4 + wait, begin)
        row = self.send(source, send + 1, target, on, 250, sent, SendMode.SYNCHRONOUS)
        self.call(source, "MPI_Start", send, send + 2, row)
        self.call(target, "MPI_Start", post, post + 4, self.post(post + 1, source, on, 250, posted))
        end = max(send, post) + 10
        done = {"type": E.MPI_SEND_COMPLETE, "time": end - 1, "c": pair(on + 1, sent)}
        if is_late_receiver:
            self.expect("mpi_latereceiver", source, "MPI_Waitany", wait, [target])
        else:
            self.expect("mpi_latesender", target, "MPI_Waitany", wait, [source])
        self.call(source, "MPI_Waitany", send + 2, end, done)
        self.call(target, "MPI_Waitany", post + 4, end, self.receive(end - 1, source, on, 250, posted))

    def exchanged(self, on: int, late: int, early: int, wait: int) -> None:
        """Messages there and back by one request of each rank: whoever is early waits once."""
        begin = self.together(late, early)
        end = begin + 14 + wait
        self.expect("mpi_latesender", early, "MPI_Wait", wait, [late])
        for rank, other, at in ((early, late, begin), (late, early, begin + 4 + wait)):
            request = self.request(rank)
            sent = self.send(rank, at + 1, other, on, 260, request)
            self.call(rank, "MPI_Isendrecv", at, at + 4, sent, self.post(at + 2, other, on, 260, request))
            done = {"type": E.MPI_SEND_COMPLETE, "time": end - 2, "c": pair(on + 1, request)}
            self.call(rank, "MPI_Wait", at + 4, end, done, self.receive(end - 1, other, on, 260, request))

    def partitioned(self, on: int, source: int, target: int, waits: list[int], started: list[int]) -> None:
        """Channels of one kind, made ready in turn by the sender, started in any order by the receiver."""
        begin, kind = self.together(source, target), (on, source, target)
        first = self._channels[kind]
        self._channels[kind] += len(waits)
        sent, posted = ([self.request(rank) for _ in waits] for rank in (source, target))
        mode = {"flags": SendMode.PARTITIONED}
        for rank, requests in ((source, sent), (target, posted)):
            rows = []
            for n in started if rank == target else range(len(waits)):
                rows += self._channel(begin + 1, on, requests[n], first + n)
                rows += [self.post(begin + 1, source, on, 300, posted[n]) | mode] if rank == target else []
            self.call(rank, "MPI_Startall", begin, begin + 2, *rows)
        late = begin + 2
        for n, wait in enumerate(waits):
            late, enter = max(late + wait, self.now[source]), self.now[target]
            row = self.send(source, late, target, on, 300, sent[n], SendMode.PARTITIONED)
            self.call(source, "MPI_Pready", late, late + 2, row)
            end = max(late, enter) + 7
            self.expect("mpi_latesender", target, "MPI_Wait", max(late - enter, 0), [source])
            self.call(
                target, "MPI_Wait", enter, end, self.receive(end - 1, source, on, 300, posted[n]) | mode
            )
        time = self.now[source]
        done = [{"type": E.MPI_SEND_COMPLETE, "time": time + 1, "c": pair(on + 1, n)} for n in sent]
        self.call(source, "MPI_Waitall", time, time + 2, *done)

    @staticmethod
    def _channel(time: int, on: int, request: int, number: int) -> list[Row]:
        row = {"type": E.MPI_CHANNEL, "time": time, "a": number, "c": pair(on + 1, request)}
        return [row] if number else []

    def collective(self, on: int, name: str, begins: list[int], ends: list[int], root: int = 0) -> None:
        """A collective operation that ranks enter after `begins` and leave `ends` after the last one came."""
        members = self.communicators[on]
        start = self.together(*members)
        operation = Collective[name.removeprefix("MPI_").upper()]
        rooted = name in ("MPI_Bcast", "MPI_Scatter", "MPI_Reduce", "MPI_Gather")
        last = start + max(begins)
        for place, rank in enumerate(members):
            begin, end = start + begins[place], last + ends[place]
            sends, receives = self._moved(name, place == root)
            common = {"flags": operation, "c": pair(on + 1, 0)}
            self.expect_collective(on, name, place, begins, ends, root)
            named = NONE
            if rooted and (place == root or root in self.partners(on, place)):
                named = root
            elif rooted:
                sends, receives = 0, 0
            self.call(
                rank, name, begin, end,
                {"type": E.MPI_COLLECTIVE_BEGIN, "time": begin, "a": named, **common},
                {"type": E.MPI_COLLECTIVE_END, "time": end, "a": sends, "b": receives, **common},
            )  # fmt: skip

    @staticmethod
    def _moved(name: str, is_root: bool) -> tuple[int, int]:
        """Bytes that a rank sends and receives."""
        if name in ("MPI_Bcast", "MPI_Scatter"):
            return (8, 8) if is_root else (0, 8)
        if name in ("MPI_Reduce", "MPI_Gather"):
            return (8, 8) if is_root else (8, 0)
        return (0, 0) if name == "MPI_Barrier" else (8, 8)

    def expect_collective(
        self, on: int, name: str, place: int, begins: list[int], ends: list[int], root: int
    ) -> None:
        """What was planted for one rank; all leave after the last one came."""
        members = self.communicators[on]
        own, rank, partners = begins[place], members[place], self.partners(on, place)
        last = max([begins[other] for other in partners], default=own)
        beside = [end for other, end in enumerate(ends) if on not in self.groups or other not in partners]
        if name == "MPI_Barrier":
            self.expect("mpi_barrier_wait", rank, name, max(last - own, 0), members)
            self.expect("mpi_barrier_completion", rank, name, ends[place] - min(beside), members)
        elif name in ("MPI_Allreduce", "MPI_Alltoall"):
            self.expect("mpi_wait_nxn", rank, name, max(last - own, 0), members)
            self.expect("mpi_nxn_completion", rank, name, ends[place] - min(beside), members)
        elif name in ("MPI_Bcast", "MPI_Scatter") and root in partners:
            self.expect("mpi_latebroadcast", rank, name, max(begins[root] - own, 0), members)
        elif name in ("MPI_Reduce", "MPI_Gather") and place == root and partners:
            first = min(begins[other] for other in partners)
            self.expect("mpi_earlyreduce", rank, name, max(first - own, 0), members)
        elif name == "MPI_Scan":
            self.expect("mpi_earlyscan", rank, name, max(begins[: place + 1]) - own, members)
        elif name.startswith("MPI_Neighbor"):
            sources = [begins[source] for source in self.sources(on, place)]
            self.expect("mpi_neighbor_wait", rank, name, max(max(sources, default=0) - own, 0), members)

    def write(self, directory: Path) -> trace.Trace:
        """Leave all functions and write the trace."""
        for rank in range(self.ranks):
            while self._open[rank]:
                self.leave(rank)
        rows = [self._shown_rows(rank) for rank in range(self.ranks)] if self.hosts else self.rows
        return write_trace(directory, rows, None, hosts=self.hosts)

    def _shown_rows(self, rank: int) -> list[Row]:
        """The rows of a rank as the clock of its host shows their times, and when this was compared."""
        rows = [dict(row) for row in self.rows[rank]]
        for row in rows:
            for name in ("time", "b") if row["type"] == E.REGION_LEAVE else ("time",):
                row[name] = self._shown(rank, row[name])
        host = self.hosts[rank]
        machine = host.partition("/")[0]
        first = next(other for other, name in enumerate(self.hosts) if name.partition("/")[0] == machine)
        reference = 0 if self.hosts[first] == host else first
        if not self.are_compared or self.hosts.index(host) != rank or reference == rank:
            return rows
        begin, end = (self._sync(rank, reference, self.rows[rank][at]["time"]) for at in (0, -1))
        return [begin, *rows, end]

    def _shown(self, rank: int, time: int) -> int:
        ahead, drift = self.clocks.get(self.hosts[rank], (0, 0.0))
        return time + ahead + round(drift * time)

    def _sync(self, rank: int, reference: int, time: int) -> Row:
        own, other = self._shown(rank, time), self._shown(reference, time)
        return {"type": E.CLOCK_SYNC, "time": own, "a": (other - own) % 2**64, "b": 100, "c": reference}
