"""The standard library `pse.std`: its signatures, and the functions among its modules that are Python.

The modules that move data between partitions (scatter, gather, transpose, …) have only signatures here: the
runtime carries them out, and the checker knows how their results are distributed.  The others are Python
functions called like a user's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any, Final

import numpy as np

from pse.language import parse_directive
from pse.language.check import STANDARD, ModuleFile
from pse.language.diagnostics import Span
from pse.language.types import Signature
from pse.modules.std import (
    _files as files,
    _images as images,
    _numbers as numbers,
    _parallel_files as parallel_files,
)
from pse.modules.std._pieces import Pieces

DIRECTIVES: Final = """\
scatter(in T a[...] @ root, out T b[...])
gather(in T a[...], out T b[...] @ root)
redistribute(in T a[...], out T b[...])
replicate(in T a[...] @ root, out T b[...] @ replicated)
transpose(in T a[m, n], out T b[n, m])
exchange(inout T a[...], in i64 periodic = -1)
shift(in T a[...], in i64 by = 1, in i64 axis = -1, out T b[...])
scan(in T x[...], in string op = "sum", out T y[...])
copy(in T a[...], out T b[...])
swap(inout T a[...], inout T b[...])
zero(out T a[...])
fill(in T value, out T a[...])
random(in i64 seed, in i64 k = 0, out f64 a[...])
random_normal(in i64 seed, in i64 k = 0, out f64 a[...])
sum(in T x[...], out T value)
smallest(in T x[...], out T value)
largest(in T x[...], out T value)
dot(in T x[...], in T y[...], out T value)
norm(in T x[...], out f64 value)
fft(in T x[...], in i64 axis = -1, out T b[...])
ifft(in T x[...], in i64 axis = -1, out T b[...])
save(in string file, in T a[...])
load(in string file, out T a[...] @ root)
source(in string folder, in i64 k, in i64 n, out T image[n, n] @ root)
print(in T value)
report(in string name, in f64 value)
"""
"""One directive a line; docs/stdlib.md explains each."""

STRUCTURAL: Final = frozenset(
    {
        *("scatter", "gather", "redistribute", "replicate", "transpose", "exchange", "shift", "copy", "swap"),
        *("zero", "report"),
    }
)
"""Modules that the runtime carries out itself."""


def _signatures() -> tuple[Signature, ...]:
    parsed = []
    for number, line in enumerate(DIRECTIVES.splitlines(), 1):
        signature = parse_directive(line, Span(STANDARD, number, 1, number, len(line) + 1))
        assert isinstance(signature, Signature), signature
        parsed.append(signature)
    return tuple(parsed)


@functools.cache
def standard_file() -> ModuleFile:
    """Give the standard library as a file of modules."""
    return ModuleFile(STANDARD, None, "std", _signatures())


def standard_function(name: str) -> Callable[..., Any] | None:
    """Give the Python function of a standard module; None for those that the runtime carries out."""
    return _FUNCTIONS.get(name)


def save(
    file: str, a: np.ndarray, *after: int, pieces: Pieces | None = None, tells: bool = False
) -> Generator[Any, Any, Any] | int | None:
    """Write an array to `file` (.npy, .h5); the file appears complete or not at all.

    `after` are the calls that it waits for; it `tells` those that wait for it by an output of its own.
    """
    if pieces is not None:
        return _telling(parallel_files.save(file, a, pieces), tells)
    files.save(file, a)
    return 0 if tells else None


def _telling(saving: Generator[Any, Any, None], tells: bool) -> Generator[Any, Any, int | None]:
    yield from saving
    return 0 if tells else None


def load(
    file: str, *after: int, a: np.ndarray, pieces: Pieces | None = None, tells: bool = False
) -> int | None:
    """Read an array of the expected shape and element type from `file` (.npy, .h5); see `save`."""
    if pieces is None:
        files.load_into(file, a)
    else:
        parallel_files.load(file, a, pieces)
    return 0 if tells else None


def source(folder: str, k: int, n: int, image: np.ndarray) -> None:
    """Read the k-th image or array of a directory, in grey and resampled to n × n."""
    image[...] = images.as_elements(images.read(folder, int(k), int(n)), image.dtype)


def print_values(*value: Any) -> None:
    """Print values on one line of standard output."""
    print(*(_shown(one) for one in value), flush=True)


def _shown(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return f"{value:.10g}" if isinstance(value, float | np.floating) else value


def scan(x: Any, op: str, *, pieces: Pieces | None = None) -> Generator[Any, Any, Any]:
    """Combine what partitions 0 to the running module's own have, element by element."""
    assert pieces is not None, "it is allowed only inside PARALLEL"
    return (yield pieces.messages.scan(x, op))


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "save": save,
    "load": load,
    "source": source,
    "print": print_values,
    "scan": scan,
    "fill": numbers.fill,
    "random": numbers.random,
    "random_normal": numbers.random_normal,
    "sum": numbers.total,
    "smallest": numbers.smallest,
    "largest": numbers.largest,
    "dot": numbers.dot,
    "norm": numbers.norm,
    "fft": numbers.fft,
    "ifft": numbers.ifft,
}
