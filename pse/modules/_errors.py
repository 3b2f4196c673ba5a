"""What goes wrong with modules: building them, loading them, calling them."""

from __future__ import annotations

from pse.errors import ProgramError, RunError


class BuildError(ProgramError):
    """A module's source can't be built: the compiler refuses it, or there is no compiler or library for it.

    The message holds the compiler's own words, with the user's file and line.

    Examples
    --------
    >>> _ = Path("broken.c").write_text("//@ coven module f(in f64 x)\\nint f(double x) { return y; }\\n")
    >>> from pse.modules import build_module
    >>> build_module("broken.c")
    Traceback (most recent call last):
        ...
    BuildError: broken.c doesn't compile
     its modules: f (broken.c:1)
    ...
    """


class ModuleError(RunError):
    """A module did something wrong while it was loaded or called.

    Parameters
    ----------
    message : str
        Names the module, the parameter, what was expected and what came.
    traceback : str
        The module's own frames, innermost last; empty where no exception was raised.
    help : str, optional
        What to do.

    See Also
    --------
    call_python

    Examples
    --------
    >>> from pse.modules import call_python, load_module
    >>> call_python(load_module(pipeline.modules[2]), [None])
    Traceback (most recent call last):
        ...
    ModuleError: module `total` (stages.py:14) raised AttributeError: 'NoneType' object has no attribute 'sum'
    """

    def __init__(self, message: str, *, help: str | None = None, traceback: str = "") -> None:
        super().__init__(message, help=help)
        self.traceback = traceback
