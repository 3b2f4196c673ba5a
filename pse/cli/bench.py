"""``pse bench``: measure this machine's figures."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from pse.bench import (
    REPEATS,
    SUBJECTS,
    Result,
    Subject,
    check_page,
    find_subject,
    measure_subject,
    print_result,
    update_page,
)
from pse.cli.completion import words
from pse.errors import UsageError


def bench_command(subjects: Sequence[Subject]) -> click.Command:
    """Make the command line that measures some of these subjects."""
    known = words(*(subject.name for subject in subjects))

    @click.command("bench")
    @click.argument("names", metavar="[NAME]…", nargs=-1, shell_complete=known)
    @click.option("--list", "listing", is_flag=True, help="Name all benches.")
    @click.option("--all", "everything", is_flag=True, help="Measure all of them, one after the other.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON: an object for each bench.")
    @click.option(
        *("--repeats", "repeats"),
        type=click.IntRange(min=1),
        default=REPEATS,
        show_default=True,
        help="How often each thing is measured.",
    )
    @click.option(
        "--update",
        "page",
        metavar="PAGE",
        type=click.Path(path_type=Path),
        help="Write the figures into a page of the manual.",
    )
    @click.option(
        "--samples",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Go on from samples that a bench has kept here, for one that can be measured in parts.",
    )
    def command(
        names: tuple[str, ...],
        listing: bool,
        everything: bool,
        as_json: bool,
        repeats: int,
        page: Path | None,
        samples: Path | None,
    ) -> None:
        """Measure what pse's own work costs on this machine, beside lower bounds and other systems.

        Each bench takes up to two minutes, those on the emulated cluster some minutes; let nothing else run
        meanwhile.  The exit code is 0 if it ran, whether the targets hold or not.
        """
        if listing:
            for subject in subjects:
                click.echo(f"{subject.name:15}{subject.title}")
            return
        chosen = _chosen(subjects, names, everything)
        if page is not None:
            check_page(page, [subject.name for subject in chosen])
        results = [_measured(one, repeats, samples, as_json) for one in chosen]
        if as_json:
            objects = [result.to_json() for result in results]
            click.echo(json.dumps(objects if everything else objects[0], indent=1, ensure_ascii=False))
        if page is not None:
            update_page(page, results)

    return command


def _chosen(subjects: Sequence[Subject], names: tuple[str, ...], everything: bool) -> list[Subject]:
    found = [find_subject(name, subjects) for name in names]
    if everything == bool(names):
        what = (
            "no bench is named: name at least one, or use --all"
            if not names
            else "--all can't be combined with the name of a bench"
        )
        known = ", ".join(subject.name for subject in subjects)
        raise UsageError(what, help=f"the benches are {known}; `pse bench --list` says what they measure")
    return _present(subjects) if everything else found


def _present(subjects: Sequence[Subject]) -> list[Subject]:
    """Leave out what can't run in an installed package, and say so."""
    for subject in subjects:
        if subject.missing:
            click.echo(f"{subject.name} is left out: {subject.missing}", err=True)
    return [subject for subject in subjects if not subject.missing]


def _measured(subject: Subject, repeats: int, samples: Path | None, quiet: bool) -> Result:
    """Measure one; says how far it is if somebody watches, and prints the table unless JSON was asked for."""
    watched = Console(stderr=True)
    with watched.status(subject.name) as status:

        def say(text: str) -> None:
            status.update(f"{subject.name}: {text}")

        result = measure_subject(subject, repeats, say, samples)
    if not quiet:
        print_result(result, Console() if sys.stdout.isatty() else Console(width=200))
    return result


command = bench_command(SUBJECTS)
