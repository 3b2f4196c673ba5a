"""``pse bench tools``: what a call of MPI costs through stubs, and through empty layers of the tool stack.

Each process measures both ways in turn, batch by batch: through ``MPI_Comm_rank``, and past all layers
through ``PMPI_Comm_rank``; the figures are the differences.  Layers are files of their own, compiled here,
whose code and imports lie at different offsets of their pages.  Some are compiled once more with the
compiler's default flags: the procedure linkage tables of equal layers lie at equal offsets, and so in the
same sets of the caches.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pse.bench._figures import Against, Figure
from pse.bench._running import Samples, finish, in_turn, ratios, start, stop
from pse.errors import RunError
from pse.modules.build import find_compiler
from pse.runtime.launch import find_mpiexec
from pse.toolstack import CONFIGURATION, Mpi, find_mpi, library

_CALLS, _HALF_ROUNDS = 20_000, 1_000


@dataclass(frozen=True)
class Sizes:
    """How many layers are some and many, and how many batches of calls are measured in one process."""

    some: int = 10
    many: int = 100
    batches: int = 60


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure all numbers of layers in turn."""
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory:
        bed = _Bed(Path(directory), sizes)
        measurers = [lambda: bed.calls(0), lambda: bed.calls(1), lambda: bed.calls(sizes.some)]
        measurers += [lambda: bed.calls(sizes.many), bed.loading, bed.calls_by_default]
        measurers += [bed.to_and_fro, lambda: bed.to_and_fro(by_default=True)]
        return _figures(in_turn(repeats, measurers, say), sizes)


def _figures(samples: Samples, sizes: Sizes) -> list[Figure]:
    native = Against("MPI_Comm_rank without stubs", "ns", tuple(samples["0 direct"]))
    added = {layers: _differences(samples, layers) for layers in (0, 1, sizes.some, sizes.many)}
    each = tuple((b - a) / (sizes.some - 1) for a, b in zip(added[1], added[sizes.some], strict=True))
    loading = tuple((a - b) / 1e6 for a, b in zip(samples["first call"], samples["dlopen"], strict=True))
    opening = tuple(sample / 1e6 for sample in samples["dlopen"])
    default = tuple(
        (through - direct - first) / (sizes.some - 1)
        for through, direct, first in zip(
            samples["default through"], samples["default direct"], added[1], strict=True
        )
    )
    return [
        Figure("the stub adds to a call", "ns", "<=", 1.0, added[0], native),
        Figure("stub and first empty layer add to a call", "ns", "<=", 2.0, added[1], native),
        Figure(f"each further layer, to {sizes.some}", "ns", "<=", 2.0, each, native),
        Figure(f"the same, compiled with default flags, to {sizes.some}", "ns", "<=", 2.0, default, native),
        Figure(f"{sizes.many} layers add to a call", "ns", "<=", 600.0, added[sizes.many], native),
        Figure(
            *(f"loading {sizes.many} tools, beyond their dlopen", "ms", "<=", 10.0, loading),
            Against("their dlopen", "ms", opening),
        ),
        _half_round(samples, "half round", f"0-byte ping-pong through {sizes.some} layers"),
        _half_round(samples, "default half round", f"the same, {sizes.some} layers with default flags"),
    ]


def _half_round(samples: Samples, key: str, name: str) -> Figure:
    through, direct = samples[key], samples[f"{key} direct"]
    against = Against("without them", "ns", tuple(direct), tuple(through))
    return Figure(name, "×", "<=", 1.05, ratios(through, direct), against)


def _differences(samples: Samples, layers: int) -> tuple[float, ...]:
    pairs = zip(samples[f"{layers} through"], samples[f"{layers} direct"], strict=True)
    return tuple(through - direct for through, direct in pairs)


