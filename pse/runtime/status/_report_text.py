"""The report of a run for people: tables of call sites and threads, what moved, and the program's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pse.runtime.distribution._moves import Moves
from pse.runtime.status._report import Report
from pse.text import count_text, cpu_share_text, size_text, time_text

SITE_HEAD = ("call site", "place", "thread", "calls", "seconds", "CPU", "waited", "handed over", "copied")
THREAD_HEAD = ("thread", "ranks", "calls", "seconds", "CPU", "waited")


def format_report(report: Report) -> str:
    """Write a report for people.

    Parameters
    ----------
    report : Report
        What the run was like.

    Returns
    -------
    str
        A headline, a table of call sites, one of threads, and what moved; ends with a newline.

    Examples
    --------
    >>> print(format_report(Report.from_json(Path("report.json").read_text())), end="")
    heat.coven: 1.00 s on 2 processors (5 ranks)
    <BLANKLINE>
    call site  place             thread    calls  seconds   CPU  waited  handed over  copied
    step       heat.coven:17:16  thread_B    800    1.600  94 %   0.100     6.25 KiB     0 B
    <BLANKLINE>
    thread    ranks  calls  seconds   CPU  waited
    thread_B      2    808    1.700  90 %   0.100
    <BLANKLINE>
    handed over by descriptor  6.25 KiB
    copied on a node           0 B
    sent between nodes         0 B
    peak shared memory         16.0 MiB
    wall time                  1.00 s
    start-up before it         0 ns
    """
    processors, ranks = count_text(report.processors, "processor"), count_text(report.ranks, "rank")
    head = f"{report.program}: {time_text(1e9 * report.wall_seconds)} on {processors} ({ranks})"
    sites = _table(SITE_HEAD, site_rows(report), 3)
    threads = _table(THREAD_HEAD, thread_rows(report), 1)
    return "\n".join([head, "", *sites, "", *threads, "", *_summary(report)]) + "\n"


def site_rows(report: Report) -> list[tuple[str, ...]]:
    """Write what is known of every call site, under `SITE_HEAD`.

    Parameters
    ----------
    report : Report
        What the run was like.

    Returns
    -------
    list of tuple of str
        A row for each call site.

    Examples
    --------
    >>> site_rows(Report.from_json(Path("report.json").read_text()))[0][:4]
    ('step', 'heat.coven:17:16', 'thread_B', '800')
    """
    return [
        (
            *(site.label, site.place.rpartition("/")[2], site.thread, str(site.calls)),
            *(f"{site.seconds:.3f}", cpu_share_text(site.cpu_share, 1e9 * site.seconds, site.calls)),
            f"{site.waited_seconds:.3f}",
            *(size_text(site.described_bytes), size_text(site.copied_bytes + site.remote_bytes)),
        )
        for site in report.sites
    ]


def thread_rows(report: Report) -> list[tuple[str, ...]]:
    """Write what is known of every thread, under `THREAD_HEAD`.

    Parameters
    ----------
    report : Report
        What the run was like.

    Returns
    -------
    list of tuple of str
        A row for each thread.

    Examples
    --------
    >>> thread_rows(Report.from_json(Path("report.json").read_text()))[0][:4]
    ('thread_B', '2', '808', '1.700')
    """
    return [
        (
            *(thread.thread, str(thread.ranks), str(thread.calls), f"{thread.seconds:.3f}"),
            *(cpu_share_text(thread.cpu_share, 1e9 * report.wall_seconds), f"{thread.waited_seconds:.3f}"),
        )
        for thread in report.threads
    ]


def figure_rows(report: Report) -> list[tuple[str, str]]:
    """Write the figures that modules reported.

    Parameters
    ----------
    report : Report
        What the run was like.

    Returns
    -------
    list of (str, str)
        Name and value of each.

    See Also
    --------
    site_rows, thread_rows
    """
    return [(name, f"{value:.6g}") for name, value in report.figures.items()]


def _summary(report: Report) -> list[str]:
    rows = [
        ("handed over by descriptor", size_text(report.described_bytes)),
        ("copied on a node", size_text(report.copied_bytes)),
        ("sent between nodes", size_text(report.remote_bytes)),
        ("peak shared memory", size_text(report.peak_shared_memory_bytes)),
        ("wall time", time_text(1e9 * report.wall_seconds)),
        ("start-up before it", time_text(1e9 * report.startup_seconds)),
        *([("partitions moved", moves_text(report.moves))] if report.moves else []),
        *([("cores of ranks", core_users_text(report.cores))] if len(set(report.cores)) > 1 else []),
        *([("threads folded", _folded_text(report.folded))] if report.folded else []),
        *figure_rows(report),
    ]
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {value}" for name, value in rows]


def _folded_text(folded: Mapping[str, str]) -> str:
    """Write which threads ran on others."""
    return ", ".join(f"{thread} into {onto}" for thread, onto in folded.items()) + ": they can't overlap"


def core_users_text(cores: Sequence[str]) -> str:
    """Write which ranks use which cores.

    Examples
    --------
    >>> core_users_text(["0-1", "0", "0", "1"])
    '0-1: rank 0; 0: ranks 1, 2; 1: rank 3'
    """
    users: dict[str, list[str]] = {}
    for rank, some in enumerate(cores):
        users.setdefault(some, []).append(str(rank))
    return "; ".join(f"{some}: rank{'s' * (len(r) > 1)} {', '.join(r)}" for some, r in users.items())


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Align a table; the first `left` columns are words, the others numbers."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    return [
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, *rows)
    ]


def moves_text(moves: Moves) -> str:
    """Write for people how partitions moved.

    Examples
    --------
    >>> moves_text(Moves(2, 5, 1.875, 1.04))
    '5 in 2 rounds of balancing; busiest processor over mean: 1.88 before, 1.04 at the end'
    >>> moves_text(Moves(0, 0, 1.0, 1.02))
    'none; busiest processor over mean: 1.02 at the end'
    """
    if moves.times == 0:
        return f"none; busiest processor over mean: {moves.after:.2f} at the end"
    rounds = "one round" if moves.times == 1 else f"{moves.times} rounds"
    busiest = f"busiest processor over mean: {moves.before:.2f} before, {moves.after:.2f} at the end"
    return f"{moves.partitions} in {rounds} of balancing; {busiest}"
