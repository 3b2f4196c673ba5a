"""``pse watch``: look at what a running program computes.  The work is done by ``pse.runtime.control``."""

from __future__ import annotations

import shutil
from itertools import islice

import click

from pse.cli._options.watch import check_output, write_frames
from pse.cli.completion import files
from pse.cli.ctl import runs
from pse.runtime.control import Frame, RunControl, frame_text
from pse.runtime.supervise import raised_signals

_WIDEST = 120


@click.command("watch")
@click.argument("run", metavar="RUN", shell_complete=runs)
@click.argument("tag", metavar="TAG")
@click.option("-n", "--frames", metavar="N", type=click.IntRange(min=1), help="End after N frames.")
@click.option(
    *("-o", "output"),
    metavar="FILE",
    shell_complete=files,
    help="Keep the frames, too, in FILE: .npz, .gif, .mp4, or a directory with a / at its end for PNG.",
)
def command(run: str, tag: str, frames: int | None, output: str | None) -> None:
    """Show the tag TAG of a program that runs, as it changes: a number, a line or an image.

    RUN is the name that `pse run PROGRAM --control RUN` gave it.  Frames are taken at pauses, and so seldom
    that the run spends at most half a percent of its processors' time on them; a large array is shown by the
    means of blocks.
    """
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    kept: list[Frame] = []
    if output:
        check_output(output)
    try:
        with raised_signals(), RunControl(run) as control:
            for frame in islice(control.frames(tag), frames):
                click.echo(frame_text(frame, width), nl=False)
                kept += [frame] if output else []
    finally:  # A signal ends the watch, not what was kept.
        if output and kept:
            write_frames(kept, output)
