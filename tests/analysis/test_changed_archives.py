"""Archives of random programs with other times: plain loops over their events find the same severities."""

import itertools
import json
import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pse.analysis import analyze, severities_json

otf2 = pytest.importorskip("otf2", reason="the package otf2 (extra pse[otf2]) is not installed")
from otf2.enums import CollectiveOp  # noqa: E402

DATA = Path(__file__).parent / "data" / "waitstates"
ARCHIVES = sorted(path.name for path in DATA.iterdir() if path.is_dir())
N_TO_N = {CollectiveOp.ALLREDUCE, CollectiveOp.ALLGATHER, CollectiveOp.ALLTOALL}
ONE_TO_N = {CollectiveOp.BCAST, CollectiveOp.SCATTER}
N_TO_ONE = {CollectiveOp.REDUCE, CollectiveOp.GATHER}
SENDS = ("MPI_Send", "MPI_Ssend", "MPI_Wait", "MPI_Waitany", "MPI_Waitall")
"""Calls that may wait for a receiver."""


@dataclass(eq=False)
class Call:
    """A call of a routine: its events are entered and left."""

    rank: int
    enter: Any
    leave: Any = None

    @property
    def name(self):
        return self.enter.region.name

    def wait(self, until):
        return min(until, self.leave.time) - self.enter.time


@dataclass(eq=False)
class Message:
    """Calls that send, complete sending, post and complete the receive; the event of the latter."""

    send: Call
    sent: Call
    post: Call = None
    receive: Call = None
    event: Any = None


class Program:
    """What the events of all ranks say: messages, and collective operations as calls, begins and ends."""

    def __init__(self, archive):
        with otf2.reader.open(str(archive / "traces.otf2")) as opened:
            self.definitions, self.locations = opened.definitions, list(opened.definitions.locations)
            self.ranks = [[] for _ in self.locations]
            for location, event in opened.events:
                self.ranks[self.locations.index(location)].append(event)
        self.collectives, self.sends, self.receives = defaultdict(list), defaultdict(list), defaultdict(list)
        for rank, events in enumerate(self.ranks):
            self._read(rank, events)
        self.messages = list(itertools.chain.from_iterable(map(self._matched, self.sends)))

    def _read(self, rank, events):
        calls, begins, counts, requests = [], [], defaultdict(int), {}
        for event in events:
            kind = type(event).__name__
            if kind == "Enter":
                calls.append(Call(rank, event))
            elif kind == "Leave":
                calls.pop().leave = event
            elif kind in ("MpiSend", "MpiIsend"):
                message = Message(calls[-1], calls[-1] if kind == "MpiSend" else None)
                key = (event.communicator, rank, self.rank_of(event, event.receiver), event.msg_tag)
                self.sends[key].append(message)
                requests[getattr(event, "request_id", None)] = message
            elif kind == "MpiIsendComplete":
                requests[event.request_id].sent = calls[-1]
            elif kind == "MpiIrecvRequest":
                requests[event.request_id] = event, calls[-1]
            elif kind in ("MpiRecv", "MpiIrecv"):
                first, post = (event, calls[-1]) if kind == "MpiRecv" else requests[event.request_id]
                key = (event.communicator, self.rank_of(event, event.sender), rank, event.msg_tag)
                self.receives[key].append((events.index(first), post, calls[-1], event))
            elif kind == "MpiCollectiveBegin":
                begins.append(event)
            elif kind == "MpiCollectiveEnd":
                counts[event.communicator] += 1
                key = event.communicator, counts[event.communicator]
                self.collectives[key].append((calls[-1], begins.pop(), event))

    def rank_of(self, event, place):
        return self.locations.index(event.communicator.group.members[place])

    def _matched(self, key):
        for message, (_, *rest) in zip(self.sends[key], sorted(self.receives[key]), strict=True):
            message.post, message.receive, message.event = rest
            yield message

    def ordered(self, parts):
        """The parts of an operation by the place of their ranks in the communicator."""
        members = parts[0][2].communicator.group.members
        return sorted(parts, key=lambda part: members.index(self.locations[part[0].rank]))


def needed(program):
    """Events by the id of the event that needs them: beginning to send, beginning a collective operation."""
    found = defaultdict(list)
    for message in program.messages:
        found[id(message.event)].append(message.send.enter)
    for parts in program.collectives.values():
        for _, _, end in parts:
            found[id(end)] += [begin for _, begin, _ in parts]
    return found


