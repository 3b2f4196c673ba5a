"""``python -m pse``: one rank of a run inside an MPI job; with the name of a command, that command.

``mpirun -n N python -m pse PROGRAM …`` comes here N times, and so does the launcher of ``pse run``.  Only
the first rank complains about the command line.  Commands work inside an MPI job too: ``analyze`` and ``ace
run`` are executed by all of its processes together, others by the first.
Nothing heavy is imported before the node's monitor has been started.
"""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]
    sys.path.append("")  # Files where the user works hide no other module, whatever their names are.

import contextlib
import importlib.util
import io
import os
from typing import TYPE_CHECKING, NoReturn

from pse import _loading, _proc
from pse._abi.environment import TOOLS_OBJECT, TOOLS_VARIABLE
from pse._interrupt import stop_on_interrupt
from pse.runtime.faults import ending_the_job, name_aborts
from pse.runtime.supervise import open_closed_streams, prepare_rank_process

if TYPE_CHECKING:
    import click

    from pse.runtime.request import Request

SERIAL = "--serial"  # Outside an MPI job, this as the first word makes the process the only rank.
TOGETHER = (["analyze"], ["ace", "run"])  # The commands that the processes of an MPI job execute together.


def main() -> None:
    """Be a rank, or the command that is named."""
    _loading.begin()
    open_closed_streams()
    with ending_the_job():
        from pse.runtime.supervise import inside_mpi_job

        named = sys.argv[1] if len(sys.argv) > 1 else ""
        if named.endswith(".coven") or named == SERIAL or (inside_mpi_job() and not _is_command(named)):
            sys.exit(_be_rank())
    stop_on_interrupt()
    from pse.cli import main as commands

    if inside_mpi_job():
        _execute_together(commands)
    commands(prog_name="python -m pse")


def _is_command(word: str) -> bool:
    """Say whether a rank is not one of a program with this name, but executes a command of ``pse``."""
    if word == "resume" or not word.isidentifier() or os.path.exists(word):
        return False
    return importlib.util.find_spec(f"pse.cli.{word}") is not None


def _execute_together(commands: "click.Command") -> NoReturn:
    """Execute a command on all ranks of a job; one of them says what is wrong with the command line."""
    import click

    from pse.runtime.supervise import outlive_first_rank, own_rank

    together = any(sys.argv[1 : 1 + len(words)] == words for words in TOGETHER)
    if not together and own_rank() not in (None, 0):
        sys.exit()
    try:
        done = commands.main(prog_name="python -m pse", standalone_mode=False)
    except click.ClickException as error:
        if own_rank() in (None, 0):
            error.show()
        outlive_first_rank()
        done = error.exit_code
    sys.exit(done)


def _be_rank() -> int:
    from pse.runtime.supervise import (
        MonitorHandle,
        die_with_mpiexec,
        find_launcher,
        local_rank,
        raise_file_limit,
    )

    launcher = find_launcher()
    if launcher is not None:
        die_with_mpiexec()
    raise_file_limit(1)
    if _needs_preloads():
        from pse.cli._options.run import restart_with_preloads

        restart_with_preloads(_parse())
    watched = launcher is not None and launcher.sees_all
    # Tasks that nothing connects are most likely no ranks of one job.
    early = not watched and _proc.unconnected_tasks() == 1
    monitor = MonitorHandle() if local_rank() == 0 and early else None
    depends = early and local_rank() not in (None, 0)
    name_aborts()
    from pse.runtime.request import read_rank_arguments

    request = _parse() if launcher is None else read_rank_arguments(sys.argv[1:])
    prepare_rank_process(serial=request.serial)
    wait_tool = None
    if request.may_use_coopwait:
        from pse.toolstack import Coopwait

        wait_tool = Coopwait()
    if depends:
        MonitorHandle.start_if_first_rank_is_dead()
    from pse.runtime.rank import run_rank

    return run_rank(request, monitor, wait_tool)


def _needs_preloads() -> bool:
    """Tell whether tools or sanitizers that the command line or environment names may be missing here."""
    if any(word.startswith(("--tools", "--sanitize")) for word in sys.argv):
        return True
    return bool(os.environ.get(TOOLS_VARIABLE)) and TOOLS_OBJECT not in os.environ.get("LD_PRELOAD", "")


def _parse() -> "Request":
    """Read the command line; what is wrong with it is said by one rank and makes all of them leave."""
    import click

    from pse.cli import resume, run
    from pse.runtime.request import Request
    from pse.runtime.supervise import outlive_first_rank, own_rank

    words = sys.argv[1:]
    if words[:2] == [SERIAL, "resume"]:
        words[:2] = reversed(words[:2])
    chosen = resume.rank_command if words[:1] == ["resume"] else run.rank_command
    with contextlib.ExitStack() as stack:
        if own_rank() not in (None, 0):
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        try:
            made = chosen.main(words[chosen is resume.rank_command :], standalone_mode=False)
        except click.ClickException as error:
            error.show()
            outlive_first_rank()
            sys.exit(error.exit_code)
    if not isinstance(made, Request):
        sys.exit(made)  # --help
    return made


if __name__ == "__main__":
    main()
