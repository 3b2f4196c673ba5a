"""The program that a trace is of: its text as it ran, checked, with what advice needs to know of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pse.advise.model._errors import AdviceError
from pse.errors import UsageError
from pse.language import bind_parameters, check_program, read_program, render_diagnostics
from pse.language.check import CallSite, ResolvedProgram
from pse.language.diagnostics import has_errors
from pse.language.syntax import ast as sx, parse_program
from pse.language.types import Value
from pse.modules import Finder
from pse.program import Placement, ThreadKey, Walk, number_statements, place_threads
from pse.trace import Definitions, Trace

_STATIC = re.compile(
    r"^\s*(?:static|thread_local|_Thread_local)\s+(?!inline\b)(?!const(?:expr)?\b)[^()\n]*[;=\[]",
    re.MULTILINE,
)
_C_GLOBAL = re.compile(
    r"^(?!typedef|extern|using|return|struct\s+\w+\s*;)[A-Za-z_][\w\s\*]*\b\w+(?:\[[^\]]*\])?\s*(?:=[^;=]*)?;",
    re.MULTILINE,
)
_PYTHON = re.compile(
    r"^\s*(?:global|nonlocal)\s+\w|^\w+\s*(?::[^=\n]+)?=\s*(?:\[\]|\{\}|dict\(|list\(|set\(|defaultdict\(|deque\()",
    re.MULTILINE,
)
_CYTHON = re.compile(r"^cdef\s+(?!class|extern|inline|enum|struct)[^(\n:]+$", re.MULTILINE)
_FORTRAN = re.compile(r"^\s*(?:common\s*/|.*\bsave\b\s*(?:::|$))", re.MULTILINE | re.IGNORECASE)
_STATES = {
    "c": (_STATIC, _C_GLOBAL),
    "c++": (_STATIC, _C_GLOBAL),
    "python": (_PYTHON,),
    "cython": (_PYTHON, _CYTHON),
    "fortran": (_FORTRAN,),
}
_MAIL = re.compile(r'#\s*include\s*[<"]coven\.h[>"]|\bpse\.partition\b|\bfrom\s+pse\s+import\s+partition\b')

_NAME_IT = "name the program that was traced: --program PATH"


@dataclass(frozen=True)
class Subject:
    """A program that advice is given on.

    Attributes
    ----------
    path : str
        Where it is.
    text : str
        As it ran.
    program : ResolvedProgram
        The same, checked.
    changed : bool
        Whether the file is another one by now.
    ran : mapping of int to str
        The thread that executed each call site, by `CallSite.id`: its own, or the one it was folded into.
    """

    path: str
    text: str
    program: ResolvedProgram
    changed: bool = False
    ran: Mapping[int, str] = field(default_factory=dict)

    @cached_property
    def walk(self) -> Walk:
        """Its statements, numbered."""
        return number_statements(self.program)

    @cached_property
    def placement(self) -> Placement:
        """Its threads, folded as they were when it ran."""
        written = place_threads(self.program)
        folded = {}
        for site in self.walk.sites:
            key = written.thread_of(site)
            onto = ThreadKey(key.region, self.ran.get(site.id, key.label))
            if onto != key and onto in written.keys:
                folded[key] = onto
        return replace(written, folded=folded)

    @cached_property
    def tree(self) -> sx.Program:
        """Its syntax tree."""
        tree = parse_program(self.text, self.path).tree
        assert tree is not None
        return tree

    @cached_property
    def calls(self) -> Mapping[tuple[int, int], sx.Call]:
        """Calls that can have a label, by line and column."""
        return {(node.span.line, node.span.column): node for node in nodes(self.tree, sx.Call)}

    def threads(self) -> dict[int, str]:
        """Give the label of every call site."""
        return {site.id: self.placement.thread_of(site).label for site in self.walk.sites}

    def keeps_state(self, site: CallSite) -> bool:
        """Whether a module's source has variables that outlive a call, as far as a look at it tells."""
        source = _source(site)
        return any(pattern.search(source) for pattern in _STATES.get(site.module.language, ()))

    def sends_mail(self, site: CallSite) -> bool:
        """Whether a module's source posts messages among partitions."""
        return bool(_MAIL.search(_source(site)))


