"""What names of segments, bundles and records stand for, in a program and in the files that it imports."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from pse.errors import ModuleNotFound
from pse.language.syntax import ast as sx, parse_program
from pse.lsp import OpenFiles
from pse.modules import resolve_import

PROGRAM = ".coven"
LibraryItem = sx.Segment | sx.Bundle | sx.Record
_Kind = TypeVar("_Kind", sx.Segment, sx.Bundle)


class _File(NamedTuple):
    path: str
    items: Sequence[sx.Item]


class Libraries:
    """The items of a program, and those of other files.

    Parameters
    ----------
    finder : OpenFiles
        Finds files.
    path : str
        The program's file.
    items : sequence of Item
        What is in it.

    See Also
    --------
    perform
    """

    def __init__(self, finder: OpenFiles, path: str, items: Sequence[sx.Item]) -> None:
        self._finder, self._own = finder, _File(path, items)
        self._members: dict[tuple[str, str], tuple[str, ...]] = {}

    @functools.cached_property
    def may_have_bundles(self) -> bool:
        """Whether names may stand for bundles, which most programs have none of."""
        return any(isinstance(item, sx.Bundle) or _is_of_program(item) for item in self._own.items)

    def items_of(self, import_path: str) -> list[LibraryItem]:
        """Give the segments, bundles and records of another file; none if it can't be read."""
        file = self._file(import_path, self._own.path)
        return [item for item in file.items if isinstance(item, LibraryItem)]

    def item_of(self, import_path: str, name: str) -> LibraryItem | None:
        """Give a segment, bundle or record of another file."""
        return next((item for item in self.items_of(import_path) if item.name.id == name), None)

    def leads_here(self, path: str) -> bool:
        """Whether a file imports this program, itself or through others: then the program can't import it."""
        own, been, waiting = os.path.abspath(self._own.path), set[str](), [path]
        while waiting:
            file = self._file(os.path.basename(path := waiting.pop()), path)
            been.add(path)
            found = set(_imported_files(file))
            if own in found:
                return True
            waiting += found - been
        return False

    def segment(self, called: str) -> sx.Segment | None:
        """Give the segment that the program's calls name so."""
        return self._find(sx.Segment, called, self._own)

    def members(self, node: object) -> tuple[str, ...]:
        """Give the members of the bundle with which a tag, or a segment's field, is declared; else none."""
        if not isinstance(node, sx.Var | sx.Field) or node.indices is not None:
            return ()
        path, type = node.span.path, node.type.element.id
        if (path, type) not in self._members:
            here = path == self._own.path
            file = self._own if here else self._file(os.path.basename(path), path)
            bundle = self._find(sx.Bundle, type, file)
            self._members[path, type] = tuple(member.name.id for member in bundle.members) if bundle else ()
        return self._members[path, type]

    def _find(self, kind: type[_Kind], name: str, file: _File) -> _Kind | None:
        """Give what a name stands for in a file; imports that lead back to where they began have nothing."""
        been = set[tuple[str, str]]()
        while (file.path, name) not in been:
            been.add((file.path, name))
            for item in file.items:
                if isinstance(item, kind) and item.name.id == name:
                    return item
            origin = _origin(file.items, name)
            if origin is None:
                break
            import_path, name = origin
            file = self._file(import_path, file.path)
        return None

    def _file(self, import_path: str, importing_file: str) -> _File:
        try:
            path, text, _ = self._finder.read_program(import_path, importing_file)
        except ModuleNotFound:
            return _File(import_path, ())
        return _File(path, _items(text, path))


def library_items(text: str, path: str) -> list[LibraryItem]:
    """Give what a file has for programs that import it, but for modules, parameters and partitions."""
    return [item for item in _items(text, path) if isinstance(item, LibraryItem)]


def _is_of_program(item: sx.Item) -> bool:
    return isinstance(item, sx.Import) and item.path.endswith(PROGRAM)


def _imported_files(file: _File) -> Iterator[str]:
    for item in file.items:
        if isinstance(item, sx.Import) and _is_of_program(item):
            with contextlib.suppress(ModuleNotFound):
                yield os.path.abspath(resolve_import(item.path, file.path))


def _origin(items: Sequence[sx.Item], name: str) -> tuple[str, str] | None:
    """Give the file from which a name is imported, and what it is called there."""
    for item in items:
        if not isinstance(item, sx.Import) or not _is_of_program(item):
            continue
        alias, _, last = name.rpartition(".")
        if alias and item.alias is not None and item.alias.id == alias:
            return item.path, last
        for imported in item.names or ():
            if (imported.alias or imported.name).id == name:
                return item.path, imported.name.id
    return None


@functools.lru_cache(64)
def _items(text: str, path: str) -> tuple[sx.Item, ...]:
    tree = parse_program(text, path).tree
    return tree.items if tree is not None else ()
