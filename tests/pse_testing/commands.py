"""The command line in the test's own process: what a command that starts no ranks prints and returns."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from click.testing import CliRunner

from pse.cli import main


def run_here(
    *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] = {}, stdin: str = ""
) -> tuple[int, str, str]:
    """Run a command that starts no ranks; give its exit code, its standard output and its error output."""
    words = [str(argument) for argument in arguments]
    with contextlib.chdir(cwd or os.getcwd()):
        result = CliRunner().invoke(main, words, env=env, input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr
