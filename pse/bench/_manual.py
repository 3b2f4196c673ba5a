"""Measured figures in the manual: a table for each bench, between two marks, written only here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pse.bench._figures import Result
from pse.bench._result_table import HEADINGS, busy_warning, cells, place
from pse.errors import UsageError, system_help

_LINE = ("---", "---:", "---:", "---:", "---", "---", "---:", "---:")


def marks(bench: str) -> tuple[str, str]:
    """Give the two lines between which the figures of a bench stand."""
    return f"<!-- figures: {bench} -->", f"<!-- end of figures: {bench} -->"


def update_page(page: Path, results: Iterable[Result]) -> None:
    """Replace the tables of some benches in a page of the manual; other benches' tables stay as they are.

    Parameters
    ----------
    page : Path
        A Markdown file with the benches' marks.
    results : iterable of Result
        What was measured.

    Raises
    ------
    UsageError
        The page can't be read or written, or has no place for a bench.

    See Also
    --------
    write_tables
    """
    write_tables(page, {result.bench: markdown(result) for result in results})


def write_tables(page: Path, tables: Mapping[str, str]) -> None:
    """Write text between the marks of some benches in a page; the rest of it stays as it is.

    Parameters
    ----------
    page : Path
        A Markdown file with the benches' marks.
    tables : mapping of str to str
        Text by the bench's name.

    Raises
    ------
    UsageError
        The page can't be read or written, or has no place for a bench.

    Examples
    --------
    >>> page = Path("tables.md")
    >>> _ = page.write_text("<!-- figures: hop -->\\n<!-- end of figures: hop -->\\n")
    >>> write_tables(page, {"hop": "2.5 µs"})
    >>> print(page.read_text(), end="")
    <!-- figures: hop -->
    2.5 µs
    <!-- end of figures: hop -->
    """
    try:
        text = page.read_text(encoding="utf-8")
        for bench, table in tables.items():
            text = _replaced(text, bench, table, page)
        page.write_text(text, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it isn't UTF-8 text"
        help = system_help(error, page) if isinstance(error, OSError) else "save the page as UTF-8"
        raise UsageError(f"--update {page}: {reason}", help=help) from None


def check_page(page: Path, benches: Iterable[str]) -> None:
    """Refuse a page that has no place for some benches, before anything is measured; its tables stay.

    Parameters
    ----------
    page : Path
        A Markdown file with the benches' marks.
    benches : iterable of str
        Their names.

    Raises
    ------
    UsageError
        The page can't be read or written, or has no place for a bench.

    Examples
    --------
    >>> page = Path("bench.md")
    >>> _ = page.write_text("<!-- figures: hop -->\\n<!-- end of figures: hop -->\\n")
    >>> check_page(page, ["hop"])
    >>> check_page(page, ["fft"])
    Traceback (most recent call last):
        ...
    UsageError: --update bench.md: the page has no place for the figures of bench fft
    """
    write_tables(page, {})
    text = page.read_text(encoding="utf-8")
    for bench in benches:
        _replaced(text, bench, "", page)


def _replaced(text: str, bench: str, table: str, page: Path) -> str:
    begin, end = marks(bench)
    before, opened, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not opened or not closed:
        raise UsageError(
            f"--update {page}: the page has no place for the figures of bench {bench}",
            help=f"add the two lines {begin} and {end} to the page, where the figures belong",
        )
    return f"{before}{begin}\n{table}\n{end}{after}"


def markdown(result: Result) -> str:
    """Write a result as a table in Markdown, with the place and time of the measurement below."""
    rows = [HEADINGS, _LINE, *(cells(figure) for figure in result.figures)]
    table = "\n".join(f"| {' | '.join(cell.replace('|', '·') for cell in row)} |" for row in rows)
    return f"\n{table}\n\n{_where(result)}\n"


def comparison_table(result: Result, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table of one's own in Markdown, with the place and time of a result's measurement below.

    Parameters
    ----------
    result : Result
        What was measured, and where.
    headings : sequence of str
        Of the columns.
    rows : iterable of sequences of str
        Cells, as many in each row as there are headings.

    Returns
    -------
    str
        The table and the line below it.

    Examples
    --------
    >>> from pse.bench import Figure, Result, describe_machine
    >>> result = Result("hop", (Figure("hop", "µs", "<=", 4.0, (3.0, 2.5, 3.5)),), describe_machine())
    >>> print(*comparison_table(result, ["way", "µs"], [["queue", "2.5"]]).splitlines()[:4], sep="\\n")
    <BLANKLINE>
    | way | µs |
    | --- | --- |
    | queue | 2.5 |
    """
    lines = [headings, ["---"] * len(headings), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"\n{table}\n\n{_where(result)}\n"


def _where(result: Result) -> str:
    warning = busy_warning(result)
    where = f"Measured {result.environment['time']} on {place(result)}."
    return f"{where}{f' Warning: {warning}.' if warning else ''}"
