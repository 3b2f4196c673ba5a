"""``pse module``: start, list, show and build module files.  The work is done by ``pse.modules``."""

import sys
from collections.abc import Iterable

import click
from rich.console import Console
from rich.table import Table

from pse.cli._options.group import Group
from pse.cli.completion import files
from pse.errors import ProgramError, PseError
from pse.language.diagnostics import Diagnostic, has_errors, render_diagnostics
from pse.modules import build_module
from pse.modules.build import (
    TEMPLATE_ENDINGS,
    Listed,
    call_text,
    choose_modules,
    create_module_file,
    directive_text,
    find_modules,
    prototype_text,
    read_module_file,
    split_reference,
)
from pse.modules.directives import language_of, read_source
from pse.runtime.supervise import print_error, raised_signals
from pse.text import time_text


@click.group("module", cls=Group)
def command() -> None:
    """Start, list, show and build modules."""


@command.command("new")
@click.argument("name")
@click.option(
    "--language",
    "-l",
    type=click.Choice(list(TEMPLATE_ENDINGS)),
    default="c",
    show_default=True,
    help="The language to write it in.",
)
def new(name: str, language: str) -> None:
    """Write a commented module file NAME to start from."""
    path = create_module_file(name, language)
    click.echo(f"{path}: a module to start from; build it with: pse module build {path}")


@command.command("list")
@click.argument("paths", nargs=-1, metavar="[PATH]...", shell_complete=files)
def list_modules(paths: tuple[str, ...]) -> None:
    """List the modules in files and folders (here, if none is named; pse.std is the standard library)."""
    modules, wrong = find_modules(paths or (".",))
    if modules:
        _print(_table(modules))
    else:
        click.echo("no modules found")
    for file in wrong:
        _report(file.path, file.diagnostics)
    if wrong:
        sys.exit(1)


@command.command("show")
@click.argument("module", metavar="FILE[:NAME]", shell_complete=files)
def show(module: str) -> None:
    """Show the interface of a file's modules, or of one of them."""
    path, _ = split_reference(module)
    modules = choose_modules(module)
    for found in modules:
        _print(_interface(found))
    diagnostics = modules[0].file.diagnostics if modules else read_module_file(path).diagnostics
    _report(path, diagnostics)
    if has_errors(diagnostics):
        sys.exit(1)


@command.command("build")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=files)
def build_files(files: tuple[str, ...]) -> None:
    """Compile module files now instead of when a program runs."""
    worst = 0
    for path in files:
        try:
            file = read_module_file(path)
            if has_errors(file.diagnostics):
                _report(path, file.diagnostics)
                worst = max(worst, ProgramError.exit_code)
            else:
                with raised_signals():  # Compilers end with this process.
                    click.echo(_built(path))
        except PseError as failure:
            print_error(failure, sys.stderr)
            worst = max(worst, failure.exit_code)
    sys.exit(worst)


def _built(path: str) -> str:
    if language_of(path) == "python":
        return f"{path}: Python needs no building"
    built = build_module(path)
    how = "found in the cache" if built.hit else "compiled"
    remarks = f"\n{built.warnings}" if built.warnings else ""
    names = ", ".join(signature.name for signature in built.source.signatures)
    return f"{path}: {how} in {time_text(1e9 * built.seconds)}: {names}{remarks}"


def _table(modules: Iterable[Listed]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, overflow in (
        ("module", "fold"),
        ("language", "fold"),
        ("where", "fold"),
        ("interface", "fold"),
    ):
        table.add_column(title, overflow=overflow)  # type: ignore[arg-type]
    for module in modules:
        row = (module.signature.name, module.file.language, module.place)
        table.add_row(*row, _plain(directive_text(module.signature)))
    return table


def _interface(module: Listed) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, title_justify="left", title_style="bold")
    table.title = f"{module.signature.name}  ({module.place}, {module.file.language})"
    table.add_row("directive", _plain(directive_text(module.signature)))
    table.add_row("call", _plain(call_text(module)))
    table.add_row("function", _plain(prototype_text(module)))
    return table


def _plain(text: str) -> str:
    """Keep brackets of shapes from being taken for markup."""
    return text.replace("[", "\\[")


def _print(table: Table) -> None:
    # A pipe has no width: nothing is folded there, so that other programs can read it.
    console = Console(width=None if sys.stdout.isatty() else 400, highlight=False)
    with console.capture() as captured:
        console.print(table)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _report(path: str, diagnostics: Iterable[Diagnostic]) -> None:
    diagnostics = list(diagnostics)
    if diagnostics:
        text, _ = read_source(path, path)
        click.echo(render_diagnostics(diagnostics, {path: text}), nl=False, err=True)
