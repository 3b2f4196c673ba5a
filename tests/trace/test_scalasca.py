"""SCALASCA takes what is exported: what its reader insists on, and, where somebody has built it, itself.

It doesn't come with pse: PSE_SCOUT=/…/scout.mpi names a build of its parallel analyser for the MPI used here.
"""

import os
import shutil
import tarfile
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from pse_testing.traces import region_rows, text_rows, write_rank

from pse import trace
from pse.trace import NONE, Collective, EventType, TextKind, pair

otf2 = pytest.importorskip("otf2", reason="the package otf2 (extra pse[otf2]) is not installed")
from otf2.enums import CollectiveOp, Paradigm, RegionRole  # noqa: E402

from pse.trace.interchange import export_otf2, import_otf2  # noqa: E402

E = EventType
PINGPONG = Path(__file__).parent / "data" / "pingpong-otf2" / "traces.otf2"
RANKS = 3
SETUP, SPLIT, SEND, RECEIVE, FINALIZE = 1, 2, 3, 4, 5
NAMES = {
    SETUP: "MPI_Init_thread",
    SPLIT: "MPI_Comm_split",
    SEND: "MPI_Send_c",
    RECEIVE: "MPI_Recv",
    FINALIZE: "MPI_Finalize",
}


def call(name, begin, end, *inside):
    return region_rows(name, begin, end, inside)


def mpi_rows(rank, with_setup=True):
    """A rank of three: all make a communicator, the last rank sends late to the first."""
    rows = [row for number, name in NAMES.items() for row in text_rows(number, name, TextKind.REGION, 100)]
    rows += [
        {"type": E.MPI_COMMUNICATOR, "time": 100, "a": pair(1, 0), "b": pair(0, 1), "c": pair(RANKS, rank)}
    ]
    if rank == 0:
        rows += [
            {
                "type": E.MPI_COMMUNICATOR_RANKS,
                "time": 100,
                "a": pair(1, 0),
                "b": pair(0, 1),
                "c": pair(2, NONE),
            }
        ]
    rows += call(SETUP, 1000 + rank, 2000 + rank) if with_setup else []
    together = {"flags": Collective.CREATE_COMMUNICATOR, "c": pair(1, 0)}
    begin, end = 3000 + 100 * rank, 3500 + rank
    rows += call(
        SPLIT, begin, end,
        {"type": E.MPI_COLLECTIVE_BEGIN, "time": begin + 1, "a": NONE, **together},
        {"type": E.MPI_COLLECTIVE_END, "time": end - 1, **together},
    )  # fmt: skip
    message = {"a": 64, "c": pair(1, 0)}
    if rank == 0:
        received = {"type": E.MPI_RECEIVE, "time": 8999, "b": pair(2, 7), **message}
        rows += call(RECEIVE, 4000, 9000, received)
    if rank == 2:
        rows += call(SEND, 7000, 7500, {"type": E.MPI_SEND, "time": 7001, "b": pair(0, 7), **message})
    return rows + (call(FINALIZE, 10_000 + rank, 11_000 + rank) if with_setup else [])


@pytest.fixture
def mpi_run(tmp_path):
    def make(**options):
        trace.create(tmp_path / "run")
        for rank in range(RANKS):
            path = write_rank(tmp_path / "run", rank, mpi_rows(rank, **options))
            path.rename(path.with_suffix(".mpi.events"))
        return tmp_path / "run"

    return make


def events_of(archive):
    """Regions by name, and for each location its events: what it is, time, name of the region."""
    with otf2.reader.open(str(archive / "traces.otf2")) as opened:
        regions = {region.name: region for region in opened.definitions.regions}
        found = defaultdict(list)
        for location, event in opened.events:
            region = getattr(event, "region", None)
            found[location.group.name].append(
                (type(event).__name__, event.time, region and region.name, event)
            )
        return regions, list(found.values())


# What SCALASCA's reader insists on (src/pearl/base of its release 2.6).


def test_the_program_is_a_region_and_begins_and_ends_first_and_last(small_trace, tmp_path):
    """It ends with a bug report where ProgramBegin names a program that is no region of the measurement."""
    export_otf2(trace.open(small_trace), tmp_path / "out")
    regions, ranks = events_of(tmp_path / "out")
    program = regions["small.coven"]
    assert (program.canonical_name, program.region_role, program.paradigm) == (
        "programs/small.coven", RegionRole.ARTIFICIAL, Paradigm.MEASUREMENT_SYSTEM,
    )  # fmt: skip
    for events in ranks:
        assert (events[0][0], events[-1][0]) == ("ProgramBegin", "ProgramEnd")
        assert events[0][3].program_name == "programs/small.coven"
        assert {kind for kind, *_ in events[1:-1]}.isdisjoint({"ProgramBegin", "ProgramEnd"})


def test_no_rank_leaves_an_added_mpi_init_before_the_others_came(small_trace, tmp_path):
    export_otf2(trace.open(small_trace), tmp_path / "out")
    _, ranks = events_of(tmp_path / "out")
    for name in ("MPI_Init", "MPI_Finalize"):
        calls = [[time for _, time, region, _ in events if region == name] for events in ranks]
        assert all(len(call) == 2 for call in calls)
        assert max(enter for enter, _ in calls) <= min(leave for _, leave in calls)


