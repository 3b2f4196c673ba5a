"""A problem-solving environment: compose modules in a ``.coven`` program, run it on MPI, see what happened.

This file is a thin façade.  It holds the version and nothing that costs import time: every rank imports it.
The rooms behind it, from the ground up, are ``language``, ``graph``, ``memory``, ``trace``, ``modules``,
``runtime``, ``cluster``, ``notebook``, ``bench`` and ``cli``; a room imports only rooms below it.
"""

from typing import Any

from pse._unbuilt import install as _explain_unbuilt_extensions

__version__ = "0.1.0.dev0"
__all__ = ["__version__", "experiment", "module", "run"]

_explain_unbuilt_extensions()


def __getattr__(name: str) -> object:
    """Import `module` (the decorator of modules written in Python), `run` or `experiment` when first used."""
    if name == "module":
        from pse.modules.load import module

        return module
    if name in ("run", "experiment"):
        from pse import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """Bring the cell magic ``%%coven``: what ``%load_ext pse`` calls."""
    from pse.notebook import load

    load(shell)
