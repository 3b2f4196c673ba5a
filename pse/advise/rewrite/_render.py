"""Advice on a terminal: in colour there (rich; ``NO_COLOR`` is respected), plain text elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from pse.advise.rewrite._advice import Advice
from pse.advise.search._prediction import Prediction
from pse.text import share_text, time_text

Piece = tuple[str, str]
"""Text and the style it has on a terminal."""

_DIFF = {"+": "green", "-": "red", "@": "cyan"}


def print_advice(advice: Advice, stream: TextIO, *, applying: bool = False) -> None:
    """Print advice.

    Parameters
    ----------
    advice : Advice
        What to print.
    stream : text stream
        Where to.
    applying : bool
        Whether the change is going to be written anyway.

    Examples
    --------
    >>> import sys
    >>> print_advice(pse.advise.advise("run1"), sys.stdout)
    pipeline.coven: the run took 28.0 ms; simulated, it takes 7.2 % more
      as it is   28.0 ms   (25.1 ms to 30.9 ms)
      proposed   26.0 ms   (23.3 ms to 28.7 ms)   7 % less
    ...
    """
    pieces = list(_pieces(advice, applying))
    if not stream.isatty():
        stream.write("".join(text for text, _ in pieces))
        return
    from rich.console import Console
    from rich.text import Text

    Console(file=stream, highlight=False).print(Text.assemble(*pieces), end="")


def _pieces(advice: Advice, applying: bool) -> Iterator[Piece]:
    off = advice.simulated / advice.measured - 1
    yield f"{advice.program}", "bold"
    measured = time_text(1e9 * advice.measured)
    yield f": the run took {measured}; simulated, it takes {share_text(abs(off), 1)} ", ""
    yield ("more" if off >= 0 else "less") + "\n", ""
    if advice.supposed:
        yield f"supposed: {advice.supposed}\n", "yellow"
    yield from _time("as it is", advice.present, "")
    if advice.proposal:
        yield from _time("proposed", advice.prediction, _gain(advice))
        yield "\n", ""
        yield from _changes(advice)
    yield "\n", ""
    for reason in advice.reasons:
        yield f"  {reason}\n", ""
    for note in advice.notes:
        yield f"note: {note}\n", "yellow"
    if advice.diff:
        yield "\n", ""
        for line in advice.diff.splitlines():
            yield f"{line}\n", _DIFF.get(line[0], "")
        if not applying and not advice.subject.changed:
            yield "\nwrite it with --apply\n", "bold"


def _time(name: str, prediction: Prediction, more: str) -> Iterator[Piece]:
    between = f"{time_text(1e9 * prediction.low)} to {time_text(1e9 * prediction.high)}"
    yield f"  {name}  ", ""
    yield f"{time_text(1e9 * prediction.seconds):>8}", "bold cyan"
    yield f"   ({between})", "dim"
    yield f"{more}\n", "bold green" if more and "less" in more else "bold red"


def _gain(advice: Advice) -> str:
    return f"   {share_text(abs(advice.gain))} {'less' if advice.gain >= 0 else 'more'}"


def _changes(advice: Advice) -> Iterator[Piece]:
    width = max(len(edit.what) for edit in advice.proposal)
    for edit in advice.proposal:
        yield f"  line {edit.line:<4} {edit.what:<{width}}  {edit.before} → ", ""
        yield f"{edit.after}\n", "bold"
