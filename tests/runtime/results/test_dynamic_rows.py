"""Arrays of which modules decide how many rows they have: across threads, partitions and nodes."""

import shutil
from importlib.util import find_spec

import numpy as np
import pytest
from pse_testing.harness import compile_program, make_job, run
from pse_testing.jobs import Job, beside_python

from pse.errors import PseError
from pse.modules.load._imports import import_python

PYTHON = """
import numpy as np
given, told = {}, {}

#@ coven module draw(in i64 n, out f64 x[n, 2])
def draw(n):
    return np.arange(2.0 * n).reshape(n, 2)
#@ coven module large(in f64 x[n, 2], in f64 least, out f64 kept[?k, 2], out i64 which[?k])
def large(x, least):
    found = np.flatnonzero(x[:, 0] >= least)
    return x[found], found
#@ coven module endless(in i64 n, out f64 rows[?k, 1000000])
def endless(n):
    return np.broadcast_to(np.zeros(1), (n, 1_000_000))
#@ coven module few(in f64 x[n, 2], in i64 most, out f64 kept[?k <= most, 2])
def few(x, most):
    return x[:given.get("few", most)]
#@ coven module odd(in f64 x[n, 2], out f64 kept[?k, 2], out i64 which[?k])
def odd(x):
    return x, np.arange(len(x) + 1)
#@ coven module blocks(in f64 x[n, 2], out f64 y[?k, 2, 3])
def blocks(x):
    return x[:, :, None] * np.arange(1.0, 4.0)
#@ coven module twice(in f64 x[n, 2], out f64 y[2 * n, 2])
def twice(x):
    return np.concatenate([x, 2 * x])
#@ coven module pair(in f64 x[n, 2], in i64 w[n], out f64 s)
def pair(x, w):
    return float((x[:, 0] * w).sum())
#@ coven module tell(in string name, in T x[...])
def tell(name, x):
    told[name] = x.copy()
#@ coven module note(in string name, in f64 s)
def note(name, s):
    told[name] = s
"""
C = """
#include <stdint.h>
//@ coven module pick(in f64 x[n, 2], in f64 least, in i64 lie, out f64 kept[?k <= n, 2], out i64 at[?k <= n])
int pick(const double *x, double least, int64_t lie, double *kept, int64_t *which, int64_t n, int64_t *k)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (x[2 * i] >= least) {
            kept[2 * count] = x[2 * i];
            kept[2 * count + 1] = x[2 * i + 1];
            which[count++] = i;
        }
    if (lie == 100)
        which[*k] = 7;
    *k = lie == 100 ? count : count + lie;
    return 0;
}
//@ coven module vast(in i64 most, out f64 x[?k <= most, 3])
int vast(int64_t most, double *x, int64_t *k)
{
    *k = 0;
    return most < 0;
}
"""
PACKAGES = {"h5": "h5py", "nc": "netCDF4", "zarr": "zarr"}
PLACES = [
    {"processors": 1},
    {"processors": 3, "nodes": lambda rank: rank % 2},
    {"processors": 2, "shared_memory": False, "local_limit": 1 << 20},
    {"processors": 1, "serial": True},
]


@pytest.fixture(scope="module")
def play(tmp_path_factory):
    """Run a program's body: ``play(body, given, …)`` gives what it told, by name."""
    folder = tmp_path_factory.mktemp("rows")
    (folder / "m.py").write_text(PYTHON)
    (folder / "k.c").write_text(C)
    module = import_python(str(folder / "m.py"), "m.py")

    def played(body, processors=1, given=None, partitions=5, **how):
        module.given, module.told = given or {}, {}
        text = f"""coven 1
import "m.py" {{ draw, endless, large, few, odd, blocks, twice, pair, tell, note }}
import "k.c" {{ pick, vast }}
partition P = {partitions}
program rows {{
{body}
}}
"""
        run(make_job(compile_program(text, folder / "p.coven"), processors, **how), poison=True)
        return dict(module.told)

    return played


def _large(x, least):
    return x[x[:, 0] >= least]


X = np.arange(26.0).reshape(13, 2)


