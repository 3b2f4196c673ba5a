"""The flow in a box and the plate that is heated: against exact solutions and published extrema."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from pse_testing.harness import compile_program, make_job, run

from pse.modules.load._imports import import_python

PROGRAMS = Path(__file__).parents[3] / "programs" / "flow"
SECONDS = 3000
"""Until a run counts as hanging, longer than any test may take: those of every night compute for minutes."""


@pytest.fixture
def carry_out(tmp_path, monkeypatch):
    """Run one of the programs; gives the arrays that it saved, by their names."""
    monkeypatch.chdir(tmp_path)
    numbers = itertools.count()

    def run_it(program, processors, **values):
        path, name = PROGRAMS / program, f"run{next(numbers)}"
        compiled = compile_program(path.read_text(), path, values)
        run(make_job(compiled, processors, values={"results": name} | values), timeout=SECONDS)
        return {file.stem.removeprefix(name + "-"): np.load(file) for file in tmp_path.glob(f"{name}-*.npy")}

    return run_it


# The box.

RE_100 = -0.2140424, 0.1795728, -0.2538030
RE_1000 = -0.3885698, 0.3769447, -0.5270771
"""The least u on the vertical centre line, the largest and the least v on the horizontal one."""


def extrapolated_extrema(carry_out, cells, **values):
    """Give the extrema on a grid, and what second order leads to from it and one of half as many cells."""
    extrema = import_python(str(PROGRAMS / "cavity.py"), "cavity.py").extrema
    flows = [carry_out("cavity.coven", 1, N=n, **values) for n in (cells // 2, cells)]
    coarse, fine = (np.array(extrema(flow["u"], flow["v"])[:3]) for flow in flows)
    return fine, fine + (fine - coarse) / 3


def test_the_flow_under_a_lid_has_the_published_extrema(carry_out):
    """What is left is fourth order, 5e-4 between these grids, and what is not steady yet, 2e-4."""
    fine, extrapolated = extrapolated_extrema(carry_out, 32, Re=100, steady=1e-4)
    assert np.abs(extrapolated - RE_100).max() < 1e-3
    assert np.abs(fine - RE_100).min() > 2e-3


@pytest.mark.nightly
@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize(
    ("Re", "cells", "published", "tolerance"), [(100, 64, RE_100, 1.5e-4), (1000, 128, RE_1000, 1e-3)]
)
def test_the_flow_under_a_lid_has_the_published_extrema_on_fine_grids(
    carry_out, Re, cells, published, tolerance
):
    """What is left is fourth order: 6e-5 at the smaller Reynolds number, and 7e-4 at the larger one."""
    _, extrapolated = extrapolated_extrema(carry_out, cells, Re=Re, until=100, steady=1e-5, divergence=1e-6)
    assert np.abs(extrapolated - published).max() < tolerance


def test_a_vortex_decays_as_it_should_and_the_error_is_of_second_order(carry_out):
    """Taylor and Green: velocities like exp(-2 nu k² t), kinetic energy like the square, k being pi here."""
    errors = []
    for n in (8, 16):
        values = {"N": n, "Re": 10, "until": 0.5, "steady": 0, "rows": 3, "columns": 1}
        flow = carry_out("cavity.coven", 1, flow="taylor-green", **values)
        x = np.pi * np.arange(1, n + 1) / n
        expected = np.exp(-2 * np.pi**2 * 0.1 * 0.5) * np.sin(x) * np.cos(x[:, None] - 0.5 * x[0])
        np.testing.assert_allclose(flow["v"], -flow["u"].T, atol=1e-6)
        energy = (flow["u"] ** 2 + flow["v"] ** 2).sum() / 2 / n**2
        decay = energy / 0.25 / np.exp(-4 * np.pi**2 * 0.1 * 0.5)
        errors.append((np.abs(flow["u"] - expected).max(), decay - 1))
    coarse, fine = np.abs(errors)
    np.testing.assert_allclose(coarse / fine, 4, rtol=0.1)
    assert fine[1] < 0.01


def test_a_flow_has_the_same_bits_on_any_number_of_processors(carry_out):
    """13 rows and columns in 3 by 2 partitions; what flows into a cell flows out of it."""
    flows = [carry_out("cavity.coven", p, N=13, until=0.2, rows=3, columns=2) for p in (1, 2, 3)]
    for flow in flows[1:]:
        assert all(np.array_equal(flow[name], flows[0][name]) for name in "uvp")
    u, v = flows[0]["u"], flows[0]["v"]
    outflow = np.diff(u, axis=1, prepend=0) + np.diff(v, axis=0, prepend=0)
    assert np.abs(outflow).max() * 13 < 1.1e-7
    assert np.abs(u).max() > 0.1
    whole = carry_out("cavity.coven", 1, N=13, until=0.2, rows=1, columns=1)
    np.testing.assert_allclose(u, whole["u"], atol=1e-7)


# The pressure by multigrid.


def test_a_v_cycle_leaves_a_tenth_of_the_residual_on_any_grid(carry_out, capfd):
    """A tenth is usual for two sweeps of red-black Gauss-Seidel down and up, also without partitions."""
    worst = []
    for cells, grids in ((32, 4), (64, 5)):
        carry_out("multigrid.coven", 1, N=cells, levels=grids)
        factors = [float(word) for word in re.findall(r"leaves (\S+)", capfd.readouterr().out)]
        assert len(factors) in (7, 8, 9)
        worst.append(max(factors[1:]))
    assert min(worst) > 0.08
    assert max(worst) < 0.12


def test_the_pressure_by_multigrid_has_the_same_bits_on_any_number_of_processors(carry_out):
    one, two, three = (carry_out("multigrid.coven", n, N=16, levels=3)["p"] for n in (1, 2, 3))
    assert np.array_equal(one, two)
    assert np.array_equal(one, three)
    neighbours = np.pad(one, 1, mode="edge")
    lacking = 4 * one - neighbours[:-2, 1:-1] - neighbours[2:, 1:-1] - neighbours[1:-1, :-2]
    charges = lacking - neighbours[1:-1, 2:]
    assert np.abs(charges - np.round(charges)).max() < 1e-5, "sources are whole numbers"
    assert np.abs(charges).max() > 40


# The plate.


def test_a_mode_of_the_plate_decays_as_it_should_and_the_error_is_of_second_order(carry_out):
    """Cold edges, and faces that lose nothing: sines along the plate, a cosine through it."""
    sides, errors = (0.5, 0.8, 1.0), []
    values = {"thickness": 0.5, "width": 0.8, "length": 1, "conductivity": 1, "capacity": 1, "cooling": 0}
    values |= {"sources": "none", "start": "mode", "until": 0.02, "steady": 0, "rows": 2, "columns": 3}
    for n in (1, 2):
        hot = carry_out("plate.coven", 1, NZ=5 * n, NY=7 * n, NX=9 * n, **values)["T"]
        z, y, x = (np.pi * (np.arange(m) + 0.5) / m for m in hot.shape)
        mode = np.cos(z)[:, None, None] * np.sin(y)[:, None] * np.sin(x)
        rate = np.pi**2 * sum(side**-2 for side in sides)
        errors.append(np.abs(hot - np.exp(-rate * 0.02) * mode).max())
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    assert errors[1] < 0.004


def test_a_plate_that_is_heated_evenly_has_the_temperatures_of_poissons_equation(carry_out, tmp_path):
    (tmp_path / "even.csv").write_text("0, 1, 0, 1, 0, 1, 3.0  # all of it\n")
    errors = []
    values = {"length": 1, "width": 1, "thickness": 1, "conductivity": 2, "capacity": 1, "cooling": 0}
    values |= {"sources": str(tmp_path / "even.csv"), "until": 0.4, "steady": 0, "rows": 3}
    for n in (8, 16):
        hot = carry_out("plate.coven", 1, NX=n, NY=n, NZ=1, **values)["T"]
        odd, x = np.arange(1, 200, 2), (np.arange(n) + 0.5) / n
        sines = np.sin(np.pi * odd * x[:, None])
        weights = 16 / np.pi**4 / (odd * odd[:, None] * (odd**2 + odd[:, None] ** 2))
        errors.append(np.abs(hot[0] - 3.0 / 2.0 * sines @ weights @ sines.T).max())
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    assert errors[1] < 0.001


def test_a_plate_has_the_same_bits_on_any_number_of_processors(carry_out):
    """31 by 19 cells in 3 by 2 partitions; in the end as much heat leaves as the sources give."""
    values = {"NX": 31, "NY": 19, "NZ": 3, "rows": 3, "columns": 2, "until": 100}
    plates = [carry_out("plate.coven", p, **values)["T"] for p in (1, 2, 3)]
    assert all(np.array_equal(plate, plates[0]) for plate in plates[1:])
    whole = carry_out("plate.coven", 1, **values | {"rows": 1, "columns": 1})["T"]
    np.testing.assert_array_equal(whole, plates[0])
    assert plates[0].max() > 10


def test_a_plate_gives_off_what_heats_it(carry_out, capfd):
    carry_out("plate.coven", 3, NX=12, NY=8, NZ=2, until=20000, steady=1e-9)
    told = capfd.readouterr().out.split()
    supplied, lost = (float(told[told.index(name) + 1]) for name in ("supplied", "lost"))
    assert supplied == pytest.approx(1000, rel=1e-9)
    assert lost == pytest.approx(supplied, rel=1e-5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "# heat\n0, 0.1, 0, 0.1, 0, 0.1\n",
            "seven numbers are expected, with commas: ends along x, y, z, and the power",
        ),
        ("\n0, 0.1, 0.3, 0.5, 0, 0.01, 5\n", "the box is not inside the plate of 0.6 m × 0.4 m × 0.03 m"),
    ],
)
def test_a_line_of_heat_sources_that_cannot_be_used_is_named(tmp_path, text, said):
    file = tmp_path / "sources.csv"
    file.write_text(text)
    read = import_python(str(PROGRAMS / "plate.py"), "plate.py").read
    with pytest.raises(ValueError, match=re.escape(f"{file}:2: {said}")):
        list(read(file, (0.6, 0.4, 0.03)))
