"""``pse ace from-trace``: a recorded run becomes an emulated application."""

from pathlib import Path

import click

from pse import trace
from pse.cli.completion import directories
from pse.emulate import record_program
from pse.errors import UsageError
from pse.files import require_directory, write_file
from pse.text import count_text, size_text, time_text


@click.command("from-trace")
@click.argument("directory", metavar="DIR", shell_complete=directories)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="NAME.toml", help="The configuration to write."
)
def command(directory: str, output: Path | None) -> None:
    """Make an emulated application of a trace: what its ranks computed and sent, without the program.

    Writes a configuration for `pse ace run`, and beside it the recorded program (NAME.npz).
    """
    target = output or Path(f"{Path(directory).absolute().name}.toml")
    if target.suffix != ".toml":
        raise UsageError(
            f"{target}: the name of a configuration must end in .toml", help=f"name it:  -o {target}.toml"
        )
    require_directory(target)
    if target.exists():
        raise UsageError(f"{target} exists", help="choose another name with -o, or remove it")
    program = record_program(trace.open(directory))
    for note in program.notes:
        click.echo(f"note: {note}", err=True)
    file = program.save(target.with_suffix(".npz"))
    text = f'[[applications]]\nname = "{target.stem}"\nprogram = "{file.name}"\nranks = {program.ranks}\n'
    write_file(text.encode(), target)
    each = time_text(1e9 * program.compute, zeros=False)
    click.echo(
        f"{target}: {count_text(program.ranks, 'rank')}, {size_text(program.bytes, zeros=False)} in messages,"
        f" {each} of computing on each rank; run it: pse ace run {target}"
    )
