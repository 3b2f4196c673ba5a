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


_ENDLESS = """#!/bin/sh
case "$*" in
  *-shared*) sleep 1000 & echo $! > "$STARTED.draft"; mv "$STARTED.draft" "$STARTED"; wait ;;
  *) exec cc "$@" ;;
esac
"""


class EndlessCompiler:
    """A compiler that doesn't come to an end, and has started another process.

    `environment` has whoever builds use it, and a cache of its own.
    """

    def __init__(self, folder: Path) -> None:
        self._started = folder / "started"
        compiler = folder / "compiler"
        compiler.write_text(_ENDLESS)
        compiler.chmod(0o755)
        self.environment = {"CC": str(compiler), "STARTED": str(self._started), "XDG_CACHE_HOME": str(folder)}

    @property
    def has_started(self) -> bool:
        """Whether it is at work."""
        return self._started.exists()

    @property
    def is_gone(self) -> bool:
        """Whether what it started has ended."""
        line = Path(f"/proc/{self._started.read_text().strip()}/cmdline")
        return not line.exists() or not line.read_bytes()


def write_module(folder: Path) -> None:
    """Write a module for it, `slow.c`, and a program that calls it."""
    (folder / "slow.c").write_text("//@ coven module slow(in f64 x)\nint slow(double x) { return 0; }\n")
    (folder / "slow.coven").write_text('coven 1\nimport "slow.c" { slow }\nprogram p { slow(1.0) }\n')