@pytest.mark.parametrize("module", ["large(xs, 6.0)", "pick(xs, 6.0, 0)"])
@pytest.mark.parametrize("place", PLACES)
def test_each_partition_has_its_own_number_of_rows_and_gather_joins_them(play, place, module):
    body = """
  thread_A draw(13) -> x
  scatter(x) -> xs @ block(0)
  PARALLEL over P {
    thread_B MODULE -> kept, which
    thread_C twice(kept) -> more @ block(0)
    thread_B copy(kept) -> same
    thread_C pair(same, which) -> s reduce pairs(sum)
    thread_B shift(more, by = 1) -> shifted
    thread_C sum(shifted) -> s2 reduce all(sum)
  }
  gather(kept) -> whole
  gather(more) -> longer
  gather(shifted) -> other
  tell("whole", whole)
  tell("longer", longer)
  tell("other", other)
  note("pairs", pairs)
  note("sum", all)"""
    told = play(body.replace("MODULE", module), **place)
    pieces = np.split(X, [3, 6, 9, 11])
    parts = [_large(piece, 6.0) for piece in pieces]
    twice = [np.concatenate([part, 2 * part]) for part in parts]
    np.testing.assert_array_equal(told["whole"], np.concatenate(parts))
    np.testing.assert_array_equal(told["longer"], np.concatenate(twice))
    np.testing.assert_array_equal(told["other"], np.concatenate([twice[-1], *twice[:-1]]))
    assert told["sum"] == sum(map(np.sum, twice))
    places = [np.flatnonzero(piece[:, 0] >= 6.0) for piece in pieces]
    assert told["pairs"] == sum(part[:, 0] @ place for part, place in zip(parts, places, strict=True))


@pytest.mark.parametrize("place", PLACES)
def test_rows_that_are_known_go_where_modules_decide_later(play, place):
    body = """
  var f64[?n, 2] @ block(0) xs
  thread_A draw(13) -> x
  thread_A scatter(x) -> xs
  for k in 1 .. 4 {
    PARALLEL over P { thread_B large(xs, 6.0 * k) -> kept, _places }
    swap(xs, kept)
    gather(xs) -> whole
    tell("whole" + k, whole)
  }"""
    told = play(body, **place)
    for k in (1, 2, 3):
        np.testing.assert_array_equal(told[f"whole{k}"], _large(X, 6.0 * k))


SHARED_OUT = """
  thread_A draw(13) -> x
  thread_A large(x, LEAST) -> kept, which
  thread_A scatter(kept) -> ks @ block(0)
  thread_A scatter(which) -> ws @ block(0)
  PARALLEL over P {
    thread_B pair(ks, ws) -> s reduce pairs(sum)
    thread_C large(ks, LEAST + 4.0) -> most, _places
    thread_B twice(ks) -> more @ block(0)
  }
  thread_A draw(1) -> kept
  gather(more) -> longer
  gather(most) -> due
  tell("longer", longer)
  tell("due", due)
  note("pairs", pairs)
"""
ROUND = """
  save("FILE", most)
  load("FILE") -> f64[?n, 2] ENDING @ block(0)
  PARALLEL over P { thread_B twice(ENDING) -> ENDING2 @ block(0) }
  gather(ENDING2) -> ENDING3
  tell("ENDING", ENDING3)
"""


def _twice(rows, partitions):
    return np.concatenate([part for one in np.array_split(rows, partitions) for part in (one, 2 * one)])


@pytest.mark.parametrize(("partitions", "least"), [(5, 6.0), (3, 20.0), (1, 6.0), (3, 90.0)])
@pytest.mark.parametrize("place", PLACES)
def test_rows_are_scattered_and_saved_and_loaded_by_all_partitions(play, tmp_path, place, partitions, least):
    """Ten rows and three of them, of which partitions have different numbers or none, and no rows at all."""
    endings = ["npy", *(one for one, package in PACKAGES.items() if find_spec(package))]
    body = SHARED_OUT.replace("LEAST", str(least)) + f'  save("{tmp_path}/x.raw", most)'
    for ending in endings:
        body += ROUND.replace("FILE", f"{tmp_path}/x.{ending}").replace("ENDING", ending)
    told = play(body, partitions=partitions, **place)
    rows, most = _large(X, least), _large(X, least + 4.0)
    np.testing.assert_array_equal(told["longer"], _twice(rows, partitions))
    np.testing.assert_array_equal(told["due"], most)
    assert told["pairs"] == rows[:, 0] @ (rows[:, 0] / 2)
    np.testing.assert_array_equal(np.fromfile(tmp_path / "x.raw").reshape(-1, 2), most)
    for ending in endings:
        np.testing.assert_array_equal(told[ending], _twice(most, partitions), err_msg=ending)


