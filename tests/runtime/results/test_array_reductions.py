"""Arrays of all partitions are combined along the tree as NumPy does, wherever partitions live."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.harness import compile_program, make_job, run
from pse_testing.oracle import in_tree

from pse.modules.load._imports import import_python

MODULES = """
import numpy as np
given, told = None, []

#@ coven module draw(in i64 p, in i64 m, in i64 n, out {type} x[p, m, n])
def draw(p, m, n):
    return given
#@ coven module own(in {type} x[p, m, n], in i64 more, out {type} a[m, n], out {type} s)
def own(x, more):
    return x[0] + more, x[0].sum()
#@ coven module tell(in {type} x[...], in {type} t[...])
def tell(x, t):
    told.append(t.copy())
#@ coven module show(in {type} t[...])
def show(t):
    told.append(t.copy())
"""
PROGRAM = """coven 1
import "m.py" {{ draw, own, tell, show }}
partition P = {count}
param i64 M = 1
param i64 N = 1
program reductions {{
  thread_A draw(P, M, N) -> all
  thread_A scatter(all) -> x @ block(0)
  for k in 0 .. 3 {{
    PARALLEL over P {{
      thread_B own(x, k) -> a reduce total({operation}), s reduce _sums({operation})
      thread_C tell(x, total)
      {label} copy(a) -> b reduce whole({operation}) @ root
    }}
    thread_A show(whole)
  }}
  thread_A show(total)
}}
"""
PLACES = {
    "one node": {},
    "two nodes": {"nodes": lambda rank: rank % 2},
    "no shared memory": {"shared_memory": False},
}
NUMPY = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}
    for element in ("f64", "i32", "c128"):
        made[element] = tmp_path_factory.mktemp(element)
        (made[element] / "m.py").write_text(MODULES.format(type=element))
    return made


def values_of(element, shape, seed):
    numbers = np.random.default_rng(seed).normal(size=(2, *shape)) * 10.0 ** np.arange(2)[:, None, None, None]
    kinds = {
        "f64": lambda: numbers[0],
        "i32": lambda: (100 * numbers[0]).astype(np.int32),
        "c128": lambda: numbers[0] + 1j * numbers[1],
    }
    return kinds[element]()


@pytest.mark.parametrize("place", PLACES)
def test_arrays_are_combined_as_numpy_does_in_the_order_of_the_tree(folders, place):
    @settings(deadline=None, max_examples=some_of(15))
    @given(
        element=st.sampled_from(["f64", "i32", "c128"]),
        operation=st.sampled_from(sorted(NUMPY)),
        count=st.sampled_from([1, 2, 3, 5, 9, 11, 20]),
        shape=st.tuples(st.integers(0, 4), st.integers(1, 5)),
        processors=st.sampled_from([1, 2, 3]),
        limit=st.sampled_from([1, 1 << 20]),
        label=st.sampled_from(["thread_B", "thread_C"]),
        seed=st.integers(0, 99),
    )
    def check(element, operation, count, shape, processors, limit, label, seed):
        if element == "c128":  # It has no order, and C may round its products differently.
            operation = "sum"
        folder, how = folders[element], {"local_limit": limit, **PLACES[place]}
        module = import_python(str(folder / "m.py"), "m.py")
        module.given, module.told[:] = values_of(element, (count, *shape), seed), []
        text = PROGRAM.format(count=count, operation=operation, label=label)
        job = make_job(
            compile_program(text, folder / "r.coven"),
            processors,
            values=dict(zip("MN", shape, strict=True)),
            **how,
        )
        run(job, poison=True)
        expected = {
            in_tree(NUMPY[operation], list(module.given + np.dtype(module.given.dtype).type(k))).tobytes()
            for k in range(3)
        }
        assert {array.tobytes() for array in module.told} == expected
        assert len(module.told) == 3 * count + 4
        assert all(array.shape == shape for array in module.told)

    check()


COLUMNS = """
#@ coven module table(in i64 m, in i64 n, out f64 x[m, n])
def table(m, n):
    return given
#@ coven module columns(in f64 x[m, n], out f64 s[n], out f64 row[1, n])
def columns(x):
    return x.sum(axis=0), x[:1]
#@ coven module show(in f64 t[...])
def show(t):
    told.append(t.copy())
"""


@pytest.mark.parametrize("processors", [1, 3])
def test_an_axis_that_is_not_cut_by_the_grid_is_whole_in_each_partition(tmp_path, processors):
    (tmp_path / "m.py").write_text("given, told = None, []\n" + COLUMNS)
    program = """coven 1
import "m.py" { table, columns, show }
partition P = 2 * procs as grid(2 * procs, 1)
program p {
  table(13, 4) -> all
  scatter(all) -> x @ block(0, 1)
  PARALLEL over P { columns(x) -> s reduce total(sum), row @ block(0) }
  gather(row) -> rows
  show(total)
  show(rows)
}
"""
    module = import_python(str(tmp_path / "m.py"), "m.py")
    module.given, module.told[:] = np.arange(52.0).reshape(13, 4), []
    run(make_job(compile_program(program, tmp_path / "r.coven"), processors))
    total, rows = module.told
    assert (total == module.given.sum(axis=0)).all()
    assert rows.shape == (2 * processors, 4)
