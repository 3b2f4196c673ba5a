"""``pse bcs report``: what the monitor of coscheduled communication wrote, as tables and a picture."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from pse import coschedule, views
from pse.cli.completion import directories, files
from pse.errors import UsageError
from pse.text import count_text, time_text
from pse.views.core import choose_format


@click.command("report")
@click.argument(
    "folders",
    metavar="FOLDER…",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    shell_complete=directories,
)
@click.option(
    "--communicator",
    default=0,
    metavar="N",
    help="Which communicator, counted from 0 in the order of their making.",
)
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
    folders: Sequence[Path],
    communicator: int,
    rank: int | None,
    window: str | None,
    metrics: Sequence[str],
    output: Path | None,
    as_json: bool,
) -> None:
    """Report calls and slices that FOLDER has from a run with PSE_BCS_MMDS or PSE_BCS_EMDS set to it.

    Nodes that don't share a file system have a folder each: give all of them.
    """
    for folder in folders:
        if not folder.is_dir():
            what = (
                f"{folder} is a file, not a directory"
                if folder.exists()
                else f"there is no directory {folder}"
            )
            raise UsageError(what, help=_recorded_into(folder))
    folder = folders[0]
    reports = [one for one in coschedule.load_reports(folders, communicator) if rank in (None, one.rank)]
    slices = _within(coschedule.load_slices(folders, communicator), window)
    nodes = {
        node: _within(coschedule.load_slices(folders, communicator, node), window)
        for node in coschedule.nodes_of_slices(folders, communicator)
    }
    if not reports and slices is None:
        raise UsageError(
            f"{folder} has no files of the monitors for communicator {communicator}"
            + ("" if rank is None else f" and rank {rank}"),
            help=_recorded_into(folder),
        )
    if output is not None:
        _draw(slices, metrics or views.SLICE_METRICS, output, folder)
    elif as_json:
        found = {
            "routines": coschedule.routine_totals(reports), "slices": _summary(slices), "nodes": _rows(nodes),
            "times": coschedule.routine_times(nodes),
        }  # fmt: skip
        click.echo(json.dumps(found, indent=1))
    else:
        _print(reports, slices)
        _print_nodes(nodes)
        _print_times(nodes)


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
    return coschedule.slices_between(slices, int(first), int(last))


def _summary(slices: NDArray[Any] | None) -> dict[str, Any] | None:
    return None if slices is None or not len(slices) else coschedule.slice_summary(slices)


def _pace_text(pace: Sequence[tuple[int, int]]) -> str:
    (_, first), *longer = pace
    return "of " + ", ".join(
        [time_text(first), *(f"from slice {slice:,} on of {time_text(length)}" for slice, length in longer)]
    )


def _print(reports: Sequence[coschedule.Report], slices: NDArray[Any] | None) -> None:
    console = _console()
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
        for row in coschedule.routine_totals(reports):
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


def _rows(nodes: dict[int, NDArray[Any] | None]) -> list[dict[str, Any]]:
    return coschedule.node_rows(nodes) if len(nodes) > 1 else []


def _print_nodes(nodes: dict[int, NDArray[Any] | None]) -> None:
    rows = _rows(nodes)
    if not rows:
        return
    table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
    for name in (
        "node",
        "slices",
        "a slice takes",
        "messages",
        "their descriptors",
        "collectives'",
        "blocked",
    ):
        table.add_column(name, justify="right")
    for row in rows:
        counts = [f"{row[name]:,}" for name in ("np2pmsm", "np2pdem", "ncolldem")]
        table.add_row(
            str(row["node"]), f"{row['slices']:,}", time_text(row["gtts"]), *counts, f"{row['bpts']:.2f}"
        )
    _console().print(table)


def _print_times(nodes: dict[int, NDArray[Any] | None]) -> None:
    rows = coschedule.routine_times(nodes)
    if not rows:
        return
    table = Table(
        box=None, pad_edge=False, header_style="bold", title="the layer's own work", title_justify="left"
    )
    for name in ("node", "routine", "total", "of a slice", "at most"):
        table.add_column(name, justify="left" if name == "routine" else "right")
    for row in rows:
        times = (time_text(row[name]) for name in ("total", "mean", "greatest"))
        table.add_row(str(row["node"]), row["routine"], *times)
    _console().print(table)


def _console() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=100)


def _draw(slices: NDArray[Any] | None, metrics: Sequence[str], output: Path, folder: Path) -> None:
    if slices is None or not len(slices):
        raise UsageError(f"{folder} has no slices", help=f"record them: PSE_BCS_EMDS={folder} mpiexec …")
    choose_format(output)
    views.save(views.draw_slices(slices, metrics), output)
