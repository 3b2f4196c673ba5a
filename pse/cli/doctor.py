"""``pse doctor``: what is wrong with this machine, and how to mend it."""

import json
import sys
from dataclasses import asdict

import click
from rich.console import Console
from rich.markup import escape

from pse.bench import BAD, GOOD, Finding, examine_machine, findings_text

_MARKS = {GOOD: ("green", "ok"), BAD: ("bold red", "WRONG")}
_NOTE = ("yellow", "note")


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list of objects.")
def command(as_json: bool) -> None:
    """Examine this machine (MPI, compilers, memory, limits, versions), and say how to mend what is wrong.

    The exit code is 0 if programs can run here, 1 if not.
    """
    console = Console(highlight=False, soft_wrap=True)
    found = []
    for finding in examine_machine():
        found.append(finding)
        if not as_json:
            console.print(_line(finding))
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in found], indent=1, ensure_ascii=False))
    else:
        click.echo(findings_text(found))
    sys.exit(any(finding.grade == BAD for finding in found))


def _line(finding: Finding) -> str:
    style, word = _MARKS.get(finding.grade, _NOTE)
    line = f"[{style}]{word:5}[/]  {finding.subject:17}  {escape(finding.text)}"
    return f"{line}\n{'':7}help: {escape(finding.help)}" if finding.help else line
