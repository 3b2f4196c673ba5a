"""The segments of `pse:fft.coven`: what numpy.fft gives for the whole array, on any number of partitions."""

import math

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


FACTORS = [(3, 5), (4, 6), (5, 4), (2, 7)]
"""Of one axis: n and its factors are odd and even, and more or fewer than partitions."""


def segments(case):
    """Name each forward segment of so many axes, its inverse if it has one, and what it takes."""
    axes = 1 if isinstance(case, int) else len(case)
    for suffix in TYPES if not isinstance(case, int) or case == 0 else [""]:
        yield f"fft{axes}{suffix}", f"ifft{axes}{suffix}", TYPES[suffix]
        yield f"rfft{axes}{suffix}", f"irfft{axes}{suffix}", REAL[suffix]
        if axes > 1:
            yield f"fft{axes}_real{suffix}", "", REAL[suffix]


def transform(case, name, inverse, type, partition):
    """Write what transforms an array by a segment, and back."""
    extents, shape = given(case)
    yield f"""
  draw("{name}{case}") -> {type}{shape} a{name}{case}
  scatter(a{name}{case}) -> x{name}{case} @ block(0) over {partition}
  {name}({extents}, x{name}{case}) -> y{name}{case}
  gather(y{name}{case}) -> z{name}{case}
  tell("{name}{case}", z{name}{case})"""
    if inverse:
        yield f"""
  {inverse}({extents}, y{name}{case}) -> b{name}{case}
  gather(b{name}{case}) -> c{name}{case}
  tell("{inverse}{case}", c{name}{case})"""


def given(case):
    """Give the extents in a call of a segment, and the shape of its array; `case` counts the factors."""
    if isinstance(case, int):
        return ", ".join(map(str, FACTORS[case])), [math.prod(FACTORS[case])]
    shape = SHAPE[: len(case)]
    return ", ".join(map(str, shape)), list(shape)


CASES = [*range(len(FACTORS)), "__", "___"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_all_axes_are_transformed_as_numpy_does(tmp_path, partitions, place):
    """None of the extents of several axes is a multiple of three, and one is of two."""
    (tmp_path / "m.py").write_text(MODULES)
    module, random = import_python(str(tmp_path / "m.py"), "m.py"), np.random.default_rng(1)
    every = [(case, *one) for case in CASES for one in segments(case)]
    body = ""
    for case, name, inverse, type in every:
        numbers = random.random((2, *given(case)[1]))
        whole = numbers[0] + 1j * numbers[1] if type in TYPES.values() else numbers[0]
        module.given[f"{name}{case}"] = whole.astype(ELEMENTS[type])
        body += "".join(transform(case, name, inverse, type, "P" if case == "__" else "Q"))
    names = ", ".join(sorted({name for one in every for name in one[1:3] if name}))
    text = f"""coven 1
import "m.py" {{ draw, tell }}
import "pse:fft.coven" {{ {names} }}
partition P = {partitions}
partition Q = {partitions % 3 + 1}
program fourier {{{body}
}}
"""
    run(make_job(compile_program(text, tmp_path / "p.coven"), **place), poison=True)
    for case, name, inverse, type in every:
        numbers, found = module.given[f"{name}{case}"], module.told[f"{name}{case}"]
        single = type in ("c64", "f32")
        bound = {"rtol": 1e-4, "atol": 1e-4} if single else {"rtol": 1e-12, "atol": 1e-12}
        assert found.dtype == (np.complex64 if single else np.complex128)
        expected = np.fft.rfftn(numbers) if name.startswith("rfft") else np.fft.fftn(numbers)
        np.testing.assert_allclose(found, expected, **bound)
        if inverse:
            again = module.told[f"{inverse}{case}"]
            assert again.dtype == numbers.dtype
            np.testing.assert_allclose(again, numbers, **bound)


@pytest.mark.parametrize("shape", [(4, 270, 250), (600, 300)])
@pytest.mark.parametrize("partitions", [1, 3])
def test_what_is_transformed_in_place_is_nothing_that_is_read_again(tmp_path, partitions, shape):
    """A plane is more than one block has; numbers of a column are on pages of their own."""
    extents, axes = ", ".join(map(str, shape)), len(shape)
    (tmp_path / "m.py").write_text(MODULES)
    text = f"""coven 1
import "m.py" {{ draw, tell }}
import "pse:fft.coven" {{ fft{axes}, ifft{axes} }}
partition P = {partitions}
program again {{
  draw("x") -> c128[{extents}] whole
  scatter(whole) -> x @ block(0)
  fft{axes}({extents}, x) -> y
  ifft{axes}({extents}, y) -> z
  gather(x) -> before
  gather(y) -> spectrum
  gather(z) -> after
  tell("before", before)
  tell("spectrum", spectrum)
  tell("after", after)
}}
"""
    module, random = import_python(str(tmp_path / "m.py"), "m.py"), np.random.default_rng(1)
    module.given["x"] = random.random(shape) + 1j * random.random(shape)
    run(make_job(compile_program(text, tmp_path / "p.coven"), 2), poison=True)
    np.testing.assert_array_equal(module.told["before"], module.given["x"])
    spectrum = np.fft.fftn(module.given["x"])
    np.testing.assert_allclose(module.told["spectrum"], spectrum, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(module.told["after"], module.given["x"], rtol=1e-12, atol=1e-12)


def test_what_fftw_has_learnt_is_kept_and_learnt_again_where_it_is_damaged(tmp_path, monkeypatch):
    """Ranks learn at once; a cut file, or a cache that can't be written to, costs time only."""
    pyfftw = pytest.importorskip("pyfftw", reason="pyfftw is in the extra fft")
    text = """coven 1
partition P = 3
program learning {
  random(1) -> f64[6, 45] x @ block(0)
  rfft(x) -> half
  irfft(half, 45) -> y
  axpy(-1.0, x, inout y)
  norm(y) -> error
  assert(error < 1e-12, "the numbers are other ones")
}
"""
    program = compile_program(text, tmp_path / "p.coven")

    def learn(cache):
        monkeypatch.setenv("PSE_CACHE", str(cache))
        pyfftw.forget_wisdom()
        run(make_job(program, 2))
        return [path for path in cache.glob("fftw/*") if path.name != "lock"]

    (kept,) = learn(tmp_path / "cache")
    whole, first = kept.read_bytes(), kept.stat().st_ino
    learn(tmp_path / "cache")
    assert kept.stat().st_ino == first
    kept.write_bytes(whole[: len(whole) // 3])
    assert learn(tmp_path / "cache") == [kept]
    assert all(pyfftw.import_wisdom(tuple(kept.read_bytes().split(b"\0"))))
    kept.write_bytes(b"\0".join([b"(no wisdom", b"", b"\xff"]))
    learn(tmp_path / "cache")
    assert all(pyfftw.import_wisdom(tuple(kept.read_bytes().split(b"\0"))))
    (tmp_path / "file").write_text("")
    assert learn(tmp_path / "file") == []
