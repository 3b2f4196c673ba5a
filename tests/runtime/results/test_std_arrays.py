"""Standard modules that compute with distributed arrays: what NumPy gives for the whole array."""

import os
import sys
from statistics import NormalDist

import numpy as np
import pytest
from pse_testing.harness import compile_program, make_job, run

from pse.errors import PseError
from pse.modules.load._imports import import_python
from pse.modules.std._numbers import random, random_normal

MODULES = """
import numpy as np
given, told = {}, {}

#@ coven module draw(in string name, out T x[...])
def draw(name, x):
    x[...] = given[name]
#@ coven module own(in T x[m, n], out T s, out bool odd)
def own(x):
    return x.sum(), bool(x.sum() > 0)
#@ coven module tell(in string name, in T x[...])
def tell(name, x):
    told[name] = x.copy()
#@ coven module note(in string name, in T s)
def note(name, s):
    told[name] = s
#@ coven module piece(in T s, in bool b, in T x[m, n], out f64 y[1], out bool c[1], out f64 z[m, n])
def piece(s, b, x):
    return np.array([s], float), np.array([b]), x.astype(float)
"""
PLACES = [
    {"processors": 1},
    {"processors": 3, "nodes": lambda rank: rank % 2},
    {"processors": 2, "shared_memory": False, "local_limit": 1 << 20},
]


@pytest.fixture(scope="module")
def play(tmp_path_factory):
    """Run a program's body: ``play(body, given, …)`` gives what it told, by name."""
    folder = tmp_path_factory.mktemp("std")
    (folder / "m.py").write_text(MODULES)
    module = import_python(str(folder / "m.py"), "m.py")

    def played(body, given=None, partition="P = 4", values=None, processors=2, **how):
        module.given, module.told = given or {}, {}
        text = f"""coven 1
import "m.py" {{ draw, own, tell, note, piece }}
param i64 N = 1
param i64 M = 1
partition {partition}
program std {{
{body}
}}
"""
        program = compile_program(text, folder / "p.coven")
        run(make_job(program, processors, values=values, **how), poison=True)
        return dict(module.told)

    return played


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("partition", ["P = 1", "P = 5"])
def test_a_scan_gives_every_partition_what_those_before_it_have(play, place, partition):
    count = int(partition[-1])
    x = np.random.default_rng(4).normal(size=(2 * count, 3))
    body = """
  var f64[N, M] x
  var f64[N, M] @ block(0) pieces
  draw("x") -> x
  scatter(x) -> pieces
  PARALLEL over P {
    thread_B own(pieces) -> s, odd
    thread_C scan(s) -> t
    thread_B scan(s, op = "min") -> least
    thread_B scan(odd, "any") -> b
    thread_B scan(pieces, "max") -> most
    thread_B piece(t, b, most) -> y @ block(0), c @ block(0), z
    thread_C piece(least, odd, most) -> u @ block(0), _c @ block(0), _z
  }
  gather(y) -> sums
  gather(c) -> flags
  gather(z) -> peaks
  gather(u) -> smallest
  tell("sums", sums)
  tell("flags", flags)
  tell("peaks", peaks)
  tell("smallest", smallest)"""
    told = play(body, {"x": x}, partition, {"N": 2 * count, "M": 3}, **place)
    parts = x.reshape(count, 2, 3)
    sums = np.array([part.sum() for part in parts])
    np.testing.assert_allclose(told["sums"], np.cumsum(sums))
    np.testing.assert_array_equal(told["smallest"], np.minimum.accumulate(sums))
    np.testing.assert_array_equal(told["flags"], np.logical_or.accumulate(sums > 0))
    np.testing.assert_array_equal(told["peaks"].reshape(parts.shape), np.maximum.accumulate(parts))


