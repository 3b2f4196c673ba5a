"""``pse bench advise``: predictions beside runs, proposals beside programs written by hand.

Three applications on emulated nodes, each on one thread: compute and give to the neighbour, 2-D FFTs, heat on
a plate.  One run is recorded, `pse advise` proposes, and the proposal runs in turn with what a person would
write for two or three threads.  Measured is what the predicted time means: from the program's first statement
to the end of its last call, as each run's own trace has it.
"""

from __future__ import annotations

import functools
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pse.advise import Advice, advise, run_time
from pse.bench._calibrate import steps_in
from pse.bench._environments import Place, nodes, share_of
from pse.bench._figures import Against, Figure
from pse.bench._running import SOURCE_TREE, Samples, finish, in_turn, program_path, start, stop, usable_cores

PROPOSED = "proposed"


@dataclass(frozen=True)
class Sizes:
    """How much one run of each application does; megabits a second of links of nodes with a whole core."""

    processors: int = 2
    units: int = 8
    seconds: float = 0.2
    n: int = 2036
    frames: int = 24
    side: int = 1024
    tolerance: float = 3e-4
    emulated: bool = True
    applications: tuple[str, ...] = ("synthetic", "fft", "heat")
    megabits: Mapping[str, float] = field(
        default_factory=lambda: {"synthetic": 100.0, "fft": 4000.0, "heat": 1000.0}
    )

    share: float | None = None
    """The part of a core that each node has; None for what there is."""

    @property
    def core(self) -> float:
        """The part of a core that each node has."""
        return self.share or share_of(self.processors)

    def rate(self, application: str) -> float:
        """Megabits a second of each link."""
        return self.megabits[application] * self.core


@dataclass(frozen=True)
class Application:
    """A program on one thread, its parameters, and what a person would write: labels of some calls."""

    name: str
    path: Path
    defines: Mapping[str, object]
    by_hand: Mapping[str, Sequence[tuple[str, str]]]

    def copy_modules(self, directory: Path) -> None:
        """Put what its program imports beside where it is going to be."""
        for beside in self.path.parent.iterdir():
            if beside.suffix in (".c", ".h", ".py"):
                shutil.copy(beside, directory)

    def texts(self) -> dict[str, str]:
        """Give the program on one thread, and as a person would write it."""
        one = _labelled(self.path.read_text(encoding="utf-8"), [("exchange", "thread_B")])
        return {"one thread": one} | {name: _labelled(one, labels) for name, labels in self.by_hand.items()}


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure one application after the other."""
    figures = []
    for application in applications(sizes):
        if application.name not in sizes.applications:
            continue
        rate = f"{sizes.rate(application.name):.3f}mbit"
        with (
            nodes(sizes.processors, rate, emulated=sizes.emulated) as place,
            tempfile.TemporaryDirectory(prefix="pse-bench-") as directory,
        ):
            figures += _study(application, place, Path(directory), repeats, say)
    return figures


def applications(sizes: Sizes) -> Iterator[Application]:
    """Give those that there are here, with what they do in a run."""
    steps = steps_in(sizes.seconds * sizes.core, usable_cores()[-1])
    numbers = max(int(sizes.rate("synthetic") * 1e6 * sizes.seconds / 64), 1)
    yield Application(
        "synthetic",
        program_path("advise.coven"),
        {"units": sizes.units, "steps": steps, "numbers": numbers},
        {
            "shift apart": [("shift", "thread_C")],
            "shift and check apart": [("shift", "thread_C"), ("check", "thread_D")],
        },
    )
    yield Application(
        "fft",
        program_path("advise_fft.coven"),
        {"N": sizes.n, "frames": sizes.frames},
        {
            "transposes apart": [("transpose", "thread_C")],
            "each transpose apart": [
                (r"transpose(?=\(image)", "thread_C"),
                (r"transpose(?=\(turned)", "thread_D"),
            ],
        },
    )
    heat = SOURCE_TREE / "programs" / "heat.coven"
    if heat.is_file():  # Not in an installed package.
        defines = {"NX": sizes.side, "NY": sizes.side, "tol": sizes.tolerance}
        yield Application("heat", heat, defines, {"exchange apart": [("exchange", "thread_C")]})


def _labelled(text: str, labels: Sequence[tuple[str, str]]) -> str:
    """Give calls another label."""
    for call, label in labels:
        text = re.sub(rf"\bthread_\w+ (?={call}\b)", f"{label} ", text)
    return text


def _study(
    application: Application, place: Place, directory: Path, repeats: int, say: Callable[[str], None]
) -> list[Figure]:
    """Record one run, ask for advice, and run what it says in turn with what people say."""
    application.copy_modules(directory)
    texts = application.texts()
    run_recorded(application, texts["one thread"], place, directory)  # Builds modules, too.
    run_recorded(application, texts["one thread"], place, directory)
    advice = advise(directory / "trace", program=str(directory / "program.coven"))
    texts[PROPOSED] = advice.text
    measurers = [
        functools.partial(_timed, name, application, text, place, directory) for name, text in texts.items()
    ]
    samples = in_turn(repeats, measurers, lambda words: say(f"{application.name}, {words}"))
    return _figures(application, place, advice, samples)


def _timed(name: str, *arguments: object) -> dict[str, float]:
    return {name: run_recorded(*arguments)}  # type: ignore[arg-type]


def run_recorded(application: Application, text: str, place: Place, directory: Path) -> float:
    """Run a program, recorded; gives the seconds of what the trace has of it."""
    (directory / "program.coven").write_text(text, encoding="utf-8")
    pse_command = [sys.executable, "-c", "from pse.cli import main; main(prog_name='pse')"]
    command = [*pse_command, "run", str(directory / "program.coven"), "-p", str(place.processors)]
    command += [word for key, value in application.defines.items() for word in ("-D", f"{key}={value}")]
    command += [word for option in place.options for word in ("-o", option)]
    process = start([*command, "--trace", str(directory / "trace")], str(directory), place)
    try:
        finish(f"the program {application.name}", process)
    finally:
        stop(process)
    return run_time(directory / "trace")


def _figures(application: Application, place: Place, advice: Advice, samples: Samples) -> list[Figure]:
    taken = samples[PROPOSED]
    expected = (
        advice.prediction.seconds if advice.proposal else advice.simulated
    )  # Not scaled by the run itself.
    off = tuple(100 * abs(expected / seconds - 1) for seconds in taken)
    best = min(application.by_hand, key=lambda name: statistics.median(samples[name]))
    slower = tuple(100 * (ours / theirs - 1) for ours, theirs in zip(taken, samples[best], strict=True))
    saved = tuple(100 * (1 - ours / one) for ours, one in zip(taken, samples["one thread"], strict=True))
    name = f"{application.name}; {place.words}"
    predicted = Against("predicted", "s", (expected,), tuple(taken))
    by_hand = Against(f"the best by hand: {best}", "s", tuple(samples[best]), tuple(taken))
    one = Against("one thread", "s", tuple(samples["one thread"]), tuple(taken))
    return [
        Figure(f"prediction off by; {name}", "%", "<=", 10.0, off, predicted),
        Figure(f"proposal longer than the best by hand; {name}", "%", "<=", 2.0, slower, by_hand),
        Figure(f"proposal less than one thread; {name}", "%", ">=", -2.0, saved, one),
    ]
