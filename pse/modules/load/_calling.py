"""Calling modules that are written in Python (or `def` functions of Cython, or pybind11's); checking results.

A function gets the `in` and `inout` parameters and returns the outputs: one value, or a tuple in declared
order. Where it has a parameter with the name of an output, it gets an array there to fill instead, and that
output is not among what it returns.  Whatever comes back is checked against the directive before anyone else
sees it. The runtime calls this; nothing here knows of ranks or buffers.
"""

from __future__ import annotations

import os
from bdb import BdbQuit
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import numpy as np

from pse.language.types import Binary, Element, Expression, Number, Parameter, record_of, render_expression
from pse.modules._errors import ModuleError
from pse.modules.directives._interface import declared
from pse.modules.load._dimensions import bind_dimensions, extent
from pse.modules.load._loader import LoadedModule
from pse.modules.load._tracebacks import own_traceback
from pse.records import dataclass
from pse.text import exception_text

_SCALAR_KINDS = {"b": "b", "i": "iu", "u": "iu", "f": "iuf", "c": "iufc"}
"""Kinds of NumPy scalars that a scalar output of each kind may be made from."""

_RAISED = (Exception, SystemExit, KeyboardInterrupt)
"""What a module may raise; a signal to its rank is something else (the runtime's)."""


def call_python(
    module: LoadedModule,
    inputs: Sequence[Any],
    outputs: Mapping[str, np.ndarray] | None = None,
    dimensions: Mapping[str, int] | None = None,
) -> tuple[Any, ...]:
    """Call a module's Python function.

    Parameters
    ----------
    module : LoadedModule
        With `callable` set.
    inputs : sequence
        Values of the `in` and `inout` parameters in declared order: arrays, scalars, strings; an `inout`
        scalar as an array without axes, which the function changes in place.
    outputs : mapping of name to array, optional
        Arrays to fill, for the outputs that the function takes as parameters (`module.fills`); where one is
        missing it is allocated.  Others are ignored.
    dimensions : mapping of name to int, optional
        Dimension names whose value is known; others are taken from the inputs' shapes.

    Returns
    -------
    tuple
        The outputs in declared order: arrays of the declared element type and shape, NumPy scalars, strings.
        An output that was filled is the very array from `outputs`.

    Raises
    ------
    ModuleError
        If the function raises, or returns something other than its directive says.

    Examples
    --------
    >>> from pse.modules import load_module
    >>> rows = load_module(pipeline.modules[1])
    >>> call_python(rows, [np.arange(4.0)])
    (array([0., 2., 4., 6.]),)
    """
    begun = begin_call(module, inputs, outputs, dimensions)
    return begun.outputs(begun.returned)


@dataclass(frozen=True)
class BegunCall:
    """A call whose function has returned something: its outputs, or a generator that is to go on.

    Attributes
    ----------
    returned : object
        What the function returned.
    module : LoadedModule
        The module that was called.
    extents : dict of str to int
        Values of the dimensions' names.
    wildcard : numpy.dtype or None
        Type of an element where the directive says ``T``.
    given : dict of str to numpy.ndarray
        Arrays that the module fills, by parameter.

    See Also
    --------
    begin_call
    """

    module: LoadedModule
    returned: Any
    extents: dict[str, int]
    wildcard: np.dtype | None
    given: dict[str, np.ndarray]

    def outputs(self, returned: Any) -> tuple[Any, ...]:
        """Check what the function, or its generator in the end, returned; give the outputs in declared order.

        Raises
        ------
        ModuleError
            If it is something other than its directive says.
        """
        if self.module.variadic:
            return ()
        listed = self.module.signature.outputs
        expected = [parameter for parameter in listed if parameter.name not in self.given]
        checked = {
            p.name: _checked(self.module, p, v, self.extents, self.wildcard)
            for p, v in zip(expected, _split(self.module, expected, returned), strict=True)
        }
        return tuple((self.given | checked)[parameter.name] for parameter in listed)


