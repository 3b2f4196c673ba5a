"""Programs under real MPI: one node, two emulated nodes, no shared memory; all give what the oracle says."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, note, settings, strategies as st
from pse_testing.example_counts import nightly
from pse_testing.harness import compile_program, make_job
from pse_testing.jobs import TWO_NODES
from pse_testing.oracle import Oracle
from pse_testing.program_writer import programs

pytestmark = [pytest.mark.mpi, pytest.mark.slow]
PROGRAMS = Path(__file__).parent / "programs"
PLACES = {
    "one node": ((), {}),
    "two nodes": ((), TWO_NODES),
    "no shared memory": (("-o", "shared_memory=off"), {}),
}
MIB = 1 << 20


@pytest.fixture(scope="module")
def folder(modules):
    """One folder with the programs and all modules, which so are built once."""
    for program in PROGRAMS.glob("*.coven"):
        shutil.copy(program, modules)
    return modules


@pytest.fixture
def here(folder):
    """This folder, without what an earlier test has saved."""
    for saved in folder.glob("*.npy"):
        saved.unlink()
    return folder


def run(pse, here, name, processors, place, *options, N=7, M=5, **defines):
    """Run a program to its end; gives its report."""
    arguments, environment = PLACES[place]
    values = {"N": N, "M": M, **defines}
    definitions = [word for item in values.items() for word in ("-D", "{}={}".format(*item))]
    command = ["run", name, "-p", str(processors), "--report", "json", *arguments, *options, *definitions]
    ended = pse(*command, cwd=here, env=environment, timeout=240)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def meant(here, name, processors, **values):
    """What the oracle says that a program notes down."""
    job = make_job(compile_program((here / name).read_text(), here / name), processors, values=values)
    return Oracle(job.program, job.environment, processors).run()


def check_saved(here, expected):
    """Compare what was saved, and take it away."""
    files = {path.name for path in here.glob("*.npy")}
    assert files == {f"{k[0]}.{k[1]}.{n}.npy" for k, found in expected.items() for n in range(len(found))}
    for (label, k), arrays in expected.items():
        for n, array in enumerate(arrays):
            path = here / f"{label}.{k}.{n}.npy"
            np.testing.assert_array_equal(np.load(path), array, strict=True, err_msg=path.name)
            path.unlink()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("processors", "limit"),
    [
        (1, "64KiB"),
        (3, "1B"),
        *(
            pytest.param(*one, marks=pytest.mark.nightly)
            for one in ((1, "1B"), (2, "1B"), (2, "64KiB"), (3, "64KiB"))
        ),
    ],
)
def test_frames_in_flight_are_saved_as_their_reference_has_them(
    pse, here, place, processors, limit, nothing_left_behind
):
    report = run(pse, here, "frames.coven", processors, place, "-o", f"local_limit={limit}")
    check_saved(here, meant(here, "frames.coven", processors, N=7, M=5))
    assert report["ranks"] == 1 + 2 * processors
    assert (report["remote_bytes"] > 0) == (place != "one node")
    assert (report["described_bytes"] > 0) or place == "no shared memory"


@pytest.mark.parametrize(("rows", "columns"), [(515, 512), *nightly((2051, 2048))])
@pytest.mark.parametrize("place", PLACES)
def test_large_arrays_are_exchanged_whole_and_copied_only_where_they_must_be(
    pse, here, place, rows, columns, nothing_left_behind
):
    """1 MiB and more a piece, every night 16 MiB, in strips of other strides."""
    report = run(pse, here, "frames.coven", 2, place, N=rows, M=columns, frames=2)
    check_saved(here, meant(here, "frames.coven", 2, N=rows, M=columns, frames=2))
    if place == "one node":
        # Two exchanges assemble at their receivers; scatter and gather hand over views.
        copied = {site["label"]: site["copied_bytes"] for site in report["sites"]}
        assert copied["scatter"] == copied["gather"] == 0
        assert report["remote_bytes"] == 0
    if place == "no shared memory":
        assert report["peak_shared_memory_bytes"] == 0


@pytest.mark.parametrize("ranks", [3, *nightly(5)])
@pytest.mark.parametrize("environment", [{}, TWO_NODES], ids=["one node", "two nodes"])
def test_a_bare_mpiexec_does_the_same(mpiexec, here, ranks, environment, nothing_left_behind):
    ended = mpiexec(ranks, "-m", "pse", "frames.coven", cwd=here, env=environment, timeout=240)
    assert ended.code == 0, ended.err
    check_saved(here, meant(here, "frames.coven", (ranks - 1) // 2))


def test_one_rank_is_enough(mpiexec, here, nothing_left_behind):
    ended = mpiexec(1, "-m", "pse", "alone.coven", cwd=here, timeout=240)
    assert ended.code == 0, ended.err
    check_saved(here, meant(here, "alone.coven", 1))


@pytest.mark.parametrize("examples", [2, pytest.param(30, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("place", PLACES)
def test_random_programs_run_the_same_as_processes(pse, here, place, examples):
    """Nothing that belongs to one process alone reaches another: threads would not notice."""

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(
        programs(here),
        st.integers(1, 2),
        st.integers(1, 7),
        st.integers(1, 7),
        st.sampled_from(["1B", "1MiB"]),
    )
    def check(written, processors, rows, columns, limit):
        note(written.text)
        (here / "random.coven").write_text(written.text)
        run(pse, here, "random.coven", processors, place, "-o", f"local_limit={limit}", N=rows, M=columns)
        check_saved(here, meant(here, "random.coven", processors, N=rows, M=columns))

    check()
