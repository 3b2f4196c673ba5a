"""``pse bench predictions``: the advisor's word beside runs, in settings that a seed has drawn.

Each draw is an application, a number of emulated nodes, their share of a core and the rate of their links.
One run on one thread is recorded there, and `pse advise` proposes.  Then the program that it speaks of runs
in turn with the one that it would replace, and is compared with the prediction: the proposal; where it
proposes nothing, what a person would write, if that is another program at all; else the program as it is.

A draw depends on its number and nothing else, so they can be made in parts: what a file of samples has isn't
measured again.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pse.advise import Advice, AdviceError, WhatIf, advise
from pse.bench._environments import Place, nodes, share_of
from pse.bench._figures import Against, Figure
from pse.bench._running import in_turn
from pse.bench.subjects.advice import advise as studies
from pse.errors import UsageError, system_help

NEAR, NOISE = 10.0, 10.0
"""Percent: a prediction is right if it is off by less; runs of one program differ by as much."""


@dataclass(frozen=True)
class Sizes:
    """How many settings are drawn, and from what."""

    samples: Path | None = None
    """A file of draws that were made before; new ones are added."""
    seed: int = 15
    processors: tuple[int, int] = (2, 8)
    share: tuple[float, float] = (0.5, 1.0)
    """Parts of what a node can have."""
    megabits: tuple[float, float] = (0.4, 2.5)
    """Of what makes communicating take about as long as computing."""
    launches: int = 3
    """Of each program, in turn."""
    emulated: bool = True
    study: studies.Sizes = field(
        default_factory=lambda: studies.Sizes(seconds=0.15, n=1018, frames=16, side=512, tolerance=1e-3)
    )


@dataclass(frozen=True)
class Draw:
    """A setting, and what came of it; times in seconds.

    `change` is what was predicted: a proposal, a change by hand, or nothing.  Beside a proposal runs what it
    replaces; `before` is empty where there is none.
    """

    number: int
    application: str
    setting: str
    change: str
    recorded: float
    predicted: float
    low: float
    high: float
    before: tuple[float, ...]
    after: tuple[float, ...]
    notes: tuple[str, ...]

    @property
    def off(self) -> float:
        """By how much the prediction misses the median of runs, percent."""
        return 100 * abs(self.predicted / statistics.median(self.after) - 1)

    @property
    def is_inside(self) -> bool:
        """Whether the interval of the prediction has the median of runs."""
        return self.low <= statistics.median(self.after) <= self.high

    @property
    def half_width(self) -> float:
        """Half of the interval, in parts of the prediction, percent."""
        return 50 * (self.high - self.low) / self.predicted

    @property
    def loss(self) -> float:
        """What the proposal takes longer than what it replaces, percent; 0 where there is none."""
        return 100 * (statistics.median(self.after) / statistics.median(self.before or self.after) - 1)


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Make as many draws as `repeats`, after those that the file of samples has; figures are of all."""
    draws = list(_read(sizes.samples))
    for number in range(len(draws), len(draws) + repeats):
        draw = _draw(number, sizes, say)
        draws.append(draw)
        if sizes.samples is not None:
            with sizes.samples.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(draw), ensure_ascii=False) + "\n")
    return _figures(draws)


def _read(path: Path | None) -> Iterator[Draw]:
    """Read draws, and make sure that more can be written.

    Raises
    ------
    UsageError
        It can't be, or there is something else in it.
    """
    if path is None:
        return
    try:
        with path.open("a+", encoding="utf-8") as file:
            file.seek(0)
            lines = file.read().splitlines()
        for line in lines:
            values: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value
                for name, value in json.loads(line).items()
            }
            yield Draw(**values)
    except OSError as error:
        message = f"samples can't be kept in {path}: {error.strerror}"
        raise UsageError(message, help=system_help(error, path)) from error
    except (ValueError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path} has something else than samples of pse bench predictions",
            help="name a file that this bench has written, or a new one",
        ) from error


