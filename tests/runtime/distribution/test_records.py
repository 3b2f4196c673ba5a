"""Arrays of records: whatever moves them, on one node or several, every byte of every field arrives."""

import numpy as np
import pytest
from pse_testing.harness import compile_program, make_job, run
from pse_testing.jobs import THREE_NODES, Job, beside_python, needs_cliques

from pse.modules import ModuleError
from pse.modules.load._imports import import_python

BODY = np.dtype([("kind", "i4"), ("x", "f8"), ("v", "f8")], align=True)
MODULES = """
import numpy as np
heard = []
#@ coven record Body { i32 kind   f64 x, v }

#@ coven module begin(in i64 n, out Body bodies[n])
def begin(n, bodies):
    bodies["kind"], bodies["x"], bodies["v"] = np.arange(n), 10 + np.arange(n), -1.5 * np.arange(n)

#@ coven module returned(in Body bodies[n], out Body others[n])
def returned(bodies):
    return bodies[::-1].copy()

#@ coven module spread(in Body bodies[n + 2], out Body others[n])
def spread(bodies, others):
    others[:] = bodies[1:-1]
    others["x"] = bodies["x"][:-2] + bodies["x"][2:]

#@ coven module first(in Body bodies[n], out Body one)
def first(bodies, one):
    one[...] = bodies[0]
    assert one.shape == ()

#@ coven module lightest(in Body bodies[n], out Body one)
def lightest(bodies):
    return bodies[np.argmin(bodies["x"])]

#@ coven module raised(in Body one, inout Body bodies[n])
def raised(one, bodies):
    bodies["x"] += one["x"]
    bodies["kind"] = one["kind"]

#@ coven module changed(inout Body one)
def changed(one):
    one["v"] = 7

#@ coven module hear(in Body bodies[n])
def hear(bodies):
    heard.append(bodies.copy())
"""
HEAD = """coven 1
import "bodies.py" as k
param i64 N = 7
partition P = 3
program sample {
  thread_A k.begin(N) -> all
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    (folder / "bodies.py").write_text(MODULES)
    return folder


def hear(folder, body, processors=3, **how):
    """Run a program; give the arrays that its module was told."""
    program = compile_program(f"{HEAD}{body}\n}}\n", folder / "sample.coven")
    heard = import_python(str(folder / "bodies.py"), "bodies.py").heard
    heard.clear()
    run(make_job(program, processors, **how), poison=True)
    return list(heard)


def bodies(count=7):
    made = np.zeros(count, BODY)
    made["kind"], made["x"], made["v"] = np.arange(count), 10 + np.arange(count), -1.5 * np.arange(count)
    return made


def reversed_fields(count=7):
    return bodies(count)[::-1]


ROUND = """
  thread_A scatter(all) -> cut @ block(0)
  PARALLEL over P { thread_C redistribute(cut) -> dealt @ cyclic(0) }
  PARALLEL over P { thread_B redistribute(dealt) -> back @ block(0) }
  thread_A gather(back) -> whole
  thread_A k.returned(whole) -> turned
  thread_A copy(turned) -> copied
  thread_A k.hear(copied)
"""
PLACES = {
    "one node": {},
    "every rank a node": {"nodes": lambda rank: rank},
    "no shared memory": {"shared_memory": False},
    "serial": {"serial": True},
}


@pytest.mark.parametrize("place", PLACES)
def test_what_is_moved_cut_and_put_together_is_what_it_was(folder, place):
    (heard,) = hear(folder, ROUND, **PLACES[place])
    np.testing.assert_array_equal(heard, reversed_fields())


@pytest.mark.parametrize("processors", [1, 3])
@pytest.mark.parametrize("place", PLACES)
def test_halos_are_filled_with_whole_records(folder, place, processors):
    body = """
  var k.Body[N] @ block(0) halo(1) u
  thread_A scatter(all) -> u
  PARALLEL over P {
    thread_C exchange(u, periodic = 0)
    thread_B k.spread(u) -> sums
  }
  thread_A gather(sums) -> whole
  thread_A k.hear(whole)
"""
    (heard,) = hear(folder, body, processors, **PLACES[place])
    due = bodies()
    due["x"] = np.roll(due["x"], 1) + np.roll(due["x"], -1)
    np.testing.assert_array_equal(heard, due)


@pytest.mark.parametrize("place", PLACES)
def test_a_single_record_is_a_value_of_the_program_or_of_each_partition(folder, place):
    body = """
  thread_A k.first(all) -> sun
  thread_A k.changed(inout sun)
  thread_A replicate(sun) -> everywhere
  thread_A scatter(all) -> cut @ block(0)
  PARALLEL over P {
    thread_B k.raised(everywhere, inout cut)
    thread_B k.lightest(cut) -> own
    thread_C k.raised(own, inout cut)
  }
  thread_A gather(cut) -> whole
  thread_A gather(own) -> each
  thread_A k.hear(sun)
  thread_A k.hear(whole)
  thread_A k.hear(each)
