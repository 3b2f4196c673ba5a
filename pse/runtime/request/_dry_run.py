"""Before any rank computes, lower the program as every thread's rank would.

One process reports what this version doesn't run: the first rank, which has NumPy anyway, or the launcher
where that takes long or ranks are on several machines.  Ranks lower the program again for themselves (their
nodes may differ); `prepare` has checked it before.
"""

from __future__ import annotations

from collections.abc import Mapping

from pse.language.check import ModuleReference
from pse.modules import LoadedModule
from pse.program import analyse_run_liveness
from pse.runtime.distribution._partition_placement import Owners, is_users, partition_counts, place_partitions
from pse.runtime.plan._job import Job, constants_of, live_values
from pse.runtime.plan._lowering_position import Position
from pse.runtime.plan._projection import located, project
from pse.runtime.plan._shapes import Shapes
from pse.runtime.request._prepared import Prepared


def dry_run(prepared: Prepared) -> None:
    """Find out whether a run can start.

    Raises
    ------
    ProgramError
        If the program uses what this version doesn't run.
    """
    # A user's function for the placement is asked when the run begins, and once: the first rank does it.
    placement = "block" if is_users(prepared.options.placement) else prepared.options.placement
    counts = partition_counts(prepared.program, prepared.environment)
    placements = place_partitions(placement, counts, prepared.processors)
    job = agreed(prepared, [0] * prepared.ranks, placements)
    shapes = Shapes(job)
    for site in job.liveness.walk.sites:
        if site.parallel and site.module.language != "std":
            rank = prepared.placement.rank_of(prepared.placement.thread_of(site))
            with located(site):
                shapes.check_pieces(site, Position.of(job, rank))
    for key in prepared.placement.keys:
        project(job, prepared.placement.rank_of(key), _unloaded)


def agreed(prepared: Prepared, nodes: list[int], placements: Mapping[str, Owners]) -> Job:
    """Give what all ranks agree on, once it is known where ranks and partitions are."""
    # Where every processor has one partition, none can move to advantage.
    plain = all(owners == tuple(range(prepared.processors)) for owners in placements.values())
    balance = 0 if plain else prepared.options.balance
    return Job(
        program=prepared.program,
        liveness=analyse_run_liveness(prepared.program, prepared.placement, together=prepared.pauses),
        environment=constants_of(prepared.program, prepared.environment),
        live=live_values(prepared.program, prepared.environment),
        processors=prepared.processors,
        nodes=nodes,
        shared_memory=prepared.options.shared_memory,
        local_limit=prepared.options.local_limit,
        depths=prepared.options.depth,
        placements=placements,
        balance=balance,
        pauses=prepared.pauses,
        check=prepared.options.check,
        build=prepared.request.build,
    )


def _unloaded(reference: ModuleReference) -> LoadedModule:
    return LoadedModule(reference.name, reference.path, reference.signature)
