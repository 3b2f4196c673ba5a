"""Collective calls under real MPI: 200 random programs with several TPHs in flight, on one node and on two.

Modules exchange the numbers of their call site and of their TPH by MPI's own collectives, so ranks that meet
at different calls fail, and ranks that wait for different calls hang.
"""

import random

import pytest

pytestmark = [pytest.mark.nightly, pytest.mark.mpi, pytest.mark.timeout(1800)]
PROGRAMS = 200
BATCH = 20
SETTINGS = {
    "one node": {},
    "two nodes": {"MPIR_CVAR_ODD_EVEN_CLIQUES": "1", "MPIR_CVAR_NUM_CLIQUES": "2"},
}
MODULES = '''
import os
import random
import time

import numpy as np

chance = random.Random(os.getpid())


def compute(most):
    """Compute for a random while, so that ranks come to their calls in ever new orders."""
    end = time.perf_counter() + chance.random() * most
    while time.perf_counter() < end:
        np.arange(100).sum()


def met(c, site, k):
    """Exchange who is where in one of three ways, as the call says."""
    here = np.array([site, k])
    there = np.empty((c.size, 2), here.dtype)
    if (site + k) % 3 == 0:
        c.Allgather(here, there)
    elif (site + k) % 3 == 1:
        c.Alltoall(np.tile(here, (c.size, 1)), there)
    else:
        for root in range(c.size):
            there[root] = here
            c.Bcast(there[root], root)
    assert (there == here).all(), f"rank {c.rank} at call {here}, the others at {there.tolist()}"


#@ coven module make(in i64 n, in i64 k, out f64 x[n])
def make(n, k):
    return np.arange(n, dtype=float) + k

#@ coven module meet(in f64 x[n], in i64 site, in i64 k, in comm c, out f64 y[n]) collective
def meet(x, site, k, c):
    compute(1e-3)
    met(c, site, k)
    return x + 1

#@ coven module work(in f64 x[n], in i64 site, in i64 k, out f64 y[n])
def work(x, site, k):
    compute(2e-3)
    return x + 1

#@ coven module wanted(in f64 x[n], in i64 k, in i64 steps)
def wanted(x, k, steps):
    assert (x == np.arange(len(x)) + k + steps).all(), x
'''


def random_program(chance: random.Random) -> str:
    """Write a program that sends some frames through a chain of modules on two threads."""
    chain = ["meet", *chance.choices(["meet", "work", "work"], k=chance.randint(1, 6)), "meet"]
    calls = [
        f"thread_{chance.choice('BC')} {module}(x{i}, {i}, k) -> x{i + 1}" for i, module in enumerate(chain)
    ]
    return f"""coven 1
import "meeting.py" {{ make, meet, work, wanted }}
options {{ queue_depth = {chance.randint(1, 3)} }}
partition P = procs
program order {{
  for k in 0 .. 8 inflight {chance.randint(1, 6)} {{
    make(4 * procs, 4 * procs * k) -> all
    scatter(all) -> x0 @ block(0)
    PARALLEL over P {{
      {"; ".join(calls)}
    }}
    gather(x{len(chain)}) -> result @ root
    wanted(result, 4 * procs * k, {len(chain)})
  }}
}}
"""


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_ranks_meet_at_the_same_calls(pse, tmp_path, setting, first):
    (tmp_path / "meeting.py").write_text(MODULES)
    for seed in range(first, first + BATCH):
        chance = random.Random(seed)
        path = tmp_path / f"order_{seed}.coven"
        path.write_text(random_program(chance))
        processors = chance.randint(2, 4)
        done = pse(
            *("run", path.name, "-p", str(processors), "--report", "json"),
            cwd=tmp_path,
            env=SETTINGS[setting],
            timeout=90,
        )
        assert done.code == 0, f"seed {seed} on {processors} processors:\n{path.read_text()}\n{done.err}"
