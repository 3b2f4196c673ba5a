"""From a program and a trace of it to the operations of a run, with what each needs of others.

The walk goes through the program as the run did.  Bounds and conditions that parameters decide are worked
out; where data decided, the trace tells.
"""

from __future__ import annotations

from pse.advise.model._dataflow import Dataflow
from pse.advise.model._executions import Executions, Setting, Strands
from pse.advise.model._loop_sampling import LoopSample
from pse.advise.model._operations import Calls, Decision, Loop, Node, Unrolled
from pse.advise.model._program_subject import Subject
from pse.advise.model._trace_cursor import ROOT, Cursor, ObservedCalls
from pse.advise.model._transfer_sizes import number
from pse.errors import EvaluationError
from pse.language.check import Assign, CallSite, For, If, Parallel, Swap, While
from pse.language.types import Expression, evaluate, names_in
from pse.program import Walk, condition_names, entry_names, read_names


class Unrolling:
    """Walks a program as a run of it did, in a setting that may be another one.

    Parameters
    ----------
    subject : Subject
        The program.
    observed : ObservedCalls
        The run.
    setting : Setting
        Parameters, processors and speeds.
    """

    def __init__(self, subject: Subject, observed: ObservedCalls, setting: Setting) -> None:
        self.walk, program = subject.walk, subject.program
        self.cursor = Cursor(observed, self.walk)
        self.flow = Dataflow(program, setting.environment)
        self.environment = self.flow.environment
        self.executions = Executions(program, self.walk, self.cursor, self.flow, setting)
        self.rounds = LoopSample(self.walk, self.cursor, self.flow)
        self.sites_in = _sites_in(self.walk)

    def run(self) -> Unrolled:
        body = self._block(0)
        return Unrolled(self.flow.operations, body, self.executions.groups, self.executions.places)

    def _block(self, block: int) -> list[Node]:
        nodes: list[Node] = []
        run: list[CallSite] = []
        for step in self.walk.blocks[block].steps:
            statement = self.walk.steps[step].statement
            if isinstance(statement, CallSite) and statement.parallel:
                run.append(statement)
                if any(output.reduction for output in statement.outputs):
                    nodes += self._calls(run)
                continue
            nodes += self._calls(run)
            nodes += self._statement(step)
        return nodes + self._calls(run)

    def _calls(self, run: list[CallSite]) -> list[Node]:
        """Make the operations of calls in a row; they are done with then."""
        strands: Strands = {}
        for site in run:
            self.executions.execute(site, strands)
        run.clear()
        return [Calls(list(strands.values()))] if strands else []

    def _statement(self, step: int) -> list[Node]:
        blocks = self.walk.steps[step].blocks
        match self.walk.steps[step].statement:
            case CallSite() as site:
                return self._calls([site])
            case Assign(tag=tag, value=value):
                self._assign(tag, value)
            case Swap(left=left, right=right):
                self.flow.swap(left, right)
            case Parallel():
                return self._block(blocks[0])
            case If() as branch:
                return self._branch(branch, *blocks)
            case For() | While() as loop:
                return self._loop(step, loop, blocks[0])
        return []

    def _assign(self, tag: str, value: Expression) -> None:
        sources = [s for name in sorted(names_in(value)) for s in self.flow.makers(name, ROOT)]
        self.flow.made[tag] = {ROOT: tuple(dict.fromkeys(sources))}
        self.environment.pop(tag, None)
        try:
            self.environment[tag] = evaluate(value, self.environment)
        except EvaluationError:
            return

    def _branch(self, branch: If, then: int, otherwise: int) -> list[Node]:
        decision = self._decision(read_names(branch), self.sites_in[then] | self.sites_in[otherwise])
        return [*decision, *self._block(then if self._holds(branch.condition, then) else otherwise)]

    def _holds(self, condition: Expression, block: int) -> bool:
        try:
            return bool(evaluate(condition, self.environment))
        except EvaluationError:
            return self.cursor.next_is_in(self.sites_in[block], all)

    def _decision(self, read: frozenset[str], sites: frozenset[int]) -> list[Node]:
        """Everybody who goes on by it needs what a bound or condition reads."""
        inputs = self.flow.decided_by(read)
        return [Decision(inputs, sites)] if inputs and not self.cursor.dry else []

    def _loop(self, step: int, loop: For | While, block: int) -> list[Node]:
        once = entry_names(loop) - self.environment.keys()
        nodes = self._decision(once, self.sites_in[block])
        inflight = number(loop.inflight, self.environment) if isinstance(loop, For) else None
        node = Loop(step, [], 0, inflight, self.sites_in[block])
        for _ in self.rounds.of(loop, block, node):
            condition = condition_names(loop) - self.environment.keys()
            head = self._decision(condition, node.sites)
            body = self._block(block)
            if not self.cursor.dry:
                node.rounds.append(head + body)
        return [*nodes, node] if node.rounds and not self.cursor.dry else nodes


def _sites_in(walk: Walk) -> dict[int, frozenset[int]]:
    """The call sites in every block, with those of the blocks inside."""
    found: dict[int, set[int]] = {block.id: set() for block in walk.blocks}
    for step in walk.steps:
        if isinstance(step.statement, CallSite):
            block: int | None = step.block
            while block is not None:
                found[block].add(step.statement.id)
                owner = walk.blocks[block].owner
                block = None if owner is None else walk.steps[owner].block
    return {block: frozenset(sites) for block, sites in found.items()}
