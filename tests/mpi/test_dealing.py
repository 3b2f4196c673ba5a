"""Distributed arrays under real MPI: parts of several pieces travel as derived datatypes, halos and whole
pieces too.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from pse_testing.jobs import TWO_NODES

pytestmark = pytest.mark.mpi
HERE = Path(__file__).parent / "programs"
PROGRAMS = Path(__file__).parents[2] / "programs"
PLACES = {
    "one node": ((), {}),
    "two nodes": ((), TWO_NODES),
    "no shared memory": (("-o", "shared_memory=off"), {}),
}


def run(pse, folder, program, processors, place, **values):
    options, environment = PLACES[place]
    definitions = [word for item in values.items() for word in ("-D", "{}={}".format(*item))]
    command = ["run", program, "-p", str(processors), "--report", "json", *options, *definitions]
    ended = pse(*command, cwd=folder, env=environment, timeout=240)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def boxed(n, m):
    around = np.pad(np.arange(n * m, dtype=float).reshape(n, m) + 1, 1)
    return np.lib.stride_tricks.sliding_window_view(around, (3, 3)).sum((-1, -2))


@pytest.mark.parametrize(
    ("place", "processors"), [("one node", 1), ("two nodes", 3), ("no shared memory", 3)]
)
def test_arrays_dealt_by_every_distribution_come_back_whole(
    pse, tmp_path, place, processors, nothing_left_behind
):
    report = run(pse, tmp_path, HERE / "dealing.coven", processors, place)
    np.testing.assert_array_equal(np.load(tmp_path / "boxed.npy"), boxed(13, 11))
    np.testing.assert_array_equal(np.load(tmp_path / "bumped.npy"), boxed(13, 11) + 1)
    assert (report["remote_bytes"] > 0) == (place != "one node")


def test_heat_without_shared_memory_is_what_it_is_with(pse, tmp_path, nothing_left_behind):
    fields = []
    for place, processors in (("one node", 1), ("no shared memory", 2)):
        run(pse, tmp_path, PROGRAMS / "heat.coven", processors, place, NX=12, NY=9, tol=1e-2)
        fields.append(np.load(tmp_path / "heat.npy"))
    np.testing.assert_array_equal(*fields)


def test_matrices_are_multiplied_across_nodes(pse, tmp_path, nothing_left_behind):
    products = []
    for place, processors in (("one node", 1), ("two nodes", 3)):
        run(pse, tmp_path, PROGRAMS / "matmul.coven", processors, place, M=20, N=17, K=23, width=5)
        products.append(np.load(tmp_path / "product.npy"))
    np.testing.assert_array_equal(*products)
