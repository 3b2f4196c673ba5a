"""The programs for users compute what they should: against independent solvers, exact results and published
figures.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from pse_testing.harness import compile_program, make_job, run

from pse.modules.load._imports import import_python

PROGRAMS = Path(__file__).parents[3] / "programs"
EIGHT = """
import numpy as np
#@ coven module plummer(in i64 n, in i64 seed = 0, out f64 xm[n, 4], out f64 vel[n, 3])
def plummer(n, seed):
    r, v = np.array([0.97000436, -0.24308753, 0]), np.array([-0.93240737, -0.86473146, 0])
    return np.c_[[r, -r, 0 * r], np.ones(3)], np.array([-v / 2, -v / 2, v])
"""
PERIOD, ENERGY = 6.32591398, -1.2871419917663


@pytest.fixture
def carry_out(tmp_path, monkeypatch):
    """Run one of the programs in a folder of the test's own; gives what it saved as `name`."""
    monkeypatch.chdir(tmp_path)

    def run_it(program, processors, name=None, change=lambda text: text, **values):
        text = change((PROGRAMS / program).read_text())
        compiled = compile_program(text, tmp_path / program)
        run(make_job(compiled, processors, values=values))
        return np.load(name) if name else None

    for file in [*PROGRAMS.glob("*.c"), *PROGRAMS.glob("*.py")]:
        (tmp_path / file.name).write_text(file.read_text())
    return run_it


# Heat: explicit steps on a plate with a cold edge.


def heat(nx, ny, tol):
    """An independent solver of the whole plate; gives the field, and how many steps it took."""
    u, steps, residual = np.pad(np.ones((nx, ny)), 1), 0, 1e30
    while residual > tol and steps < 100_000:
        mean = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        residual, steps = np.abs(mean - u[1:-1, 1:-1]).max(), steps + 1
        u[1:-1, 1:-1] = mean
    return u[1:-1, 1:-1], steps


@pytest.mark.parametrize("processors", [1, 3])
def test_heat_is_what_one_solver_of_the_whole_plate_gives(carry_out, processors):
    field = carry_out("heat.coven", processors, "heat.npy", NX=23, NY=10, tol=1e-3)
    expected, _ = heat(23, 10, 1e-3)
    np.testing.assert_array_equal(field, expected)


def test_heat_decays_as_its_slowest_mode_does(carry_out):
    nx, ny, tol = 14, 9, 1e-4
    field = carry_out("heat.coven", 1, "heat.npy", NX=nx, NY=ny, tol=tol)
    _, steps = heat(nx, ny, tol)
    x, y = (np.pi * np.arange(1, n + 1) / (n + 1) for n in (nx, ny))
    mode = np.sin(x)[:, None] * np.sin(y)
    rate = 0.5 * (np.cos(x[0]) + np.cos(y[0]))
    assert (field * mode).sum() / mode.sum() == pytest.approx(rate**steps, rel=1e-10)


# Bodies: a ring of visiting pieces, kick-drift-kick.


def keep_state(text):
    """Save the bodies at the end."""
    end = """  thread_A gather(xm) -> x1   thread_A save("x.npy", x1)
  thread_A gather(vel) -> v1  thread_A save("v.npy", v1)
}
"""
    return text.rstrip().removesuffix("}") + end


def accelerations(x, mass):
    """Direct sum."""
    d = x[None] - x[:, None]
    r2 = (d**2).sum(-1)
    np.fill_diagonal(r2, 1)
    return (mass[None, :, None] * d / r2[..., None] ** 1.5).sum(1)


def leapfrog(x, v, mass, dt, steps):
    a = accelerations(x, mass)
    for _ in range(steps):
        v = v + 0.5 * dt * a
        x = x + dt * v
        a = accelerations(x, mass)
        v = v + 0.5 * dt * a
    return x, v


def energy(x, v, mass):
    d = np.linalg.norm(x[None] - x[:, None], axis=-1)
    pairs = np.triu_indices(len(x), 1)
    potential = -(mass[:, None] * mass)[pairs] / d[pairs]
    return 0.5 * (mass * (v**2).sum(1)).sum(), potential.sum()


@pytest.mark.parametrize(("steps", "error"), [(1000, 6.40e-5), (2000, 1.60e-5)])
def test_three_bodies_stay_on_their_figure_eight(carry_out, tmp_path, steps, error):
    """Two partitions for three bodies: the pieces that go round are of different sizes."""
    (tmp_path / "plummer.py").write_text(EIGHT)
    xm = carry_out("nbody.coven", 1, "x.npy", keep_state, bodies=3, steps=steps, dt=PERIOD / steps)
    start = np.array([[0.97000436, -0.24308753, 0], [-0.97000436, 0.24308753, 0], [0, 0, 0]])
    assert np.abs(xm[:, :3] - start).max() == pytest.approx(error, rel=0.01)
    v = np.load("v.npy")
    assert sum(energy(xm[:, :3], v, np.ones(3))) == pytest.approx(ENERGY, rel=1e-5)
    np.testing.assert_allclose(v.sum(0), 0, atol=1e-12)


@pytest.mark.parametrize(("processors", "bodies"), [(1, 16), (3, 16), (3, 4)])
def test_bodies_move_as_by_direct_sum(carry_out, tmp_path, processors, bodies):
    """Also with bodies that the partitions can't share evenly, and with fewer bodies than partitions."""
    xm = carry_out("nbody.coven", processors, "x.npy", keep_state, bodies=bodies, steps=3, dt=0.01)
    x0, v0 = import_python(str(tmp_path / "plummer.py"), "plummer.py").plummer(bodies, 42)
    x, v = leapfrog(x0[:, :3], v0, x0[:, 3], 0.01, 3)
    np.testing.assert_allclose(xm[:, :3], x, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(np.load("v.npy"), v, rtol=1e-12, atol=1e-13)


def test_a_cluster_has_the_energies_of_plummers_model(carry_out):
    xm = carry_out("nbody.coven", 1, "x.npy", keep_state, bodies=1500, steps=0)
    kinetic, potential = energy(xm[:, :3], np.load("v.npy"), xm[:, 3])
    assert potential == pytest.approx(-0.5, rel=0.08)
    assert kinetic == pytest.approx(0.25, rel=0.08)


def test_it_tells_the_kinetic_energy(carry_out, capfd):
    carry_out("nbody.coven", 3, "x.npy", keep_state, bodies=8, steps=1, dt=1e-3)
    told = re.search(r"^0 (\S+)$", capfd.readouterr().out, re.MULTILINE)
    kinetic, _ = energy(np.load("x.npy")[:, :3], np.load("v.npy"), np.full(8, 1 / 8))
    assert float(told[1]) == pytest.approx(kinetic, abs=1e-9)


# Matrices: SUMMA on a grid.


@pytest.mark.parametrize("processors", [1, 3])
@pytest.mark.parametrize("whole", [True, False])
def test_matrices_are_multiplied(carry_out, tmp_path, processors, whole):
    m, n, k = 23, 17, 29
    product = carry_out("matmul.coven", processors, "product.npy", M=m, N=n, K=k, width=6, whole=whole)
    a, b = import_python(str(tmp_path / "operands.py"), "operands.py").operands(m, n, k, whole)
    if whole:
        np.testing.assert_array_equal(product, a @ b)
    bound = k * np.finfo(float).eps * (np.abs(a) @ np.abs(b))
    assert (np.abs(product - a @ b) <= bound).all()