def test_rows_are_printed_however_many_there_are(play, capfd):
    play("draw(13) -> x  large(x, 22.0) -> kept, which  print(which, kept)")
    assert capfd.readouterr().out.split("\n")[0].startswith("[11 12] [[22. 23.]")


@pytest.mark.parametrize("place", PLACES)
def test_rows_travel_across_threads_loops_and_iterations_in_flight(play, place, tmp_path):
    body = """
  var f64[?n, 2] now
  var f64[?n, 2] next
  thread_A draw(6) -> now
  for k in 0 .. 3 {
    thread_B large(now, 2.0 * k) -> next, places
    swap(now, next)
  }
  replicate(now) -> everywhere
  for k in 0 .. 4 inflight 2 {
    thread_A draw(k) -> x
    thread_B pick(x, 0.0, 0) -> kept, _which
    thread_C twice(kept) -> more
    thread_A tell("more" + k, more)
  }
  PARALLEL over P { thread_D sum(everywhere) -> s reduce total(sum) }
  tell("now", now)
  save("%s", now)
  load("%s") -> f64[?m, 2] again
  tell("again", again)
  note("total", total)"""
    told = play(body.replace("%s", str(tmp_path / "rows.npy")), **place)
    np.testing.assert_array_equal(told["now"], X[2:6])
    np.testing.assert_array_equal(told["again"], X[2:6])
    assert told["total"] == 5 * X[2:6].sum()
    for k in range(4):
        np.testing.assert_array_equal(told[f"more{k}"], np.concatenate([X[:k], 2 * X[:k]]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "pick(x, 4.0, 100) -> kept, which",
            "wrote behind the last row of `which`: it has a capacity of 6 rows",
        ),
        (
            "pick(x, 4.0, 9) -> kept, which",
            "says that it has filled 13 rows of `kept`: it has a capacity of 6",
        ),
        ("pick(x, 4.0, -9) -> kept, which", "says that it has filled -5 rows of `kept`"),
        ("few(x, 4) -> kept", "returned kept with 5 rows, more than its capacity of 4"),
        ("few(x, -1) -> kept", "more than its capacity of -1"),
        ("odd(x) -> kept, which", "output `out i64 which[?k]`: expected shape [6] (?k), got [7]"),
        ("vast(2 ** 61) -> kept", "its output `kept` is larger than the whole arena"),
        ("endless(10 ** 9) -> kept", "the system has no memory left for its outputs"),
        ("vast(-3) -> kept", "the array `kept` can't have the extent -3"),
        (
            "large(x, 4.0) -> kept, _w   pair(x, _w) -> s",
            "`_w` is 4 here, but 6 is expected for the input `w`",
        ),
    ],
)
def test_rows_that_do_not_fit_are_named_with_their_call(play, call, message):
    with pytest.raises(PseError) as failure:
        play(f"  draw(6) -> x\n  {call}", given={"few": 5})
    assert message in failure.value.message
    assert "p.coven:7:" in failure.value.message


LANGUAGES = {
    "k.cpp": """
#include <cstdint>
//@ coven module pick(in f64 x[n], in f64 least, out f64 kept[?k <= n])
extern "C" int pick(const double *x, double least, double *kept, int64_t n, int64_t *k)
{
    *k = 0;
    for (int64_t i = 0; i < n; i++)
        if (x[i] >= least)
            kept[(*k)++] = x[i];
    return 0;
}
""",
    "k.pyx": """
from libc.stdint cimport int64_t
#@ coven module pick(in f64 x[n], in f64 least, out f64 kept[?k <= n])
cdef int pick(const double *x, double least, double *kept, int64_t n, int64_t *k) noexcept nogil:
    cdef int64_t i
    k[0] = 0
    for i in range(n):
        if x[i] >= least:
            kept[k[0]] = x[i]
            k[0] += 1
    return 0
""",
    "k.f90": """
!@ coven module pick(in f64 x[n], in f64 least, out f64 kept[?k <= n])
integer(c_int) function pick(x, least, kept, n, k) bind(c)
  use iso_c_binding
  real(c_double), intent(in) :: x(*)
  real(c_double), value :: least
  real(c_double), intent(out) :: kept(*)
  integer(c_int64_t), value :: n
  integer(c_int64_t), intent(inout) :: k
  integer(c_int64_t) :: i
  k = 0
  do i = 1, n
    if (x(i) >= least) then
      k = k + 1
      kept(k) = x(i)
    end if
  end do
  pick = 0
end function
""",
}


