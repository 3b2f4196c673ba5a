"""``pse advise``: a better thread assignment from one trace, what it is going to bring, and what-if."""

import json
import sys

import click

from pse.cli._options.run import Processors
from pse.cli.completion import directories, files


@click.command("advise")
@click.argument("directory", metavar="DIR", shell_complete=directories)
@click.option("--apply", "write", is_flag=True, help="Write the proposal into the program.")
@click.option("--program", metavar="PATH", help="The program, if it isn't where it was when it ran.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-p", "--processors", metavar="P", type=Processors(), help="What if there were P processors?")
@click.option("--link", metavar="RATE|FACTOR", help="What if links had this rate: 100Mbit, 2x?")
@click.option(
    "--network",
    metavar="MODEL.json",
    shell_complete=files,
    help="What if messages cost what pse ace fit measured?",
)
@click.option(
    "--speed", "speeds", metavar="MODULE=2x", multiple=True, help="What if a module were twice as fast?"
)
@click.option(
    "-o",
    "--option",
    "options",
    metavar="queue_depth=N",
    multiple=True,
    help="What if every queue held N results?",
)
@click.option(
    "--threads",
    metavar="SITE=THREAD",
    multiple=True,
    help="What if the call SITE (shift, or shift:42 for that in line 42) ran on THREAD?",
)
def command(
    directory: str,
    write: bool,
    program: str | None,
    as_json: bool,
    processors: int | None,
    link: str | None,
    network: str | None,
    speeds: tuple[str, ...],
    options: tuple[str, ...],
    threads: tuple[str, ...],
) -> None:
    """Propose threads for a program from a trace of one run (pse run PROGRAM --trace DIR).

    Says why, predicts the run time, and shows the change; --apply writes it.  Best from a run on one thread.
    """
    from pse.advise import advise, parse_whatif
    from pse.advise.rewrite import print_advice
    from pse.emulate import Model

    whatif = parse_whatif(processors, link, speeds, options, threads)
    measured = Model.load(network) if network else None
    found = advise(directory, program=program, whatif=whatif, network=measured)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=1, ensure_ascii=False))
    else:
        print_advice(found, sys.stdout, applying=write)
    if write:
        found.apply()
        if found.proposal:
            click.echo(f"{found.program}: written", err=as_json)
