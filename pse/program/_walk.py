"""Stable numbers for a program's statements and blocks, and the order in which they stand.

Statements are numbered from 0 as they are met reading the program from the top; so are blocks, of which 0
is the program's body.  `Liveness`, `build_graph` and the runtime name statements by these numbers: two
statements of inlined segments may be equal.  The walk is a flat list of events rather than a recursion:
nesting has no limit here.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from functools import cached_property

from pse.language.check import Assign, CallSite, For, If, Parallel, ResolvedProgram, Statement, Swap, While
from pse.language.types import Direction, Expression, names_in
from pse.records import dataclass
from pse.text import site_lines

_EXCHANGING = frozenset({"transpose", "redistribute", "reshape", "resize", "exchange", "shift"})


class Role(enum.Enum):
    """What a block is to the statement that owns it.

    See Also
    --------
    Walk
    """

    PROGRAM = "program"
    BODY = "body"  # of a loop
    THEN = "then"
    OTHERWISE = "otherwise"  # present, perhaps empty, for every `if`
    PARALLEL = "parallel"


@dataclass(frozen=True)
class Step:
    """A statement with its number.

    Attributes
    ----------
    id : int
        The number; statements are counted from 0 from the top of the program.
    statement : Statement
        The statement.
    block : int
        The block that it is in.
    blocks : tuple of int
        The blocks that it owns.

    See Also
    --------
    Walk
    """

    id: int
    statement: Statement
    block: int
    blocks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Block:
    """A sequence of statements.

    Attributes
    ----------
    id : int
        Its number; 0 is the program's body.
    role : Role
        What it is to its owner.
    owner : int or None
        The statement that it belongs to; None for the program.
    steps : tuple of int
        Its statements.

    See Also
    --------
    Walk
    """

    id: int
    role: Role
    owner: int | None
    steps: tuple[int, ...]


class Mark(enum.Enum):
    """Where the walk is: at the start or at the end of a statement or block.

    See Also
    --------
    Walk
    """

    STEP_ENTER = "step enter"
    STEP_LEAVE = "step leave"
    BLOCK_ENTER = "block enter"
    BLOCK_LEAVE = "block leave"


@dataclass(frozen=True)
class Event:
    """One event of the walk.

    Attributes
    ----------
    mark : Mark
        Start or end, of a statement or of a block.
    id : int
        The number of the statement or block.

    See Also
    --------
    Walk
    """

    mark: Mark
    id: int


@dataclass(frozen=True)
class Walk:
    """A program's statements, blocks and their order.

    Attributes
    ----------
    steps : tuple of Step
        The statements; ``steps[i].id == i``.
    blocks : tuple of Block
        The blocks; ``blocks[i].id == i``.
    events : tuple of Event
        Start and end of every statement and block, in the order of the text.

    Examples
    --------
    >>> walk = number_statements(program)
    >>> [(block.role.value, block.owner, block.steps) for block in walk.blocks[:3]]
    [('program', None, (0, 1, 3, 8, 9)), ('parallel', 1, (2,)), ('body', 3, (4, 7))]
    >>> walk.events[1].mark.value, list(walk.ancestors(walk.step_of_site[2]))
    ('step enter', [4, 3])
    """

    steps: tuple[Step, ...]
    blocks: tuple[Block, ...]
    events: tuple[Event, ...]

    @cached_property
    def sites(self) -> tuple[CallSite, ...]:
        """Call sites in textual order."""
        return tuple(step.statement for step in self.steps if isinstance(step.statement, CallSite))

    def line(self, site: CallSite) -> str:
        """Give the line of a call site; with columns, and calls of segments, where they tell sites apart."""
        return self._lines[site.label, str(site.span)]

    @cached_property
    def _lines(self) -> dict[tuple[str, str], str]:
        return site_lines((site.label, str(site.span)) for site in self.sites)

    @cached_property
    def step_of_site(self) -> dict[int, int]:
        """The number of each call site's statement, by `CallSite.id`."""
        return {step.statement.id: step.id for step in self.steps if isinstance(step.statement, CallSite)}

    def owner(self, step: int) -> int | None:
        """Give the compound statement around a statement, None at the top."""
        return self.blocks[self.steps[step].block].owner

    def ancestors(self, step: int) -> Iterator[int]:
        """Give the compound statements around a statement, innermost first."""
        around = self.owner(step)
        while around is not None:
            yield around
            around = self.owner(around)

    def inside(self, step: int) -> Iterator[int]:
        """Give a statement and all those inside it, in the order of the text."""
        yield step
        for block in self.steps[step].blocks:
            for inner in self.blocks[block].steps:
                yield from self.inside(inner)

    def decides_apart(self, step: int) -> bool:
        """Tell whether a condition of a statement differs from partition to partition."""
        statement = self.steps[step].statement
        return isinstance(statement, If | While) and statement.own

    def is_apart(self, site: CallSite) -> bool:
        """Tell whether a call is where partitions decide for themselves: not all of them may come to it."""
        return any(map(self.decides_apart, self.ancestors(self.step_of_site[site.id])))

    def is_inflight(self, step: int) -> bool:
        """Tell whether a statement is a loop whose iterations overlap."""
        statement = self.steps[step].statement
        return isinstance(statement, For) and statement.inflight is not None