@pytest.mark.parametrize("file", LANGUAGES)
def test_modules_of_compiled_languages_say_how_many_rows_they_filled(tmp_path, file):
    if file == "k.f90" and shutil.which("gfortran") is None:
        pytest.skip("there is no gfortran")
    (tmp_path / file).write_text(LANGUAGES[file])
    text = f"""coven 1
import "{file}" {{ pick }}
program rows {{
  random(7) -> f64[20] x
  pick(x, 0.5) -> kept
  save("{tmp_path}/x.npy", x)
  save("{tmp_path}/kept.npy", kept)
}}
"""
    run(make_job(compile_program(text, tmp_path / "p.coven"), 1))
    x, kept = (np.load(tmp_path / f"{name}.npy") for name in ("x", "kept"))
    np.testing.assert_array_equal(kept, x[x >= 0.5])


RESUMED = """coven 1
import "m.py" { begin, grow, show }
partition P = 4
program rows {
  var f64[?n] @ block(0) now
  var f64[?n] @ block(0) next
  begin(6) -> some
  scatter(some) -> now
  for k in 0 .. 6 {
    PARALLEL over P { thread_A grow(now, k) -> next }
    swap(now, next)
  }
  gather(now) -> all
  show(all)
  save("now.npy", now)
}
"""
GROWING = """
import pathlib
import numpy as np
#@ coven module begin(in i64 rows, out f64 x[?n])
def begin(rows):
    return np.arange(1.0 * rows)
#@ coven module grow(in f64 x[n], in i64 k, out f64 y[?m])
def grow(x, k):
    if k == 4 and not pathlib.Path("go").exists():
        raise RuntimeError("not yet")
    return np.append(x[k % 2 :], k)
#@ coven module show(in f64 x[n])
def show(x):
    print(x.tolist(), flush=True)
"""


@pytest.mark.mpi
def test_a_checkpoint_has_as_many_rows_as_there_were(tmp_path):
    def ran(*arguments):
        job = Job([beside_python("pse"), *arguments], {}, tmp_path)
        return job.wait(), job

    (tmp_path / "rows.coven").write_text(RESUMED)
    (tmp_path / "m.py").write_text(GROWING)
    code, job = ran("run", "rows.coven", "-q", "-p", "3", "--checkpoint", "kept", "--every", "1")
    assert (code, "not yet" in job.err) == (3, True), job.err
    (tmp_path / "go").touch()
    code, job = ran("resume", "kept", "-q", "-p", "2")
    assert code == 0, job.err
    due = []
    for part in np.array_split(np.arange(6.0), 4):
        rows = part.tolist()
        for k in range(6):
            rows = [*rows[k % 2 :], float(k)]
        due += rows
    assert job.out == f"{due}\n"
    np.testing.assert_array_equal(np.load(tmp_path / "now.npy"), due)


def test_the_last_two_axes_of_rows_are_swapped_where_the_rows_are(play):
    body = """
  draw(7) -> x
  scatter(x) -> xs @ block(0)
  PARALLEL {
    thread_B large(xs, 6.0) -> ys, _at
    thread_B blocks(ys) -> b
    thread_C transpose(b) -> t @ block(0)
  }
  gather(t) -> whole
  transpose(whole) -> back
  tell("whole", whole)
  tell("back", back)"""
    told = play(body, processors=2, partitions=3)
    rows = _large(np.arange(14.0).reshape(7, 2), 6.0)[:, :, None] * np.arange(1.0, 4.0)
    np.testing.assert_array_equal(told["whole"], rows.swapaxes(1, 2))
    np.testing.assert_array_equal(told["back"], rows)
