"""Loading modules into a rank: from a resolved reference to an address or a Python callable.

Compiled modules are opened with `dlopen` and called through their trampolines; their handles live as long as
the process, so an address never dangles.  Python modules and extensions are imported by path, each under a
name of its own.
"""

from __future__ import annotations

import ctypes
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pse.language.check import ModuleReference
from pse.language.types import Signature
from pse.modules._errors import ModuleError
from pse.modules.build._build_mode import FAST, BuildMode
from pse.modules.build._trampolines import ERROR_TEXT, PREFIX
from pse.modules.directives import _python_interface as pyinterface
from pse.modules.directives._finder import takes_arrays
from pse.modules.directives._interface import takes_communicator
from pse.modules.load import _imports as imports
from pse.records import dataclass

if TYPE_CHECKING:
    from pse.modules.build._builder import Built


@dataclass(frozen=True)
class LoadedModule:
    """A module that is ready to be called.

    Parameters
    ----------
    name : str
        The module's name.
    path : str
        The path to print.
    signature : Signature
        Its interface.
    native : int or None
        Address of `int pse_call_NAME(void **)`; the trampoline is safe without the GIL.  None for Python.
    callable : callable or None
        The Python function; `calling.call_python` calls it.  None for compiled modules, and for the modules
        of ``pse.std`` that the runtime carries out itself.
    files : frozenset of str
        Its files, as tracebacks name them.
    fills : frozenset of str
        Outputs that the Python function takes as parameters: arrays for it to fill.
    variadic : bool
        Whether it takes any number of inputs of any type: `print` of the standard library alone.
    by_name : bool
        Whether the Python function gets its inputs by name.
    makes : bool
        Whether the Python function takes `make`, which makes its only output of so many rows, perhaps where
        its first input is: some of ``pse.std`` do, to fill the array where it is to lie.
    error_text_function : callable or None, optional
        Gives the text of a code that the module returned, as `coven_error` does; None if it has
        none.

    See Also
    --------
    load_module, call_python

    Examples
    --------
    >>> from pse.modules import load_module
    >>> loaded = load_module(pipeline.modules[1])
    >>> loaded.name, loaded.place, sorted(loaded.fills)
    ('rows', 'stages.py:9', ['result'])
    """

    name: str
    path: str
    signature: Signature
    native: int | None = None
    callable: Callable[..., Any] | None = None
    files: frozenset[str] = frozenset()
    fills: frozenset[str] = frozenset()
    variadic: bool = False
    by_name: bool = False
    makes: bool = False
    error_text_function: Callable[[int], bytes | None] | None = field(default=None, repr=False)

    @property
    def place(self) -> str:
        """Where its directive stands: `frames.py:12`."""
        return f"{self.path}:{self.signature.span.line}" if self.signature.span else self.path

    def error_text(self, code: int) -> str | None:
        """Give the text of a code that the module returned: what its `coven_error(code)` says, else None."""
        if self.error_text_function is None:
            return None
        text = self.error_text_function(code)
        return text.decode(errors="replace") if text else None


_libraries: dict[Path, ctypes.CDLL] = {}
_services = ctypes.c_void_p(None)
_ENGINE = "coven_engine"


def set_services(address: int) -> None:
    """Let modules, those loaded already and those to come, find the functions behind ``coven.h``.

    Parameters
    ----------
    address : int
        Of the engine's ``coven_services``.

    See Also
    --------
    load_module
    """
    _services.value = address
    for library in _libraries.values():
        _connect(library)


def services() -> int:
    """Give the address that `set_services` got, 0 before."""
    return _services.value or 0


def _connect(library: ctypes.CDLL) -> None:
    """Set a library's pointer to the engine's functions, if it has one: it includes ``coven.h`` then."""
    try:
        ctypes.c_void_p.in_dll(library, _ENGINE).value = _services.value
    except ValueError:
        return


def load_module(reference: ModuleReference, mode: BuildMode = FAST) -> LoadedModule:
    """Load a module, building it first where that is needed.

    Parameters
    ----------
    reference : ModuleReference
        From a checked program.
    mode : BuildMode, optional
        Whether it is built for speed or to be debugged.

    Returns
    -------
    LoadedModule
        The module, ready to be called.

    Raises
    ------
    BuildError
        If it can't be built.
    ModuleError
        If it can't be loaded, or its directive is not what the program was checked against.

    Examples
    --------
    >>> loaded = load_module(next(module for module in program.modules if module.name == "step"))
    >>> loaded.name, loaded.native is not None, loaded.callable
    ('step', True, None)
    """
    if reference.source is None:
        from pse.modules.std._functions import standard_function

        if (function := standard_function(reference.name)) is not None:
            adapted = adapt(reference, function, frozenset())
            makes = "make" in parameter_names(function)
            return replace(adapted, variadic=reference.name == "print", makes=makes)
        return LoadedModule(reference.name, reference.path, reference.signature)
    if reference.language == "python":
        return _from_python(reference, reference.source)
    from pse.modules.build._builder import build_module  # Not all programs have such.

    built = build_module(reference.source, shown=reference.path, mode=mode)
    _agree(reference, built.source.signatures)
    if takes_arrays(built.source.text, built.source.language, reference.name):
        return _from_extension(reference, built)
    return _native(reference, built)


