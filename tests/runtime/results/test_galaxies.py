"""Gravity by a tree: against the direct sum of the ring of bodies, and what a tree may leave out."""

from pathlib import Path

import numpy as np
import pytest
from pse_testing.harness import compile_program, make_job, run

from pse.errors import PseError
from pse.modules.load._imports import import_python

PROGRAMS = Path(__file__).parents[3] / "programs"
CLUSTER = """
from plummer import plummer
#@ coven module galaxies(in i64 n, in i64 seed = 42, out f64 xm[n, 4], out f64 vel[n, 3])
def galaxies(n, seed):
    return plummer(n, seed)
#@ coven module draw(in string file, in f64 xm[n, 4], in f64 time)
def draw(file, xm, time):
    pass
"""


@pytest.fixture
def carry_out(tmp_path, monkeypatch):
    """Run a program in a folder with both programs' modules; gives the bodies at the end."""
    monkeypatch.chdir(tmp_path)
    for file in [*PROGRAMS.glob("*.c"), *PROGRAMS.glob("*.py")]:
        (tmp_path / file.name).write_text(file.read_text())

    def run_it(program, processors=1, end="", **values):
        text = (PROGRAMS / program).read_text().rstrip().removesuffix("}") + end + "}\n"
        run(make_job(compile_program(text, tmp_path / program), processors, values=values))
        return np.load("end.npy")

    return run_it


@pytest.fixture
def cluster(tmp_path, carry_out):
    """Let the tree have the bodies that the ring has; gives their positions and masses, and velocities."""
    (tmp_path / "galaxies.py").write_text(CLUSTER)
    return lambda n: import_python(str(tmp_path / "plummer.py"), "plummer.py").plummer(n, 42)


def test_a_tree_that_leaves_nothing_out_moves_bodies_as_the_ring_does(carry_out, cluster):
    values = {"bodies": 61, "steps": 5, "dt": 0.01}
    ring = carry_out("nbody.coven", end='gather(xm) -> x1  save("end.npy", x1)\n', **values)
    tree = carry_out("galaxies.coven", results="end", theta=0, softening=0, parts=3, **values)
    assert np.abs(ring - cluster(61)[0]).max() > 1e-3
    np.testing.assert_allclose(tree, ring, rtol=1e-12, atol=1e-14)


def test_what_a_tree_leaves_out_is_little_and_less_with_a_smaller_angle(carry_out, cluster):
    """A step of time 1 tells the accelerations; they are to be right within 1 % for an angle of 0.6."""
    x, v = cluster(1000)
    values = {"bodies": 1000, "steps": 1, "dt": 1, "results": "end", "softening": 0.05}
    acc = {theta: 2 * (carry_out("galaxies.coven", theta=theta, **values)[:, :3] - x[:, :3] - v)
           for theta in (0, 0.3, 0.6)}  # fmt: skip
    size = np.sqrt((acc[0] ** 2).sum(1).mean())
    errors = [np.sqrt(((acc[theta] - acc[0]) ** 2).sum(1).mean()) / size for theta in (0.3, 0.6)]
    assert 0 < errors[0] < errors[1] / 2 < 0.005


def test_galaxies_have_the_same_bits_in_any_number_of_partitions(carry_out):
    ends = [
        carry_out("galaxies.coven", processors, bodies=200, steps=3, parts=parts, results="end")
        for processors, parts in ((1, 1), (1, 4), (3, 4), (2, 7))
    ]
    assert all(np.array_equal(end, ends[0]) for end in ends[1:])


def test_galaxies_keep_their_energy(carry_out, capfd):
    carry_out("galaxies.coven", bodies=300, steps=200, every=50, results="end")
    energies = [float(line.split()[4]) for line in capfd.readouterr().out.splitlines() if "energy" in line]
    assert len(energies) == 4
    assert np.ptp(energies) < 0.01 * abs(energies[0])


def begin_with(positions):
    """Write modules for bodies that rest."""
    return CLUSTER.replace(
        "return plummer(n, seed)", f"import numpy as np; return {positions}, np.zeros((n, 3))"
    )


def test_bodies_in_one_place_do_nothing_to_each_other(carry_out, tmp_path):
    """No cube can divide them."""
    (tmp_path / "galaxies.py").write_text(begin_with("np.ones((n, 4))"))
    end = carry_out("galaxies.coven", bodies=40, steps=1, results="end")
    np.testing.assert_array_equal(end, np.ones((40, 4)))


def test_a_body_that_is_nowhere_is_an_error(carry_out, tmp_path):
    (tmp_path / "galaxies.py").write_text(begin_with("np.full((n, 4), np.nan)"))
    with pytest.raises(PseError, match="a body's position or mass is not a finite number"):
        carry_out("galaxies.coven", bodies=40, steps=1, results="end")
