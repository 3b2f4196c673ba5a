"""The bench's compiled modules called by hand, through ``pse.modules``: what call sites compare with."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from pse.bench._running import program_path
from pse.language.check import ModuleReference
from pse.memory import strided_copy
from pse.modules import load_module
from pse.modules.directives import Finder

Native = Callable[[Any], int]


def native(file: str, name: str) -> Native:
    """Build and load a compiled module of ``programs/``; gives its trampoline, `int (void **arguments)`."""
    path = str(program_path(file))
    found = Finder().find(path, path)
    signature = next(one for one in found.signatures if one.name == name)
    module = load_module(ModuleReference(name, signature, found.source, path, 1, found.language))
    assert module.native is not None
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_void_p))(module.native)


def call(module: Native, *arguments: Any) -> None:
    """Call a module with arrays and ctypes scalars, in the order of its trampoline."""
    addresses = [
        one.ctypes.data if isinstance(one, np.ndarray) else ctypes.addressof(one) for one in arguments
    ]
    code = module((ctypes.c_void_p * len(addresses))(*addresses))
    assert code == 0, code


def transpose(source: Any, target: Any) -> None:
    """Write the transpose of one array into another with the kernel that the engine uses."""
    strided_copy(target, source.T)
