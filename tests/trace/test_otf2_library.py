"""The system's OTF2 library, another release than the package's, reads from C all that was recorded.

PSE_OTF2_CONFIG=/…/otf2-config names another build of the library, an old one, say.
"""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from pse_testing.traces import text_rows, write_rank

from pse import trace
from pse.trace import NONE, Collective, EventType, TextKind, pair
from pse.trace.format import high32, low32

pytest.importorskip("otf2", reason="the package otf2 (extra pse[otf2]) is not installed")
from pse.trace.interchange import export_otf2, import_otf2

E = EventType
SOURCE = Path(__file__).parent / "sources" / "otf2_events.c"
PINGPONG = Path(__file__).parent / "data" / "pingpong-otf2" / "traces.otf2"
ODD = (4, 1, 3)
"""Members of a communicator, in its order."""
BASE = 10**12


@pytest.fixture(scope="session")
def read(tmp_path_factory):
    """The lines that the C program prints for an archive, by location, without what is not of interest."""
    config = os.environ.get("PSE_OTF2_CONFIG") or shutil.which("otf2-config")
    if not config or not shutil.which("cc"):
        pytest.skip("the OTF2 library for C (Debian's libotf2-trace-dev) or a C compiler is not installed")
    program = tmp_path_factory.mktemp("otf2") / "otf2_events"
    flags = [
        subprocess.run([config, option], capture_output=True, text=True, check=True).stdout.split()
        for option in ("--cflags", "--ldflags", "--libs")
    ]
    subprocess.run(["cc", "-w", *flags[0], SOURCE, "-o", program, *flags[1], *flags[2]], check=True)

    def run(anchor):
        done = subprocess.run([program, anchor], capture_output=True, text=True, check=True)
        assert done.stderr == ""
        found = {}
        for line in done.stdout.splitlines():
            location, time, said = line.split(" ", 2)
            found.setdefault(int(location), []).append((int(time), said))
        return found

    return run


def rows(rank):
    """Messages of all kinds among five ranks and three of them, at odd times."""
    names = ("MPI_Send_c", "MPI_Irecv", "MPI_Waitall", "MPI_Reduce", "work <α>")
    yield from (row for n, name in enumerate(names, 1) for row in text_rows(n, name, TextKind.REGION, BASE))
    yield communicator(1, range(5), rank)
    if rank in ODD:
        yield communicator(2, ODD, rank)
    if rank in (0, ODD[0]):
        yield from members(rank)
    time = BASE + rank * 1009
    for step in range(50):
        for row in (*exchange(rank, step), *reduction(rank, step)):
            time += 1 + step * rank % 7
            yield row | {"time": time}


def communicator(number, ranks, rank):
    leader = ranks[0]
    place = list(ranks).index(rank)
    named = pair(leader, number)
    return {
        "type": E.MPI_COMMUNICATOR,
        "time": BASE,
        "a": pair(number, 0),
        "b": named,
        "c": pair(len(ranks), place),
    }


def members(rank):
    row = {"type": E.MPI_COMMUNICATOR_RANKS, "time": BASE}
    if rank == 0:
        yield row | {"a": pair(1, 0), "b": pair(0, 1), "c": pair(2, 3)}
        yield row | {"a": pair(1, 4), "b": pair(4, NONE), "c": pair(NONE, NONE)}
    else:
        yield row | {"a": pair(2, 0), "b": pair(4, 1), "c": pair(3, NONE)}


def exchange(rank, step):
    """To the right, in a ring of all; every third message is huge."""
    size = 2**40 + step if step % 3 == 0 else step
    right, left, request = (rank + 1) % 5, (rank - 1) % 5, step + 1
    yield {"type": E.REGION_ENTER, "a": 1}
    sent = 0 if step % 2 else 1000 + request
    yield {"type": E.MPI_SEND, "a": size, "b": pair(right, step), "c": pair(1, sent)}
    yield {"type": E.REGION_LEAVE, "a": 1}
    yield {"type": E.REGION_ENTER, "a": 2}
    yield {"type": E.MPI_RECEIVE_POST, "a": size, "b": pair(NONE, NONE), "c": pair(1, request)}
    yield {"type": E.REGION_LEAVE, "a": 2}
    yield {"type": E.REGION_ENTER, "a": 3}
    yield {"type": E.MPI_RECEIVE, "a": size, "b": pair(left, step), "c": pair(1, request)}
    if sent:
        yield {"type": E.MPI_SEND_COMPLETE, "c": pair(1, sent)}
    yield {"type": E.REGION_LEAVE, "a": 3}