class _Bed:
    """The program, the layers and the configurations, in a directory."""

    def __init__(self, directory: Path, sizes: Sizes) -> None:
        self.directory, self.sizes, self.mpi = directory, sizes, find_mpi()
        if self.mpi.include is None:
            raise RunError(
                f"there is no mpi.h for {self.mpi.path}, which compiling layers needs",
                help="install the headers of that MPI, or use the wheel: pip install mpich",
            )
        self.preload = library(self.mpi)
        self.program = compiled(self.mpi, "calls.c", directory / "calls", linked(self.mpi))
        self.layers = [self._layer(number, "layer", "-fno-plt") for number in range(sizes.many)]
        self.default = [self._layer(number, "default") for number in range(sizes.some)]

    def _layer(self, number: int, name: str, *more: str) -> Path:
        """Compile a layer whose offsets differ from those of others by some lines of the cache."""
        pad = 64 * (7 * number % 61) + 16 * (number % 4) + 16
        flags = [f"-DPAD={pad}", f'-DPAD_TEXT="{pad}"', "-shared", "-Wl,-z,norelro", *more]
        return compiled(self.mpi, "layer.c", self.directory / f"{name}{number}.so", flags)

    def calls(self, layers: int) -> dict[str, float]:
        """Measure calls by one rank; with all layers also the first call, which loads them."""
        through, direct, first = self._run(1, self.layers[:layers], self.sizes.batches, _CALLS)
        found = {f"{layers} through": through, f"{layers} direct": direct}
        return found | ({"first call": first} if layers == self.sizes.many else {})

    def calls_by_default(self) -> dict[str, float]:
        """Measure calls by one rank through layers that are compiled with default flags."""
        through, direct, _ = self._run(1, self.default, self.sizes.batches, _CALLS)
        return {"default through": through, "default direct": direct}

    def loading(self) -> dict[str, float]:
        """Measure dlopen of all layers."""
        return {"dlopen": self._run(1, [], 1, 1, self.layers)[2]}

    def to_and_fro(self, *, by_default: bool = False) -> dict[str, float]:
        """Measure a ping-pong of two ranks."""
        layers = self.default if by_default else self.layers[: self.sizes.some]
        through, direct, _ = self._run(2, layers, self.sizes.batches, _HALF_ROUNDS)
        key = "default half round" if by_default else "half round"
        return {key: through, f"{key} direct": direct}

    def _run(
        self,
        ranks: int,
        layers: Sequence[Path],
        batches: int,
        calls: int,
        files: Sequence[Path] = (),
    ) -> tuple[float, float, float]:
        configuration = self.directory / "layers.conf"
        configuration.write_text("".join(f"module {path}\n" for path in layers))
        variables = [f"{CONFIGURATION}={configuration if layers else ''}", f"LD_PRELOAD={self.preload}"]
        command = [
            find_mpiexec().path,  # For one rank too: Open MPI leaves files of ranks that nobody launched.
            *("-n", str(ranks), "env"),
            *variables,
            str(self.program),
            str(batches),
            str(calls),
            *map(str, files),
        ]
        process = start(command, str(self.directory))
        try:
            through, direct, first = map(float, finish("the program that calls MPI", process).split())
        finally:
            stop(process)
        return through, direct, first


def linked(mpi: Mpi) -> list[str]:
    """Give the flags that link a program with an MPI library."""
    return [str(mpi.path), f"-Wl,-rpath,{mpi.path.parent}", "-ldl"]


def compiled(mpi: Mpi, source: str, product: Path, flags: Sequence[str]) -> Path:
    """Compile a source of ``stack/`` against an MPI.

    Raises
    ------
    RunError
        If the compiler refuses.
    """
    text = Path(str(resources.files("pse.bench") / "stack" / source))
    compiler = find_compiler("c", "pse bench tools").command
    line = [
        *compiler,
        "-std=gnu11",
        "-O2",
        "-fPIC",
        f"-I{mpi.include}",
        str(text),
        "-o",
        str(product),
        *flags,
    ]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(
            f"{source} can't be compiled:\n{done.stderr.strip()}", help="run it: " + " ".join(line)
        )
    return product
