"""Where a partition is: as an expression of the program, in Python's `pse.partition`, and in `coven.h`."""

import numpy as np
import pytest
from pse_testing.harness import compile_program, make_job, run

from pse.modules.load._imports import import_python

PYTHON = """
import numpy as np
from pse import partition
told = {}

#@ coven module place(in i64 i, in i64 r, in string s, in i64 k, out i64 x[8])
def place(i, r, s, k):
    assert s == f"piece {partition.index} of round {k}", s
    return np.resize([i, r, partition.index, partition.count, *partition.coordinates, *partition.grid], 8)
#@ coven module tell(in i64 x[n], in i64 y[n])
def tell(x, y):
    told["python"], told["c"] = x.copy(), y.copy()
#@ coven module outside(out i64 n)
def outside():
    assert (partition.grid, partition.coordinates) == ((1,), (0,))
    return 1
"""
C = """
#include <coven.h>
//@ coven module find(in i64 i, out i64 x[8])
int find(int64_t i, int64_t *x)
{
    x[0] = i; x[1] = coven_partition(); x[2] = coven_coordinate(0); x[3] = coven_coordinate(1);
    x[4] = coven_coordinate(2); x[5] = coven_grid(0); x[6] = coven_grid(1); x[7] = coven_grid(2);
    return 0;
}
"""
PROGRAM = """coven 1
import "m.py" {{ place, tell, outside }}
import "k.c" {{ find }}
partition P = {partition}
program places {{
  outside() -> _n
  for k in 0 .. 2 {{
    PARALLEL over P {{
      let me = partition
      thread_B place(me, {last}, "piece " + partition + " of round " + k, k) -> x @ block(0)
      thread_C find(10 * partition + 1) -> y @ block(0)
    }}
  }}
  gather(x) -> xs
  gather(y) -> ys
  tell(xs, ys)
}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("places")
    (folder / "m.py").write_text(PYTHON)
    (folder / "k.c").write_text(C)
    return folder


@pytest.mark.parametrize(
    "how", [{"processors": 1}, {"processors": 3, "nodes": lambda r: r % 2}, {"processors": 6}]
)
@pytest.mark.parametrize("grid", [None, (2, 3), (1, 3, 2)])
def test_a_partition_knows_where_it_is(folder, grid, how):
    partition = "6" + (f" as grid({', '.join(map(str, grid))})" if grid else "")
    last = f"partition[{len(grid) - 1}]" if grid else "partition"
    text = PROGRAM.format(partition=partition, last=last)
    run(make_job(compile_program(text, folder / "p.coven"), **how))
    told = import_python(str(folder / "m.py"), "m.py").told
    extents = grid or (6,)
    for index in range(6):
        place = np.unravel_index(index, extents)
        expected = np.resize([index, place[-1], index, 6, *place, *extents], 8)
        np.testing.assert_array_equal(told["python"].reshape(6, 8)[index], expected)
        rows, columns = [*place, 0, 0][:3], [*extents, 0, 0][:3]
        np.testing.assert_array_equal(
            told["c"].reshape(6, 8)[index], [10 * index + 1, index, *rows, *columns]
        )


BLOCKS = """coven 1
import "b.py" { rows, tell }
import "b.c" { cells }
partition P = 6 as grid(3, 2)
program blocks {
  PARALLEL over P {
    rows(7, 11) -> i64[7, 11] x @ block(0, 1)
    cells(7, 11) -> i64[7, 11] y @ block(0, 1)
  }
  gather(x) -> xs
  gather(y) -> ys
  tell(xs, ys)
}
"""
PYTHON_BLOCKS = """
import numpy as np
from pse import partition
told = []

#@ coven module rows(in i64 M, in i64 N, out i64 x[m, n])
def rows(M, N):
    return 100 * np.array(partition.block(M))[:, None] + np.array(partition.block(N, axis=1))
#@ coven module tell(in i64 x[m, n], in i64 y[m, n])
def tell(x, y):
    told[:] = x.copy(), y.copy()
"""
C_BLOCKS = """
#include <coven.h>
//@ coven module cells(in i64 M, in i64 N, out i64 x[m, n])
int cells(int64_t M, int64_t N, int64_t *x, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            x[i * n + j] = 100 * (coven_first(0, M) + i) + coven_first(1, N) + j;
    return 0;
}
"""


def test_a_partition_knows_which_indices_it_has(tmp_path):
    """Also where blocks cannot be equal, and where processors have several of them."""
    (tmp_path / "b.py").write_text(PYTHON_BLOCKS)
    (tmp_path / "b.c").write_text(C_BLOCKS)
    run(make_job(compile_program(BLOCKS, tmp_path / "p.coven"), processors=2))
    expected = 100 * np.arange(7)[:, None] + np.arange(11)
    for found in import_python(str(tmp_path / "b.py"), "b.py").told:
        np.testing.assert_array_equal(found, expected)