def resume_call(module: LoadedModule, generator: Generator[Any, Any, Any], value: Any) -> tuple[bool, Any]:
    """Let a module's generator go on with a value.

    Parameters
    ----------
    module : LoadedModule
        Whose function made the generator.
    generator : generator
        As the function returned it.
    value
        What its ``yield`` gives.

    Returns
    -------
    tuple
        Whether it has ended, and what it returned then; else what it yielded.

    Raises
    ------
    ModuleError
        If it raises.

    Examples
    --------
    >>> from pse.modules import load_module
    >>> def steps():
    ...     came = yield "a request"
    ...     return 2 * came
    >>> rows, generator = load_module(pipeline.modules[1]), steps()
    >>> resume_call(rows, generator, None), resume_call(rows, generator, 21)
    ((False, 'a request'), (True, 42))
    """
    try:
        return False, generator.send(value)
    except StopIteration as end:
        return True, end.value
    except ModuleError:
        raise
    except _RAISED as failure:
        raise as_module_error(module, failure) from failure


def begin_call(
    module: LoadedModule,
    inputs: Sequence[Any],
    outputs: Mapping[str, np.ndarray] | None = None,
    dimensions: Mapping[str, int] | None = None,
) -> BegunCall:
    """Call a module's Python function, and look at what it returned later; see `call_python`.

    Parameters
    ----------
    module : LoadedModule
        A module written in Python.
    inputs : sequence
        Values, as the directive orders them.
    outputs : mapping of str to array, optional
        Arrays to fill, by output.
    dimensions : mapping of str to int, optional
        Values of the directive's dimensions that are known.

    Returns
    -------
    BegunCall
        What the function returned, not looked at yet.

    Raises
    ------
    ModuleError
        If the function raises.

    Examples
    --------
    >>> from pse.modules import load_module
    >>> begun = begin_call(load_module(pipeline.modules[1]), [np.arange(4.0)])
    >>> begun.outputs(begun.returned)
    (array([0., 2., 4., 6.]),)
    """
    if module.variadic:
        return BegunCall(module, _call(module, inputs, {}), {}, None, {})
    extents = bind_dimensions(module, inputs, dimensions or {})
    wildcard = _wildcard(module, inputs)
    taken = [parameter for parameter in module.signature.outputs if parameter.name in module.fills]
    given = {p.name: _to_fill(module, p, (outputs or {}).get(p.name), extents, wildcard) for p in taken}
    return BegunCall(module, _call(module, inputs, given), extents, wildcard, given)


def _call(module: LoadedModule, inputs: Sequence[Any], given: Mapping[str, np.ndarray]) -> Any:
    assert module.callable is not None
    try:
        if module.by_name:
            named = {p.name: value for p, value in zip(module.signature.inputs, inputs, strict=True)}
            return module.callable(**named, **given)
        return module.callable(*inputs, **given)
    except ModuleError:
        raise
    except _RAISED as failure:
        raise as_module_error(module, failure) from failure


def as_module_error(module: LoadedModule, failure: BaseException) -> ModuleError:
    """Give the error for what a module's function raised.

    Parameters
    ----------
    module : LoadedModule
        Whose function it was.
    failure : BaseException
        What the function raised.

    Returns
    -------
    ModuleError
        With the function's own traceback.

    Examples
    --------
    >>> from pse.modules import load_module
    >>> print(as_module_error(load_module(pipeline.modules[1]), ValueError("no rows")).message)
    module `rows` (stages.py:9) raised ValueError: no rows
    """
    if isinstance(failure, BdbQuit):
        return ModuleError(f"{_who(module)} was ended in pdb", help=_PDB if _reads_nothing() else None)
    text = own_traceback(failure, module.files)
    for file in module.files:
        if file.endswith(".pyx"):  # An extension's frames carry the name of the generated file.
            text = text.replace(f'File "{file}"', f'File "{module.path}"')
    what = "called sys.exit()" if isinstance(failure, SystemExit) else f"raised {type(failure).__name__}"
    words = exception_text(failure)
    detail = f": {words}" if words else ""
    return ModuleError(f"{_who(module)} {what}{detail}", traceback=text, help=_help_with(failure, words))


def _help_with(failure: BaseException, words: str) -> str | None:
    """Say what to do about an input that a function wants to write, or takes as if it did."""
    if not (isinstance(failure, ValueError) and words.endswith("is read-only")):
        return None
    return _TAKES_INPUT if words.startswith("buffer source") else _WRITES_INPUT