def _agree(reference: ModuleReference, current: Iterable[Signature]) -> None:
    """Refuse a module whose directive changed since the program was checked."""
    if not any(
        signature.name == reference.name and same(signature, reference.signature) for signature in current
    ):
        message = (
            f"{reference.path}: the directive of `{reference.name}` changed after the program was checked"
        )
        raise ModuleError(message, help="run it again")


def same(left: Signature, right: Signature) -> bool:
    """Say whether two directives declare the same interface (wherever they stand)."""
    return _essence(left) == _essence(right)


def _essence(signature: Signature) -> tuple[object, ...]:
    parameters = tuple((p.name, p.direction, p.type, p.default) for p in signature.parameters)
    return signature.name, parameters, signature.dimensions, signature.collective


def _native(reference: ModuleReference, built: Built) -> LoadedModule:
    if built.extension is not None:  # A Cython source: its module variables are set when it is imported.
        imports.import_extension(built.extension, built.library, reference.path)
    library = _open(built.library, reference)
    if takes_communicator(reference.signature):
        _share_mpi(library, reference)
    address = ctypes.cast(library[PREFIX + reference.name], ctypes.c_void_p).value
    return LoadedModule(
        reference.name,
        reference.path,
        reference.signature,
        native=address,
        error_text_function=_error_text_function(library),
    )


def _open(path: Path, reference: ModuleReference) -> ctypes.CDLL:
    if path not in _libraries:
        try:
            _libraries[path] = ctypes.CDLL(str(path))
        except OSError as failure:
            message = f"{reference.path} can't be loaded: {str(failure).replace(str(path), reference.path)}"
            help = "a library that it was linked with may be missing; build it again: pse module build FILE"
            raise ModuleError(message, help=help) from None
        _connect(_libraries[path])
    return _libraries[path]


def _share_mpi(library: ctypes.CDLL, reference: ModuleReference) -> None:
    """Refuse a module that was linked with another MPI than this rank runs: handles mean nothing there."""
    ranks = sys.modules.get("mpi4py.MPI")
    if ranks is None or ranks.__file__ is None:
        return
    try:
        theirs, ours = (
            ctypes.cast(one["PMPI_Comm_size"], ctypes.c_void_p).value
            for one in (library, ctypes.CDLL(ranks.__file__))
        )
    except AttributeError:  # It calls no MPI.
        return
    if theirs != ours:
        version = ranks.Get_library_version().split("\n")[0]
        message = f"{reference.path} was built with another MPI than the one that ranks run: {version}"
        raise ModuleError(message, help="put the mpicc of the MPI that mpi4py uses first on PATH")


def _error_text_function(library: ctypes.CDLL) -> Callable[[int], bytes | None] | None:
    try:
        function = library[ERROR_TEXT]
    except AttributeError:
        return None
    function.argtypes = [ctypes.c_int]
    function.restype = ctypes.c_char_p
    return function


def _from_extension(reference: ModuleReference, built: Built) -> LoadedModule:
    assert built.extension is not None
    module = imports.import_extension(built.extension, built.library, reference.path)
    _open(built.library, reference)
    return _python_function(reference, module, frozenset({str(built.library), f"{built.extension}.pyx"}))


def _from_python(reference: ModuleReference, source: str) -> LoadedModule:
    from pse.modules.build._builder import read_checked

    found, _ = read_checked(source, reference.path)
    _agree(reference, found.signatures)
    module = imports.import_python(source, reference.path)
    return _python_function(reference, module, frozenset({source}))


def _python_function(reference: ModuleReference, module: object, files: frozenset[str]) -> LoadedModule:
    function = getattr(module, reference.name, None)
    if not callable(function):
        what = "is not a function" if function is not None else "is not there after the file was imported"
        raise ModuleError(
            f"{reference.path}:{reference.line}: `{reference.name}` {what}",
            help="define it at the top of the file, below its directive:  def NAME(…)",
        )
    return adapt(reference, function, files)


def adapt(reference: ModuleReference, function: Callable[..., Any], files: frozenset[str]) -> LoadedModule:
    """Make a loaded module of a Python function, after checking that it can be called as its directive says.

    Raises
    ------
    ModuleError
        If its parameters are others than the directive's.
    """
    signature = reference.signature
    taken = parameter_names(function)
    _callable_so(reference, function, taken)
    return LoadedModule(
        signature.name,
        reference.path,
        signature,
        None,
        function,
        files=files,
        fills=pyinterface.filled(signature, taken),
        by_name=pyinterface.by_name(signature, taken),
    )


def parameter_names(function: Callable[..., Any]) -> frozenset[str]:
    """Name a function's parameters (pybind11's: those with a `py::arg`), as far as they are known."""
    try:
        return pyinterface.named(inspect.signature(function))
    except (TypeError, ValueError):
        first_line = (getattr(function, "__doc__", None) or "").split("\n")[0]
        return frozenset(re.findall(r"[(,]\s*(\w+):", first_line))


def _callable_so(reference: ModuleReference, function: Callable[..., Any], taken: frozenset[str]) -> None:
    try:
        interface = inspect.signature(function)
    except (TypeError, ValueError):
        return
    signature = reference.signature
    fault = pyinterface.misfit(signature, interface, taken)
    if fault is not None:
        what = f"the function {signature.name}{interface} can't be called as its directive says"
        place = f"{reference.path}:{reference.line}"
        raise ModuleError(f"{place}: {what}: {fault}", help=pyinterface.form(signature))
