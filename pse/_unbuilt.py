"""Say what to do when a compiled part of the package is not there.

A source tree shadows an installed package for whoever runs Python inside it, and has no extensions until they
are built.  The finder below is asked last, after every other way to import has failed.
"""

import os
import sys
from collections.abc import Sequence
from types import ModuleType


class UnbuiltFinder:
    """Meta path finder that turns a missing extension of this package into an error with advice."""

    @staticmethod
    def find_spec(fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Raise ModuleNotFoundError if `fullname` is one of our extensions; leave all other names alone."""
        package, _, name = fullname.rpartition(".")
        if not package.startswith("pse.") or not _is_declared(name, path or ()):
            return
        raise ModuleNotFoundError(
            f"{fullname} is a compiled part of pse and is not built in {os.path.dirname(__file__)}. "
            "In a source tree run `make ext` (or `pip install -e .`); "
            "to use an installed pse, run Python from another directory.",
            name=fullname,
        )


def _is_declared(name: str, path: Sequence[str]) -> bool:
    """Tell whether an extension `name` is declared, by its type stub, in a package's search `path`."""
    return any(os.path.exists(os.path.join(directory, f"{name}.pyi")) for directory in path)


def install() -> None:
    """Put the finder behind all others, once per interpreter."""
    if UnbuiltFinder not in sys.meta_path:
        sys.meta_path.append(UnbuiltFinder)
