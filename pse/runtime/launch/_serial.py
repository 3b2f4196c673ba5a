"""`pse run --serial`: this process becomes the only rank, with the terminal as its standard input."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import NoReturn

from pse.errors import UsageError
from pse.runtime.launch._mpiexec import Hosts
from pse.runtime.request._prepared import Request
from pse.runtime.request._rank_arguments import rank_arguments
from pse.runtime.request._request import build, prepare
from pse.runtime.status._progress import announce_preparation
from pse.runtime.supervise._file_limit import raise_file_limit


def run_serially(request: Request, hosts: Hosts) -> NoReturn:
    """Run a program in this process: no mpiexec, no launcher.

    Raises
    ------
    PseError
        If the program can't run so.
    """
    for option, given in (("--hosts", hosts.names), ("--hostfile", hosts.file)):
        if given:
            raise UsageError(
                f"{option} and --serial exclude each other",
                help="--serial runs one rank, on this machine",
            )
    from pse.runtime.request._dry_run import dry_run

    raise_file_limit(1)
    prepared = prepare(request)
    with announce_preparation(prepared):
        build(prepared)
        dry_run(prepared)
    sys.stdout.flush()
    sys.stderr.flush()
    alone = replace(request, coopwait=False)  # It has nobody to wait for.
    os.execv(sys.executable, [sys.executable, "-P", "-m", "pse", "--serial", *rank_arguments(alone)])