"""
    sun, whole, each = hear(folder, body, **PLACES[place])
    assert sun["v"].tolist() == [7]
    assert each["x"].tolist() == [20, 23, 25]
    assert whole["x"].tolist() == [40, 41, 42, 46, 47, 50, 51]
    assert set(whole["kind"]) == {0}


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ('np.zeros(7, [("kind", "i4"), ("x", "f8"), ("v", "f8")])', "elements of 20 bytes"),
        ("np.zeros(7)", "got float64, elements of 8 bytes"),
        ("[1.0, 2.0]", "got float64, elements of 8 bytes"),
    ],
)
def test_an_array_of_another_layout_is_refused_with_the_type_to_use(tmp_path, returned, told):
    (tmp_path / "bodies.py").write_text(
        "import numpy as np\n#@ coven record Body { i32 kind   f64 x, v }\n"
        f"#@ coven module begin(in i64 n, out Body bodies[n])\ndef begin(n):\n    return {returned}\n"
    )
    program = compile_program(f"{HEAD}  print(all)\n}}\n", tmp_path / "sample.coven")
    with pytest.raises(ModuleError) as refused:
        run(make_job(program, 1))
    assert "expected Body, elements of 24 bytes, got " in refused.value.message
    assert told in refused.value.message
    due = "np.dtype([('kind', 'int32'), ('x', 'float64'), ('v', 'float64')], align=True)"
    assert refused.value.help.endswith(due)


def test_records_stay_with_partitions_that_move(folder):
    """Every pause moves all partitions to the next processor, on another node."""
    body = """
  thread_A scatter(all) -> cut @ block(0)
  for k in 0 .. 6 { PARALLEL over P { thread_B k.raised_by_one(inout cut) } }
  thread_A gather(cut) -> whole
  thread_A k.hear(whole)
"""
    text = MODULES + (
        "\n#@ coven module raised_by_one(inout Body bodies[n])\n"
        'def raised_by_one(bodies):\n    bodies["x"] += 1\n'
    )
    (folder / "moving").mkdir()
    (folder / "moving" / "bodies.py").write_text(text)
    body = body.replace("for k", "for r")
    program = compile_program(f"{HEAD}{body}\n}}\n", folder / "moving" / "sample.coven")
    heard = import_python(str(folder / "moving" / "bodies.py"), "bodies.py").heard
    job = make_job(program, 3, nodes=lambda rank: rank, balance=1)

    def on(owners, loads, processors, cost, bound):
        return tuple((owner + 1) % processors for owner in owners)

    run(job, poison=True, decide=lambda: on)
    due = bodies()
    due["x"] += 6
    np.testing.assert_array_equal(heard[-1], due)


RESUMED = """coven 1
import "bodies.py" { begin, step, finish }
param i64 N = 23
partition P = procs
program resumed {
  thread_A begin(N) -> all
  thread_A scatter(all) -> cut @ block(0)
  for r in 0 .. 6 {
    PARALLEL over P { thread_B step(inout cut, r) -> most reduce top(max) }
  }
  thread_A gather(cut) -> whole
  thread_A finish(whole, top)
}
"""
STEPS = """
import os, pathlib, numpy as np
#@ coven record Body { i32 kind   f64 x, v }

#@ coven module begin(in i64 n, out Body bodies[n])
def begin(n, bodies):
    bodies["kind"], bodies["x"], bodies["v"] = np.arange(n), 10 + np.arange(n), -1.5 * np.arange(n)

#@ coven module step(inout Body bodies[n], in i64 r, out f64 most)
def step(bodies, r):
    if r == 4 and not pathlib.Path("go").exists():
        raise RuntimeError("not yet")
    bodies["x"] += bodies["v"]
    return bodies["x"].max()

#@ coven module finish(in Body bodies[n], in f64 top)
def finish(bodies, top):
    np.save("left.npy", bodies)
"""


def ran(directory, *arguments, environment=None):
    job = Job([beside_python("pse"), *arguments], environment or {}, directory)
    return job.wait(), job


@pytest.mark.mpi
def test_records_of_a_checkpoint_are_cut_anew_for_other_processors(tmp_path):
    (tmp_path / "resumed.coven").write_text(RESUMED)
    (tmp_path / "bodies.py").write_text(STEPS)
    code, job = ran(tmp_path, "run", "resumed.coven", "-p", "3", "--checkpoint", "kept", "--every", "1")
    assert (code, "not yet" in job.err) == (3, True), job.err
    (tmp_path / "go").touch()
    code, job = ran(tmp_path, "resume", "kept", "-p", "2")
    assert code == 0, job.err
    due = bodies(23)
    for _ in range(6):
        due["x"] += due["v"]
    np.testing.assert_array_equal(np.load(tmp_path / "left.npy"), due)


@pytest.mark.mpi
@needs_cliques()
def test_mpi_carries_whole_records_between_nodes(tmp_path):
    (tmp_path / "bodies.py").write_text(MODULES + "    np.save('heard.npy', bodies)\n")
    body = ROUND.replace("thread_A k.returned(whole) -> turned", "thread_B k.returned(whole) -> turned")
    (tmp_path / "sample.coven").write_text(f"{HEAD}{body}\n}}\n")
    code, job = ran(tmp_path, "run", "sample.coven", "-p", "3", environment=THREE_NODES)
    assert code == 0, job.err
    np.testing.assert_array_equal(np.load(tmp_path / "heard.npy"), reversed_fields())
