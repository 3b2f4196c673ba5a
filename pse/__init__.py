"""A problem-solving environment: compose modules in a ``.coven`` program, run it on MPI, see what happened.

This file is a thin façade.  It holds the version and nothing that costs import time: every rank imports it.
The rooms behind it, from the ground up, are ``language``, ``graph``, ``memory``, ``trace``, ``modules``,
``runtime``, ``cluster``, ``bench`` and ``cli``; a room imports only rooms below it.
"""

from pse._unbuilt import install as _explain_unbuilt_extensions

__version__ = "0.1.0.dev0"
__all__ = ["__version__", "module"]

_explain_unbuilt_extensions()


def __getattr__(name: str) -> object:
    """Import ``pse.module``, the decorator of modules written in Python, when it is first used."""
    if name == "module":
        from pse.modules.decorator import module

        return module
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
