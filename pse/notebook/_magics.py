"""The cell magic ``%%coven``: write, check and run a program, all in one cell.

Needs IPython, so nothing imports this file but ``%load_ext pse``.
"""

from __future__ import annotations

import shlex
from functools import partial
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import MagicArgumentParser

from pse.language import parse_defines
from pse.notebook._background import in_background
from pse.notebook._debugging import debugging_options
from pse.notebook._display import screen, show_cubes, tell
from pse.notebook._errors import NotebookError, ProgramRejected, asked_by_magic, translated
from pse.notebook._programs import cell_file, checked, written
from pse.notebook._result import Result
from pse.notebook._running import Job, make_job


def _parser() -> MagicArgumentParser:
    parser = MagicArgumentParser("%%coven", add_help=False)  # type: ignore[no-untyped-call]
    parser.add_argument("file", nargs="?", metavar="FILE")
    parser.add_argument("-p", "--processors", type=int, default=1, metavar="P")
    parser.add_argument("-D", dest="defines", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("-o", "--option", dest="options", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--trace", nargs="?", const=True, metavar="DIR")
    parser.add_argument("--tools", metavar="CONF")
    for switch in ("--debug", "--prefix", "--serial"):
        parser.add_argument(switch, action="store_true")
    parser.add_argument("--sanitize", metavar="address,undefined")
    parser.add_argument("--gdb", metavar="RANK|crash")
    parser.add_argument("--background", action="store_true")
    parser.add_argument("--name", default="result", metavar="VARIABLE")
    return parser


def _parsed(line: str) -> Any:
    """Take the line apart.

    Raises
    ------
    NotebookError
        If it is wrong.
    """
    try:
        given = _parser().parse_args(shlex.split(line))
    except (UsageError, ValueError) as error:
        raise NotebookError(f"%%coven {line}: {error}", help="%%coven? lists its options") from None
    if not given.name.isidentifier():
        message = f"--name {given.name}: this is not a valid name for a variable"
        raise NotebookError(message, help="for example:  --name result")
    if given.processors < 1:
        message = f"-p {given.processors}: the number of processors must be at least 1"
        raise NotebookError(message, help="for example:  -p 2")
    if str(given.trace or "").endswith(".coven"):
        message = f"--trace {given.trace}: this is taken as the directory of the trace, not as the program"
        raise NotebookError(message, help="name the program's file first: %%coven FILE --trace")
    return given


@magics_class
class CovenMagics(Magics):
    """Programs in cells."""

    @cell_magic
    def coven(self, line: str, cell: str) -> None:
        """Write the cell as a program, check it, and run it.

        ::

            %%coven [FILE] [-p P] [-D NAME=VALUE]… [-o NAME=VALUE]… [--trace [DIR]] [--tools CONF]
                    [--debug] [--prefix] [--serial] [--sanitize LIST] [--gdb RANK|crash]
                    [--background] [--name VARIABLE]

        The program goes into FILE (``cell-NAME.coven`` if there is none) in the current directory, beside the
        modules that it imports; what was there is overwritten.  What is wrong with it is shown, with the
        lines.  The result is put into VARIABLE (``result``) and shown; see `pse.run`.  With
        ``--background`` that is the run, which goes on; see `pse.start`.
        """
        given = _parsed(line)
        path = written(cell, given.file or cell_file(cell))
        with asked_by_magic():
            result = (
                in_background(partial(_job, given, path)) if given.background else _run(_job(given, path))
            )
        assert self.shell is not None
        self.shell.user_ns[given.name] = result
        tell(result)


def load_magics(shell: InteractiveShell) -> None:
    """Register the magic.

    Parameters
    ----------
    shell : InteractiveShell
        The notebook's IPython.

    See Also
    --------
    run
    """
    shell.register_magics(CovenMagics)
    show_cubes()


def _job(given: Any, path: str, more: dict[str, str] | None = None) -> Job:
    """Make the run that the line asks for; what is wrong with the program is shown in place."""
    try:
        found = checked(path)
        if found.warnings:
            tell(found.warnings)
        with translated():
            params = parse_defines(given.defines)
        how = debugging_options(
            **{name: getattr(given, name) for name in ("debug", "prefix", "serial", "sanitize", "gdb")}
        )
        return make_job(
            found,
            given.processors,
            params,
            given.options,
            given.trace,
            given.tools,
            debugging=how | (more or {}),
        )
    except ProgramRejected as error:
        tell(error.diagnostics)
        error.shown = True
        raise


def _run(job: Job) -> Result:
    """Run with progress that leaves nothing: the result will be shown."""
    shown = screen()
    try:
        return job.run(shown)
    finally:
        shown.close()
