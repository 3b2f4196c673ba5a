"""Run a workload of simulated ranks for real; write both schedules: ``simulated NAME FILE``."""

import sys

import numpy as np
from mpi4py import MPI

from pse import bcs
from pse._abi.coschedule import ACT_DTYPE, Act
from pse.coschedule._workloads import WORKLOADS

SLICE, STEPS = 2e-3, 12


def farm(ranks, steps, compute):
    """Rank 0 receives from any rank, in each step one message of each other."""
    wait = (Act.WAIT, 0, 0, 0, 0)
    master = [(Act.RECEIVE, -1, 3, 0, 8), wait] * (steps * (ranks - 1))
    worker = [(Act.SEND, 0, 3, 0, 8), wait] * steps
    counts = [len(master)] + [len(worker)] * (ranks - 1)
    acts = np.array([*master, *worker * (ranks - 1)], ACT_DTYPE)
    return bcs.Workload(acts, np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64))


def perform(comm, program):
    requests = []
    for act in program.acts[program.begins[comm.rank] : program.begins[comm.rank + 1]]:
        buffer, peer, tag = np.zeros(act["amount"], np.uint8), int(act["peer"]), int(act["tag"])
        if act["kind"] == Act.RECEIVE:
            requests.append(comm.Irecv(buffer, MPI.ANY_SOURCE if peer < 0 else peer, tag))
        elif act["kind"] == Act.SEND:
            requests.append(comm.Isend(buffer, peer, tag))
        elif act["kind"] == Act.COLLECTIVE:
            requests.append(comm.Iallreduce(buffer, np.zeros_like(buffer), MPI.MAX))
        elif act["kind"] == Act.WAIT:
            bcs.Request.Waitall(requests)
            requests = []


def main():
    name, path = sys.argv[1:]
    ranks = MPI.COMM_WORLD.size
    program = {**WORKLOADS, "farm": farm}[name](ranks, STEPS, compute=0)
    with bcs.Comm(slice=SLICE, adapt=False, mode="strict", schedule=1000) as comm:
        perform(comm, program)
        if comm.rank == 0:
            costs = bcs.Costs(wake=0)
            simulated = bcs.simulate(program, 1, costs, ranks_per_node=ranks, slice=SLICE).matches
            np.savez(path, real=comm.schedule(), simulated=simulated)


main()
