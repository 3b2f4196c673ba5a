"""The option by which parameters of a program get their values."""

import click

from pse.cli.completion import parameters

defines_option = click.option(
    *("-D", "defines"),
    metavar="NAME=VALUE",
    multiple=True,
    shell_complete=parameters,
    help="Give a parameter of the program this value.",
)
