"""Fixtures for the room `modules`: a cache of their own, module files from text."""

import ctypes
import textwrap

import numpy as np
import pytest

from pse.language.check._ir import ModuleReference
from pse.modules import Finder, LoadedModule, call_python, load_module as load
from pse.modules.directives._interface import by_value
from pse.modules.load._dimensions import bind_dimensions, extent


@pytest.fixture
def fresh_cache(tmp_path, monkeypatch):
    """Start with an empty cache."""
    monkeypatch.setenv("PSE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a module file: ``write("step.c", "…")``; gives the path as a user would type it."""
    monkeypatch.chdir(tmp_path)

    def write_file(name, text):
        (tmp_path / name).write_text(textwrap.dedent(text).lstrip("\n"))
        return name

    return write_file


@pytest.fixture
def reference():
    """Find a module as the checker would: ``reference(path, name=None)``."""
    return _reference


@pytest.fixture
def load_module():
    """Find and load a module: ``load_module(path, name=None)``."""
    return _load_module


@pytest.fixture
def call():
    """Call a loaded module as the runtime would; gives its outputs: ``call(module, *inputs)``."""
    return _call


@pytest.fixture
def call_native():
    """Call a trampoline; gives its code and outputs: ``call_native(module, *inputs)``."""
    return _call_native


def _reference(path, name=None, importing_file="program.coven"):
    """Find a module as the checker would; the file's only module if no name is given."""
    found = Finder().find(str(path), importing_file)
    assert not found.diagnostics, found.diagnostics
    signature = next(s for s in found.signatures if name in (None, s.name))
    return ModuleReference(
        signature.name, signature, found.source, found.path, signature.span.line, found.language
    )


def _load_module(path, name=None) -> LoadedModule:
    """Find and load a module."""
    return load(_reference(path, name))


def _call(module, *inputs):
    """Call a module as the runtime would, and return its outputs; a compiled one's code must be 0."""
    if module.native is None:
        return call_python(module, inputs)
    code, outputs = _call_native(module, *inputs)
    assert code == 0, module.error_text(code)
    return outputs


def _call_native(module, *inputs):
    """Call a trampoline: returns its code and the outputs."""
    extents = bind_dimensions(module, inputs, {})
    given = dict(zip((p.name for p in module.signature.inputs), inputs, strict=True))
    outputs = {
        p.name: np.zeros([extent(axis, extents) for axis in p.type.shape], p.type.element.value)
        for p in module.signature.outputs
    }
    keep, addresses = [], []
    for parameter in module.signature.parameters:
        value = outputs.get(parameter.name, given.get(parameter.name))
        if isinstance(value, str):
            value = np.frombuffer(value.encode() + b"\0", np.uint8)
        elif by_value(parameter):
            value = np.array(value, parameter.type.element.value)
        keep.append(value)
        addresses.append(value.ctypes.data)
    for dimension in module.signature.dimensions:
        keep.append(np.array(extents[dimension], np.int64))
        addresses.append(keep[-1].ctypes.data)
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(module.native)
    table = (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
    return function(ctypes.addressof(table)), tuple(value[()] for value in outputs.values())
