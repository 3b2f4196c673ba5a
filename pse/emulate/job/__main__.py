"""A rank of a launch: ``python -m pse.emulate.job CONFIGURATION.json LAUNCH NAME.ace`` in an MPI job.

The driver starts it instead of the command line's ``pse ace run``, since a launch may take less than the
imports of that.
"""

import signal
import sys
from pathlib import Path

from pse.runtime.faults import ending_the_job
from pse.runtime.supervise import open_closed_streams


def main() -> None:
    """Be the rank."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # The driver ends the job.
    open_closed_streams()
    with ending_the_job():
        import mpi4py

        mpi4py.rc.threads = False  # As programs in C start MPI, unless they ask for more.
        from pse.emulate.job import _clock  # noqa: F401  # It measures from its import on.
        from pse.emulate.job._command import prepared_configuration
        from pse.emulate.job._launch import run_launch

        asked, launch, target = sys.argv[1:]
        found = run_launch(prepared_configuration(Path(asked)), int(launch))
        if found is not None:
            found.save(target)


if __name__ == "__main__":
    main()
