"""OTF2 archives of other tools, made with the high-level writer of the package otf2."""

import otf2
from otf2.enums import (
    Base,
    CollectiveOp,
    GroupType,
    LocationGroupType,
    LocationType,
    MetricMode,
    MetricType,
    Paradigm,
    RecorderKind,
    RegionRole,
    Type,
)  # fmt: skip


class Builder:
    """An archive under construction: processes on nodes, MPI over the first thread of each."""

    def __init__(self, path, resolution=10**9, first_location=0, **options):
        self.writer = otf2.writer.open(str(path), timer_resolution=resolution, **options)
        self._opened = self.writer.__enter__()
        self.definitions = self._opened.definitions
        self._nodes, self._regions, self.locations = {}, {}, []
        self.definitions.locations._ref = first_location - 1  # The package counts from 0.

    def node(self, *names):
        """A system-tree node: machine, then node."""
        for depth in range(1, len(names) + 1):
            if names[:depth] not in self._nodes:
                kind = "node" if depth == len(names) else "machine"
                parent = self._nodes.get(names[: depth - 1])
                made = self.definitions.system_tree_node(names[depth - 1], kind, parent=parent)
                self._nodes[names[:depth]] = made
        return self._nodes[names]

    def process(self, *node, threads=1):
        """A process with threads; gives their event writers."""
        number = len(self.locations)
        group = self.definitions.location_group(
            f"MPI Rank {number}",
            location_group_type=LocationGroupType.PROCESS,
            system_tree_parent=self.node(*node),
        )
        made = []
        for thread in range(threads):
            name = "Master thread" if thread == 0 else f"OMP thread {thread}"
            made.append(self.definitions.location(name, type=LocationType.CPU_THREAD, group=group))
        self.locations.append(made[0])
        return [self._opened.event_writer_from_location(location) for location in made]

    def world(self, name="MPI_COMM_WORLD"):
        """The communicator of all processes."""
        self.definitions.group("", GroupType.COMM_LOCATIONS, Paradigm.MPI, members=tuple(self.locations))
        return self.communicator(name, range(len(self.locations)))

    def communicator(self, name, ranks):
        group = self.definitions.group(name, GroupType.COMM_GROUP, Paradigm.MPI, members=tuple(ranks))
        return self.definitions.comm(name, group)

    def region(self, name, file="app.c", line=0):
        if name not in self._regions:
            mpi = name.startswith("MPI_")
            self._regions[name] = self.definitions.region(
                name,
                source_file="MPI" if mpi else file,
                begin_line_number=line,
                region_role=RegionRole.FUNCTION,
                paradigm=Paradigm.MPI if mpi else Paradigm.USER,
            )
        return self._regions[name]

    def metric(self, name, unit, kind=Type.UINT64, exponent=0):
        member = self.definitions.metric_member(
            name, "", MetricType.OTHER, MetricMode.ABSOLUTE_POINT, kind, Base.DECIMAL, exponent, unit
        )
        return self.definitions.metric_class((member,), recorder_kind=RecorderKind.CPU)

    def close(self):
        self.writer.__exit__(None, None, None)


__all__ = ["Builder", "CollectiveOp"]