def number_statements(program: ResolvedProgram) -> Walk:
    """Number a program's statements and blocks.

    Parameters
    ----------
    program : ResolvedProgram
        A checked program.

    Returns
    -------
    Walk
        Statements and blocks in the order of the text.

    Examples
    --------
    >>> walk = number_statements(program)
    >>> [walk.line(site) for site in walk.sites]
    ['11', '14', '15', '19', '20']
    """
    return _Numbering().run(program.body)


def bodies(statement: Statement) -> tuple[tuple[Role, tuple[Statement, ...]], ...]:
    """Give the blocks inside a statement, none for a simple one."""
    match statement:
        case For() | While():
            return ((Role.BODY, statement.body),)
        case If():
            return ((Role.THEN, statement.then), (Role.OTHERWISE, statement.otherwise))
        case Parallel():
            return ((Role.PARALLEL, statement.body),)
    return ()


def exchanges(site: CallSite) -> bool:
    """Whether a call hands pieces from partition to partition.

    Parameters
    ----------
    site : CallSite
        Any call.

    Returns
    -------
    bool
        True for the standard operations that do.

    Examples
    --------
    >>> [exchanges(statement) for statement in program.body if hasattr(statement, "module")]
    [False, False]
    """
    return site.module.language == "std" and site.module.name in _EXCHANGING


def defined_tags(statement: Statement) -> frozenset[str]:
    """Give the tags to which a simple statement gives a new version.

    Parameters
    ----------
    statement : Statement
        Any statement.

    Returns
    -------
    frozenset of str
        Outputs, reduced and assigned scalars, in-outs; unique names.

    Examples
    --------
    >>> [sorted(defined_tags(statement)) for statement in program.body]
    [['residual'], [], [], ['field'], []]
    """
    match statement:
        case CallSite():
            return outputs_of(statement) | inouts_of(statement)
        case Assign():
            return frozenset((statement.tag,))
        case Swap():
            return frozenset((statement.left, statement.right))
    return frozenset()


def outputs_of(site: CallSite) -> frozenset[str]:
    """Give the tags that a call defines anew: its outputs and the targets of their reductions.

    Parameters
    ----------
    site : CallSite
        The call.

    Returns
    -------
    frozenset of str
        Unique names.

    Examples
    --------
    >>> [sorted(outputs_of(site)) for site in number_statements(program).sites]
    [['u'], [], ['r', 'residual', 'v'], ['field'], []]
    """
    reductions = (output.reduction.target for output in site.outputs if output.reduction)
    return frozenset((*(output.tag for output in site.outputs), *reductions))


def inouts_of(site: CallSite) -> frozenset[str]:
    """Give the tags that a call changes in place.

    Parameters
    ----------
    site : CallSite
        The call.

    Returns
    -------
    frozenset of str
        Unique names.

    Examples
    --------
    >>> [sorted(inouts_of(site)) for site in number_statements(program).sites]
    [[], ['u'], [], [], []]
    """
    inout = (argument for argument in site.inputs if argument.parameter.direction is Direction.INOUT)
    return frozenset(argument.tag for argument in inout if argument.tag is not None)


def read_names(statement: Statement) -> frozenset[str]:
    """Names that a statement itself reads (bounds and conditions of a compound one, not its body).

    Parameters
    ----------
    statement : Statement
        Any statement.

    Returns
    -------
    frozenset of str
        Unique names; among them parameters, partitions and ``procs``, which are not tags.

    Examples
    --------
    >>> [sorted(read_names(statement)) for statement in program.body]
    [[], [], ['residual', 'tol'], ['NX', 'NY', 'u'], ['field']]
    """
    match statement:
        case CallSite():
            tags = frozenset(argument.tag for argument in statement.inputs if argument.tag is not None)
            return tags.union(*map(names_in, _call_expressions(statement)))
        case Assign():
            return frozenset(names_in(statement.value))
        case If():
            return frozenset(names_in(statement.condition))
        case For() | While():
            return entry_names(statement) | condition_names(statement)
    return frozenset()


