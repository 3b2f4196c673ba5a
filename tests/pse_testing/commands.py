"""The command line in the test's own process: what a command that starts no ranks prints and returns."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from click.testing import CliRunner, Result

from pse.cli import main

WITHOUT_RANKS = {"advise", "check", "cube", "explain", "fmt", "graph", "trace", "view"}
"""Commands that start no ranks, and so need no process of their own."""


def run_here(
    *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] = {}, stdin: str = ""
) -> tuple[int, str, str]:
    """Run a command that starts no ranks; give its exit code, its standard output and its error output."""
    result = _invoked([str(argument) for argument in arguments], cwd, env, stdin)
    return result.exit_code, result.stdout, result.stderr


def shown_here(words: list[str], cwd: Path, env: Mapping[str, str]) -> tuple[int, str]:
    """Run a command that starts no ranks; give its exit code, and what a terminal would show."""
    result = _invoked(words, cwd, env)
    return result.exit_code, result.output


def _invoked(words: list[str], cwd: Path | None, env: Mapping[str, str], stdin: str = "") -> Result:
    with contextlib.chdir(cwd or os.getcwd()):
        result = CliRunner().invoke(main, words, env=env, input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result
