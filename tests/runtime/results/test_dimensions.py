"""Dimensions of a directive are worked out from arrays that fit, or the run ends with a word about it."""

import pytest
from pse_testing.harness import compile_program, make_job, run

from pse.errors import PseError
from pse.language.io import check_file
from pse.modules import Finder
from pse.modules.load._imports import import_python
from pse.runtime.request._dry_run import dry_run
from pse.runtime.request._prepared import Request
from pse.runtime.request._request import prepare

PYTHON = """
import numpy as np
told = []

#@ coven module make(in i64 n, out f64 x[n])
def make(n):
    return np.zeros(n)
#@ coven module tell(in i64 n)
def tell(n):
    told.append(int(n))
"""
C = """
#include <stdint.h>
//@ coven module framed(in f64 u[m + 2], out i64 size)
int framed(const double *u, int64_t *size, int64_t m) { return *size = m, 0; }
//@ coven module halved(in f64 x[2 * m], out i64 size)
int halved(const double *x, int64_t *size, int64_t m) { return *size = m, 0; }
//@ coven module rest(in i64 n, in f64 x[m + n], out i64 size)
int rest(int64_t n, const double *x, int64_t *size, int64_t m) { return *size = m, 0; }
//@ coven module rows(in f64 x[m * n], in f64 y[n], out i64 size)
int rows(const double *x, const double *y, int64_t *size, int64_t m, int64_t n) { return *size = m, 0; }
//@ coven module pair(in f64 x[n], in f64 y[n], out i64 size)
int pair(const double *x, const double *y, int64_t *size, int64_t n) { return *size = n, 0; }
//@ coven module some(in f64 x[n], in i64 most, out f64 y[?k <= n])
int some(const double *x, int64_t most, double *y, int64_t n, int64_t *k)
{
    *k = most;
    for (int64_t i = 0; i < most; i++)
        y[i] = x[i];
    return 0;
}
"""
HEAD = """coven 1
import "m.py" { make, tell }
import "k.c" { framed, halved, rest, rows, pair, some }
param i64 N = 7
partition P = 4
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Give the folder with the modules."""
    folder = tmp_path_factory.mktemp("dimensions")
    (folder / "m.py").write_text(PYTHON)
    (folder / "k.c").write_text(C)
    return folder


@pytest.fixture
def play(folder):
    """Run a program's body, and give what it tells."""
    module = import_python(str(folder / "m.py"), "m.py")

    def played(body):
        module.told.clear()
        program = compile_program(f"{HEAD}program sizes {{\n{body}\n}}\n", folder / "p.coven")
        run(make_job(program, 1))
        return list(module.told)

    return played


@pytest.mark.parametrize(
    ("call", "size"),
    [
        ("framed(x) -> s", 5),
        ("rest(3, x) -> s", 4),
        ("rest(N, x) -> s", 0),
        ("make(7) -> y   rows(x, y) -> s", 1),
        ("some(x, 6) -> y   halved(y) -> s", 3),
        ("some(x, 2) -> y   framed(y) -> s", 0),
    ],
)
def test_dimensions_follow_from_extents_and_scalars(play, call, size):
    assert play(f"  make(N) -> x\n  {call}\n  tell(s)") == [size]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("halved(x) -> s", "axis 0 of `x` is 7, but `halved` needs `2 * m` with an integer `m` from 0 on"),
        ("rest(8, x) -> s", "axis 0 of `x` is 7, but `rest` needs `m + 8` with an integer `m` from 0 on"),
        ("make(N / 2) -> y   rows(x, y) -> s", "axis 0 of `x` is 7, but `rows` needs `3 * m` with"),
        ("some(x, 5) -> y   halved(y) -> s", "`y` is 5 here, but 4 is expected for the input `x`"),
        ("some(x, 1) -> y   framed(y) -> s", "-1, nor can a dimension of the directive"),
        ("for k in 2 .. 4 { make(k) -> y   halved(y) -> s }", "`y` is 3 here, but 2 is expected"),
        ("for k in 0 .. 2 { make(k) -> y   framed(y) -> s }", "-2, nor can a dimension of the directive"),
    ],
)
def test_an_extent_that_no_dimension_gives_ends_the_run(play, call, message):
    with pytest.raises(PseError) as failure:
        play(f"  make(N) -> x\n  {call}")
    assert message in failure.value.message
    assert "p.coven:8:" in failure.value.message


@pytest.mark.parametrize(
    ("call", "n", "message"),
    [
        ("framed(xs) -> a", 7, "`xs` is 1 in partition 3, but `framed` needs `m + 2` with an integer `m`"),
        ("halved(xs) -> a", 13, "`xs` is 3 in partition 3, but `halved` needs `2 * m`"),
        ("pair(whole, xs) -> a", 7, "`xs` is 2 in partition 2, but `pair` needs 1"),
    ],
)
def test_pieces_of_all_processors_are_looked_at_before_the_run(folder, call, n, message):
    body = f"scatter(x) -> xs @ block(0)   replicate(y) -> whole   PARALLEL {{ {call} reduce s(sum) }}"
    text = f"{HEAD}program p {{ make(N) -> x   make(N / P) -> y   {body}   tell(s) }}\n"
    (folder / "pieces.coven").write_text(text)
    dry_run(prepare(Request(str(folder / "pieces.coven"), {"N": "8"}, processors=4)))
    with pytest.raises(PseError) as failure:
        dry_run(prepare(Request(str(folder / "pieces.coven"), {"N": f"{n}"}, processors=4)))
    assert message in failure.value.message
    assert failure.value.help.startswith("choose other values, by -p and -D, or another shape")


def test_levels_are_those_of_the_values_that_a_run_is_given(folder):
    """Also where it was checked for its defaults before; an extent that cannot be halved is refused."""
    loop = "for l in 0 .. L - 1 { halved(x[l]) -> _size }"
    text = f"{HEAD}param i64 L = 2\nprogram p {{ var f64[N / 2 ** l] x[l in 0 .. L]   "
    text += f"for l in 0 .. L {{ make(N / 2 ** l) -> x[l] }}   {loop} }}\n"
    (folder / "levels.coven").write_text(text)
    path = str(folder / "levels.coven")
    before = check_file(path, Finder())
    prepared = prepare(Request(path, {"N": "8", "L": "3"}), file=before)
    assert [name for name in prepared.program.tags if name.startswith("x[")] == ["x[0]", "x[1]", "x[2]"]
    dry_run(prepared)
    dry_run(prepare(Request(path, {"N": "6"}), file=before))
    with pytest.raises(PseError, match=r"axis 0 of `x\[1\]` is 3, but `halved \[l = 1\]` needs `2 \* m`"):
        dry_run(prepare(Request(path, {"N": "6", "L": "3"}), file=before))