def test_routines_are_known_by_their_plain_names_and_collectives_by_known_numbers(mpi_run, tmp_path):
    """Routines by their canonical names; a collective operation that is new to it ends it."""
    export_otf2(trace.open(mpi_run()), tmp_path / "out")
    regions, ranks = events_of(tmp_path / "out")
    assert (regions["MPI_Send"].canonical_name, regions["MPI_Send"].source_file) == ("MPI_Send", "MPI")
    ends = [event for events in ranks for kind, _, _, event in events if kind == "MpiCollectiveEnd"]
    assert [end.collective_op for end in ends] == [CollectiveOp.BARRIER] * RANKS
    assert "MPI_Init" not in regions  # All that were recorded are there, so none is added.


def test_a_window_without_mpi_init_has_one_that_was_added(mpi_run, tmp_path):
    late = trace.Selection(begin=2e-6)
    export_otf2(trace.open(mpi_run()), tmp_path / "out", late)
    regions, ranks = events_of(tmp_path / "out")
    assert {"MPI_Init", "MPI_Finalize"} <= set(regions)
    assert all(events[2][2] == "MPI_Init" for events in ranks)


# SCALASCA itself.


@pytest.fixture
def scout(mpiexec, tmp_path):
    """Analyse an archive; give the sum of each metric on each rank, s, and what was printed."""
    given = os.environ.get("PSE_SCOUT")
    if not given:
        pytest.skip("SCALASCA doesn't come with pse: name a build of its analyser, PSE_SCOUT=/…/scout.mpi")
    become = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"
    throttle = {
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "0",
    }

    def analyse(archive):
        ranks = len(list((archive / "traces").glob("*.evt")))
        done = mpiexec(ranks, "-c", become, given, archive / "traces.otf2", env=throttle, timeout=300)
        assert done.code == 0, done.err
        return severities(archive / "scout.cubex", ranks), done.out + done.err

    return analyse


def severities(report, ranks):
    """Sums over all call paths of the metrics in a report: a tar of an XML file and arrays of float64."""
    with tarfile.open(report) as tar:
        contents = {name: tar.extractfile(name).read() for name in tar.getnames()}
    found = {}
    for metric in ET.fromstring(contents["anchor.xml"]).iter("metric"):
        data = contents.get(f"{metric.get('id')}.data", b"")
        kind = {"FLOAT": "<f8", "DOUBLE": "<f8"}.get(metric.findtext("dtype"))
        if data.startswith(b"CUBEX.DATA") and kind:
            values = np.frombuffer(data[len(b"CUBEX.DATA") :], kind).reshape(-1, ranks)
            found[metric.findtext("uniq_name")] = values.sum(axis=0)
    return found


@pytest.mark.mpi
def test_what_is_imported_and_exported_has_the_same_severities(scout, tmp_path):
    """As Score-P's own archive has; a trace's times are whole ns, so sums of ten differ by some."""
    shutil.copytree(PINGPONG.parent, tmp_path / "original")
    import_otf2(PINGPONG, tmp_path / "trace")
    export_otf2(trace.open(tmp_path / "trace"), tmp_path / "again")
    for archive, bound in ((tmp_path / "original", 0.001), (tmp_path / "again", 0.01)):
        found, said = scout(archive)
        assert found["mpi_latesender"] * 1e6 == pytest.approx([11.836, 33.288], abs=bound)
        assert found["mpi_latereceiver"] * 1e6 == pytest.approx([602.735, 17.826], abs=bound)
        assert "WARNING" not in said


@pytest.mark.mpi
@pytest.mark.parametrize("with_setup", [True, False])
def test_an_mpi_run_is_taken(scout, mpi_run, tmp_path, with_setup):
    """Rank 0 waits from 4,000 to 7,000 ns for what rank 2 sends."""
    export_otf2(trace.open(mpi_run(with_setup=with_setup)), tmp_path / "out")
    found, said = scout(tmp_path / "out")
    assert found["mpi_latesender"] == pytest.approx([3e-6, 0, 0], abs=1e-12)
    assert "WARNING" not in said


@pytest.mark.mpi
def test_a_crashed_run_of_a_coven_program_is_taken(scout, small_trace, tmp_path):
    export_otf2(trace.open(small_trace), tmp_path / "out")
    found, said = scout(tmp_path / "out")
    assert len(found) > 20
    assert "WARNING" not in said


@pytest.mark.mpi
@pytest.mark.parametrize("processors", [1, 3])
def test_a_run_with_the_engines_and_mpis_events_is_taken(scout, pse, tmp_path, processors):
    """SUMMA calls MPI in its modules; the engine hands tags over, on several threads of a processor."""
    (tmp_path / "trace.conf").write_text("module trace\n")
    matmul = Path(__file__).parents[2] / "programs" / "matmul.coven"
    size = [part for name in "MNK" for part in ("-D", f"{name}=64")]
    recorded = ("--trace", tmp_path / "run", "--tools", tmp_path / "trace.conf")
    done = pse("run", matmul, "-p", processors, *size, *recorded, timeout=300)
    assert done.code == 0, done.err
    assert export_otf2(trace.open(tmp_path / "run"), tmp_path / "out") == []
    found, said = scout(tmp_path / "out")
    assert found["mpi_init_completion"].shape == (2 * processors + 1,)
    assert "WARNING" not in said
