"""What pictures of a program say in words: types, distributions, headings of loops and branches, freed tags.

Names are the ones that the user wrote, not the unique ones of inlined segments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pse.language.check import For, If, Parallel, Statement, Tag, While
from pse.language.types import Expression, Name, Type, render_distribution, render_expression, substitute
from pse.text import site_label


def display_name(name: str, tags: Mapping[str, Tag]) -> str:
    """Give a tag's name as the user wrote it.

    Parameters
    ----------
    name : str
        Its unique name.
    tags : mapping of str to Tag
        The program's, by unique name.

    Returns
    -------
    str
        The name; what is not a tag is given back as it is.

    Examples
    --------
    >>> display_name("residual", program.tags), display_name("procs", program.tags)
    ('residual', 'procs')
    """
    tag = tags.get(name)
    return tag.display if tag is not None and tag.display else name


def display_names(unique: Iterable[str], tags: Mapping[str, Tag]) -> str:
    """Join tags' names as the user wrote them, sorted.

    Parameters
    ----------
    unique : iterable of str
        Their unique names.
    tags : mapping of str to Tag
        The program's, by unique name.

    Returns
    -------
    str
        For example ``a, b``.

    Examples
    --------
    >>> display_names({"v", "u"}, program.tags)
    'u, v'
    """
    return ", ".join(sorted(display_name(name, tags) for name in unique))


def expression_text(expression: Expression, tags: Mapping[str, Tag]) -> str:
    """Spell an expression with the user's names."""
    return render_expression(substitute(expression, lambda name: Name(display_name(name.id, tags))))


def heading_text(statement: Statement, tags: Mapping[str, Tag]) -> str:
    """Spell the first line of a loop, a branch or PARALLEL.

    Parameters
    ----------
    statement : Statement
        Any statement.
    tags : mapping of str to Tag
        The program's, by unique name.

    Returns
    -------
    str
        For example ``for k in 0 .. N inflight 3``, with the iterations of unrolled loops around it
        ``for k in 0 .. N [l = 2]``; empty for other statements.

    Examples
    --------
    >>> print(*filter(None, (heading_text(one, program.tags) for one in program.body)), sep="\\n")
    PARALLEL over P
    while residual > tol max 100000
    """

    def text(expression: Expression) -> str:
        return expression_text(expression, tags)

    match statement:
        case For():
            flight = f" inflight {text(statement.inflight)}" if statement.inflight is not None else ""
            step = f" step {text(statement.step)}" if statement.step is not None else ""
            counter = display_name(statement.counter, tags)
            bounds = f"{text(statement.lower)} .. {text(statement.upper)}"
            return site_label(f"for {counter} in {bounds}{step}{flight}", statement.rounds)
        case While():
            heading = f"while {text(statement.condition)} max {text(statement.limit)}"
            return site_label(heading, statement.rounds)
        case If():
            return f"if {text(statement.condition)}"
        case Parallel():
            return f"PARALLEL over {statement.partition}"
    return ""


def loop_name(loop: For | While, tags: Mapping[str, Tag]) -> str:
    """Name a loop in few words, with the iterations of unrolled loops around it.

    Parameters
    ----------
    loop : For or While
        The loop.
    tags : mapping of str to Tag
        The program's, by unique name.

    Returns
    -------
    str
        Its counter, or ``while``: ``k``, ``k [l = 2]``.

    Examples
    --------
    >>> loop = next(statement for statement in program.body if isinstance(statement, While))
    >>> loop_name(loop, program.tags)
    'while'
    """
    return site_label(display_name(loop.counter, tags) if isinstance(loop, For) else "while", loop.rounds)


def tag_text(name: str, kind: Type, tags: Mapping[str, Tag]) -> str:
    """Label a tag on an edge.

    Parameters
    ----------
    name : str
        Its unique name.
    kind : Type
        Its type there.
    tags : mapping of str to Tag
        The program's, by unique name.

    Returns
    -------
    str
        Its name, and for an array its distribution: ``img @ block(0)``.

    Examples
    --------
    >>> tag_text("u", program.tags["u"].type, program.tags)
    'u @ block(0, 1) halo(1)'
    """
    plain = kind.scalar and not kind.distribution.distributed
    return display_name(name, tags) + ("" if plain else f" {render_distribution(kind.distribution)}")
