"""``pse fmt``: write programs in their canonical form."""

import codecs
import sys
from pathlib import Path

import click

from pse.cli.completion import files
from pse.errors import UsageError
from pse.files import replace_file
from pse.language.diagnostics import print_diagnostics
from pse.language.io import read_program
from pse.language.syntax import format_program, parse_program


@click.command("fmt")
@click.argument("files", metavar="FILE...", shell_complete=files, nargs=-1, required=True)
@click.option(
    "--check", "only_check", is_flag=True, help="Change nothing; exit code 1 if a file would change."
)
def command(files: tuple[str, ...], only_check: bool) -> None:
    """Write programs in their canonical form; comments stay where they are.

    Lines end as the first one of a file does.  A file with syntax errors is left as it is (exit code 1).
    """
    wrong = False
    for path in files:
        text, diagnostics = read_program(path)
        diagnostics = diagnostics or parse_program(text, path).diagnostics
        if diagnostics:
            print_diagnostics(diagnostics, {path: text}, sys.stdout)
            wrong = True
            continue
        formatted = format_program(text, path)
        before = Path(path).read_bytes()
        after = _bytes(formatted, before)
        if after == before:
            continue
        if not only_check:
            _replace(path, after)
        click.echo(f"{path}: {'would be formatted' if only_check else 'formatted'}")
        wrong |= only_check
    if wrong:
        raise SystemExit(1)


def _bytes(text: str, before: bytes) -> bytes:
    """Encode a text as a file has it: with the end of its first line, and its byte order mark."""
    end = "\r\n" if before.partition(b"\n")[0].endswith(b"\r") else "\n"
    mark = codecs.BOM_UTF8 if before.startswith(codecs.BOM_UTF8) else b""
    return mark + text.replace("\n", end).encode("utf-8")


def _replace(path: str, data: bytes) -> None:
    try:
        replace_file(path, data)
    except OSError as failure:
        message = f"{path} cannot be written: {failure.strerror}"
        raise UsageError(message, help="it was left as it was") from None