def reduction(rank, step):
    yield {"type": E.REGION_ENTER, "a": 5}
    if rank in ODD:
        yield {"type": E.REGION_ENTER, "a": 4}
        together = {"flags": Collective.REDUCE, "c": pair(2, 0)}
        yield {"type": E.MPI_COLLECTIVE_BEGIN, "a": step % 3, **together}
        yield {"type": E.MPI_COLLECTIVE_END, "a": 8, "b": 24 * (rank == ODD[step % 3]), **together}
        yield {"type": E.REGION_LEAVE, "a": 4}
    yield {"type": E.REGION_LEAVE, "a": 5}


def expected(read, rank):
    """What the C program has to say of a trace's rank, from the trace's own records."""
    names = {n: name for (kind, n), name in read.texts(rank).items() if kind == TextKind.REGION}
    members = {1: ",".join(map(str, range(5))), 2: ",".join(map(str, ODD))}
    events = read.events(rank)
    partners, tags, own, requests = (
        part(events[field]).tolist() for field in "bc" for part in (low32, high32)
    )
    root = None
    for event, partner, tag, number, request in zip(events, partners, tags, own, requests, strict=True):
        kind, time, told = (
            event["type"],
            int(event["time"]),
            f"{partner} {members.get(number)} {tag} {event['a']}",
        )
        if kind in (E.REGION_ENTER, E.REGION_LEAVE):
            name = names[int(event["a"])].removesuffix("_c")
            yield time, f"{'enter' if kind == E.REGION_ENTER else 'leave'} {name}"
        elif kind in (E.MPI_SEND, E.MPI_RECEIVE):
            what = ("isend", "irecv") if request else ("send", "receive")
            yield time, f"{what[int(kind == E.MPI_RECEIVE)]} {told}" + (f" {request}" if request else "")
        elif kind == E.MPI_COLLECTIVE_BEGIN:
            root = event["a"]
        elif kind == E.MPI_COLLECTIVE_END:
            yield time, f"collective 12 {members[number]} {root} {event['a']} {event['b']}"


def test_every_event_is_there_with_time_partner_communicator_tag_and_bytes(read, tmp_path):
    trace.create(tmp_path / "run")
    for rank in range(5):
        path = write_rank(tmp_path / "run", rank, rows(rank))
        path.rename(path.with_suffix(".mpi.events"))
    recorded = trace.open(tmp_path / "run")
    export_otf2(recorded, tmp_path / "out")
    found = read(tmp_path / "out" / "traces.otf2")
    added = ("program", "MPI_Init", "MPI_Finalize")
    assert sorted(found) == list(range(5))
    for rank in range(5):
        said = [(time, text) for time, text in found[rank] if text.split()[1] not in added]
        assert said == list(expected(recorded, rank))
        assert len(said) > 400


def test_others_archives_say_the_same_after_import_and_export(read, tmp_path):
    import_otf2(PINGPONG, tmp_path / "trace")
    export_otf2(trace.open(tmp_path / "trace"), tmp_path / "again")
    first, again = read(PINGPONG), read(tmp_path / "again" / "traces.otf2")
    for rank in (0, 1):
        own = [(time, text) for time, text in again[rank] if text.split()[1] != "program"]
        assert [text for _, text in own] == [text for _, text in first[rank]]
        ticks = np.array([time for time, _ in first[rank]], float)
        spent = np.array([time for time, _ in own], float)
        assert np.abs(np.diff(ticks) / 2.095197216 - np.diff(spent)).max() < 2