def entry_names(loop: For | While) -> frozenset[str]:
    """Give the names that a loop reads once, before its first iteration.

    Parameters
    ----------
    loop : For or While
        The loop.

    Returns
    -------
    frozenset of str
        The names in its bounds, ``step``, ``inflight`` and ``max``.

    See Also
    --------
    condition_names
    """
    if isinstance(loop, While):
        return frozenset(names_in(loop.limit))
    given = (loop.lower, loop.upper, loop.step, loop.inflight)
    return frozenset[str]().union(*(names_in(tree) for tree in given if tree is not None))


def condition_names(loop: For | While) -> frozenset[str]:
    """Give the names that a loop reads before every iteration.

    Parameters
    ----------
    loop : For or While
        The loop.

    Returns
    -------
    frozenset of str
        The names in the condition of a ``while``, and the truth value by which ``break`` ends a loop.

    Examples
    --------
    >>> loop = program.body[2]
    >>> sorted(condition_names(loop)), sorted(entry_names(loop))
    (['residual', 'tol'], [])
    """
    stop = frozenset[str]() if loop.stop is None else frozenset((loop.stop,))
    return stop | names_in(loop.condition) if isinstance(loop, While) else stop


def _call_expressions(site: CallSite) -> Iterator[Expression]:
    """Every expression that a call's thread evaluates: scalar arguments, dimensions, shapes of outputs."""
    yield from (argument.value for argument in site.inputs if argument.tag is None)
    yield from site.dimensions.values()
    for output in site.outputs:
        yield from output.type.shape or ()
        yield from output.type.distribution.halo
        if output.type.distribution.block is not None:
            yield output.type.distribution.block


@dataclass(frozen=True)
class _OpenBlock:
    """A block that is still to be met."""

    role: Role
    owner: int | None
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class _OpenStep:
    """A statement that is still to be met."""

    statement: Statement
    block: int


class _Numbering:
    """The walk under construction; what is still to be met waits on an explicit stack."""

    def __init__(self) -> None:
        self.statements: list[tuple[Statement, int]] = []
        self.blocks_of: list[list[int]] = []
        self.owners: list[tuple[Role, int | None]] = []
        self.steps_of: list[list[int]] = []
        self.events: list[Event] = []

    def run(self, body: tuple[Statement, ...]) -> Walk:
        stack: list[Event | _OpenBlock | _OpenStep] = [_OpenBlock(Role.PROGRAM, None, body)]
        while stack:
            match stack.pop():
                case Event() as event:
                    self.events.append(event)
                case _OpenBlock() as block:
                    stack.extend(reversed(self._open_block(block)))
                case _OpenStep() as step:
                    stack.extend(reversed(self._open_step(step)))
        return self._result()

    def _open_block(self, block: _OpenBlock) -> tuple[Event | _OpenStep, ...]:
        number = len(self.owners)
        self.owners.append((block.role, block.owner))
        self.steps_of.append([])
        if block.owner is not None:
            self.blocks_of[block.owner].append(number)
        self.events.append(Event(Mark.BLOCK_ENTER, number))
        inner = (_OpenStep(statement, number) for statement in block.body)
        return (*inner, Event(Mark.BLOCK_LEAVE, number))

    def _open_step(self, step: _OpenStep) -> tuple[Event | _OpenBlock, ...]:
        number = len(self.statements)
        self.statements.append((step.statement, step.block))
        self.blocks_of.append([])
        self.steps_of[step.block].append(number)
        self.events.append(Event(Mark.STEP_ENTER, number))
        inner = (_OpenBlock(role, number, body) for role, body in bodies(step.statement))
        return (*inner, Event(Mark.STEP_LEAVE, number))

    def _result(self) -> Walk:
        steps = (
            Step(number, statement, block, tuple(self.blocks_of[number]))
            for number, (statement, block) in enumerate(self.statements)
        )
        blocks = (
            Block(number, role, owner, tuple(self.steps_of[number]))
            for number, (role, owner) in enumerate(self.owners)
        )
        return Walk(tuple(steps), tuple(blocks), tuple(self.events))
