"""Whether a Python function can be called as its directive says: from its text, and once it is imported.

A function takes the `in` and `inout` parameters in order, and arrays to fill for those outputs whose names it
has.  `finder.py` asks at check time, for plain functions of the file; `loader.py` asks for whatever stands
behind the name in the end.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection
from inspect import Parameter

from pse.language.types import Signature

_NAMED = {Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY}


def named(interface: inspect.Signature) -> frozenset[str]:
    """Give the parameters that can be given by name."""
    return frozenset(p.name for p in interface.parameters.values() if p.kind in _NAMED)


def filled(signature: Signature, names: Collection[str]) -> frozenset[str]:
    """Name the outputs that a function with parameters of these names takes to fill them.

    An array of which it decides how many rows it has is returned.
    """
    return frozenset(p.name for p in signature.outputs if p.name in names and not p.decided)


def by_name(signature: Signature, names: Collection[str]) -> bool:
    """Say whether a function is called with all arguments by name: it mixes outputs among its inputs."""
    return bool(filled(signature, names)) and all(p.name in names for p in signature.inputs)


def misfit(signature: Signature, interface: inspect.Signature, names: Collection[str]) -> str | None:
    """Say why a function can't be called as its directive says; None if it can."""
    inputs = [parameter.name for parameter in signature.inputs]
    outputs = dict.fromkeys(filled(signature, names))
    try:
        if by_name(signature, names):
            interface.bind(**dict.fromkeys(inputs), **outputs)
        else:
            interface.bind(*inputs, **outputs)
    except TypeError as failure:
        return str(failure)
    return None


def misfit_of_text(signature: Signature, function: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    """Say the same of a function's text, as a sentence; None where only an import could tell."""
    if function.decorator_list:
        return None
    shown = f"{function.name}({ast.unparse(function.args)})"
    if isinstance(function, ast.AsyncFunctionDef):
        return f"the function {shown} is `async`: its call would return a coroutine, not the outputs"
    interface = _interface(function.args)
    fault = misfit(signature, interface, named(interface))
    return fault and f"the function {shown} can't be called as its directive says: {fault}"


def form(signature: Signature) -> str:
    """Say how the function of a directive is defined."""
    inputs = [p.name for p in signature.inputs]
    arrays = [p.name for p in signature.outputs if not (p.type.scalar or p.decided)]
    plain = f"write:  def {signature.name}({', '.join(inputs)})"
    filling = f"   or, to fill arrays:  def {signature.name}({', '.join(inputs + arrays)})"
    return plain + filling * bool(arrays)


def _interface(arguments: ast.arguments) -> inspect.Signature:
    """Write a function's parameters as `inspect.signature` would, with None for every default."""
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = len(plain) - len(arguments.defaults)
    made = [
        _parameter(
            argument,
            Parameter.POSITIONAL_ONLY
            if place < len(arguments.posonlyargs)
            else Parameter.POSITIONAL_OR_KEYWORD,
            place >= defaults,
        )
        for place, argument in enumerate(plain)
    ]
    if arguments.vararg:
        made.append(_parameter(arguments.vararg, Parameter.VAR_POSITIONAL, False))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        made.append(_parameter(argument, Parameter.KEYWORD_ONLY, default is not None))
    if arguments.kwarg:
        made.append(_parameter(arguments.kwarg, Parameter.VAR_KEYWORD, False))
    return inspect.Signature(made)


def _parameter(argument: ast.arg, kind: inspect._ParameterKind, default: bool) -> Parameter:
    return Parameter(argument.arg, kind, default=None if default else Parameter.empty)
