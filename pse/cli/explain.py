"""``pse explain``: what the code of a diagnostic means, with an example and the remedy."""

import sys

import click

from pse.cli.completion import codes
from pse.language.diagnostics import CodePage, code_pages, find_code_page


@click.command("explain")
@click.argument("codes", metavar="[CODE]...", nargs=-1, shell_complete=codes)
def command(codes: tuple[str, ...]) -> None:
    """Explain codes of diagnostics, such as E0312; without CODE, list all of them."""
    pages = [find_code_page(code) for code in codes]
    if not pages:
        click.echo("\n".join(f"{page.code}  {page.title}" for page in code_pages().values()))
    elif sys.stdout.isatty():
        _print_in_colour(pages)
    else:
        click.echo("\n".join(_markdown(page) for page in pages), nl=False)


def _markdown(page: CodePage) -> str:
    return f"# {page.code}: {page.title}\n\n{page.text}"


def _print_in_colour(pages: list[CodePage]) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    for page in pages:
        console.print(Markdown(_markdown(page), hyperlinks=False))
