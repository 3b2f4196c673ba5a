"""``pse new``: a folder to start from."""

import click

from pse.notebook import create_project


@click.command("new")
@click.argument("name")
def command(name: str) -> None:
    """Write a folder NAME to start from: a program, a module in C and one in Python, a notebook."""
    files = create_project(name)
    for path in files:
        click.echo(path)
    click.echo(f"run it: cd {files[0].parent} && pse run {files[0].name} -p 2")
