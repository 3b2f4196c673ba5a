"""Which operation made every tag, and who read it since: from which each operation needs what.

Kept while a walk goes through a program, as `graph.liveness` keeps it for the program as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pse.advise.model._operations import Input, Operation
from pse.advise.model._trace_cursor import ROOT
from pse.advise.model._transfer_sizes import whole
from pse.language.check import ResolvedProgram
from pse.language.types import Value

Made = dict[int, tuple[int, ...]]
"""The operations that made a tag: one for each partition, or one at `ROOT`."""


class Dataflow:
    """Values and tags at a point of a program.

    Parameters
    ----------
    program : ResolvedProgram
        The program.
    environment : mapping of str to value
        What parameters and partitions are.

    Attributes
    ----------
    environment : dict
        Scalars whose values the program alone tells, by name.
    operations : list of Operation
        All that were made, by number.
    made : dict
        The operations that made each tag that is there.
    """

    def __init__(self, program: ResolvedProgram, environment: Mapping[str, Value]) -> None:
        self._program = program
        self.environment = dict(environment)
        self.operations: list[Operation] = []
        self.made: dict[str, Made] = {}
        self._readers: dict[tuple[str, int], list[int]] = {}

    def makers(self, name: str, place: int) -> list[int]:
        """Operations that made what a tag stands for, as a place sees it: its own piece, or all of it."""
        made = self.made.get(name, {})
        if place != ROOT:
            return list(made.get(place, made.get(ROOT, ())))
        return [source for sources in made.values() for source in sources]

    def inputs(self, name: str, place: int, count: int) -> list[Input]:
        """Give what a place needs of a tag that is in so many pieces."""
        kind = self._program.tags[name].type
        sources = self.makers(name, place)
        if kind.scalar:
            return [Input(source, None, 0.0) for source in sources]
        parts = count if place != ROOT else max(len(sources), 1)
        size = whole(kind, self.environment) / (parts if kind.distribution.distributed else 1)
        return [Input(s, f"{self.operations[s].site} {name}", size) for s in sources]

    def decided_by(self, read: Iterable[str]) -> list[Input]:
        """Give what is needed by all who go on by a bound or condition."""
        return [Input(s, None, 0.0) for name in sorted(read) for s in self.makers(name, ROOT)]

    def read(self, tag: str, place: int, reader: int) -> None:
        """Note who reads a tag at a place: who changes it in place waits for that."""
        self._readers.setdefault((tag, place), []).append(reader)

    def change(self, tag: str, place: int, operation: Operation) -> None:
        """Let an operation change a tag in place."""
        readers = self._readers.pop((tag, place), [])
        operation.after += [reader for reader in readers if reader != operation.number]
        self.made[tag] = {**self.made.get(tag, {}), place: (operation.number,)}

    def define(self, tag: str, made: Made) -> None:
        """Let operations make a tag anew."""
        self.made[tag] = made
        for place in made:
            self._readers.pop((tag, place), None)

    def swap(self, left: str, right: str) -> None:
        """Let two tags stand for each other's arrays."""
        self.made[left], self.made[right] = self.made.get(right, {}), self.made.get(left, {})
        for partition in {p for name, p in self._readers if name in (left, right)}:
            one, other = (left, partition), (right, partition)
            self._readers[one], self._readers[other] = (
                self._readers.get(other, []),
                self._readers.get(one, []),
            )
