"""What the engine hands to the root in every round: arrays of PARALLEL that root threads may read."""

from __future__ import annotations

from pse.language.check import ResolvedProgram
from pse.program import SwappedNames, Walk, analyse_run_liveness, inouts_of, outputs_of, read_names


def pushed(program: ResolvedProgram, walk: Walk) -> dict[int, list[tuple[str, tuple[int, ...]]]]:
    """Give the tags that each call site in PARALLEL hands to the root, and the sites that may read them."""
    live, names = analyse_run_liveness(program), SwappedNames(walk)
    at_root = [site for site in walk.sites if not site.parallel]
    found: dict[int, list[tuple[str, tuple[int, ...]]]] = {}
    for site in walk.sites:
        for tag in sorted(outputs_of(site) | inouts_of(site)) if site.parallel else ():
            if program.tags[tag].type.scalar:
                continue
            if any(key.region == "root" for key in live.readers(site, tag)):
                readers = tuple(other.id for other in at_root if names.of(tag) & read_names(other))
                found.setdefault(site.id, []).append((tag, readers))
    return found