GRIDS = [
    ("P = 1", "block(0) halo(2)"),
    ("P = 6 as grid(3, 2)", "block(0, 1) halo(1, 0)"),
    ("P = 6 as grid(2, 3)", "cyclic(0, 1)"),
    ("P = 5", "block_cyclic(1, 2)"),
    ("P = 9", "block(1)"),
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("partition", "where"), GRIDS)
def test_random_numbers_sums_and_products_are_those_of_numpy(play, place, partition, where):
    body = f"""
  var f64[N, M] @ {where} u
  var f64[N, M] @ {where} v
  var f64[N, M] x
  for k in 0 .. 2 {{ random(-5, k) -> u }}
  random(-5, 1) -> x
  fill(2.5) -> v
  sum(u) -> s
  sum(x) -> s0
  norm(u) -> n
  norm(x) -> n0
  dot(u, v) -> d
  smallest(u) -> low
  largest(x) -> high
  PARALLEL {{
    largest(u) -> mine reduce top(max)
    dot(u, u) -> mine2 reduce squares(sum)
    histogram(u, 0.2, 0.9, 2 * M) -> mine3 reduce counts(sum) @ root
  }}
  histogram(u, 0.2, 0.9, 2 * M) -> counted
  histogram(x, 0.2, 0.9, 2 * M) -> counted0
  tell("counts", counts)
  tell("counted", counted)
  tell("counted0", counted0)
  gather(u) -> y
  tell("u", y)
  tell("x", x)
  note("s", s)
  note("s0", s0)
  note("n", n)
  note("n0", n0)
  note("d", d)
  note("low", low)
  note("high", high)
  note("top", top)
  note("squares", squares)"""
    told = play(body, None, partition, {"N": 7, "M": 9}, **place)
    key = np.array([-5, 1]).view(np.uint64)
    u = np.random.Generator(np.random.Philox(key=key)).random((7, 9))
    np.testing.assert_array_equal(told["u"], u)
    np.testing.assert_array_equal(told["x"], u)
    assert (told["low"], told["high"], told["top"]) == (u.min(), u.max(), u.max())
    for name in ("counts", "counted", "counted0"):
        np.testing.assert_array_equal(told[name], np.histogram(u, 18, (0.2, 0.9))[0])
    found = [told[name] for name in ("s", "s0", "n", "n0", "d", "squares")]
    expected = [u.sum(), u.sum(), *[np.linalg.norm(u)] * 2, 2.5 * u.sum(), (u * u).sum()]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("place", PLACES)
def test_normal_numbers_are_the_same_however_they_are_cut(play, place):
    body = "".join(f"""
  var f64[N, M] @ {where} over P{number} u{number}
  random_normal(-5, 3) -> u{number}
  gather(u{number}) -> y{number}
  tell("u{number}", y{number})""" for number, (_, where) in enumerate(GRIDS))  # fmt: skip
    declared = [text.replace("P =", f"P{number} =") for number, (text, _) in enumerate(GRIDS)]
    partitions = "\npartition ".join(declared)
    told = play(body, None, partitions, {"N": 7, "M": 9}, **place)
    whole = np.empty((7, 9))
    random_normal(-5, 3, whole)
    assert {array.tobytes() for array in told.values()} == {whole.tobytes()}


def test_normal_numbers_are_normally_distributed():
    numbers = np.empty((100_001,))
    random_normal(42, 0, numbers)
    assert np.isfinite(numbers).all()
    moments = [(numbers**n).mean() for n in range(1, 7)]
    np.testing.assert_allclose(moments, [0, 1, 0, 3, 0, 15], atol=0.5)
    np.testing.assert_allclose(moments[:4], [0, 1, 0, 3], atol=0.05)
    expected = [NormalDist().cdf(x) for x in np.sort(numbers)]  # Kolmogorov and Smirnov's test, at 0.1 %
    distance = np.abs(expected - (np.arange(numbers.size) + 0.5) / numbers.size).max()
    assert distance < 1.95 / np.sqrt(numbers.size)
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.01
    uniform = np.empty((100_001,))
    random(42, 0, uniform)
    assert abs(np.corrcoef(numbers, uniform)[0, 1]) < 0.01


