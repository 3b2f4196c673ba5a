"""``pse bench applications``: whole applications, each beside the same by a careful hand.

Heat, the lid-driven cavity, n-body, a matrix product and molecular dynamics are measured as ``pse bench
programs`` measures: with the same compiled kernels, in turn, results compared bit for bit; by hand they are
in C and MPI.  Molecular dynamics on one core is set beside LAMMPS too, and the standard library's distributed
Fourier transforms beside FFTW's.  Scenes are read as from a network's disk and composed, beside a script that
takes one after the other.  Rows that migrate have a floor: a pass over the owners and a copy of what moves.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from pse.bench._figures import Against, Figure
from pse.bench._running import (
    SOURCE_TREE,
    Samples,
    finish,
    in_turn,
    ratios,
    run_program,
    start,
    stop,
    usable_cores,
)
from pse.bench.subjects.whole import molecules, transforms
from pse.bench.subjects.whole.programs import (
    PROGRAMS,
    SOURCES,
    C,
    Program,
    Sizes as SizesOfPrograms,
    measure as measure_programs,
)
from pse.errors import RunError

_FLOW, _MOLECULES = "programs/flow", "programs/molecules"
_OTHERS = {program.title: program for program in PROGRAMS}
APPLICATIONS = (
    _OTHERS["heat 1,024²"],
    Program(
        "cavity",
        "cavity 128²",
        (f"{_FLOW}/cavity.c", f"{_FLOW}/poisson.c"),
        {"N": 128, "steps": 2},
        hides=False,
    ),
    _OTHERS["n-body, 4,096 bodies"],
    _OTHERS["matmul 768²"],
    Program(
        "molecules",
        "molecular dynamics, 16,384 particles",
        tuple(f"{_MOLECULES}/{name}.c" for name in ("domains", "pairs", "motion")),
        {"cells": 16, "steps": 10},
        hides=False,
    ),
)
_WARM = 2
"""Turns of rows that are not counted: the arena's memory is fresh then."""


def _processors() -> tuple[int, ...]:
    return tuple(number for number in (1, 2, 4) if number <= len(usable_cores()))


@dataclass(frozen=True)
class Sizes:
    """What is measured: programs, scenes and rows, and on how many processors and nodes.

    Without `lammps` or `fftw`, nothing is measured beside that.
    """

    programs: tuple[Program, ...] = APPLICATIONS
    processors: tuple[int, ...] = field(default_factory=_processors)
    nodes: tuple[int, ...] = (2,)
    scenes: int = 8
    side: int = 1024
    rows: int = 1_000_000
    turns: int = 12
    lammps: molecules.Sizes | None = field(default_factory=molecules.Sizes)
    fftw: transforms.Sizes | None = field(default_factory=transforms.Sizes)

    def of_programs(self) -> SizesOfPrograms:
        """Give the sizes for ``programs``, which are in C by hand."""
        in_c = [replace(program, languages=(C,)) for program in self.programs]
        return SizesOfPrograms(in_c, self.processors, self.nodes, whole=False)


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure programs, place by place; then beside LAMMPS and FFTW; then scenes and rows in turn."""
    figures = measure_programs(repeats, sizes.of_programs(), say)
    if sizes.lammps:
        figures += molecules.measure(repeats, sizes.lammps, say)
    if sizes.fftw:
        figures += transforms.measure(repeats, sizes.fftw, say)
    return figures + _measure_data(repeats, sizes, say)


def _measure_data(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure scenes and rows in turn."""
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory:
        measurers: list[Callable[[], Mapping[str, float]]] = [
            functools.partial(_rows, sizes, number, words)
            for number in sizes.processors
            for words in _TRANSPORTS
        ]
        reads = importlib.util.find_spec("rasterio") is not None
        if reads:
            _generate(sizes, directory)
            measurers += [functools.partial(_scenes, sizes, directory)]
        else:
            say("no scenes are measured: rasterio is not installed (pip install 'pse[scenes]')")
        samples = in_turn(repeats, measurers, say)
    figures = [figure for number in sizes.processors for figure in _rows_figures(samples, number)]
    return figures + (_scenes_figures(samples, sizes) if reads else [])