def retime(program, seed):
    """Make all gaps between events of a rank longer or shorter; what is needed still comes first."""
    chance, needs, new = random.Random(seed), needed(program), {}
    old = {id(event): event.time for events in program.ranks for event in events}
    left = [list(events) for events in program.ranks]
    last = [None for _ in left]
    while any(left):
        for rank, events in enumerate(left):
            while events and all(id(event) in new for event in needs[id(events[0])]):
                event = events.pop(0)
                gap = old[id(event)] - (old[id(last[rank])] if last[rank] else 0)
                earliest = (
                    new[id(last[rank])] + int(gap * chance.choice([0.1, 0.5, 1, 2, 5])) if last[rank] else gap
                )
                after = [new[id(other)] + chance.randint(1, 300) for other in needs[id(event)]]
                new[id(event)], last[rank] = max([earliest, *after]), event
    for event in itertools.chain.from_iterable(program.ranks):
        event.time = new[id(event)]


def write(program, path):
    with otf2.writer.open(str(path), definitions=program.definitions) as writer:
        for location, events in zip(program.locations, program.ranks, strict=True):
            for event in events:
                writer.event_writer_from_location(location)(event)


class Severities:
    """Waiting times by metric, routine and rank, µs."""

    def __init__(self, program):
        self.program, self.tick = program, 1e6 / program.definitions.clock_properties.timer_resolution
        self.found = defaultdict(lambda: defaultdict(lambda: [0.0] * len(program.ranks)))
        self.late_senders()
        self.late_receivers()
        for parts in program.collectives.values():
            for place in range(len(parts)):
                self.part(program.ordered(parts), place)

    def add(self, metric, call, wait):
        if wait > 0:
            self.found[metric][call.name][call.rank] += wait * self.tick

    def late_senders(self):
        by_call = defaultdict(list)
        for message in self.program.messages:
            by_call[message.receive].append(message)
        self.waited = set()
        for call, messages in by_call.items():
            latest = max(message.send.enter.time for message in messages)
            wait = call.wait(latest)
            if wait > 0:
                self.waited.add(call)
                self.add("mpi_latesender", call, wait)
                if any(
                    other.receive.rank == call.rank
                    and other.receive.enter.time > call.enter.time
                    and other.send.enter.time < latest
                    for other in self.program.messages
                ):
                    self.add("mpi_latesender_wo", call, wait)

    def late_receivers(self):
        by_call = defaultdict(list)
        for message in self.program.messages:
            by_call[message.sent].append(message.post.enter.time)
        for call, posts in by_call.items():
            is_late = call.name in SENDS and call not in self.waited
            waits = [post - call.enter.time for post in posts if is_late and call.leave.time > post]
            self.add("mpi_latereceiver", call, max(waits, default=0))

    def part(self, parts, place):
        """A rank's part in a collective operation."""
        end = parts[place][2]
        begins = [begin.time for _, begin, _ in parts]
        senders = [at for at, (_, _, other) in enumerate(parts) if other.size_sent]
        if end.collective_op == CollectiveOp.BARRIER:
            self.wait_and_completion("mpi_barrier", "mpi_barrier_wait", parts, place, max(begins))
        elif end.collective_op in N_TO_ONE and place == end.root:
            first = min((begins[at] for at in senders if at != place), default=0)
            self.wait("mpi_earlyreduce", parts[place], first)
        elif not end.size_received:
            return
        elif end.collective_op in N_TO_N:
            last = max((begins[at] for at in senders), default=0)
            self.wait_and_completion("mpi_nxn", "mpi_wait_nxn", parts, place, last)
        elif end.collective_op in ONE_TO_N and place != end.root:
            self.wait("mpi_latebroadcast", parts[place], begins[end.root])
        elif end.collective_op == CollectiveOp.SCAN:
            last = max((begins[at] for at in senders if at <= place), default=0)
            self.wait("mpi_earlyscan", parts[place], last)

    def wait_and_completion(self, name, metric, parts, place, last):
        self.wait(metric, parts[place], last)
        call, _, end = parts[place]
        first = min(other.time for _, _, other in parts)
        self.add(f"{name}_completion", call, end.time - max(first, last))

    def wait(self, metric, part, until):
        call, begin, end = part
        self.add(metric, call, min(until, end.time) - begin.time)


def assert_same(found, expected):
    assert {metric: set(routines) for metric, routines in found.items()} == {
        metric: set(routines) for metric, routines in expected.items()
    }
    for metric, routines in expected.items():
        for routine, values in routines.items():
            assert found[metric][routine] == pytest.approx(values, abs=0.0025), (metric, routine)


@pytest.mark.parametrize("archive", ARCHIVES)
def test_severities_of_other_times_are_those_of_plain_loops(archive, tmp_path):
    expected = json.loads((DATA / archive / "severities.json").read_text())["severities"]
    assert_same(Severities(Program(DATA / archive)).found, expected)
    for seed in range(2):
        program = Program(DATA / archive)
        retime(program, f"{archive} {seed}")
        write(program, tmp_path / str(seed))
        cube = analyze(tmp_path / str(seed))
        assert cube.problems == ()
        assert_same(severities_json(cube)["severities"], Severities(program).found)
