"""The records of OTF2 that are written or read here, and the C library behind them, by ctypes.

The package ``otf2`` brings the C library along, wrapped twice in Python: each call costs microseconds.  Here
its functions are called directly, with one table for what is written and read: a record's name and its fields
are those of OTF2's C interface.  The library's own messages go into exceptions instead of to stderr.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable
from typing import Any

from pse.trace.format._errors import TraceError

U8, U32, U64, I64 = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64
TEXT, POINTER, REAL = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_double

_MESSAGE = (U32, U32, U32, U64)  # partner, communicator, tag, length
_COLLECTIVE = (U8, U32, U32, U64, U64)  # operation, communicator, root, bytes sent, bytes received

EVENTS: dict[str, tuple[Any, ...]] = {
    "BufferFlush": (U64,),
    "MeasurementOnOff": (U8,),
    "Enter": (U32,),
    "Leave": (U32,),
    "CallingContextEnter": (U32, U32),
    "CallingContextLeave": (U32,),
    "CallingContextSample": (U32, U32, U32),  # context, unwind distance, what interrupted
    "MpiSend": _MESSAGE,
    "MpiIsend": (*_MESSAGE, U64),
    "MpiIsendComplete": (U64,),
    "MpiIrecvRequest": (U64,),
    "MpiRecv": _MESSAGE,
    "MpiIrecv": (*_MESSAGE, U64),
    "MpiRequestTest": (U64,),
    "MpiRequestCancelled": (U64,),
    "MpiProbe": (U32, U32, U32, U64),  # sender, communicator, tag, message
    "MpiMrecv": (U64, U64),  # message, length
    "MpiImrecvRequest": (U64, U64),  # message, request
    "MpiImrecv": (U64, U64),  # request, length
    "MpiCollectiveBegin": (),
    "MpiCollectiveEnd": _COLLECTIVE,
    "NonBlockingCollectiveRequest": (U64,),
    "NonBlockingCollectiveComplete": (*_COLLECTIVE, U64),
    "RmaPut": (U32, U32, U64, U64),  # window, remote rank, bytes, number
    "RmaGet": (U32, U32, U64, U64),
    "RmaAtomic": (U32, U32, U8, U64, U64, U64),  # window, remote rank, kind, bytes sent, received, number
    "RmaCollectiveBegin": (),
    "RmaCollectiveEnd": (U8, U32, U32, U32, U64, U64),  # operation, level, window, root, bytes
    "IoOperationBegin": (U32, U8, U32, U64, U64),  # handle, mode, flags, bytes asked for, number
    "IoOperationComplete": (U32, U64, U64),  # handle, bytes, number
    "CommCreate": (U32,),
    "CommDestroy": (U32,),
    "Metric": (U32, U8, POINTER, POINTER),  # metric, how many, their types, their values
    "ParameterString": (U32, U32),
    "ParameterInt": (U32, I64),
    "ParameterUnsignedInt": (U32, U64),
    "ProgramBegin": (U32, U32, POINTER),  # name, arguments
    "ProgramEnd": (I64,),
}
"""Events: what follows attributes and time."""

OTHER_EVENTS = (
    *("OmpFork", "OmpJoin", "OmpAcquireLock", "OmpReleaseLock", "OmpTaskCreate", "OmpTaskSwitch"),
    *("OmpTaskComplete", "RmaWinCreate", "RmaWinDestroy", "RmaGroupSync", "RmaRequestLock"),
    *("RmaAcquireLock", "RmaTryLock", "RmaReleaseLock", "RmaSync", "RmaWaitChange"),
    *("RmaOpCompleteBlocking", "RmaOpCompleteNonBlocking", "RmaOpTest", "RmaOpCompleteRemote"),
    *("ThreadFork", "ThreadJoin", "ThreadTeamBegin", "ThreadTeamEnd", "ThreadAcquireLock"),
    *("ThreadReleaseLock", "ThreadTaskCreate", "ThreadTaskSwitch", "ThreadTaskComplete"),
    *("ThreadCreate", "ThreadBegin", "ThreadWait", "ThreadEnd", "IoCreateHandle"),
    *("IoDestroyHandle", "IoDuplicateHandle", "IoSeek", "IoChangeStatusFlags", "IoDeleteFile"),
    *("IoOperationTest", "IoOperationIssued", "IoOperationCancelled", "IoAcquireLock"),
    *("IoReleaseLock", "IoTryLock", "Unknown"),
)
"""Events that have no place in a trace of pse: they are counted."""

DEFINITIONS: dict[str, tuple[Any, ...]] = {
    "ClockProperties": (U64, U64, U64, U64),  # ticks per second, first time, length, first time since 1970
    "Paradigm": (U8, U32, U8),
    "String": (U32, TEXT),
    "Attribute": (U32, U32, U32, U8),
    "SystemTreeNode": (U32, U32, U32, U32),  # number, name, class, parent
    "SystemTreeNodeProperty": (U32, U32, U8, U64),
    "SystemTreeNodeDomain": (U32, U8),
    "LocationGroup": (U32, U32, U8, U32, U32),  # number, name, type, node, creator
    "Location": (U64, U32, U8, U64, U32),  # number, name, type, events, group
    "Region": (U32, U32, U32, U32, U8, U8, U32, U32, U32, U32),
    "Group": (U32, U32, U8, U8, U32, U32, POINTER),
    "Comm": (U32, U32, U32, U32, U32),  # number, name, group, parent, flags
    "InterComm": (U32, U32, U32, U32, U32, U32),  # number, name, both groups, common communicator, flags
    "MetricMember": (U32, U32, U32, U8, U8, U8, U8, I64, U32),
    "MetricClass": (U32, U8, POINTER, U8, U8),
    "MetricInstance": (U32, U32, U64, U8, U64),
    "Parameter": (U32, U32, U8),
    "CallingContext": (U32, U32, U32, U32),
    "RmaWin": (U32, U32, U32, U32),  # number, name, communicator, flags
}
"""Global definitions."""

UNDEFINED = 0xFFFFFFFF
UNDEFINED64 = 0xFFFFFFFFFFFFFFFF
SUCCESS = 0

_ERROR_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, POINTER, TEXT, U64, TEXT, ctypes.c_int, TEXT, POINTER
)  # The last is a va_list, which C hands over as a pointer on x86-64 and aarch64.


class Otf2Error(Exception):
    """The library refused something; the text is its own."""


class Library:
    """The C library of the package ``otf2``; a context within which its errors are kept, not printed.

    Raises
    ------
    TraceError
        The package is not installed, or it lacks its library.
    """

    def __init__(self) -> None:
        try:
            from _otf2.Config import conf
        except (ImportError, OSError, FileNotFoundError) as error:
            raise TraceError(
                f"OTF2 archives need the Python package otf2, which can't be used: {error}",
                help="install it with: pip install 'pse[otf2]'",
            ) from None
        self._c = ctypes.CDLL(conf.lib._name)
        self._errors: list[str] = []
        self._listener = _ERROR_CALLBACK(self._listen)
        self._before: int | None = None

    def __enter__(self) -> Library:
        listener = ctypes.cast(self._listener, POINTER)
        self._before = self._register(listener)
        return self

    def __exit__(self, *_: object) -> None:
        self._register(self._before)

    def _register(self, listener: Any) -> int | None:
        """Say who is told of errors; give who was told before."""
        before: int | None = self.function("Error_RegisterCallback", POINTER, POINTER, result=POINTER)(
            listener, None
        )
        return before

    def function(self, name: str, *types: Any, result: Any = ctypes.c_int) -> Any:
        """A function of the library, unchecked: ``name`` without ``OTF2_``."""
        function = self._c[f"OTF2_{name}"]
        function.argtypes, function.restype = types, result
        return function

    def has(self, name: str) -> bool:
        """Whether this release of the library has a function."""
        return hasattr(self._c, f"OTF2_{name}")

    def call(self, name: str, *arguments: Any, types: Iterable[Any] = ()) -> None:
        """Call a function that returns an error code; handles come first, then values of `types`.

        Raises
        ------
        Otf2Error
            The code is not that of success.
        """
        types = tuple(types)
        handles = (POINTER,) * (len(arguments) - len(types))
        self.check(self.function(name, *handles, *types)(*arguments))

    def make(self, name: str, *arguments: Any, types: Iterable[Any] = ()) -> int:
        """Call a function that returns a handle.

        Raises
        ------
        Otf2Error
            It returns none.
        """
        types = tuple(types)
        handles = (POINTER,) * (len(arguments) - len(types))
        handle = self.function(name, *handles, *types, result=POINTER)(*arguments)
        if not handle:
            raise Otf2Error(self.last_error(f"{name} failed"))
        made: int = handle
        return made

    def check(self, code: int) -> None:
        """Raise what the library said if a code isn't that of success."""
        if code != SUCCESS:
            describe = self.function("Error_GetDescription", ctypes.c_int, result=TEXT)
            raise Otf2Error(self.last_error(describe(code).decode(errors="replace")))

    def last_error(self, otherwise: str = "") -> str:
        """The error that the library reported since it was asked last: the first is the cause."""
        said, self._errors = self._errors, []
        return said[0] if said else otherwise

    def _listen(
        self, _data: int, _file: bytes, _line: int, _function: bytes, code: int, form: bytes, rest: int
    ) -> int:
        text = ctypes.create_string_buffer(1024)
        ctypes.CDLL(None).vsnprintf(text, ctypes.c_size_t(1024), form, POINTER(rest))
        self._errors.append(text.value.decode(errors="replace"))
        return code


@functools.cache
def event_callback(types: tuple[Any, ...]) -> Any:
    """Type of a callback for an event: location, time, position, data, attributes, and these fields."""
    return ctypes.CFUNCTYPE(ctypes.c_int, U64, U64, U64, POINTER, POINTER, *types)


@functools.cache
def definition_callback(types: tuple[Any, ...]) -> Any:
    """Type of a callback for a definition: data, and these fields."""
    return ctypes.CFUNCTYPE(ctypes.c_int, POINTER, *types)


def array(kind: Any, values: Iterable[int]) -> Any:
    """A C array that holds these values."""
    items = tuple(values)
    return (kind * len(items))(*items)


def items(pointer: int | None, kind: Any, count: int) -> list[Any]:
    """The values behind a pointer into a C array."""
    return list((kind * count).from_address(pointer)) if pointer and count else []
