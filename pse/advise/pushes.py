"""What the engine hands to the root whenever it is made: arrays of PARALLEL that root threads may read next.

Next room: `executions` puts them on every operation.
"""

from __future__ import annotations

from pse.graph import Walk, analyse_run
from pse.graph.exits import Names
from pse.graph.walk import inouts_of, outputs_of, read_names
from pse.language.resolved import ResolvedProgram


def pushed(program: ResolvedProgram, walk: Walk) -> dict[int, list[tuple[str, tuple[int, ...]]]]:
    """Give the tags that each call site in PARALLEL hands to the root, and the sites that may read them."""
    live, names = analyse_run(program), Names(walk)
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
