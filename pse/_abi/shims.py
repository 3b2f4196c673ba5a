"""What Python reads of the tool stack: the beginning of structs in shims.h and pse_tools.h.

Made from pse/toolstack/shims/shims.h and pse/toolstack/include/pse_tools.h by cext/abi/generate.py:
change the header, not this file.
"""

from __future__ import annotations

from ctypes import Structure, c_char, c_char_p, c_uint64


class Signature(Structure):
    """``routine_signature``."""

    _fields_ = [
        ("name", c_char_p),
        ("letters", c_char_p),
    ]


class Ring(Structure):
    """``pse_ring``."""

    _fields_ = [
        ("name", c_char * 48),
        ("signature", c_char * 208),
        ("bytes", c_uint64),
        ("stride", c_uint64),
        ("count", c_uint64),
        ("lost", c_uint64),
    ]
