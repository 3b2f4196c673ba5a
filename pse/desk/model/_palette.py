"""The modules that a program can call: what it imports, what lies beside it, the standard library."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from pse.desk.model._graph import Json
from pse.desk.model._program import ProgramModel
from pse.language.check import STANDARD, ModuleFile, ModuleReference
from pse.language.syntax import ast as sx
from pse.language.types import Element, Signature
from pse.modules import module_comment
from pse.modules.build import directive_text, find_modules


def palette(model: ProgramModel, root: str) -> Json:
    """Give the modules that a program can call, in groups.

    Parameters
    ----------
    model : ProgramModel
        The program.
    root : str
        The directory whose sources are offered.

    Returns
    -------
    dict
        Groups of modules, and the files whose directives are wrong; see docs/desk_protocol.md.

    See Also
    --------
    perform
    """
    listed, wrong = find_modules([root])
    imported = list(_imported(model))
    known = {(entry["module"]["file"], entry["name"]) for entry in imported}
    beside = [_entry(model, module.file, module.signature) for module in listed]
    groups = {
        "Imported": imported,
        "Segments": list(_segments(model)),
        "In this directory": [e for e in beside if (e["module"]["file"], e["name"]) not in known],
        "Standard library": [_standard(s) for s in model.finder.find(STANDARD, "").signatures],
    }
    problems = [
        {"path": os.path.relpath(f.path, root), "message": d.message} for f in wrong for d in f.diagnostics
    ]
    found = [{"title": title, "modules": modules} for title, modules in groups.items() if modules]
    return {"groups": found, "problems": problems}


def _segments(model: ProgramModel) -> Iterator[Json]:
    """Give the segments of the program, and those that it imports by name."""
    yield from (_segment(item, item.name.id) for item in model.items(sx.Segment))  # type: ignore[union-attr]
    imports = (item for item in model.items(sx.Import) if isinstance(item, sx.Import))
    for item in imports:
        for local in item.names or ():
            name = (local.alias or local.name).id
            if (segment := model.segment(name)) is not None:
                yield _segment(segment, name)


def _imported(model: ProgramModel) -> Iterator[Json]:
    for called, reference in model.drawn.inspection.modules.items():
        if reference.source is not None:
            yield _described(_relative(model, reference.source), reference) | {"called": called}


def _entry(model: ProgramModel, file: ModuleFile, signature: Signature) -> Json:
    return _described(_relative(model, file.source or file.path), _reference(file, signature))


def _relative(model: ProgramModel, source: str) -> str:
    return os.path.relpath(source, os.path.dirname(os.path.abspath(model.analysis.path)))


def _reference(file: ModuleFile, signature: Signature) -> ModuleReference:
    line = signature.span.line if signature.span else 1
    return ModuleReference(signature.name, signature, file.source, file.path, line, file.language)


def _described(file: str, reference: ModuleReference) -> Json:
    module = {"file": file, "name": reference.name}
    return _common(module, reference.signature, module_comment(reference), reference.language)


def _standard(signature: Signature) -> Json:
    reference = ModuleReference(signature.name, signature, None, STANDARD, 1, "std")
    return _common({"std": signature.name}, signature, module_comment(reference), "std")


def _common(module: Json, signature: Signature, doc: str, language: str) -> Json:
    inputs = [p.name for p in signature.inputs if p.type.element is not Element.COMM]
    return {
        "module": module,
        "name": signature.name,
        "signature": directive_text(signature),
        "doc": doc,
        "language": language,
        "inputs": inputs,
        "outputs": [p.name for p in signature.outputs],
    }


def _segment(item: Any, name: str) -> Json:
    inputs, outputs = _names(item.inputs), _names(item.outputs)
    results = f" -> ({', '.join(outputs)})" if outputs else ""
    return {
        "module": {"segment": name},
        "name": name,
        "doc": "",
        "language": "coven",
        "signature": f"{name}({', '.join(inputs)}){results}",
        "inputs": inputs,
        "outputs": outputs,
    }


def _names(fields: Iterable[sx.Field]) -> list[str]:
    return [field.name.id for field in fields]
