"""Write the API reference: one page for each room, with what its facade exports, from the docstrings.

A hook of mkdocs: `mkdocs.yml` names it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pse

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

COMMANDS = {"cli", "__main__"}
"""What users call from a shell, not from Python: docs/generate/command_line.py describes it."""

NAMES = """## Names in examples

Examples in this reference have `import numpy as np`, `from pathlib import Path`, `import pse` and
`from pse import partition` before them. In the directory are the programs `heat.coven` and `pipeline.coven`,
a trace `run1` of the second, traces `mpi1` and `mpi2` of MPI programs, and measurements `run.ace`
and `after.ace`.

| name | what it is |
| --- | --- |
| `program`, `pipeline` | the two programs, as `pse.language.io.check_file` gives them |
| `wrong` | a program file with an error, from `check_file` too |
| `trace` | `pse.trace.open("run1")` |
| `cube` | `pse.analysis.analyze("mpi1")` |
"""


def home(module: ModuleType) -> ModuleType:
    """Give the room whose names a module offers to users (`pse.bcs` those of `pse.coschedule`), or itself."""
    room: ModuleType = getattr(module, "_room", module)
    return room


def rooms() -> list[ModuleType]:
    """Give `pse` itself, then its rooms and public modules in alphabetical order.

    A room that users know by another name has its page under that one.
    """
    names = sorted(found.name for found in pkgutil.iter_modules(pse.__path__))
    public = [name for name in names if not name.startswith("_") and name not in COMMANDS]
    modules = [pse, *(importlib.import_module(f"pse.{name}") for name in public)]
    renamed = [home(module) for module in modules if home(module) is not module]
    return [module for module in modules if module not in renamed]


def subpackages(room: ModuleType) -> Iterator[ModuleType]:
    """Give the subpackages of a room that export something."""
    if room is pse:
        return
    for found in pkgutil.iter_modules(getattr(home(room), "__path__", ())):
        if found.ispkg and not found.name.startswith("_"):
            package = importlib.import_module(f"{home(room).__name__}.{found.name}")
            if exported(package):
                yield package


def exported(module: ModuleType) -> list[str]:
    """Name what a facade exports, or the classes and functions that a module defines for others."""
    own = module.__name__
    defined = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == own]
    names = getattr(module, "__all__", defined)
    return [name for name in sorted(names, key=str.lower) if not name.startswith("_")]


def section(module: ModuleType, level: int) -> Iterator[str]:
    """Write a facade's own text, then an entry for each name that it exports."""
    yield entry(module.__name__, heading_level=level, members="false")
    for name in exported(module):
        shown = f"{module.__name__}.{name}"
        yield entry(place(home(module), name), heading_level=level + 1, heading=shown, toc_label=name)


def place(module: ModuleType, name: str) -> str:
    """Give the dotted name under which mkdocstrings, which imports nothing, finds an exported name."""
    if Path(module.__file__ or "").with_suffix(".pyi").exists() or not hasattr(module, "__path__"):
        return f"{module.__name__}.{name}"
    found = getattr(module, name)
    return f"{found.__module__}.{found.__qualname__}"


def entry(name: str, **options: object) -> str:
    """Write what mkdocstrings makes an entry of."""
    lines = [f"      {option}: {value}" for option, value in options.items()]
    return "\n".join([f"::: {name}", "    options:", *lines])


def page(room: ModuleType) -> str:
    """Write the page of a room: its own facade, then those of its subpackages."""
    inner = (part for package in subpackages(room) for part in section(package, 2))
    return "\n\n".join([*section(room, 1), *inner, *([NAMES] if room is pse else [])])


def on_config(config: MkDocsConfig) -> None:
    """Put the pages where the navigation has `api/`."""
    pages = [{room.__name__: f"api/{room.__name__}.md"} for room in rooms()]
    entries = [entry for part in config.nav or () for entry in next(iter(part.values()))]
    for entry in entries:
        if isinstance(entry, dict) and "api/" in entry.values():
            entry.update(dict.fromkeys(entry, pages))


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages."""
    from mkdocs.structure.files import File  # Only where the manual is built.

    for room in rooms():
        files.append(File.generated(config, f"api/{room.__name__}.md", content=page(room)))
