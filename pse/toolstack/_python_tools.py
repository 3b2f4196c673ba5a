"""MPI tools written in Python, in the process of the program.

A `Tool` is a layer on top of the stack, whose functions are ctypes callbacks: each call of a routine that it
watches takes the GIL and costs about a microsecond more than a C tool's; routines that it doesn't watch cost
nothing.  A `Ring` takes the events that C tools emit, at no cost for the calls themselves.

Tools come off when Python ends, at the latest: mpi4py calls MPI_Finalize after that.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import inspect
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np

from pse import _proc
from pse._abi import shims
from pse._abi.environment import TOOLS_VARIABLE
from pse.errors import UsageError
from pse.toolstack._library import library
from pse.toolstack._mpi import loaded_mpi

_ROUTINE = re.compile(r"MPIX?_\w+")
_TYPES: dict[str, Any] = {
    "i": ctypes.c_int,
    "l": ctypes.c_int64,
    "p": ctypes.c_void_p,
    "d": ctypes.c_double,
    "v": None,
}


class Tool:
    """A tool whose methods are named after the MPI routines that it watches.

    A method is given the arguments of the call: integers as int, pointers and arrays as addresses (int, or
    None for NULL), handles as the MPI library has them (int or address; ``MPI.Comm.fromhandle`` of mpi4py
    makes an object of one).  It goes on by calling ``self.PMPI_x`` and returns what that returned.  A method
    that returns None has only looked: the call goes on by itself if the method hasn't called ``self.PMPI_x``.

    Large counts are as in C tools: a tool that has ``MPI_Send`` but no ``MPI_Send_c`` sees both.  A method
    that raises is reported once, its tool watches nothing any more, and the program goes on.

    Examples
    --------
    >>> class Lengths(Tool):
    ...     def __init__(self):
    ...         self.lengths = []
    ...
    ...     def MPI_Send(self, buffer, count, datatype, destination, tag, communicator):
    ...         self.lengths.append(count)
    >>> with Lengths() as lengths:  # doctest: +SKIP
    ...     MPI.COMM_WORLD.Send(numpy.zeros(5), 1)
    """

    _layer: _Layer | None = None

    def attach(self) -> Self:
        """Put the tool on top of the stack of this process, and begin a stack if there is none.

        Returns
        -------
        Tool
            The tool itself.

        Raises
        ------
        UsageError
            If this MPI has no routine of a method's name, if the method doesn't take the routine's arguments,
            or if no MPI library is loaded.
        """
        if self._layer is None:
            self._layer = _Layer(self, _stack())
        return self

    def detach(self) -> None:
        """Take the tool off; tools that were attached later have to go first.

        Raises
        ------
        UsageError
            If one is still there.
        """
        if self._layer is not None:
            self._layer.remove()
            self._layer = None

    def __enter__(self) -> Self:
        return self.attach()

    def __exit__(self, *error: object) -> None:
        self.detach()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("PMPI") and self._layer is not None:
            return self._layer.lower(name.removeprefix("P"))
        raise AttributeError(f"{type(self).__name__} has no {name}")


class _Layer:
    """One attached tool: callbacks for its methods, and what is below them."""

    def __init__(self, tool: Tool, stack: ctypes.CDLL) -> None:
        self.tool, self.stack, self.failed = tool, stack, False
        self.calls = threading.local()
        self.lowers: dict[str, Callable[..., Any]] = {}
        methods = {name: getattr(tool, name) for name in dir(type(tool)) if _ROUTINE.fullmatch(name)}
        self.callbacks = {name: self._callback(name, method) for name, method in methods.items()}
        names = (ctypes.c_char_p * len(methods))(*(name.encode() for name in methods))
        addresses = (ctypes.c_void_p * len(methods))(
            *(ctypes.cast(function, ctypes.c_void_p) for function in self.callbacks.values())
        )
        self.handle = stack.pse_toolstack_push(len(methods), names, addresses)
        if not self.handle:
            raise MemoryError("there is no memory for another layer of tools")
        _attached.append(self)

    def _callback(self, name: str, method: Callable[..., Any]) -> Any:
        prototype = _prototype(self.stack, name)
        wanted = len(prototype._argtypes_)
        try:
            inspect.signature(method).bind(*range(wanted))
        except TypeError:
            words = f"{type(self.tool).__name__}.{name} must take the {wanted} arguments of {name}"
            raise UsageError(words, help="the arguments are those in C, in their order") from None
        return prototype(functools.partial(self._called, name, method))

    def _called(self, name: str, method: Callable[..., Any], *arguments: Any) -> Any:
        if self.failed:
            return self.lower(name)(*arguments)
        frames = self.calls.__dict__.setdefault("frames", [])
        frames.append([name, None])
        try:
            result = method(*arguments)
        except Exception:
            self._fail(name)
            result = None
        finally:
            _, done = frames.pop()
        if result is not None:
            return result
        return self.lower(name)(*arguments) if done is None else done

    def _fail(self, name: str) -> None:
        self.failed = True
        name = f"{type(self.tool).__name__}.{name}"
        words = f"pse tools: {name} failed; the tool is switched off\n{traceback.format_exc()}"
        sys.stderr.write(words)

    def lower(self, name: str) -> Callable[..., Any]:
        """The next lower definition of a routine, as a function."""
        if name not in self.lowers:
            address = self.stack.pse_toolstack_below(self.handle, name.encode())
            if not address:
                raise AttributeError(f"this MPI has no routine {name}")
            self.lowers[name] = functools.partial(self._go_on, name, _prototype(self.stack, name)(address))
        return self.lowers[name]

    def _go_on(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        result = function(*arguments)
        frames = self.calls.__dict__.get("frames")
        if frames and frames[-1][0] == name:
            frames[-1][1] = result
        return result

    def remove(self) -> None:
        if not self.stack.pse_toolstack_pop(self.handle):
            raise UsageError(
                "tools that were attached later have to be detached first",
                help="detach tools in the reverse order of their attaching",
            )
        _attached.remove(self)
        _removed.append(self)


_attached: list[_Layer] = []
_removed: list[_Layer] = []  # another thread may still be in a callback


@atexit.register
def _remove_all() -> None:
    for layer in reversed(_attached[:]):
        layer.remove()


@functools.cache
def _prototype(stack: ctypes.CDLL, name: str) -> Any:
    found = stack.pse_toolstack_signature_of(name.encode())
    if not found:
        raise UsageError(
            f"this MPI has no routine {name}, or no mpi.h was found for it",
            help="write the name as in C, such as MPI_Send",
        )
    result, *parameters = found.contents.letters.decode()
    return ctypes.CFUNCTYPE(_TYPES[result], *(_TYPES[letter] for letter in parameters))


@functools.cache
def _stack() -> ctypes.CDLL:
    """The stack of this process, with its functions declared; begun as the environment says if it wasn't."""
    stack = ctypes.CDLL(str(_loaded() or library(loaded_mpi())), mode=ctypes.RTLD_GLOBAL)
    stack.pse_toolstack_signature_of.restype = ctypes.POINTER(shims.Signature)
    stack.pse_toolstack_push.restype = stack.pse_toolstack_below.restype = ctypes.c_void_p
    stack.pse_toolstack_push.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    stack.pse_toolstack_below.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    stack.pse_toolstack_pop.argtypes = [ctypes.c_void_p]
    stack.pse_toolstack_pop.restype = ctypes.c_bool
    stack.pse_toolstack_ring.restype = ctypes.POINTER(shims.Ring)
    stack.pse_toolstack_take.restype = ctypes.c_size_t
    stack.pse_toolstack_take.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    stack.pse_toolstack_attach(os.fsencode(os.environ.get(TOOLS_VARIABLE, "")) or None)
    return stack