_TAKES_INPUT = (
    "inputs can't be written: take it as a memoryview of const, `const double[:] x`, "
    "or declare the array `inout` in the directive"
)
_WRITES_INPUT = "inputs can't be written: declare the array `inout` in the directive, or work on a copy of it"
_PDB = "breakpoint() needs a terminal:  pse run --serial PROGRAM"


def _reads_nothing() -> bool:
    """Whether the standard input is closed, or /dev/null, as that of ranks is."""
    try:
        return os.path.samestat(os.fstat(0), os.stat(os.devnull))
    except OSError:
        return True


def _who(module: LoadedModule) -> str:
    return f"module `{module.name}` ({module.place})"


def _wildcard(module: LoadedModule, inputs: Sequence[Any]) -> np.dtype | None:
    """Find what element type `T` stands for in this call."""
    for parameter, value in zip(module.signature.inputs, inputs, strict=True):
        if parameter.type.element is None and isinstance(value, np.ndarray | np.generic):
            return value.dtype
    return None


def _dtype(parameter: Parameter, wildcard: np.dtype | None) -> np.dtype | None:
    element = parameter.type.element
    return wildcard if element is None else np.dtype(element.value)


def _shape(
    module: LoadedModule, parameter: Parameter, extents: Mapping[str, int]
) -> tuple[int | None, ...] | None:
    """Give the declared shape; None for an axis, or for all, that the directive leaves open in this call."""
    if parameter.shape is None:
        return None
    return tuple(extent(axis, extents) for axis in parameter.shape)


def _to_fill(
    module: LoadedModule,
    parameter: Parameter,
    array: np.ndarray | None,
    extents: Mapping[str, int],
    wildcard: np.dtype | None,
) -> np.ndarray:
    if array is not None:
        return array
    shape, dtype = _shape(module, parameter, extents), _dtype(parameter, wildcard)
    if shape is None or dtype is None or None in shape:
        message = f"{_who(module)}: the size of `{declared(parameter)}` is unknown before the call"
        raise ModuleError(
            message, help="let the function return it, or declare the tag's type in the program"
        )
    return np.empty(tuple(int(n) for n in shape if n is not None), dtype)


def _split(module: LoadedModule, expected: list[Parameter], returned: Any) -> Sequence[Any]:
    if not expected:
        if returned is not None:
            message = f"{_who(module)} returned {_describe(returned)}, but its directive declares no output"
            raise ModuleError(message, help="declare an output in the directive (out …), or return nothing")
        return ()
    if len(expected) == 1:
        if returned is None:
            message = f"{_who(module)} returned nothing; its directive declares: {declared(expected[0])}"
            raise ModuleError(message, help=_return_or_declare(expected))
        return (returned,)
    if not isinstance(returned, tuple | list) or len(returned) != len(expected):
        listed = ", ".join(declared(parameter) for parameter in expected)
        message = (
            f"{_who(module)} returned {_describe(returned)}; expected a tuple of {len(expected)}: {listed}"
        )
        raise ModuleError(message, help=_return_or_declare(expected))
    return returned


def _return_or_declare(expected: Sequence[Parameter]) -> str:
    names = ", ".join(parameter.name for parameter in expected)
    return f"end the function by `return {names}`, or declare other outputs in the directive"


def _describe(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, np.ndarray):
        return f"an array {value.dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:40] + '…'}"


def _checked(
    module: LoadedModule,
    parameter: Parameter,
    value: Any,
    extents: dict[str, int],
    wildcard: np.dtype | None,
) -> Any:
    if parameter.type.element is Element.OBJECT:
        return value
    if parameter.type.element is Element.STRING and parameter.type.scalar:
        if not isinstance(value, str):
            raise _wrong(module, parameter, "a string", _describe(value))
        return value
    if parameter.type.scalar:
        return _checked_scalar(module, parameter, value, wildcard)
    return _checked_array(module, parameter, value, extents, wildcard)


def _checked_scalar(module: LoadedModule, parameter: Parameter, value: Any, wildcard: np.dtype | None) -> Any:
    dtype = _dtype(parameter, wildcard)
    array = _as_array(value)
    if array is None or array.ndim != 0:
        raise _wrong(module, parameter, *_no_number(value))
    if dtype is None:
        return array[()]
    kinds = _SCALAR_KINDS.get(dtype.kind, dtype.kind) if parameter.type.element else dtype.kind
    if array.dtype.kind not in kinds:
        raise _wrong(module, parameter, f"a value of type {dtype}", _describe(value))
    with np.errstate(over="ignore"):
        converted = array.astype(dtype)
    if dtype.kind in "iu" and converted != array:
        raise _wrong(module, parameter, f"a value that fits {dtype}", _describe(value))
    return converted[()]


