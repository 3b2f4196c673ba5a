"""``pse check``: say everything that is wrong with programs, without running anything."""

import json
import sys
from collections.abc import Mapping, Sequence

import click

from pse.cli._options.defines import defines_option
from pse.cli.completion import files
from pse.language import check_values, parse_defines
from pse.language.check import ResolvedProgram
from pse.language.diagnostics import Diagnostic, has_errors, print_diagnostics, summary_text, to_json
from pse.language.io import ProgramFile, check_file, quoted_sources
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
    Of several programs, those that have a parameter are checked with its value.

    Exit code: 0 if all are well (warnings allowed), 1 if one is wrong, 2 if one cannot be read.
    """
    found: list[Diagnostic] = []
    sources: dict[str, str] = {}
    values = parse_defines(defines)
    files = [check_file(path, Finder(), values=values) for path in programs]
    for file in files:
        sources[file.path] = file.text
        found += file.diagnostics
        if file.program:
            found += find_unbuildable(file.program.modules)
            meant = _meant_for(file.program, values, files)
            found += check_values(file.program, meant) if meant else ()
    if form == "json":
        click.echo(json.dumps(to_json(found), indent=1, ensure_ascii=False))
    else:
        print_diagnostics(found, quoted_sources(found, sources), sys.stdout)
        first = next((one for one in found if has_errors([one])), found[0] if found else None)
        more = f" (pse explain {first.code} says more)" if first else ""
        click.echo(f"{', '.join(programs)}: {summary_text(found) or 'no errors'}{more}")
    if has_errors(found) or (strict and found):
        raise SystemExit(1)


def _meant_for(
    program: ResolvedProgram, values: Mapping[str, str], files: Sequence[ProgramFile]
) -> Mapping[str, str]:
    """Leave out values of parameters that only other programs have, or may have because they are wrong."""

    def may_have(file: ProgramFile, name: str) -> bool:
        return file.program is None or name in _parameters(file.program)

    own = _parameters(program)
    return {
        name: value
        for name, value in values.items()
        if name in own or not any(may_have(file, name) for file in files)
    }


def _parameters(program: ResolvedProgram) -> set[str]:
    return {parameter.name for parameter in program.parameters}
