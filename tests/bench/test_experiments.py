"""What the experiments compute from times, where they run, and in which words their programs differ."""

import difflib
import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from benchmarks.scaling_model import Model, fit_line, power, simulate

from pse.analysis import CallPath, Cube, Location
from pse.bench._environments import nodes, share_of
from pse.bench._running import program_path, run_peer, run_program, usable_cores
from pse.bench.subjects.synthetic import bound
from pse.cluster import unmet_prerequisite
from pse.emulate import CYCLE, EXCHANGE, Results
from pse.errors import RunError

NO_CLUSTER = unmet_prerequisite()

MODEL = Model(latency=1e-5, per_byte=1e-9, handling=1e-6)


SCRIPTS = Path(__file__).parents[2] / "examples" / "experiments"


def load_script(name):
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


@pytest.mark.parametrize("name", sorted(path.stem for path in SCRIPTS.glob("*.py")))
def test_a_script_finds_what_it_imports(name):
    assert callable(load_script(name).main)


def metatrace_cube(**changed):
    paths = (
        CallPath(-1, "program", "p"),
        CallPath(0, "call site", "solve"),
        CallPath(0, "call site", "move"),
    )
    seconds = {
        "time": [0, 60, 40],
        "mpi": [0, 50, 20],
        "mpi_barrier_wait": [0, 0, 15],
        "mpi_latesender": [0, 10, 5],
        "mpi_latesender_grid": [0, 0, 5],
        "mpi_wait_nxn": [0, 20, 1],
    } | changed
    values = {name: 1e9 * np.array(own, float)[:, None] for name, own in seconds.items()}
    return Cube(paths, (Location("m", "n", 0),), values)


def test_shares_of_metatrace_are_those_of_table_4():
    shares = load_script("metatrace").shares(metatrace_cube())
    assert shares == ["100 s", "70.0 %", "15.0 %", "10.0 %", "20.0 %", "5.0 %"]


def test_the_course_of_metatrace_tells_which_fraction_grows():
    before, grown = metatrace_cube(), metatrace_cube(mpi_wait_nxn=[0, 30, 1])
    time, *shares = load_script("metatrace").course({1: [before], 2: [grown], 3: [before]})
    assert time.samples == (1.0,)
    assert [figure.samples[0] for figure in shares] == pytest.approx([1, 1, 1, 1.5, 1, 1, 1, 2 / 3])
    assert [figure.name.partition(":")[0] for figure in shares][3] == "Wait at N×N in Trace"


def words_of(name):
    return program_path(name).read_text().split()


@pytest.mark.parametrize(("experiment", "calls"), [("synthetic", 1), ("fft3", 2)])
def test_one_thread_and_two_differ_in_the_label_of_what_communicates(experiment, calls):
    one, two = words_of(f"{experiment}_1.coven"), words_of(f"{experiment}_2.coven")
    matcher = difflib.SequenceMatcher(None, one, two, autojunk=False)
    changes = [
        (" ".join(one[a:b]), " ".join(two[c:d]))
        for kind, a, b, c, d in matcher.get_opcodes()
        if kind != "equal"
    ]
    assert changes == [("thread_B", "thread_C")] * calls


def test_the_bound_is_that_of_a_pipeline():
    assert bound(8, compute=1.6, communicate=0.8) == pytest.approx(1.7)
    assert bound(8, compute=0.8, communicate=1.6) == pytest.approx(1.7)
    assert bound(1, compute=1.0, communicate=3.0) == pytest.approx(4.0)


def test_lines_and_powers_are_recovered():
    sizes = [64, 1024, 65_536]
    assert fit_line(sizes, [3.0 + 0.002 * size for size in sizes]) == pytest.approx((3.0, 0.002))
    assert power([4, 8, 64], [7 * n**0.5 for n in (4, 8, 64)]) == pytest.approx(0.5)


def test_a_fit_never_gives_a_negative_cost():
    assert fit_line([64, 1024, 65_536], [5.0, 4.0, 3.0])[1] == 0.0


def test_a_processor_alone_needs_no_message():
    assert simulate(1, MODEL, 8, 128) == 0.0


def test_two_processors_exchange_two_messages():
    one_way = MODEL.under_way(128) + 2 * MODEL.handling
    assert simulate(2, MODEL, 8, 128) == pytest.approx(2 * one_way)


def test_a_flat_round_is_the_top_taking_and_telling_one_after_the_other():
    others = 99
    way = MODEL.under_way(128)
    taken = MODEL.handling + way + others * MODEL.handling
    told = others * MODEL.handling + way + MODEL.handling
    assert simulate(others + 1, MODEL, others + 1, 128) == pytest.approx(taken + told)


def test_a_tree_grows_with_the_logarithm():
    few, many = (simulate(processors, MODEL, 8, 128) for processors in (64, 100_000))
    assert few < many < 1.5 * few * math.log(100_000, 64)


def test_without_a_cluster_the_words_say_why():
    with nodes(3, "100mbit", emulated=False) as place:
        assert place.cluster is None
        assert place.words.startswith("3 processors of this machine as it is")
        assert "no cluster: not asked for" in place.words
        assert place.share == share_of(3) <= len(usable_cores()) / 3


@pytest.mark.mpi
@pytest.mark.skipif(NO_CLUSTER is not None, reason=f"no emulated cluster here: {NO_CLUSTER}")
def test_programs_and_peers_run_on_the_nodes_of_a_cluster():
    with nodes(2, "1gbit") as place:
        if place.cluster is None:
            pytest.skip(place.words)
        defines = {"units": 2, "steps": 1000, "numbers": 1000}
        times = run_program("synthetic_2.coven", defines, processors=2, place=place)["t"]
        assert times.reshape(2, 6).min() > 0
        found = run_peer("synthetic", 4, 2, 1000, 1000, 2, place=place, each=2)
        assert found["seconds"] > 0


@pytest.mark.mpi
def test_a_transform_that_is_not_there_is_named(monkeypatch):
    from pse.bench.subjects import fft3

    monkeypatch.setenv("PSE_FFTW_MPI", "/nowhere/libfftw3_mpi.so")
    with pytest.raises(RunError, match=r"PSE_FFTW_MPI names /nowhere/libfftw3_mpi\.so, which does not exist"):
        fft3.library()


def test_errors_of_variability_are_those_of_communication():
    script = load_script("variability")
    cycles = np.zeros(4, CYCLE)
    cycles["application"], cycles["load"], cycles["launch"] = [0, 0, 1, 1], 40, [0, 1, 0, 1]
    cycles["calculated"], cycles["compute"], cycles["predicted"] = 1.0, 9.0, 2.0
    cycles["communication"] = cycles["barrier"] = [1.0, 1.2, 2.0, 3.0]
    applications = [{"name": "pairs"}, {"name": "pairs alone"}]
    results = Results(cycles, np.zeros(0, EXCHANGE), {"applications": applications})
    assert script.errors(results, "pairs")[40] == pytest.approx([0.0, 0.1])
    rows = list(script.error_rows({(1024, 4, True): results}))
    assert rows == [
        ("blocking, 1 KiB", "4", "no", "+75.0 % (+50 to +100)"),
        ("blocking, 1 KiB", "4", "yes", "+5.0 % (+0 to +10)"),
    ]
    row = next(script.dispersion_rows({(1024, 4, True): results}))
    assert row == ("4", "communication, mean", "2.50 s", "1.10 s", "0.4")