_TRANSPORTS: Mapping[str, tuple[str, ...]] = {
    "shared memory": (),
    "shared memory off": ("shared_memory=off",),
}


def _rows(sizes: Sizes, number: int, transport: str) -> dict[str, float]:
    """Milliseconds of migrating, its floor, and gathering dense and ragged arrays."""
    defines = {"N": sizes.rows, "turns": sizes.turns}
    options = _TRANSPORTS[transport]
    times = run_program("rows.coven", defines, options=options, processors=number)["times"] / 1e6
    names = [f"{name} {number} {transport}" for name in ("migrate", "floor", "dense", "ragged")]
    return dict(zip(names, np.median(times[_WARM:], axis=0).tolist(), strict=True))


def _rows_figures(samples: Samples, number: int) -> list[Figure]:
    figures = []
    for transport in _TRANSPORTS:
        where = f"{number} processor{'s' * (number > 1)}, {transport}"
        migrate, floor, dense, ragged = (
            samples[f"{name} {number} {transport}"] for name in ("migrate", "floor", "dense", "ragged")
        )
        figures += [
            _ratio(f"migrate, 1 % of the rows moves: over its floor; {where}", 3.0, migrate, floor, _FLOOR),
            _ratio(f"gather of a ragged array: over a dense one; {where}", 1.1, ragged, dense, "dense"),
        ]
    return figures


_FLOOR = "a pass over the owners, and a copy of what moves"


def _ratio(name: str, target: float, ours: list[float], theirs: list[float], who: str) -> Figure:
    against = Against(who, "ms", tuple(theirs), tuple(ours))
    return Figure(name, "×", "<=", target, ratios(ours, theirs), against)


def _generate(sizes: Sizes, directory: str) -> None:
    """Write scenes."""
    generator = str(SOURCE_TREE / "programs" / "scenes" / "generate.py")
    words = [f"--{name}={number}" for name, number in (("days", sizes.scenes), ("rows", sizes.side))]
    _finished([sys.executable, generator, directory, *words, f"--columns={sizes.side}"], directory)


def _scenes(sizes: Sizes, directory: str) -> dict[str, float]:
    """Seconds of the program on up to two processors, and of the script; both find the same."""
    values = {"folder": directory, "scenes": sizes.scenes, "rows": sizes.side, "columns": sizes.side}
    ours = run_program(str(SOURCES / "scenes.coven"), values, processors=_of_scenes(sizes))["found"]
    script = [sys.executable, str(SOURCES / "scenes.py"), directory, str(sizes.scenes)]
    seconds, found = json.loads(_finished(script, directory))
    if found != ours[1]:
        raise RunError(
            "the composite of the program is not that of the script",
            help="this is a mistake in pse, or in the script: please report it",
        )
    return {"scenes": float(ours[0]), "script": seconds}


def _of_scenes(sizes: Sizes) -> int:
    return min(2, max(sizes.processors))


def _scenes_figures(samples: Samples, sizes: Sizes) -> list[Figure]:
    ours, script = samples["scenes"], samples["script"]
    number = _of_scenes(sizes)
    name = f"{sizes.scenes} scenes as from a network's disk, {number} processor{'s' * (number > 1)}"
    against = Against("a script with rasterio", "s", tuple(script), tuple(ours))
    return [Figure(f"{name}: times faster than a script", "×", ">=", 3.0, ratios(script, ours), against)]


def _finished(command: list[str], directory: str) -> str:
    process: subprocess.Popen[str] = start(command, directory)
    try:
        return finish(Path(command[1]).name, process)
    finally:
        stop(process)
