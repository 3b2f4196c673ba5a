"""Finding patterns: those that ship, and those of users' files."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from pse.emulate.patterns import _registry as registry, _standard  # noqa: F401
from pse.emulate.patterns._cycle import PatternError
from pse.emulate.patterns._registry import Pattern
from pse.emulate.patterns._user_code import user_code
from pse.text import did_you_mean, list_text


def find_pattern(name: str) -> Pattern:
    """Find a pattern by its name.

    Parameters
    ----------
    name : str
        As a configuration has it.

    Returns
    -------
    Pattern
        The pattern.

    Raises
    ------
    PatternError
        There is none.

    Examples
    --------
    >>> find_pattern("alltoall").description
    'Every rank sends a message to every rank.'
    """
    known = registry.PATTERNS
    if name in known:
        return known[name]
    help = did_you_mean(name, known) or f"there are {list_text(sorted(known))}"
    raise PatternError(f"there is no pattern {name!r}", help=help)


def load_patterns(path: str | os.PathLike[str]) -> None:
    """Execute a Python file that adds patterns.

    Parameters
    ----------
    path : path
        The file.

    Raises
    ------
    PatternError
        It can't be executed, or not within 10 s.

    Examples
    --------
    >>> _ = Path("patterns.py").write_text('''
    ... from pse.ace import pattern
    ... @pattern("next")
    ... def next_rank(cycle):
    ...     "Each rank sends to the next one."
    ...     cycle.send((cycle.rank + 1) % cycle.ranks)
    ...     cycle.receive((cycle.rank - 1) % cycle.ranks)
    ... ''')
    >>> load_patterns("patterns.py")
    >>> find_pattern("next").description
    'Each rank sends to the next one.'
    """
    file = Path(path)
    name = f"pse_patterns_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise PatternError(
            f"there is no Python file {file} with patterns",
            help="give the path of a .py file that has @pattern before its functions",
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with user_code(f"{file} can't be executed", str(file)):
        spec.loader.exec_module(module)
