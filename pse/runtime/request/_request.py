"""Check a request: check the program, place its threads, bind its parameters.

The launcher and every rank do this with the same request and must get the same result; nothing is run and
nothing built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pse import _proc
from pse.errors import ProgramError, UsageError
from pse.language import bind_parameters
from pse.language.check import ResolvedProgram
from pse.language.diagnostics import ProgramRefused, has_errors
from pse.language.io import ProgramFile, check_file
from pse.modules import Finder
from pse.program import Placement, place_threads
from pse.runtime.checkpoint._files import make_directory
from pse.runtime.distribution._partition_placement import is_users, partition_counts
from pse.runtime.request._changes import checked_changes
from pse.runtime.request._file_names import require_formats
from pse.runtime.request._options import Options, resolve
from pse.runtime.request._prepared import Prepared, Request
from pse.runtime.request._resume import check_pending, check_processors, continued, remarks, room_for
from pse.runtime.request._watchable import require_recordable, require_watchable
from pse.text import count_text, list_text

_PLANNED_QUICKLY = 64
"""Partitions, and ranks, for which plans are made sooner than ranks come up."""


def prepare(request: Request, ranks: int | None = None, file: ProgramFile | None = None) -> Prepared:
    """Check a request: the program, its parameters, options and where its threads run.

    Parameters
    ----------
    request : Request
        What the command line asks for.
    ranks : int, optional
        How many ranks there are; given by ranks, which infer the processors from it.
    file : ProgramFile, optional
        The program, if it has been checked already.

    Returns
    -------
    Prepared
        The checked program with everything that a run of it needs; the same on all ranks.

    Raises
    ------
    ProgramRefused
        If the program, or a value for a parameter, is wrong.
    UsageError
        If something else on the command line is wrong.
    ModuleError
        If a file that the program saves or loads has no format, or a package for it is not installed.
    CheckpointRefused
        If the request resumes a run whose checkpoint can't be read.

    Examples
    --------
    >>> prepared = prepare(Request("heat.coven", {"NX": "64"}, processors=2))
    >>> prepared.processors, prepared.ranks
    (2, 5)
    """
    for option, given in (("--quiet", request.quiet), ("--serial", request.serial)):
        if request.live and given:
            raise UsageError(f"--live and {option} exclude each other", help="give only one of the two")
    kept = None
    if request.resume:
        request, kept = continued(request)
    if file is None or kept or (file.program is not None and file.program.assumed.keys() & request.defines):
        file = check_file(request.program, Finder(), kept.text if kept else None, request.defines)
    program = file.required()
    placement = place_threads(program, serial=request.serial)
    threads = dict.fromkeys(key.label for key in place_threads(program).keys)
    inferred = ranks is not None and placement.parallel_threads and not placement.serial
    if kept and request.processors is None and not inferred:
        request = replace(request, processors=kept.processors)
    processors = _processors(request, placement, ranks)
    if request.gdb is not None:
        _check_gdb(request.gdb, placement.ranks(1 if placement.serial else processors))
    environment, diagnostics = bind_parameters(program, request.defines, processors)
    if has_errors(diagnostics):
        raise ProgramRefused(diagnostics, {file.path: file.text}, UsageError.exit_code)
    require_formats(program, environment)
    options = resolve(program.options, request.options, threads)
    if request.trace is not None:
        make_directory("--trace", request.trace)
    if kept:
        check_processors(program, environment, kept)
        check_pending(placement, kept)
    said = remarks(request, kept, program) if kept else room_for(request, program)
    processors = 1 if placement.serial else processors
    placement = _fold(program, placement, options, partition_counts(program, environment), processors)
    require_watchable(program, *request.watch)
    require_recordable(program, placement, request.watch)
    changes = checked_changes(program, environment, request.changes, processors)
    return Prepared(request, program, placement, processors, environment, options, file, said, kept, changes)


def build(prepared: Prepared) -> None:
    """Build the modules of a program.

    Raises
    ------
    ProgramError
        If it calls none.
    BuildError
        If one of them can't be built.
    """
    if prepared.ranks == 0:
        raise ProgramError(
            f"{prepared.program.path}: the program calls no module: there is nothing to run",
            help="add a call, for example: thread_A print(1)",
        )
    if any(module.source is not None and module.language != "python" for module in prepared.program.modules):
        from pse.modules import build_modules

        build_modules(prepared.program.modules, prepared.request.build)


def planned_quickly(prepared: Prepared) -> bool:
    """Say whether the first rank may dry-run the program: it takes no longer than others take to come up."""
    partitions = sum(partition_counts(prepared.program, prepared.environment).values())
    return max(prepared.ranks, partitions) <= _PLANNED_QUICKLY


def _fold(
    program: ResolvedProgram,
    placement: Placement,
    options: Options,
    partitions: Mapping[str, int],
    processors: int,
) -> Placement:
    """Let threads that can't overlap be one; in PARALLEL where no processor ever has two partitions."""
    if not options.fold or len(placement.keys) == 1:
        return placement
    from pse.program import fold_threads

    fixed = options.balance == 0 and not is_users(options.placement)
    alone = fixed and all(count <= processors for count in partitions.values())
    return fold_threads(program, placement, parallel=alone)


