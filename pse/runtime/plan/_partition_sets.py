"""Where partitions live, for messages among them: every set of partitions that a rank's calls work in."""

from __future__ import annotations

from pse.language.check import CallSite
from pse.runtime.plan._job import Job
from pse.runtime.plan._position import Here
from pse.runtime.plan._tables import Tables


class Regions:
    """Writes the rows of the sets of partitions that one rank's thread works in."""

    def __init__(self, job: Job, here: Here, tables: Tables) -> None:
        self.job, self.here, self.tables = job, here, tables

    def number(self, site: CallSite) -> int:
        """Give the number of the set that a call works in, the same on every rank; 0 outside PARALLEL."""
        if not site.parallel or site.partition is None:
            return 0
        for name in self.job.sets:
            if name not in self.tables.regions:
                self._add(name)
        return self.tables.regions[site.partition] + 1

    def _add(self, name: str) -> None:
        owners, key = self.job.owners(name), self.here.key
        first = len(self.tables.owners)
        self.tables.owners.extend(self.job.liveness.placement.rank_of(key, owner) for owner in owners)
        self.tables.regions[name] = self.tables.add("regions", len(owners), first)
