"""Directives inside module sources: what is wrong with them, and what they say where the pointer rests."""

from __future__ import annotations

import os

from lsprotocol import types

from pse.errors import ModuleNotFound
from pse.language import Diagnostic, ModuleFile
from pse.language.types import LANGUAGES, Signature, render_signature, render_type
from pse.lsp._analysis import Lines
from pse.lsp._navigation import directive_at
from pse.modules import NOTHING_DECLARED, examine_source


def is_module_source(path: str) -> bool:
    """Whether a file's name is one of a module's source."""
    return os.path.splitext(path)[1].lower() in LANGUAGES


def problems(text: str, path: str) -> list[Diagnostic]:
    """Give what is wrong with the directives of a source; one without directives is none of ours."""
    file = _examined(text, path)
    return [d for d in file.diagnostics if d.code != NOTHING_DECLARED] if file is not None else []


def _examined(text: str, path: str) -> ModuleFile | None:
    try:
        return examine_source(text, path)
    except ModuleNotFound:
        return None


def signature_at(lines: Lines, path: str, position: types.Position) -> Signature | None:
    """Give the signature whose directive is at a position."""
    span, _ = directive_at(lines, lines.place(position)[0])
    file = _examined(lines.text, path) if span is not None else None
    signatures = file.signatures if file is not None else ()
    return next(
        (s for s in signatures if span and s.span and span.line <= s.span.line <= span.end_line), None
    )


def hover_directive(lines: Lines, path: str, position: types.Position) -> types.Hover | None:
    """Describe the parameter at a position of a directive, else how programs call the module."""
    signature = signature_at(lines, path, position)
    if signature is None:
        return None
    line, column = lines.place(position)
    for parameter in signature.parameters:
        span = parameter.span
        if span and span.line == line and span.column <= column <= span.end_column:
            return _hover(f"{parameter.direction.value} {render_type(parameter.type)} {parameter.name}")
    inputs = ", ".join(parameter.name for parameter in signature.inputs)
    outputs = ", ".join(parameter.name for parameter in signature.outputs)
    call = f"{signature.name}({inputs})" + (f" -> {outputs}" if outputs else "")
    return _hover(f"{render_signature(signature)}\n// a program calls it so:\n{call}")


def _hover(code: str) -> types.Hover:
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, f"```coven\n{code}\n```"))
