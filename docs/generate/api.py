"""Write the API reference: one page for each room, with what its facade exports, from the docstrings.

mkdocs-gen-files runs this file while the manual is built.
"""

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import mkdocs_gen_files

import pse

NOT_IMPORTED = {"cli", "__main__"}
"""What users call by its command, not from Python."""


def rooms() -> Iterator[str]:
    """Name the rooms and public modules of `pse` in alphabetical order."""
    names = sorted(module.name for module in pkgutil.iter_modules(pse.__path__))
    yield from (f"pse.{name}" for name in names if not name.startswith("_") and name not in NOT_IMPORTED)


def facades(name: str) -> Iterator[ModuleType]:
    """Give the room and its subpackages, as far as they export something."""
    module = importlib.import_module(name)
    if getattr(module, "__all__", None):
        yield module
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if found.ispkg and not found.name.startswith("_"):
            yield from facades(f"{name}.{found.name}")


def section(module: ModuleType, level: int) -> str:
    """Write a facade's own text and an entry for each exported name."""
    entries = [f"::: {module.__name__}.{name}" for name in exported(module)]
    head = f"::: {module.__name__}\n    options:\n      heading_level: {level}\n      members: false"
    options = f"\n    options:\n      heading_level: {level + 1}"
    return "\n\n".join([head, *(entry + options for entry in entries)])


def exported(module: ModuleType) -> list[str]:
    """Name what a facade exports, without what is a module itself and has a section or page of its own."""
    return [
        name
        for name in sorted(module.__all__, key=str.lower)
        if not isinstance(getattr(module, name), ModuleType) and name != "__version__"
    ]


def write(module: ModuleType, *more: ModuleType) -> str:
    """Write a page; gives its line for the navigation."""
    file = f"{module.__name__}.md"
    sections = [section(module, 1), *(section(facade, 2) for facade in more)]
    with mkdocs_gen_files.open(f"api/{file}", "w") as page:
        print("\n\n".join(sections), file=page)
    return f"- [{module.__name__}]({file})"


lines = [write(*found) for room in rooms() if (found := list(facades(room)))]
with mkdocs_gen_files.open("api/SUMMARY.md", "w") as navigation:
    print("\n".join(lines), file=navigation)
