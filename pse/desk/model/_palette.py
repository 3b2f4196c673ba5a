"""What a program can call or declare: what it has and imports, what lies beside it, the standard library."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from pse.desk.model._graph import Json
from pse.desk.model._libraries import PROGRAM, LibraryItem, library_items
from pse.desk.model._program import ProgramModel
from pse.errors import PseError
from pse.language import read_program
from pse.language.check import STANDARD, ModuleFile, ModuleReference
from pse.language.syntax import ast as sx
from pse.language.types import Element, Signature, record_of
from pse.modules import module_comment
from pse.modules.build import directive_text, files_below, find_modules


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
    records = model.drawn.inspection.records
    beside = [_entry(model, module.file, module.signature) for module in listed]
    groups = {
        "Imported": imported,
        "Segments": list(_callable(model, sx.Segment)),
        "Types": [*_callable(model, sx.Bundle), *(_record(*record) for record in records.items())],
        "In this directory": [
            *(e for e in beside if (e["module"]["file"], e["name"]) not in known),
            *_foreign(model, root, list({module.file.path: module.file for module in listed}.values())),
        ],
        "Standard library": [_standard(s) for s in model.finder.find(STANDARD, "").signatures],
    }
    problems = [
        {"path": os.path.relpath(f.path, root), "message": d.message} for f in wrong for d in f.diagnostics
    ]
    found = [{"title": title, "modules": modules} for title, modules in groups.items() if modules]
    return {"groups": found, "problems": problems}


def _callable(model: ProgramModel, *kinds: type) -> Iterator[Json]:
    """Give the program's segments or bundles, and those that it imports."""
    yield from (_item(item, item.name.id) for item in model.items(*kinds) if isinstance(item, LibraryItem))
    for file in _imports(model):
        items = model.libraries.items_of(file.path) if file.path.endswith(PROGRAM) else ()
        for item in (one for one in items if isinstance(one, kinds)):
            yield from (_item(item, called) for called in _names_of(file, item.name.id))


def _imports(model: ProgramModel) -> list[sx.Import]:
    return [item for item in model.items(sx.Import) if isinstance(item, sx.Import)]


def _names_of(file: sx.Import, name: str) -> Iterator[str]:
    """Give what a program calls what a file has."""
    if file.alias is not None:
        yield f"{file.alias.id}.{name}"
    yield from ((local.alias or local.name).id for local in file.names or () if local.name.id == name)


def _foreign(model: ProgramModel, root: str, modules: Sequence[ModuleFile]) -> Iterator[Json]:
    """Give the segments and types of the directory's files, but for what the program imports."""
    own, imports = os.path.abspath(model.analysis.path), _imports(model)
    found = [(f.source or f.path, _record(r.label, r)) for f in modules for r in f.records]
    for path in files_below(root, (PROGRAM,)):
        is_around = os.path.abspath(path) == own or model.libraries.leads_here(path)
        items = () if is_around else _items_of(path)
        found += [(path, _item(item, item.name.id)) for item in items]
    for path, entry in found:
        file, name = _relative(model, path), entry["name"]
        if not any(item.path == file and any(_names_of(item, name)) for item in imports):
            yield entry | {"module": {"file": file, "name": name}}


def _items_of(path: str) -> Sequence[LibraryItem]:
    """Give what a file on disk has; nothing if it can't be read."""
    try:
        return library_items(read_program(path).text, path)
    except PseError:
        return ()


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


def _item(item: LibraryItem, name: str) -> Json:
    if not isinstance(item, sx.Segment):
        return _type(name, type(item).__name__.lower(), _names(item.members))
    inputs, outputs = _names(item.inputs), _names(item.outputs)
    results = f" -> ({', '.join(outputs)})" if outputs else ""
    signature = f"{name}({', '.join(inputs)}){results}"
    return _entry_of({"segment": name}, name, signature, "", inputs, outputs)


def _type(name: str, kind: str, members: Sequence[str]) -> Json:
    """Describe a bundle or a record, of which a `var` makes a tag."""
    signature = f"{kind} {name} {{ {', '.join(members)} }}"
    return _entry_of({"type": name}, name, signature, f"declares a tag: a {kind}")


def _record(name: str, element: Element) -> Json:
    record = record_of(element)
    return _type(name, "record", [field for field, _ in record.fields] if record is not None else [])


def _entry_of(
    module: Json, name: str, signature: str, doc: str, inputs: Sequence[str] = (), outputs: Sequence[str] = ()
) -> Json:
    ports = {"inputs": list(inputs), "outputs": list(outputs)}
    return {"module": module, "name": name, "doc": doc, "language": "coven", "signature": signature, **ports}


def _names(fields: Iterable[sx.Field]) -> list[str]:
    return [field.name.id for field in fields]
