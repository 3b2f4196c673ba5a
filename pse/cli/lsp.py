"""``pse lsp``: the language server, which editors start."""

import sys

import click

from pse.errors import UsageError


@click.command("lsp")
@click.option("--tcp", metavar="[HOST:]PORT", help="Listen there for one editor instead of standard input.")
def command(tcp: str | None) -> None:
    """Serve an editor: diagnostics, completion, hover, navigation, renaming and formatting of programs.

    Editors start it and talk to it by standard input and output; see docs/editors.md.
    """
    try:
        from pse.lsp import serve
    except ImportError as missing:
        raise UsageError(f"{missing.name} is not installed", help="pip install 'pse[desk]'") from None
    host, port = _address(tcp)
    sys.exit(serve(host, port))


def _address(tcp: str | None) -> tuple[str | None, int]:
    if tcp is None:
        return None, 0
    host, _, port = tcp.rpartition(":")
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError(
            f"--tcp {tcp} names no port", help="for example:  --tcp 7658,  or  --tcp 127.0.0.1:7658"
        )
    return host or "127.0.0.1", int(port)
