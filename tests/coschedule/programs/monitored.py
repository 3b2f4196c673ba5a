"""A monitored program: messages of known sizes, and stretches of computation."""

import sys
import time

import numpy as np
from mpi4py import MPI

from pse import bcs


def accounted(report):
    """Add up all that a process did; a report between two readings of the clock is of a time between them."""
    return report.computation.total + report.communication.total


begun = time.perf_counter_ns()
with bcs.Comm(mmds=True, emds=1000) as comm:
    opened = time.perf_counter_ns()
    sizes = [int(one) for one in sys.argv[1:]]
    before = time.perf_counter_ns(), accounted(comm.report()), time.perf_counter_ns()
    for size in sizes:
        request = comm.Isend(np.zeros(size, np.uint8), comm.rank)
        comm.Recv(np.zeros(size, np.uint8), comm.rank)
        request.Wait()
    for _ in range(5):
        time.sleep(1e-3)
        comm.Barrier()
    last = time.perf_counter_ns()
    report = comm.report()
    after = time.perf_counter_ns()
    # Nothing is missed and nothing counted twice, however busy the machine is.
    assert last - before[2] <= accounted(report) - before[1] <= after - before[0]
    blocking = (report.latencies[name].total for name in ("Recv", "Wait", "Barrier"))
    assert report.communication.total == sum(blocking)
    elapsed = time.perf_counter_ns() - begun
    slices = comm.slices()
    assert report.latencies["Barrier"].count == 5
    assert report.latencies["Isend"].count == report.latencies["Recv"].count == len(sizes)
    size = report.sizes["Recv"]
    assert (size.total, size.least, size.greatest) == (sum(sizes), min(sizes), max(sizes))
    edges = size.edges()
    expected = np.bincount(np.searchsorted(edges, sizes, "right") - 1, minlength=len(edges))
    assert np.array_equal(size.bins, expected)
    assert report.computation.least < 2e6 < 5e6 < report.computation.total < elapsed
    assert last - opened <= report.computation.total + report.communication.total <= elapsed
    assert 0 <= comm.totals()["slices"] - len(slices) <= comm.size  # Others go on meanwhile.
    assert (np.diff(slices["slice"].astype(int)) == 1).all()
    assert slices["np2pmsm"].sum() == len(sizes) * comm.size
    assert slices["ncollmsm"].sum() == 5
    assert 5 * comm.size <= slices["ncolldem"].sum() < 6 * comm.size  # Others may be in the last one already.
    assert (slices["gtts"] == slices["gtdem"] + slices["gtmsm"]).all()
    assert (slices["ltr_exchange"] <= slices["gtdem"]).all()
    assert (slices["ltr_match"] <= slices["gtmsm"]).all()
    worked = [name for name in slices.dtype.names if name.startswith("ltr_") and slices[name].any()]
    moved = ["ltr_message"] * bool(sizes)
    assert worked == ["ltr_exchange", "ltr_match", *moved, "ltr_broadcast"], worked
    comm.Barrier()
if MPI.COMM_WORLD.rank == 0:
    print("as expected")
