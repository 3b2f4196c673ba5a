"""The steps of an application's ranks, and what they cost by the cost of messages."""

from __future__ import annotations

from pse.emulate.configuration._configuration import Application
from pse.emulate.patterns._cycle import PatternError, Step
from pse.emulate.patterns._lookup import find_pattern
from pse.emulate.patterns._simulation import Cost, Groups, simulate
from pse.emulate.recorded._program import load_program

CHECKED_VARIANTS = 8


def variants_of(application: Application, rank: int, size: int, seed: int) -> list[list[Step]]:
    """Give the steps of a rank in each variant of an application's cycle."""
    if application.program is not None:
        return [list(load_program(application.program).steps[rank])]
    pattern = find_pattern(application.pattern)
    return [
        pattern.cycle(
            rank,
            application.ranks,
            size,
            blocking=application.blocking,
            options=application.options,
            variant=variant,
            seed=seed,
        )
        for variant in range(pattern.variants)
    ]


def groups_of(application: Application) -> Groups:
    """Give the groups of ranks that have collective operations of their own."""
    return () if application.program is None else load_program(application.program).groups


def computed_by(application: Application, size: int, seed: int) -> float:
    """Give what the steps of an application's cycle compute by themselves: the ranks' mean, s."""
    programs = [variants_of(application, rank, size, seed) for rank in range(application.ranks)]
    cycles = [steps for own in programs for steps in own]
    return sum(step.seconds for steps in cycles for step in steps) / len(cycles)


def predict_pattern(application: Application, size: int, seed: int, cost: Cost) -> float:
    """Predict an application's communication time of a cycle by the cost of messages: the ranks' mean, s."""
    programs = [variants_of(application, rank, size, seed) for rank in range(application.ranks)]
    if not any(steps for own in programs for steps in own):
        raise PatternError(
            f"the pattern {application.pattern} adds no step to any rank's cycle",
            help="let the pattern call send, receive, exchange or compute for at least one rank",
        )
    variants = min(len(programs[0]), CHECKED_VARIANTS)
    times = []
    for number in range(variants):
        steps = [own[number] for own in programs]
        computed = (sum(step.seconds for step in own) for own in steps)
        ends = simulate(steps, cost, groups_of(application))
        times += [end - own for end, own in zip(ends, computed, strict=True)]
    return sum(times) / len(times)
