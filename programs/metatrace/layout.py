"""Which processors work for Trace and which for Partrace: two thirds and one third, as in the paper.

Other parts of MetaTrace look at what they have: who has planes of the aquifer belongs to Trace, who has
particles to Partrace. A single processor does both.
"""

import numpy as np


def trace_processors(processors):
    """Say how many processors Trace has."""
    return round(2 * processors / 3)


def trace_planes(planes, processors):
    """Deal planes out to the first processors, as evenly as possible."""
    return np.arange(planes) * trace_processors(processors) // planes


def partrace_share(particles, processors):
    """Deal particles out to the other processors, as evenly as possible."""
    first = trace_processors(processors) if processors > 1 else 0
    return first + np.arange(particles) * (processors - first) // particles
