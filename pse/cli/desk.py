"""``pse desk``: the browser application in which programs are drawn, written, run and watched."""

import click

from pse.cli.completion import files
from pse.errors import UsageError


@click.command("desk")
@click.argument("path", metavar="[PROGRAM|DIRECTORY]", default=".", shell_complete=files)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port to listen at (any free one)."
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen at; others can be reached from.",
)
@click.option("--no-browser", is_flag=True, help="Print the address, open no browser.")
def command(path: str, port: int, host: str, no_browser: bool) -> None:
    """Open a program or a directory in the browser: draw, write, run and watch programs.

    The address that is printed has a secret token: who knows it can run programs as you.
    """
    try:
        from pse.desk import serve
    except ImportError as missing:
        raise UsageError(f"{missing.name} is not installed", help="pip install 'pse[desk]'") from None
    serve(path, host, port, browser=not no_browser)
