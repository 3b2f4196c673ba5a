"""``pse fmt``: write programs in their canonical form."""

import os
import sys
import tempfile
from pathlib import Path

import click

from pse.language.errors import UsageError
from pse.language.formatter import format_program
from pse.language.parser import parse
from pse.language.reading import read_program
from pse.language.terminal import show


@click.command("fmt")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--check", "only_check", is_flag=True, help="Change nothing; exit code 1 if a file would change."
)
def command(files: tuple[str, ...], only_check: bool) -> None:
    """Write programs in their canonical form; comments stay where they are.

    A file with syntax errors is left as it is (exit code 1).
    """
    wrong = False
    for path in files:
        text, diagnostics = read_program(path)
        diagnostics = diagnostics or parse(text, path).diagnostics
        if diagnostics:
            show(diagnostics, {path: text}, sys.stdout)
            wrong = True
            continue
        formatted = format_program(text, path)
        if _bytes(formatted) == Path(path).read_bytes():
            continue
        click.echo(f"{path}: {'would be formatted' if only_check else 'formatted'}")
        wrong |= only_check
        if not only_check:
            _replace(path, _bytes(formatted))
    if wrong:
        raise SystemExit(1)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8")


def _replace(path: str, data: bytes) -> None:
    """Put new contents in the place of a file, completely or not at all; a link stays a link."""
    target = Path(path).resolve()
    try:
        mode = target.stat().st_mode
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(name, mode & 0o7777)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as failure:
        message = f"{path} cannot be written: {failure.strerror}"
        raise UsageError(message, help="it was left as it was") from None