def test_sums_do_not_depend_on_where_partitions_live(play):
    """They have the same bits, and those of integers and complex numbers are as wide as can be."""
    body = """
  var f64[N, M] @ block(0) u
  var c64[N, M] z
  var i32[N, M] m
  random(1) -> u
  fill(7) -> m
  draw("z") -> z
  scatter(m) -> ms @ block(0)
  scatter(z) -> zs @ cyclic(1)
  sum(u) -> s
  norm(u) -> n
  sum(ms) -> t
  dot(ms, ms) -> d
  dot(zs, zs) -> c
  sum(zs) -> b
  norm(zs) -> nz
  note("bits", s + n)
  note("t", t)
  note("d", d)
  note("c", c)
  note("b", b)
  note("nz", nz)"""
    z = (np.arange(35) + 1j * np.arange(35)[::-1]).reshape(7, 5).astype(np.complex64)
    runs = [play(body, {"z": z}, values={"N": 7, "M": 5}, **place) for place in PLACES]
    assert runs[0] == runs[1] == runs[2]
    assert (runs[0]["t"], runs[0]["d"]) == (7 * 35, 49 * 35)
    wide = z.astype(np.complex128)
    np.testing.assert_allclose(runs[0]["c"], np.vdot(wide, wide))
    np.testing.assert_allclose(runs[0]["b"], wide.sum())
    np.testing.assert_allclose(runs[0]["nz"], np.linalg.norm(wide))


