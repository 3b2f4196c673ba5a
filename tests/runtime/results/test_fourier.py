"""The segments of `pse:fft.coven`: what numpy.fft gives for the whole array, on any number of partitions."""

import numpy as np
import pytest
from pse_testing.harness import compile_program, make_job, run

from pse.modules.load._imports import import_python

MODULES = """
given, told = {}, {}

#@ coven module draw(in string name, out T x[...])
def draw(name, x):
    x[...] = given[name]
#@ coven module tell(in string name, in T x[...])
def tell(name, x):
    told[name] = x.copy()
"""
TYPES = {"": "c128", "_single": "c64"}
REAL = {"": "f64", "_single": "f32"}
ELEMENTS = {"c128": "c16", "c64": "c8", "f64": "f8", "f32": "f4"}
SHAPE = (5, 7, 4)
"""The last extent is odd with two axes, even with three."""
PLACES = [
    {"processors": 1},
    {"processors": 3, "nodes": lambda rank: rank % 2},
    {"processors": 2, "shared_memory": False, "local_limit": 1 << 20},
]


def segments(axes):
    """Name each forward segment of so many axes, its inverse if it has one, and what it takes."""
    for suffix in TYPES:
        yield f"fft{axes}{suffix}", f"ifft{axes}{suffix}", TYPES[suffix]
        yield f"fft{axes}_real{suffix}", "", REAL[suffix]
        yield f"rfft{axes}{suffix}", f"irfft{axes}{suffix}", REAL[suffix]


def transforms(axes):
    """Write what transforms an array by each segment, and back: two axes over P, three over Q."""
    extents, partition = ", ".join(map(str, SHAPE[:axes])), "P" if axes == 2 else "Q"
    for name, inverse, type in segments(axes):
        yield f'''
  draw("{name}") -> {type}[{extents}] {name}_a
  scatter({name}_a) -> {name}_x @ block(0) over {partition}
  {name}({extents}, {name}_x) -> {name}_y
  gather({name}_y) -> {name}_z
  tell("{name}", {name}_z)'''
        if inverse:
            yield f'''
  {inverse}({extents}, {name}_y) -> {name}_b
  gather({name}_b) -> {name}_c
  tell("{inverse}", {name}_c)'''


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_all_axes_are_transformed_as_numpy_does(tmp_path, partitions, place):
    """None of the extents is a multiple of three, and one is of two."""
    (tmp_path / "m.py").write_text(MODULES)
    module, random = import_python(str(tmp_path / "m.py"), "m.py"), np.random.default_rng(1)
    every = [one for axes in (2, 3) for one in segments(axes)]
    for name, _, type in every:
        numbers = random.random((2, *SHAPE[: 2 if "2" in name else 3]))
        whole = numbers[0] + 1j * numbers[1] if type in TYPES.values() else numbers[0]
        module.given[name] = whole.astype(ELEMENTS[type])
    names = ", ".join(name for one in every for name in one[:2] if name)
    body = "".join(text for axes in (2, 3) for text in transforms(axes))
    text = f"""coven 1
import "m.py" {{ draw, tell }}
import "pse:fft.coven" {{ {names} }}
partition P = {partitions}
partition Q = {partitions % 3 + 1}
program fourier {{{body}
}}
"""
    run(make_job(compile_program(text, tmp_path / "p.coven"), **place), poison=True)
    for name, inverse, type in every:
        given, found = module.given[name], module.told[name]
        single = type in ("c64", "f32")
        bound = {"rtol": 1e-4, "atol": 1e-4} if single else {"rtol": 1e-12, "atol": 1e-12}
        assert found.dtype == (np.complex64 if single else np.complex128)
        expected = np.fft.rfftn(given) if name.startswith("rfft") else np.fft.fftn(given)
        np.testing.assert_allclose(found, expected, **bound)
        if inverse:
            assert module.told[inverse].dtype == given.dtype
            np.testing.assert_allclose(module.told[inverse], given, **bound)
