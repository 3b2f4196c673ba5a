"""``pse check``: say everything that is wrong with programs, without running anything."""

import json
import sys

import click

from pse.cli._options.defines import defines_option
from pse.cli.completion import files
from pse.language import check_values, parse_defines
from pse.language.diagnostics import Diagnostic, has_errors, print_diagnostics, summary_text, to_json
from pse.language.io import check_file, quoted_sources
from pse.modules import Finder, find_unbuildable


@click.command("check")
@click.argument("programs", metavar="PROGRAM...", shell_complete=files, nargs=-1, required=True)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="The form of what is printed.",
)
@defines_option
@click.option("--strict", is_flag=True, help="Warnings make the exit code 1 too.")
def command(programs: tuple[str, ...], form: str, defines: tuple[str, ...], strict: bool) -> None:
    """Check programs: names, types, shapes, distributions, paths; modules are built, none is executed.

    With values of parameters, `where` clauses, extents, and arrays of tags that depend on them are checked.

    Exit code: 0 if all are well (warnings allowed), 1 if one is wrong, 2 if one cannot be read.
    """
    found: list[Diagnostic] = []
    sources: dict[str, str] = {}
    values = parse_defines(defines)
    for path in programs:
        file = check_file(path, Finder(), values=values)
        sources[path] = file.text
        found += file.diagnostics
        if file.program:
            found += find_unbuildable(file.program.modules)
            found += check_values(file.program, values) if values else ()
    if form == "json":
        click.echo(json.dumps(to_json(found), indent=1, ensure_ascii=False))
    else:
        print_diagnostics(found, quoted_sources(found, sources), sys.stdout)
        first = next((one for one in found if has_errors([one])), found[0] if found else None)
        more = f" (pse explain {first.code} says more)" if first else ""
        click.echo(f"{', '.join(programs)}: {summary_text(found) or 'no errors'}{more}")
    if has_errors(found) or (strict and found):
        raise SystemExit(1)
