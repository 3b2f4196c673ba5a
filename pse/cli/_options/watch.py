"""What `pse run --watch TAG=FILE` keeps: frames while the program runs, and files of them afterwards."""

import os
from collections.abc import Sequence

import click

from pse.errors import UsageError
from pse.runtime.control import Frame, Recording, save_frames

_NPZ = ".npz"


def parse_watches(texts: Sequence[str]) -> dict[str, str]:
    """Read ``TAG=FILE``: the files by tag.

    Raises
    ------
    UsageError
        If one isn't such a pair, or the file can't be written.
    """
    watches: dict[str, str] = {}
    for text in texts:
        tag, equals, output = text.partition("=")
        if not (equals and tag.isidentifier() and output):
            raise UsageError(f"--watch {text}: expected TAG=FILE", help="for example:  --watch u=heat.gif")
        if tag in watches:
            raise UsageError(f"--watch {text}: {tag} is given twice", help="leave out one of the two")
        check_output(output)
        watches[tag] = output
    return watches


def check_output(output: str) -> None:
    """Refuse a file for frames that can't be written."""
    if not output.endswith(_NPZ):
        from pse.views import check_animation  # It needs matplotlib.

        check_animation(output)


def write_frames(frames: Sequence[Frame], output: str) -> None:
    """Write frames as the file's name says."""
    if output.endswith(_NPZ):
        save_frames(frames, output)
    else:
        from pse.views import save_animation

        save_animation(frames, output)


def write_recordings(recordings: Sequence[Recording], outputs: Sequence[str], *, quiet: bool) -> None:
    """Write what was recorded, and say where it is, or why nothing is."""
    for recording, output in zip(recordings, outputs, strict=True):
        frames = recording.finish()
        if not frames:
            click.echo(f"warning: no frame of {recording.tag} in {output}: {recording.said}", err=True)
            continue
        write_frames(frames, output)
        if not quiet:
            click.echo(f"{recording.tag}: {len(frames)} frames in {output}", err=True)


def name_of_run(given: str | None) -> str:
    """Give the name by which a run is found that is to be recorded."""
    return given or f"run-{os.getpid()}"
