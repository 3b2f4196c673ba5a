"""What stands between a command and the shell: every exception becomes a message and an exit code.

How errors are printed is in `pse.runtime.supervise`, which is imported only when something fails.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator

import click

from pse.runtime.supervise import is_stream_full, open_closed_streams, redirect_to_null


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Turn exceptions into messages on standard error and exit codes.

    Failures that pse knows have exit codes of their own, a Ctrl-C gives 130, a reader that went away 141, and
    what nobody foresaw 3 with one line (and the traceback if PSE_DEBUG is set).  Click's own exceptions pass.
    """
    open_closed_streams()
    try:
        _stand_somewhere()
        yield
        sys.stdout.flush()
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except KeyboardInterrupt:
        click.echo("stopped by SIGINT", err=True)
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:
        # Python would complain about it once more at its end.
        redirect_to_null(sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except Exception as error:
        from pse.runtime.supervise import exit_code_of, print_error

        if is_stream_full(error):
            redirect_to_null(sys.stdout.fileno())
        with contextlib.suppress(OSError):
            print_error(error, sys.stderr)
            sys.stderr.flush()
        sys.exit(exit_code_of(error))


def _stand_somewhere() -> None:
    try:
        os.getcwd()
    except OSError as error:
        from pse.errors import UsageError

        message = f"the current directory can't be used: {error.strerror}"
        raise UsageError(message, help="change to a directory that exists") from None
