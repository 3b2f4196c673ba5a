"""MetaTrace: its versions give the same bits on any number of processors; flow and particles obey theory."""

from pathlib import Path

import numpy as np
import pytest
from pse_testing.sharing import made_once

pytestmark = pytest.mark.mpi
PROGRAM = Path(__file__).parents[2] / "programs" / "metatrace.coven"
SAND = {
    "NX": 25,
    "NY": 7,
    "NZ": 8,
    "particles": 500,
    "cycles": 3,
    "tolerance": 1e-9,
    "dt": 4,
    "storage": 0.01,
}
STEADY = {"cycles": 1, "storage": 0, "swing": 0}
LAYERS = {"NX": 24, "NY": 6, "NZ": 6, "particles": 300, "tolerance": 1e-12, **STEADY}
SOURCE = {"medium": "uniform", "closed": "false", "gradient": 0, "source": 1, "sweeps": 0, **STEADY}


@pytest.fixture
def metatrace(mpiexec, tmp_path, nothing_left_behind):
    """Run the program: ``metatrace(processors, version, NX=24, …)``; gives what it keeps."""

    def run(processors, version, words=None, env=None, **values):
        values |= {"version": version, "results": "kept.npz"}
        definitions = [word for item in values.items() for word in ("-D", "{}={}".format(*item))]
        command = ["-m", "pse", *(words or [PROGRAM, *definitions]), "-q"]
        ended = mpiexec(1 + processors, *command, cwd=tmp_path, timeout=240, env=env or {})
        assert ended.code == 0, ended.err
        with np.load(tmp_path / "kept.npz") as kept:
            return dict(kept)

    return run


def released(n, nx, ny, nz):
    steps = np.arange(1, n + 1)[:, None] * np.array([0.8191725134, 0.6710436067, 0.5497004779])
    return (steps % 1.0) * np.array([nx / 8, ny, nz])


@pytest.fixture
def sand(metatrace):
    """What the first version keeps of sand, computed once for all that compare with it."""
    return made_once("metatrace-sand", lambda: metatrace(3, 1, **SAND))


def test_all_versions_give_the_same_bits_on_any_number_of_processors(metatrace, sand):
    first = sand
    others = [metatrace(1, 2, **SAND), metatrace(3, 3, **SAND)]
    for name, expected in first.items():
        for other in others:
            np.testing.assert_array_equal(other[name], expected, err_msg=name)
    assert (first["history"][:, 1] <= SAND["tolerance"]).all()
    assert (first["history"][:, 0] > 5).all()
    # All particles are there, within the walls, and most of them have moved downstream.
    position, start = first["position"], released(500, 25, 7, 8)
    assert position.shape == (500, 3)
    assert (position[:, 1:] >= 0).all()
    assert (position[:, 1:] <= [7, 8]).all()
    assert (position[:, 0] > start[:, 0]).mean() > 0.9


def test_it_goes_on_from_a_checkpoint(metatrace, sand, tmp_path):
    """Communicators and receives of the next cycle are made anew; at first results can't be written."""
    (tmp_path / "kept.npz").unlink(missing_ok=True)
    (tmp_path / "kept.npz").mkdir()
    words = [word for item in SAND.items() for word in ("-D", "{}={}".format(*item))]
    with pytest.raises(AssertionError, match=r"kept\.npz"):
        metatrace(3, 3, [PROGRAM, *words, "-D", "results=kept.npz", "--checkpoint", "saved", "--every", "2"])
    (tmp_path / "kept.npz").rmdir()
    resumed = metatrace(3, 3, ["resume", "saved"])
    for name, expected in sand.items():
        np.testing.assert_array_equal(resumed[name], expected, err_msg=name)


def test_layers_across_the_flow_conduct_as_resistances_in_series(metatrace):
    kept = metatrace(3, 2, medium="across", **LAYERS)
    effective = 2 / (1 / 1 + 1 / 10)  # 1.818182: Darcy's velocity for a gradient of 1.
    np.testing.assert_allclose(kept["velocity"][..., 0], 0.1 * effective / 0.25, rtol=1e-9)
    np.testing.assert_allclose(kept["velocity"][..., 1:], 0, atol=1e-9)
    x = released(300, 24, 6, 6) + np.array([0.1 * effective / 0.25 * 5, 0, 0])
    np.testing.assert_allclose(kept["position"], x, rtol=1e-9)


def test_layers_along_the_flow_conduct_in_parallel(metatrace):
    kept = metatrace(1, 1, medium="along", **LAYERS)
    along = kept["velocity"][..., 0] * 0.25 / 0.1
    np.testing.assert_allclose(along[:, :, :3], 1, rtol=1e-9)
    np.testing.assert_allclose(along[:, :, 3:], 10, rtol=1e-9)
    np.testing.assert_allclose(along.mean(axis=(1, 2)), 5.5, rtol=1e-9)
    # Within a layer the flow is uniform, and paths of particles are straight.
    x = released(300, 24, 6, 6)
    low = x[:, 2] < 2.5
    np.testing.assert_allclose(kept["position"][low], x[low] + np.array([0.1 / 0.25 * 5, 0, 0]), rtol=1e-9)


def test_what_is_sent_arrives_though_its_sender_sleeps(metatrace):
    """Where no rank may read another's memory, as in containers, a long message needs both to be in MPI."""
    metatrace(3, 3, env={"MPIR_CVAR_CH4_CMA_ENABLE": "0"}, **SOURCE, tolerance=1e-3, particles=10)


def test_heads_of_a_uniform_source_are_those_of_an_exact_solution(metatrace):
    """Zero head around 192 x 32 x 32 cells; the sums are those of sine transforms."""
    kept = metatrace(3, 3, **SOURCE, tolerance=1e-10, particles=10)
    assert kept["history"][0, 0] == 220
    assert kept["head"].max() == pytest.approx(80.04483658, abs=1e-7)
    assert kept["head"].sum() == pytest.approx(7419948.0982, abs=1e-3)