def _draw(number: int, sizes: Sizes, say: Callable[[str], None]) -> Draw:
    """Draw a setting, record a run, and run what the prediction is about."""
    source = random.Random(f"{sizes.seed}, {number}")
    processors = source.randint(*sizes.processors)
    share = round(share_of(processors) * source.uniform(*sizes.share), 3)
    factor = sizes.megabits[0] * (sizes.megabits[1] / sizes.megabits[0]) ** source.random()
    links = {name: factor * rate for name, rate in sizes.study.megabits.items()}
    study = replace(sizes.study, processors=processors, share=share, megabits=links)
    known = list(studies.applications(study))
    application = known[number % len(known)]
    rate = f"{study.rate(application.name):.3f}mbit"
    with (
        nodes(processors, rate, emulated=sizes.emulated, share=share) as place,
        tempfile.TemporaryDirectory(prefix="pse-bench-") as directory,
    ):
        return _study(number, application, place, Path(directory), sizes.launches, say)


def _study(
    number: int,
    application: studies.Application,
    place: Place,
    directory: Path,
    launches: int,
    say: Callable[[str], None],
) -> Draw:
    application.copy_modules(directory)
    one = application.texts()["one thread"]
    say(f"draw {number + 1}")
    recorded = studies.run_recorded(application, one, place, directory)
    change, advice = _advice(application, directory)

    def run(name: str, text: str) -> dict[str, float]:
        return {name: studies.run_recorded(application, text, place, directory)}

    measurers = [lambda: run("after", advice.text)]
    if advice.proposal and change not in application.by_hand:
        measurers.append(lambda: run("before", one))
    samples = in_turn(launches, measurers, lambda words: say(f"draw {number + 1}, {words}"))
    expected = advice.prediction
    return Draw(
        *(number, application.name, place.words, change, recorded),
        *(expected.seconds, expected.low, expected.high),
        *(tuple(samples.get("before", ())), tuple(samples["after"])),
        advice.notes,
    )


def _advice(application: studies.Application, directory: Path) -> tuple[str, Advice]:
    """Ask for advice; where nothing is proposed, about what a person would write."""
    trace, program = directory / "trace", str(directory / "program.coven")
    advice = advise(trace, program=program)
    if advice.proposal:
        return "; ".join(f"{edit.what} in line {edit.line}: {edit.after}" for edit in advice.proposal), advice
    for name, labels in application.by_hand.items():
        if not all(call.isalpha() for call, _ in labels):
            continue  # Of two calls of one module: `--threads` would name their lines.
        try:
            return name, advise(trace, program=program, whatif=WhatIf(threads=dict(labels)))
        except AdviceError:  # The engine would fold these threads: it is the same program.
            continue
    return "", advice


def _figures(draws: list[Draw]) -> list[Figure]:
    changed, proposed = [one for one in draws if one.change], [one for one in draws if one.before]
    near, others = (
        "predictions off by less than 10 %",
        "of those about another program, off by less than 10 %",
    )
    inside = "intervals that have the median of runs"
    loss = "proposals not worse than what they replace by more than 10 %"
    miss, half, most = "their median miss", "their median half width", "the greatest loss"
    return [
        _share(near, 95.0, draws, lambda draw: draw.off < NEAR, (miss, [draw.off for draw in draws])),
        _share(others, 95.0, changed, lambda draw: draw.off < NEAR, (miss, [draw.off for draw in changed])),
        _share(inside, 90.0, draws, lambda draw: draw.is_inside, (half, [draw.half_width for draw in draws])),
        _share(
            *(loss, 100.0, proposed, lambda draw: draw.loss <= NOISE),
            (most, [max((draw.loss for draw in proposed), default=0.0)]),
        ),
    ]


def _share(
    name: str,
    target: float,
    draws: list[Draw],
    holds: Callable[[Draw], bool],
    beside: tuple[str, list[float]],
) -> Figure:
    """Give the share of these draws, and of none else: its interval is itself; of none it is open."""
    number = sum(map(holds, draws))
    share = 100.0 * number / len(draws) if draws else 100.0
    words = f"{name}: {number} of {len(draws)} recordings"
    what, values = beside
    median = (statistics.median(values or [0.0]),)
    against = Against(what, "%", median, median)
    return Figure(words, "%", ">=", target, (share,), against, bounds=(share, share) if draws else None)
