"""A compiler that doesn't come to an end, and has started another process."""

from pathlib import Path

_SCRIPT = """#!/bin/sh
case "$*" in
  *-shared*) sleep 1000 & echo $! > "$STARTED.draft"; mv "$STARTED.draft" "$STARTED"; wait ;;
  *) exec cc "$@" ;;
esac
"""


class EndlessCompiler:
    """Stands in for the C compiler; `environment` has whoever builds use it, and a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self._started = folder / "started"
        compiler = folder / "compiler"
        compiler.write_text(_SCRIPT)
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
