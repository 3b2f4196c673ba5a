"""``pse bcs report``: what the monitor of coscheduled communication wrote, as tables and a picture."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from pse import coschedule, views
from pse.cli.completion import directories, files
from pse.errors import UsageError
from pse.text import count_text, time_text
from pse.views.core import choose_format

Row = dict[str, Any]


@click.command("report")
@click.argument("folder", type=click.Path(path_type=Path), shell_complete=directories)
@click.option("--communicator", default=0, metavar="N", help="Which one, counted from 0 as they are made.")
@click.option("--rank", type=int, metavar="N", help="Only this rank's calls.")
@click.option("--slices", "window", metavar="A:B", help="Only slices A to B.")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="What -o draws; may be repeated.")
@click.option(
    "-o",
    "output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    shell_complete=files,
    help="A picture of slices.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    folder: Path,
    communicator: int,
    rank: int | None,
    window: str | None,
    metrics: Sequence[str],
    output: Path | None,
    as_json: bool,
) -> None:
    """Report calls and slices that FOLDER has from a run with PSE_BCS_MMDS or PSE_BCS_EMDS set to it."""
    if not folder.is_dir():
        raise UsageError(f"there is no directory {folder}", help=_recorded_into(folder))
    reports = [one for one in coschedule.load_reports(folder, communicator) if rank in (None, one.rank)]
    slices = _within(coschedule.load_slices(folder, communicator), window)
    if not reports and slices is None:
        raise UsageError(
            f"{folder} has nothing of communicator {communicator}"
            + ("" if rank is None else f" and rank {rank}"),
            help=_recorded_into(folder),
        )
    if output is not None:
        _draw(slices, metrics or views.SLICE_METRICS, output, folder)
    elif as_json:
        click.echo(json.dumps({"routines": _totals(reports), "slices": _summary(slices)}, indent=1))
    else:
        _print(reports, slices)


def _recorded_into(folder: Path) -> str:
    return f"record it: PSE_BCS_MMDS={folder} PSE_BCS_EMDS={folder} mpiexec … python program.py"


def _within(slices: NDArray[Any] | None, window: str | None) -> NDArray[Any] | None:
    if slices is None or window is None:
        return slices
    first, _, last = window.partition(":")
    if not (first.isdecimal() and last.isdecimal()):
        raise UsageError(
            f"slices are {window!r}; they must be two numbers", help="for example: --slices 100:200"
        )
    found = slices[(slices["slice"] >= int(first)) & (slices["slice"] <= int(last))]
    if not len(found) and len(slices):
        raise UsageError(
            f"there are no slices {first} to {last}",
            help=f"there are {slices['slice'][0]} to {slices['slice'][-1]}",
        )
    return found


def _totals(reports: Sequence[coschedule.Report]) -> list[Row]:
    """Add up the rows of all ranks."""
    rows: dict[str, Row] = {}
    for one in (row for report in reports for row in report.rows()):
        total = rows.setdefault(one["routine"], {**one, "count": 0, "total": 0.0, "bytes": 0})
        for name in ("count", "total", "bytes"):
            total[name] += one[name]
        total["least"], total["greatest"] = (
            min(total["least"], one["least"]),
            max(total["greatest"], one["greatest"]),
        )
        total["mean"] = total["total"] / max(1, total["count"])
    return list(rows.values())


def _summary(slices: NDArray[Any] | None) -> Row | None:
    if slices is None or not len(slices):
        return None
    timed, length = slices[slices["timed"] == 1], slices["gtts"]
    return {
        "count": len(slices), "first": int(slices["slice"][0]), "last": int(slices["slice"][-1]),
        "timed": len(timed), "late_median": float(np.median(timed["late"])) if len(timed) else 0.0,
        "length_median": float(np.median(length)), "length_p99": float(np.percentile(length, 99)),
        "pace": _pace(slices),
        "messages": int(slices["np2pmsm"].sum()), "collectives": int(slices["ncollmsm"].sum()),
    }  # fmt: skip


def _pace(slices: NDArray[Any]) -> list[tuple[int, int]]:
    """Tell the length of slices in ns, and from which slice on: one for each length."""
    begins = np.flatnonzero(np.diff(slices["length"], prepend=0))
    return [(int(slices["slice"][one]), int(slices["length"][one])) for one in begins]


def _pace_text(pace: Sequence[tuple[int, int]]) -> str:
    (_, first), *longer = pace
    return "of " + ", ".join(
        [time_text(first), *(f"from slice {slice:,} on of {time_text(length)}" for slice, length in longer)]
    )


def _print(reports: Sequence[coschedule.Report], slices: NDArray[Any] | None) -> None:
    console = Console() if sys.stdout.isatty() else Console(width=100)
    if reports:
        table = Table(
            box=None,
            pad_edge=False,
            header_style="bold",
            title=count_text(len(reports), "rank"),
            title_justify="left",
        )
        for name in ("routine", "least", "greatest", "total", "count", "mean"):
            table.add_column(name, justify="left" if name == "routine" else "right")
        for row in _totals(reports):
            times = {name: time_text(row[name] * 1e6) for name in ("least", "greatest", "total", "mean")}
            cells = (times["least"], times["greatest"], times["total"], f"{row['count']:,}", times["mean"])
            table.add_row(row["routine"], *cells)
        console.print(table)
    found = _summary(slices)
    if found is not None:
        pace, late = (
            _pace_text(found["pace"]),
            f" (late by {time_text(found['late_median'])})" if found["timed"] else "",
        )
        median, most = time_text(found["length_median"]), time_text(found["length_p99"])
        messages = count_text(found["messages"], "message")
        console.print(
            f"{count_text(found['count'], 'slice')} {pace}, {found['timed']:,} at a time of their own{late}; "
            f"exchange and scheduling take {median}, 99 % of them at most {most}; {messages}, "
            f"{count_text(found['collectives'], 'collective operation')}",
            soft_wrap=True,
        )


def _draw(slices: NDArray[Any] | None, metrics: Sequence[str], output: Path, folder: Path) -> None:
    if slices is None or not len(slices):
        raise UsageError(f"{folder} has no slices", help=f"record them: PSE_BCS_EMDS={folder} mpiexec …")
    choose_format(output)
    views.save(views.draw_slices(slices, metrics), output)