def nodes(tree: Any, kind: type) -> Iterator[Any]:
    """Give every node of a kind in a syntax tree, in textual order."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, kind):
            yield node
        if isinstance(node, tuple):
            waiting += reversed(node)
        elif is_dataclass(node) and not isinstance(node, type):
            waiting += [getattr(node, item.name) for item in reversed(fields(node))]


def read_subject(trace: Trace, definitions: Definitions, path: str | None = None) -> Subject:
    """Find the program that a trace is of, and check it.

    Parameters
    ----------
    trace : Trace
        The trace.
    definitions : Definitions
        Its definitions.
    path : str, optional
        Where the program is now; where it was then if not given.

    Raises
    ------
    AdviceError
        It isn't to be had, it isn't the one that ran, or its partitions decide for themselves.
    """
    ran = {site.id: site.thread for site in definitions.sites}
    subject = replace(_read(trace, definitions, path), ran=ran)
    own = next((step for step in subject.walk.steps if subject.walk.decides_apart(step.id)), None)
    if own is not None:
        raise AdviceError(
            f"{own.statement.span}: each partition decides for itself here, and such runs aren't predicted",
            help="look at what the run waited for:  pse analyze",
        )
    return subject


def _read(trace: Trace, definitions: Definitions, path: str | None) -> Subject:
    where = path or _where_it_is(trace, definitions)
    try:
        text, wrong = read_program(where)
    except UsageError as error:
        if path is None and trace.program_text is not None:
            return _copied(trace.program_text, where, definitions.parameters)
        reason = error.message.removeprefix(f"the program {where} cannot be read: ")
        raise AdviceError(f"the traced program {where} can't be read: {reason}", help=_NAME_IT) from None
    changed = bool(wrong) or hashlib.sha256(text.encode()).hexdigest() != definitions.text_sha256
    if changed and trace.program_text is None:
        raise AdviceError(
            f"{where} is not the program that ran: it was changed since, and the trace has no copy of it",
            help="record a run of it as it is now, or name the program that ran: --program PATH",
        )
    ran = trace.program_text if changed and trace.program_text else text
    return Subject(where, *checked(ran, where, definitions.parameters), changed)


def _where_it_is(trace: Trace, definitions: Definitions) -> str:
    """Find the program where it was when it ran, seen from here, or from beside the trace."""
    beside = trace.path.resolve().parent / definitions.program
    return str(beside) if not Path(definitions.program).exists() and beside.exists() else definitions.program


def _copied(text: str, where: str, parameters: Mapping[str, Any]) -> Subject:
    """Take the trace's copy of a program that is gone; its modules may be where they were."""
    try:
        return Subject(where, *checked(text, where, parameters))
    except AdviceError:
        message = f"the traced program {where} is not there, and modules that it imports are not there either"
        raise AdviceError(message, help=_NAME_IT) from None


def checked(text: str, path: str, parameters: Mapping[str, Any] | None = None) -> tuple[str, ResolvedProgram]:
    """Check a program's text for values of its parameters; gives it back with the resolved program.

    Raises
    ------
    AdviceError
        It is wrong.
    """
    result = check_program(text, path, modules=Finder(), values=parameters)
    if result.program is None:
        errors = [d for d in result.diagnostics if d.severity.value == "error"]
        words = render_diagnostics(errors, {path: text})
        raise AdviceError(
            f"the program does not pass `pse check` any more:\n{words.rstrip()}",
            help="correct the program: what it was when it ran is in the trace, as program.coven",
        )
    return text, result.program


def bind(program: ResolvedProgram, parameters: Mapping[str, Any], processors: int) -> dict[str, Value]:
    """Give parameters and partitions their values on so many processors.

    Raises
    ------
    AdviceError
        It can't run so.
    """
    own = {p.name: parameters[p.name] for p in program.parameters if p.name in parameters}
    environment, diagnostics = bind_parameters(program, own, processors)
    if has_errors(diagnostics):
        words = "; ".join(d.message for d in diagnostics)
        raise AdviceError(
            f"the program can't run on {processors} processors as it is: {words}",
            help="give its parameters values with -D that fit, or another number of processors",
        )
    return environment


def is_sound(text: str, path: str, parameters: Mapping[str, Any], processors: int) -> ResolvedProgram | None:
    """Give a rewritten program if it passes the check and can run, None if not."""
    try:
        program = checked(text, path, parameters)[1]
        bind(program, parameters, processors)
    except AdviceError:
        return None
    return program


def _source(site: CallSite) -> str:
    try:
        return (
            Path(site.module.source or "").read_text(encoding="utf-8", errors="replace")
            if site.module.source
            else ""
        )
    except OSError:
        return ""
