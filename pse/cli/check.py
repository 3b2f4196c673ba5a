"""``pse check``: say everything that is wrong with programs, without running anything."""

import json
import sys

import click

from pse.language.check import check_program
from pse.language.diagnostics import Diagnostic, has_errors, print_diagnostics, summary_text, to_json
from pse.language.io import quoted_sources, read_program
from pse.modules import Finder, find_unbuildable


@click.command("check")
@click.argument("programs", metavar="PROGRAM...", nargs=-1, required=True)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print it."
)
@click.option("--strict", is_flag=True, help="Warnings make the exit code 1 too.")
def command(programs: tuple[str, ...], form: str, strict: bool) -> None:
    """Check programs: names, types, shapes, distributions, paths; modules are built, none is executed.

    Exit code: 0 if all are well (warnings allowed), 1 if one is wrong, 2 if one cannot be read.
    """
    found: list[Diagnostic] = []
    sources: dict[str, str] = {}
    for path in programs:
        text, diagnostics = read_program(path)
        sources[path] = text
        found += diagnostics or _check(text, path)
    if form == "json":
        click.echo(json.dumps(to_json(found), indent=1, ensure_ascii=False))
    else:
        print_diagnostics(found, quoted_sources(found, sources), sys.stdout)
        click.echo(f"{', '.join(programs)}: {summary_text(found) or 'no errors'}")
    if has_errors(found) or (strict and found):
        raise SystemExit(1)


def _check(text: str, path: str) -> list[Diagnostic]:
    """Check a program and, if it is right, whether its modules can be built."""
    result = check_program(text, path, modules=Finder())
    built = find_unbuildable(result.program.modules) if result.program else []
    return [*result.diagnostics, *built]
