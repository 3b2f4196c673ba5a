"""A problem-solving environment: compose modules in a ``.coven`` program, run it on MPI, see what happened.

Every rank imports this file: it holds nothing that costs import time.  The rooms behind it are described in
docs/design.md; a room imports only rooms below it.
"""

import _signal  # type: ignore[import-not-found]  # `signal` would load other modules.
import os
import sys

# What was started, before its arguments: a Ctrl-C in `pse` or `python -m pse` is no traceback from here on.
# What shells start in the background of a script ignores it, and does so on.
if [os.path.basename(word) for word in sys.orig_argv[-len(sys.argv) :][:1]] == ["pse"] and _signal.getsignal(
    _signal.SIGINT
) != _signal.SIG_IGN:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

from pse._unbuilt import install as _explain_unbuilt_extensions
from pse._version import __version__

TYPE_CHECKING = False  # To import `typing` takes time.
if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["__version__", "experiment", "module", "run", "start"]

_ROOMS = ("ace", "advise", "analysis", "bcs", "cluster", "partition", "trace", "views")
"""What users find behind `import pse` without importing it by name."""

_explain_unbuilt_extensions()


def __getattr__(name: str) -> object:
    """Import `module` (the decorator of modules in Python), `run` and its kin, or a room when first used."""
    if name == "module":
        from pse.modules.load import module

        return module
    if name in ("run", "start", "experiment"):
        from pse import notebook

        return getattr(notebook, name)
    if name in _ROOMS:
        import importlib

        return importlib.import_module(f"pse.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name what users find here, so that completion offers it before it is imported."""
    return [*__all__, *_ROOMS]


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Bring the cell magic ``%%coven``: what ``%load_ext pse`` calls."""
    from pse.notebook import load_magics

    load_magics(shell)
