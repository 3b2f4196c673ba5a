"""The standard library `pse.std`: its signatures.

The modules that move data between partitions (scatter, gather, transpose, …) have nothing else: the runtime
carries them out, and the checker knows how their results are distributed.  The others are Python functions
(`_functions`), which only ranks load.
"""

from __future__ import annotations

import functools
from typing import Final

from pse.language.check import STANDARD, Directives, ModuleFile

DIRECTIVES: Final = """\
scatter(in T a[...] @ root, out T b[...])
gather(in T a[...], out T b[...] @ root)
redistribute(in T a[...], out T b[...])
reshape(in T a[...], out T b[...])
resize(in T a[...], out T b[...])
replicate(in T a[...] @ root, out T b[...] @ replicated)
transpose(in T a[...], out T b[...])
exchange(inout T a[...], in i64 periodic = -1)
shift(in T a[...], in i64 by = 1, in i64 axis = -1, out T b[...])
migrate(in T x[...], in i64 by[...], out T y[...])
border(in f64 x[n, d], in f64 box[3, d], in f64 reach, out i64 list[...])
ghosts(in T x[...], in i64 by[...], out T y[...])
images(in f64 x[n, d], in i64 by[...], in f64 box[3, d], out f64 y[...])
add_back(in T y[...], in i64 by[...], inout T x[...])
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
histogram(in T x[...], in f64 low, in f64 high, in i64 bins, out i64 counts[...])
axpy(in f64 a, in T x[...], inout T y[...])
sum_along(in T x[...], in i64 axis, out T y[...])
smallest_along(in T x[...], in i64 axis, out T y[...])
largest_along(in T x[...], in i64 axis, out T y[...])
sort(in T x[...], in i64 axis = -1, out T y[...])
matmul(in T a[m, k], in T b[k, n], out T c[m, n])
fft(in T x[...], in i64 axis = -1, out T b[...])
ifft(in T x[...], in i64 axis = -1, out T b[...])
rfft(in T x[...], in i64 axis = -1, out T b[...])
irfft(in T x[...], in i64 n, in i64 axis = -1, out T b[...])
save(in string file, in T a[...], in string like = "")
load(in string file, in string name = "", out T a[...] @ root)
source(in string folder, in i64 k, in i64 n, out T image[n, n] @ root)
print(in T value)
report(in string name, in f64 value)
timer(out f64 seconds)
assert(in bool holds, in string message = "")
"""
"""One directive a line; docs/stdlib.md explains each."""

MEANINGS: Final = {
    "scatter": "Cut a root array into pieces, one for each partition.",
    "gather": "Assemble the pieces of a distributed array at the root.",
    "redistribute": "Change how an array is distributed.",
    "reshape": "The same elements, in their order, in an array of another shape.",
    "resize": "The first elements in an array of another shape; zeros behind them where it has more.",
    "replicate": "Give every partition the whole root array.",
    "transpose": "Swap the last two axes.",
    "exchange": "Fill the halos of an array from the neighbours, along periodic axes from its other end.",
    "shift": "Give each partition the piece of the partition `by` places before it, cyclically.",
    "migrate": "Send each row to the partition that its number in `by` names.",
    "border": "List the positions that other partitions are to see: those within a distance of their boxes.",
    "ghosts": "Get the rows that other partitions show to this one, by the list of `border`.",
    "images": "Get the positions that other partitions show to this one, by the list of `border`.",
    "add_back": "Add what belongs to ghosts to the rows that they are of, where these are.",
    "scan": "Combine, in each partition, what partitions 0 to its own have, element by element.",
    "copy": "Make a copy that may be changed.",
    "swap": "Exchange the values of two names; nothing moves.",
    "zero": "Fill a declared array with zeros.",
    "fill": "Give all elements of a declared array a value.",
    "random": "Fill a declared array with numbers from 0 to 1, the same for any number of partitions.",
    "random_normal": "Fill a declared array with normally distributed numbers of mean 0 and variance 1.",
    "sum": "The sum of an array's elements.",
    "smallest": "The smallest element of an array.",
    "largest": "The largest element of an array.",
    "dot": "The sum of products of two arrays; for complex numbers the first one is conjugated.",
    "norm": "The Euclidean norm of an array.",
    "histogram": "How many elements are in each of equal bins from `low` to `high`.",
    "axpy": "Add a multiple of an array to another one: y = y + a * x.",
    "sum_along": "Sums along an axis that is not cut.",
    "smallest_along": "The smallest elements along an axis that is not cut.",
    "largest_along": "The largest elements along an axis that is not cut.",
    "sort": "Sort along an axis that is not cut, the last one where none is named.",
    "matmul": "The product of two matrices.",
    "fft": "Fourier transforms along an axis that is not cut, the last one where none is named.",
    "ifft": "Inverse Fourier transforms along an axis that is not cut, the last one where none is named.",
    "rfft": "Half the spectrum of real numbers along an axis that is not cut, else the last one.",
    "irfft": "The `n` real numbers along an axis whose half spectrum is given.",
    "save": "Write an array to a file: `.npy`, `.h5`, `.tif`, `.nc` or `.raw`.",
    "load": "Read an array from a file, or its part of that name: `.npy`, `.h5`, `.tif`, `.nc` or `.raw`.",
    "source": "Read the k-th image or array of a directory, in grey and resampled to n × n.",
    "print": "Print values on one line of standard output.",
    "report": "Add a number to the report at the end of the run.",
    "timer": "The seconds of a clock that runs evenly: the difference of two calls is what passed.",
    "assert": "End the run with a message unless a condition holds.",
}
"""What each is for, in one sentence, for editors."""

STRUCTURAL: Final = frozenset(
    {
        *("scatter", "gather", "redistribute", "reshape", "resize", "replicate", "transpose", "exchange"),
        *("shift", "copy", "swap", "zero", "report"),
    }
)
"""Modules that the runtime carries out itself."""


@functools.cache
def standard_file() -> ModuleFile:
    """Give the standard library as a file of modules."""
    return ModuleFile(STANDARD, None, "std", Directives(STANDARD, DIRECTIVES))
