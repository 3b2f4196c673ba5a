"""Changes of live parameters: new values are checked as `-D` is, and a trace tells which a run has taken.

A change is written ``41:rate=0.5``: the pause of the program at which all ranks take it, and the new value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pse.errors import UsageError
from pse.language import bind_parameters
from pse.language.check import PROCS, ResolvedProgram
from pse.language.diagnostics import has_errors
from pse.language.types import Value
from pse.text import value_text

_OPTIONS = re.compile(r" \(-D .*\)|-D ")
"""What speaks of the command line of `pse run`; values come from others here."""
Changes = Mapping[int, Mapping[str, Value]]
"""The values of live parameters that change at a pause, by its number."""


def new_values(
    program: ResolvedProgram, values: Mapping[str, Value], asked: Mapping[str, str], processors: int
) -> dict[str, Value]:
    """Read new values of live parameters; `values` are those of all parameters before.

    Raises
    ------
    UsageError
        If a parameter is not live, or can't have this value.
    """
    live = [parameter.name for parameter in program.parameters if parameter.live]
    for name in asked:
        if name not in live:
            these = f"these are live: {', '.join(live)}" if live else None
            help = these or "declare it so:  param f64 dt = 1e-3 live"
            raise UsageError(f"{name} is no live parameter of {program.path}", help=help)
    bound = bind_parameters(program, {**values, **asked}, processors)
    if has_errors(bound.diagnostics):
        wrong = bound.diagnostics[0]
        raise UsageError(wrong.message, help=_OPTIONS.sub("", wrong.help or "") or None)
    return {name: bound.environment[name] for name in asked if name != PROCS}


def changes_text(values: Mapping[str, Value]) -> str:
    """Write what changes at one pause, as the trace has it: ``rate = 0.5, on = true``."""
    return ", ".join(f"{name} = {value_text(value)}" for name, value in values.items())


def recorded_changes(directory: str) -> tuple[str, ...]:
    """Read from a trace which changes of live parameters its run has taken.

    Parameters
    ----------
    directory : str
        The trace's.

    Returns
    -------
    tuple of str
        The changes in their order, each as a `Request` has it: the pause, and the new value.

    Raises
    ------
    TraceError
        If it is no trace.
    UsageError
        If it has no changes.

    Examples
    --------
    >>> recorded_changes("steered")  # doctest: +SKIP
    ('41:rate=0.5',)
    """
    import pse.trace  # Few runs repeat the changes of another.
    from pse.trace import EventType, TextKind

    trace = pse.trace.open(directory)
    found = []
    for rank in trace.ranks[:1]:
        texts = trace.texts(rank)
        for event in trace.select(rank, EventType.MARKER):
            words = texts.get((TextKind.MARKER, int(event["a"])), "")
            found += [f"{event['b']}:{word.replace(' ', '')}" for word in words.split(", ") if event["b"]]
    if not found:
        raise UsageError(
            f"--changes {directory}: no live parameter was changed in that run",
            help="leave out --changes, or name the trace of a run that `pse ctl … set` has changed",
        )
    return tuple(found)


def checked_changes(
    program: ResolvedProgram, environment: Mapping[str, Value], written: Iterable[str], processors: int
) -> Changes:
    """Read changes, each after the one before.

    Raises
    ------
    UsageError
        If the program can't take one of them.
    """
    values = {parameter.name: environment[parameter.name] for parameter in program.parameters}
    changes: dict[int, dict[str, Value]] = {}
    for pause, _, change in (text.partition(":") for text in written):
        name, _, value = change.partition("=")
        new = new_values(program, values, {name: value}, processors)
        values |= new
        changes.setdefault(int(pause), {}).update(new)
    return changes