def _no_number(value: Any) -> tuple[str, str]:
    """Say what is expected instead of something that NumPy can't make a number of."""
    if isinstance(value, int):
        return "a number that fits in 64 bits", f"int {value:.6e}" if abs(value) < 10**300 else "a larger one"
    if isinstance(value, str | bytes):
        return "a number", f"the string {_describe(value).partition(' ')[2]}"
    return "a single value", _describe(value)


def _as_array(value: Any, *, records: bool = False) -> np.ndarray | None:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if array.dtype.kind in ("OUS" if records else "OUSV") else array


def _checked_array(
    module: LoadedModule,
    parameter: Parameter,
    value: Any,
    extents: dict[str, int],
    wildcard: np.dtype | None,
) -> np.ndarray:
    record = record_of(parameter.type.element)
    array = _as_array(value, records=record is not None)
    if array is None:
        raise _wrong(module, parameter, "an array", _describe(value))
    dtype = _dtype(parameter, wildcard)
    if dtype is not None and array.dtype != dtype:
        raise _other_elements(module, parameter, dtype, array.dtype)
    shape = _shape(module, parameter, extents)
    fits = shape is None or (
        len(shape) == array.ndim and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    )
    if not fits:
        expected = _expected_shape(parameter, shape or ())
        found = f"[{', '.join(map(str, array.shape))}]"
        other = _declared_with(parameter, shape or (), array.shape)
        help = f"give it that shape, or declare the one that it has:  {other}"
        raise _wrong(module, parameter, f"shape {expected}", found, help=help)
    if parameter.decided is not None:
        extents[parameter.decided] = array.shape[0]
    return array


def _other_elements(
    module: LoadedModule, parameter: Parameter, due: np.dtype, found: np.dtype
) -> ModuleError:
    record = record_of(parameter.type.element)
    if record is None:
        help = f"convert it: {parameter.name}.astype(np.{due})"
        return _wrong(module, parameter, f"element type {due}", f"{found}", help=help)
    fields = [(name, element.value) for name, element in record.fields]
    help = f"make it of the type  np.dtype({fields}, align=True)"
    expected, got = (f"elements of {dtype.itemsize} bytes" for dtype in (due, found))
    return _wrong(module, parameter, f"{record.name}, {expected}", f"{found}, {got}", help=help)


def _declared_with(parameter: Parameter, due: Sequence[int | None], found: Sequence[int]) -> str:
    """Write an output as a directive that fits has it: by its dimensions, as a number holds for one call."""
    head, _, _ = declared(parameter).partition("[")
    patterns = list(zip(parameter.written or (), due, strict=True))
    if len(found) == len(patterns):
        axes = [_longer_by(*axis, extent) for axis, extent in zip(patterns, found, strict=True)]
        if parameter.decided and due[0] not in (None, found[0]):
            axes[0] = f"{parameter.decided}_{parameter.name}"  # An extent of its own.
    else:
        written = {extent: render_expression(pattern) for pattern, extent in reversed(patterns)}
        axes = [written.get(extent, str(extent)) for extent in found]
    return f"{head}[{', '.join(axes)}]"


def _longer_by(pattern: Expression, due: int | None, found: int) -> str:
    more = found - due if due is not None else 0
    if more and isinstance(pattern, Number):
        return str(found)
    return render_expression(Binary("+-"[more < 0], pattern, Number(abs(more))) if more else pattern)


def _expected_shape(parameter: Parameter, shape: tuple[int | None, ...]) -> str:
    axes = [render_expression(axis) for axis in parameter.shape or ()]
    written, values = ", ".join(axes), ", ".join("any" if n is None else str(n) for n in shape)
    return f"[{values}]" if written == values else f"[{values}] ({written})"


def _wrong(
    module: LoadedModule,
    parameter: Parameter,
    expected: str,
    got: str,
    *,
    help: str = "return such a value, or declare another type in the directive",
) -> ModuleError:
    message = f"{_who(module)}, output `{declared(parameter)}`: expected {expected}, got {got}"
    return ModuleError(message, help=help)
