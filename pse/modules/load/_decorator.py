"""`@pse.module("step(in f64 u[n], out f64 v[n])")`: how a Python function says its directive by a decorator.

It does nothing when the file runs: `sourcetext.py` reads the directive from the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])


def module(directive: str) -> Callable[[Function], Function]:
    """Declare a function to be a module.

    Parameters
    ----------
    directive : str
        What would stand after ``#@ coven module``, as one plain string.

    Returns
    -------
    callable
        A decorator that gives the function back as it is.

    Raises
    ------
    TypeError
        If it is not a string: the decorator was written without one.

    Examples
    --------
    >>> import pse
    >>> @pse.module("double(in f64 x[n], out f64 y[n])")
    ... def double(x):
    ...     return 2 * x
    """
    if not isinstance(directive, str):
        raise TypeError(f"pse.module takes the directive as a string, got {type(directive).__name__}")
    return lambda function: function
