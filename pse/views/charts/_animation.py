"""Frames of a tag as an animation: a number as a curve, a line as a line, an array as an image.

Ranges and colours are the same in all frames, so that what is higher in one of them looks so.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pse.errors import UsageError
from pse.files import draft_directory, draft_file, explained, require_directory
from pse.text import ending_text
from pse.views.core._mpl_defaults import mpl_defaults

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pse.runtime.control import Frame

FILES = (".gif", ".mp4", "/")
_RATE = 10
"""Frames that are shown in a second."""
_WIDTH, _HEIGHT, _DPI = 6.4, 4.8, 100
_NOT_FINITE = "no finite value"


def check_animation(output: str, others: Sequence[str] = ()) -> None:
    """Refuse an animation that can't be written, before any work is done.

    Parameters
    ----------
    output : str
        A file that ends in .gif or .mp4, or a directory for pictures, whose name ends in ``/``.
    others : sequence of str, optional
        Endings of what can be written as well, for who is told that this one can't.

    Raises
    ------
    UsageError
        If its name says nothing, its place is not there, or what writes it isn't.

    Examples
    --------
    >>> check_animation("heat.avi")
    Traceback (most recent call last):
        ...
    pse.errors.UsageError: the format can't be told from the name heat.avi: it must end in .gif, .mp4 or /
    """
    if not output.endswith(FILES):
        raise UsageError(
            ending_text(output, (*others, *FILES)), help="for example:  heat.gif, or frames/ for pictures"
        )
    require_directory(output.rstrip("/"))
    if output.endswith("/") and os.path.isdir(output) and os.listdir(output):
        raise UsageError(f"the directory {output} is not empty", help="name another one, or remove it")
    if output.endswith(".mp4") and shutil.which("ffmpeg") is None:
        help = f"install ffmpeg with the system's packages, or write {Path(output).stem}.gif"
        raise UsageError(f"there is no ffmpeg on PATH to write {output}", help=help)
    try:
        import matplotlib as mpl
        import PIL
    except ImportError:
        help = "install it with: pip install 'pse[views]'"
        raise UsageError(f"writing {output} needs matplotlib and pillow", help=help) from None
    assert mpl
    assert PIL


def save_animation(
    frames: Sequence[Frame], output: str, is_enough: Callable[[], bool] = lambda: False
) -> int:
    """Write frames of one tag as an animation, all of it or nothing.

    Parameters
    ----------
    frames : sequence of Frame
        At least one; of an array with more than two axes the slice in the middle is shown.
    output : str
        A file that ends in .gif or .mp4, or a directory for pictures (.png), whose name ends in ``/``.
    is_enough : callable, optional
        Asked behind each frame: whether the animation ends with it.

    Returns
    -------
    int
        How many frames it has.

    Raises
    ------
    UsageError
        If it can't be written.

    See Also
    --------
    check_animation
    """
    check_animation(output)
    with mpl_defaults():
        figure, show = _drawing(frames)
        title = figure.axes[0].set_title("", fontsize=9, loc="left")

        def drawn() -> Iterator[int]:
            for number, frame in enumerate(frames, 1):
                show(number - 1)
                title.set_text(f"{frame.tag} at {frame.place}")
                yield number
                if is_enough():
                    break

        with explained(output):
            return _write(figure, drawn(), output)


def _write(figure: Figure, drawn: Iterator[int], output: str) -> int:
    """Write the figure as it is at each step; gives the number of the last one."""
    from matplotlib.animation import FFMpegWriter, PillowWriter

    count = 0
    if output.endswith("/"):
        with draft_directory(Path(output)) as folder:
            for count in drawn:
                figure.savefig(folder / f"{count:04}.png", dpi=_DPI)
        return count
    writer = PillowWriter(fps=_RATE) if output.endswith(".gif") else FFMpegWriter(fps=_RATE)
    with draft_file(output) as path:
        made = path.with_name(path.name + Path(output).suffix)  # Both writers look at the suffix.
        with _uninterrupted():
            writer.setup(figure, str(made), _DPI)
        for _ in drawn:
            writer.grab_frame()
            count += 1
        writer.finish()
        made.replace(path)
    return count


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Start a program that a Ctrl-C at the terminal, which comes to it as well, does not end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _slice(values: np.ndarray) -> np.ndarray:
    while values.ndim > 2:
        values = values[len(values) // 2]
    return values


def _drawing(frames: Sequence[Frame]) -> tuple[Figure, Callable[[int], object]]:
    """Make a figure, and what shows one frame in it: in words where there is nothing to draw."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure((_WIDTH, _HEIGHT), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    values = [_slice(frame.values) for frame in frames]
    known = np.concatenate([one[np.isfinite(one)].ravel() for one in values])
    words = axes.text(0.5, 0.5, "", ha="center", transform=axes.transAxes)
    if not known.size:
        words.set_text(_NOT_FINITE if values[0].size else "no numbers")
        return figure, lambda _: None
    show = _picture(figure, axes, frames, values, (float(known.min()), float(known.max())))
    blank = [one.ndim > 0 and not np.isfinite(one).any() for one in values]

    def both(number: int) -> None:
        show(number)
        words.set_text(_NOT_FINITE if blank[number] else "")

    return figure, both


def _picture(
    figure: Figure,
    axes: Axes,
    frames: Sequence[Frame],
    values: Sequence[np.ndarray],
    limits: tuple[float, float],
) -> Callable[[int], object]:
    """Draw an image, a line or a curve over time; axes count the cells of the program's array."""
    low, high = limits
    if values[0].ndim == 2:
        rows, columns = frames[0].shape[-2:]
        how: dict[str, Any] = {"vmin": low, "vmax": high, "interpolation": "nearest", "cmap": "cividis"}
        image = axes.imshow(values[0], extent=(0, columns, rows, 0), **how)
        figure.colorbar(image)
        return lambda number: image.set_data(values[number])
    (line,) = axes.plot([], [], color="#0072B2")
    room = 0.05 * (high - low) or 0.5
    axes.set_ylim(low - room, high + room)
    if values[0].ndim == 1:
        places = np.arange(len(values[0])) * frames[0].block[0]
        axes.set_xlim(0, max(1, *places))
        return lambda number: line.set_data(places, values[number])
    pauses = [frame.pause for frame in frames]
    axes.set_xlim(pauses[0], max(pauses[-1], pauses[0] + 1))
    axes.set_xlabel("pause")
    return lambda number: line.set_data(pauses[: number + 1], values[: number + 1])
