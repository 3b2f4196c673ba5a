"""What `pse run --watch TAG=FILE` keeps: frames while the program runs, and files of them afterwards."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator, Sequence

import click

from pse.errors import UsageError
from pse.runtime.control import Frame, Recording, save_frames
from pse.text import count_text

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
        for other, taken in watches.items():
            if os.path.realpath(taken) == os.path.realpath(output):
                message = f"--watch {text}: {output} is written for {other}"
                raise UsageError(message, help="name another file, one for each tag")
        watches[tag] = output
    return watches


def check_output(output: str) -> None:
    """Refuse a file for frames that can't be written."""
    if not output.endswith(_NPZ):
        from pse.views import check_animation  # It needs matplotlib.

        check_animation(output, [_NPZ])


def write_frames(frames: Sequence[Frame], output: str, *, quiet: bool = False) -> None:
    """Write frames as the file's name says, and say how many; Ctrl-C ends an animation with what is drawn."""
    tag, count = frames[0].tag, len(frames)
    if output.endswith(_NPZ):
        save_frames(frames, output)
        written = f"{count}"
    else:
        from pse.views import save_animation

        if not quiet:
            shown = f"{tag}: writes {count_text(count, 'frame')} to {output} …"
            click.echo(f"{shown} (Ctrl-C ends it with those that are drawn)", err=True)
        with _interruptible() as interrupted:
            drawn = save_animation(frames, output, interrupted.is_set)
        written = f"{drawn} of {count}" if drawn < count else f"{count}"
    if not quiet:
        click.echo(f"{tag}: {written} {'frame' if count == 1 else 'frames'} in {output}", err=True)


@contextlib.contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Note the first Ctrl-C or SIGTERM; a further one stops the command."""
    interrupted = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, _frame: object) -> None:
        interrupted.set()
        signal.signal(number, before[signal.Signals(number)])

    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, note)
    try:
        yield interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def write_recordings(recordings: Sequence[Recording], outputs: Sequence[str], *, quiet: bool) -> None:
    """Write what was recorded, or say why nothing is."""
    for recording, output in zip(recordings, outputs, strict=True):
        frames = recording.finish()
        if frames:
            write_frames(frames, output, quiet=quiet)
        else:
            click.echo(f"warning: no frame of {recording.tag} in {output}: {recording.said}", err=True)


def name_of_run(given: str | None) -> str:
    """Give the name by which a run is found that is to be recorded."""
    return given or f"run-{os.getpid()}"
