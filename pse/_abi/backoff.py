"""How long who waits looks, lets others run and sleeps.  All times are ns.

Made from cext/abi/backoff.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

SHORTEST = 20000  # The first sleep; a look at MPI from Python costs about as much.
LONGEST = 5000000  # The longest sleep, if nothing else is said: looking then takes less than 1 % of a core.
LONGEST_BRIEF = 1000000  # The longest sleep of a wait for a rank that is known to be at work on the answer.
# A sleep takes this part of the wait so far: what comes is seen a sixteenth of the wait late, on average.
SHARE = 8