def _check_gdb(asked: str, ranks: int) -> None:
    if asked != "crash" and not (asked.isdecimal() and int(asked) < ranks):
        raise UsageError(
            f"--gdb {asked}: expected the number of a rank or `crash`",
            help="there is only rank 0" if ranks == 1 else f"the ranks are 0 to {ranks - 1}",
        )
    import shutil  # Most runs have no debugger.

    if shutil.which("gdb") is None:
        raise UsageError("there is no gdb on PATH for --gdb", help="install gdb with the system's packages")


def _processors(request: Request, placement: Placement, ranks: int | None) -> int:
    if placement.serial and ranks not in (None, 1):
        raise UsageError(f"--serial runs one rank; MPI started {ranks}", help="start it without mpiexec")
    if ranks is None or placement.serial or (not placement.parallel_threads and ranks == placement.ranks(1)):
        return request.processors or 1  # Without PARALLEL the number of ranks doesn't depend on it.
    inferred = placement.processors_for(ranks)
    if inferred is None:
        raise UsageError(_misfit(request, placement, ranks), help=_fitting(placement, ranks))
    if request.processors is not None and request.processors != inferred:
        raise UsageError(
            f"-p {request.processors} needs {placement.ranks(request.processors)} ranks; MPI started {ranks}",
            help=f"leave out -p, or start {placement.ranks(request.processors)} ranks",
        )
    return inferred


def _misfit(request: Request, placement: Placement, ranks: int) -> str:
    root, width = len(placement.root_threads), len(placement.parallel_threads)
    shares = []
    if root:
        shares.append(f"{count_text(root, 'rank')} for the root ({', '.join(placement.root_threads)})")
    if width:
        shares.append(
            f"{count_text(width, 'rank')} for each processor ({', '.join(placement.parallel_threads)})"
        )
    verb = "doesn't" if ranks == 1 else "don't"
    return f"{count_text(ranks, 'rank')} {verb} fit {request.program}: it runs {list_text(shares)}"


def _fitting(placement: Placement, ranks: int) -> str:
    tasks = _proc.unconnected_tasks()
    if tasks > 1:
        return (
            f"each of srun's {tasks} tasks is an MPI job of its own here: connect them by srun --mpi=pmi2, "
            "or pmix where the site's MPI wants that (srun --mpi=list shows what there is)"
        )
    choices = [f"-n {n} (P = {placement.processors_for(n)})" for n in placement.nearest_ranks(ranks)]
    return f"mpirun {list_text(choices, 'or')} fits"
