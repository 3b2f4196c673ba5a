"""What the engine offers to modules, and a part in a collective operation, as coven.h has them.

Made from pse/modules/include/coven.h by cext/abi/generate.py:
change the header, not this file.
"""

from __future__ import annotations

from ctypes import CFUNCTYPE, POINTER, Structure, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p


class Collective(Structure):
    """``coven_collective``."""

    _fields_ = [
        ("kind", c_uint32),
        ("type", c_uint32),
        ("op", c_uint32),
        ("root", c_int64),
        ("count", c_size_t),
        ("data", c_void_p),
        ("result", c_void_p),
        ("counts", c_void_p),
        ("offsets", c_void_p),
        ("received_counts", c_void_p),
        ("received_offsets", c_void_p),
        ("function", c_void_p),
        ("closure", CFUNCTYPE(None, c_void_p, c_void_p, c_void_p, c_void_p, c_size_t)),
        ("context", c_void_p),
    ]


class Rows(Structure):
    """``coven_rows``."""

    _fields_ = [
        ("data", c_void_p),
        ("result", c_void_p),
        ("list", c_void_p),
        ("period", c_void_p),
        ("width", c_size_t),
        ("entries", c_size_t),
        ("stride", c_size_t),
        ("axes", c_size_t),
    ]


class Services(Structure):
    """``coven_services``."""

    _fields_ = [
        ("version", c_uint32),
        ("partition", CFUNCTYPE(c_int64)),
        ("partitions", CFUNCTYPE(c_int64)),
        ("send", CFUNCTYPE(c_int64, c_int64, c_int32, c_void_p, c_size_t, c_uint32)),
        ("receive", CFUNCTYPE(c_int64, c_int64, c_int32, c_void_p, c_size_t, c_uint32)),
        ("collective", CFUNCTYPE(c_int64, POINTER(Collective))),
        ("wait", CFUNCTYPE(None, POINTER(c_int64), c_size_t)),
        ("complete", CFUNCTYPE(c_int, c_int64)),
        ("grid", CFUNCTYPE(c_int64, c_uint32)),
        ("exchange_rows", CFUNCTYPE(c_int64, POINTER(Rows))),
    ]
