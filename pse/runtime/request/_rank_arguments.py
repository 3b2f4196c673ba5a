"""The command line of a rank: what a launcher writes, and how ranks read it without loading click."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from pse._abi.environment import TOOLS_VARIABLE
from pse.language import parse_defines
from pse.runtime.request._prepared import Request

_FLAGS = ("quiet", "debug", "prefix", "serial")
_LISTS = ("sanitize", "changes")
_VALUES = ("trace", "every", "gdb", "control", *_LISTS)
_WAITING = {"--coopwait": True, "--no-coopwait": False}


def rank_arguments(request: Request) -> list[str]:
    """Write the command line of `python -m pse` for a request, which `read_rank_arguments` reads.

    Parameters
    ----------
    request : Request
        What to run, and how.

    Returns
    -------
    list of str
        The words after ``python -m pse``.

    Examples
    --------
    >>> rank_arguments(Request("heat.coven", {"NX": "64"}, processors=2))
    ['--report', 'text', '-p', '2', '-D', 'NX=64', '--', 'heat.coven']
    """
    line = ["--report", request.report]
    if request.processors is not None:
        line += ["-p", str(request.processors)]
    for name, value in request.defines.items():
        line += ["-D", f"{name}={value}"]
    for option in request.options:
        line += ["-o", option]
    for name in _VALUES:
        given = getattr(request, name)
        line += [f"--{name}", ",".join(given) if name in _LISTS else given] if given else []
    line += [word for word, waits in _WAITING.items() if waits is request.coopwait]
    line += [f"--{name}" for name in _FLAGS if getattr(request, name)]
    if request.resume:
        assert request.checkpoint is not None
        return ["resume", *line, "--", request.checkpoint]
    if request.checkpoint is not None:
        line += ["--checkpoint", request.checkpoint]
    return [*line, "--", request.program]


def read_rank_arguments(words: Sequence[str], environment: Mapping[str, str] = os.environ) -> Request:
    """Read what `rank_arguments` has written: not a user's words, which may be wrong.

    Parameters
    ----------
    words : sequence of str
        The words after ``python -m pse``.
    environment : mapping of str to str, optional
        Where tools are named.

    Returns
    -------
    Request
        The request.

    Examples
    --------
    >>> request = read_rank_arguments(["-p", "2", "-D", "NX=64", "--quiet", "--", "heat.coven"])
    >>> request.processors, request.defines, request.quiet
    (2, {'NX': '64'}, True)
    """
    resume = words[0] == "resume"
    *options, _, asked = words[resume:]
    given: dict[str, Any] = {"tools": environment.get(TOOLS_VARIABLE) or None, "resume": resume}
    given |= {"checkpoint": asked, "program": ""} if resume else {"program": asked}
    lists: dict[str, list[str]] = {"-D": [], "-o": []}
    reading = iter(options)
    for word in reading:
        name = word.removeprefix("--")
        if word in lists:
            lists[word].append(next(reading))
        elif word in _WAITING:
            given["coopwait"] = _WAITING[word]
        elif word == "-p":
            given["processors"] = int(next(reading))
        elif name in _LISTS:
            given[name] = tuple(next(reading).split(","))
        else:
            given[name] = True if name in _FLAGS else next(reading)
    return Request(defines=parse_defines(lists["-D"]), options=tuple(lists["-o"]), **given)