EXTREMES = {
    "not_numbers": ([1, np.nan, np.inf, 2, 0, 0, 0, 0], np.nan),
    "infinite": ([1, np.inf, 0, 2, 0, 0, -np.inf, 0], np.inf),
    "large": ([3e200, 0, 0, 0, 0, 0, 0, -4e200], 5e200),
    "small": ([3e-200, 0, 0, 0, 0, 0, 0, -4e-200], 5e-200),
    "zero": ([0] * 8, 0),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("numbers", EXTREMES)
@pytest.mark.filterwarnings("error")
def test_a_norm_is_that_of_numbers_whose_squares_are_none_too(play, place, numbers):
    body = """
  var f64[N] x
  draw("x") -> x
  scatter(x) -> pieces @ block(0)
  norm(x) -> whole
  norm(pieces) -> cut
  PARALLEL { norm(pieces) -> mine reduce combined(hypot) }
  note("whole", whole)
  note("cut", cut)
  note("combined", combined)"""
    given, expected = EXTREMES[numbers]
    told = play(body, {"x": np.array(given, float)}, values={"N": 8}, **place)
    np.testing.assert_allclose([told["whole"], told["cut"], told["combined"]], expected, rtol=1e-15)


@pytest.mark.parametrize("place", PLACES[:2])
@pytest.mark.parametrize("fftw", [True, False])
def test_transforms_are_those_of_numpy(play, place, fftw, monkeypatch):
    """Rows, then columns, make the transform in two dimensions."""
    if not fftw:
        monkeypatch.setitem(sys.modules, "pse.modules.std._fftw", None)
    body = """
  var f64[N, M] x
  draw("x") -> x
  scatter(x) -> rows @ block(0)
  PARALLEL {
    thread_B fft(rows) -> one
    thread_C redistribute(one) -> columns @ cyclic(1)
    thread_B fft(columns, axis = 0) -> both
    thread_C ifft(both, axis = 0) -> back
  }
  gather(both) -> y
  gather(back) -> z
  fft(x, axis = 1) -> w
  rfft(rows, axis = 1) -> some
  gather(some) -> half
  rfft(x, axis = 0) -> even
  irfft(some, M) -> real
  gather(real) -> again
  irfft(even, N, axis = 0) -> same
  random(1) -> f64[1, 3] single
  rfft(single, axis = 0) -> itself
  irfft(itself, 1, axis = 0) -> back1
  axpy(-1.0, single, inout back1)
  norm(back1) -> wrong
  assert(wrong == 0, "one number is its own spectrum")
  tell("half", half)
  tell("even", even)
  tell("again", again)
  tell("same", same)
  tell("y", y)
  tell("z", z)
  tell("w", w)"""
    x = np.random.default_rng(2).normal(size=(6, 5))
    told = play(body, {"x": x}, values={"N": 6, "M": 5}, **place)
    np.testing.assert_allclose(told["y"], np.fft.fft2(x), atol=1e-12)
    np.testing.assert_allclose(told["z"], np.fft.fft(x), atol=1e-12)
    np.testing.assert_allclose(told["w"], np.fft.fft(x), atol=1e-12)
    np.testing.assert_allclose(told["half"], np.fft.rfft(x), atol=1e-12)
    np.testing.assert_allclose(told["even"], np.fft.rfft(x, axis=0), atol=1e-12)
    np.testing.assert_allclose(told["again"], x, atol=1e-12)
    np.testing.assert_allclose(told["same"], x, atol=1e-12)


@pytest.mark.parametrize("place", PLACES)
def test_elements_keep_their_order_in_other_shapes(play, place):
    """Rows, dealt one by one or in blocks, become rows of other lengths; fewer rows than partitions, too."""
    body = """
  var f64[6, 5] x
  draw("x") -> x
  scatter(x) -> rows @ cyclic(0)
  PARALLEL {
    thread_B reshape(rows) -> f64[3, 2, 5] cube @ block(0)
    thread_C reshape(cube) -> f64[30] line @ block_cyclic(0, 4)
    thread_C resize(line) -> f64[6, 2] first @ block(0)
    thread_B resize(first) -> f64[6, 5] with_zeros @ block(0)
  }
  gather(cube) -> a
  gather(line) -> b
  gather(first) -> c
  gather(with_zeros) -> d
  tell("cube", a)
  tell("line", b)
  tell("first", c)
  tell("with_zeros", d)"""
    x = np.arange(1.0, 31.0).reshape(6, 5)
    told = play(body, {"x": x}, **place)
    np.testing.assert_array_equal(told["cube"], x.reshape(3, 2, 5))
    np.testing.assert_array_equal(told["line"], x.ravel())
    np.testing.assert_array_equal(told["first"], x.ravel()[:12].reshape(6, 2))
    np.testing.assert_array_equal(told["with_zeros"], np.where(x > 12, 0, x))


def test_more_partitions_than_cells_are_right_and_no_cells_are_told(play):
    body = """
  var f64[N] @ block(0) u
  fill(3.0) -> u
  smallest(u) -> low
  note("low", low)
  sum(u) -> s
  note("s", s)"""
    assert play(body, None, "P = 9", {"N": 2}) == {"low": 3.0, "s": 6.0}
    with pytest.raises(PseError, match="smallest: the array has no elements"):
        play(body, None, "P = 3", {"N": 0})


NEEDS = {
    ".h5": ("h5py", "hdf5"),
    ".nc": ("netCDF4", "scenes"),
    ".tif": ("rasterio", "scenes"),
    ".zarr": ("zarr", "zarr"),
}


@pytest.mark.filterwarnings("ignore:Dataset has no geotransform")
@pytest.mark.parametrize(
    ("place", "partition", "where", "ending"),
    [
        *((place, *grid, ending) for place in PLACES for grid in GRIDS for ending in (".npy", ".h5")),
        *((place, *GRIDS[1], ending) for place in PLACES[1:] for ending in (".nc", ".tif", ".raw")),
        *((PLACES[-1], *grid, ".zarr") for grid in GRIDS),
    ],
)
def test_pieces_are_saved_and_loaded_apart(play, tmp_path, monkeypatch, ending, place, partition, where):
    """What other libraries read is the whole array; other partitions load it as they need it."""
    if ending in NEEDS:
        name, extra = NEEDS[ending]
        pytest.importorskip(name, reason=f"{name} (extra pse[{extra}]) is not installed")
    monkeypatch.chdir(tmp_path)
    body = f"""
  var f64[N, M] @ {where} u
  var f64[N, M] @ cyclic(0) w
  for k in 0 .. 2 {{
    random(3, k) -> u
    save("u" + k + "{ending}", u)
  }}
  load("u1{ending}") -> w
  gather(w) -> y
  tell("y", y)"""
    other = "P" if "grid" not in partition else "Q"
    body = body.replace("cyclic(0) w", f"cyclic(0) over {other} w")
    partition += "\npartition Q = 4" if other == "Q" else ""
    body = body.replace(f"@ {where} u", f"@ {where} over P u")
    told = play(body, None, partition, {"N": 7, "M": 9}, **place)
    assert sorted(os.listdir()) == [f"u0{ending}", f"u1{ending}"]
    for k in range(2):
        key = np.array([3, k], np.uint64)
        u = np.random.Generator(np.random.Philox(key=key)).random((7, 9))
        np.testing.assert_array_equal(read(f"u{k}{ending}"), u)
    np.testing.assert_array_equal(told["y"], u)


def test_elements_of_all_types_go_into_a_zarr_store(play, tmp_path, monkeypatch):
    pytest.importorskip("zarr", reason="zarr (extra pse[zarr]) is not installed")
    monkeypatch.chdir(tmp_path)
    types = ("i32", "i64", "u8", "u16", "f32", "f64", "c64", "c128")
    body = "".join(
        f"""
  fill(3) -> {type}[6] whole_{type}
  scatter(whole_{type}) -> cut_{type} @ block(0)
  save("whole_{type}.zarr", whole_{type})
  save("cut_{type}.zarr", cut_{type})
  load("cut_{type}.zarr") -> {type}[6] {type}_again
  tell("{type}", {type}_again)"""
        for type in types
    )
    told = play(body, None, "P = 2")
    for type in types:
        np.testing.assert_array_equal(told[type], np.full(6, 3))
        for file in (f"whole_{type}.zarr", f"cut_{type}.zarr"):
            assert (read(file).dtype, read(file).tolist()) == (told[type].dtype, [3] * 6)


IN_ORDER = [
    ('save("u.npy", u)  load("u.npy") -> e', "one round after the other"),
    ('thread_C save("u.npy", whole)  load("u.npy") -> w  gather(w) -> e', "from root to partitions"),
    ('if k % 2 == 1 { save("u.npy", u) } else { save("u.npy", u) }  load("u.npy") -> e', "of branches"),
    ('save("u" + k + ".npy", u)  load("u" + k + ".npy") -> w  gather(w) -> e', "over two partitions"),
    ('let file = "u" + k + ".npy"  save(file, u)  load("u" + k + ".npy") -> e', "names that are computed"),
]


@pytest.mark.parametrize("loop", ["", " inflight 2"])
@pytest.mark.parametrize(("calls", "what"), IN_ORDER, ids=[what for _, what in IN_ORDER])
def test_files_are_used_in_the_order_of_the_program(play, tmp_path, monkeypatch, calls, what, loop):
    """What is read on other ranks was written just before; a round's file is not what a later one writes."""
    if loop and "k + " not in calls:
        calls = calls.replace('"u.npy"', '"u" + k + ".npy"')
    monkeypatch.chdir(tmp_path)
    body = f"""
  var f64[7] @ block(0) over P u
  var f64[7] @ block(0) over Q w
  var f64[7] e
  var f64[7] whole
  for k in 0 .. 4{loop} {{
    fill(k + 0.5) -> u
    fill(k + 0.5) -> whole
    {calls}
    thread_D tell("e" + k, e)
    thread_D tell("whole" + k, whole)
    gather(w) -> _y
  }}"""
    body = body if "-> w" in calls else body.replace("gather(w) -> _y", "")
    told = play(body, None, "P = 3\npartition Q = 2")
    for k in range(4):
        np.testing.assert_array_equal(told[f"e{k}"], np.full(7, k + 0.5))


def read(file):
    """Read a file without the code that is tested."""
    if file.endswith(".npy"):
        return np.load(file)
    if file.endswith(".raw"):
        return np.fromfile(file).reshape(7, 9)
    if file.endswith(".tif"):
        import rasterio

        with rasterio.open(file) as opened:
            return opened.read(1)
    if file.endswith(".zarr"):
        import zarr

        return zarr.open_array(file, mode="r")[...]
    import h5py

    with h5py.File(file) as opened:
        return opened["data"][...]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('save("absent/u.npy", u)', "absent/u.npy can't be saved: there is no folder absent"),
        ('save("u.csv", u)', "the format can't be told from the name u.csv"),
        ('load("objects.npy") -> u', "objects.npy can't be loaded: .*Python objects"),
        ('load("absent.npy") -> u', "absent.npy can't be loaded: there is no such file"),
        ('load("wrong.npy") -> u', r"wrong.npy holds float64\[3\]; the program expects float64\[7, 9\]"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_nothing_is_left(play, tmp_path, monkeypatch, body, words):
    monkeypatch.chdir(tmp_path)
    np.save("wrong.npy", np.zeros(3))
    np.save("objects.npy", np.array([{}, 1, "a"], dtype=object))
    text = f'var f64[N, M] @ block(0) u\n zero() -> u\n {body}\n sum(u) -> s\n note("s", s)'
    with pytest.raises(PseError, match=words):
        play(text, None, "P = 3", {"N": 7, "M": 9})
    assert sorted(os.listdir()) == ["objects.npy", "wrong.npy"]