def _loaded() -> Path | None:
    """The stack's object if it was preloaded or attached."""
    return next((Path(path) for path in _proc.mapped_files() if path.endswith("/libpse_tools.so")), None)


class Ring:
    """The events that a C tool puts into a ring of that name (``tools->ring`` in pse_tools.h).

    Parameters
    ----------
    name : str
        The ring's name.
    dtype : dtype
        The type of an event, of the ring's size.

    Raises
    ------
    UsageError
        If no tool has made the ring, or if its events have another size.

    Examples
    --------
    >>> sends = Ring("sends", [("count", "i4"), ("destination", "i4")])  # doctest: +SKIP
    >>> sends.take()["count"].sum()  # doctest: +SKIP
    """

    def __init__(self, name: str, dtype: np.typing.DTypeLike) -> None:
        self._stack = _stack()
        self._ring = self._stack.pse_toolstack_ring(name.encode())
        if not self._ring:
            raise UsageError(
                f"no tool of this process has a ring `{name}`",
                help="write the name that the tool gives it, and load the tool before",
            )
        self.dtype = np.dtype(dtype)
        if self.dtype.itemsize != self._ring.contents.bytes:
            words = f"events of the ring `{name}` have {self._ring.contents.bytes} bytes ({self.signature})"
            raise UsageError(
                f"{words}, not {self.dtype.itemsize}",
                help="give the type of the elements that the tool writes",
            )

    @property
    def signature(self) -> str:
        """What the ring's maker says about its events."""
        return str(self._ring.contents.signature.decode())

    @property
    def lost(self) -> int:
        """How many events found the ring full."""
        return int(self._ring.contents.lost)

    def take(self) -> np.ndarray[tuple[int], np.dtype[Any]]:
        """Take the events that are there.

        Returns
        -------
        ndarray, shape (n,)
            Events of `dtype`, the oldest first; n is at most what the ring has room for.
        """
        events = np.empty(self._ring.contents.count, self.dtype)
        taken = self._stack.pse_toolstack_take(self._ring, events.ctypes.data, len(events))
        return events[:taken]
