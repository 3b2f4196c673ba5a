"""The configuration of a measurement, and the settings that it asks for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple

from pse.errors import UsageError

EXCHANGE_SIZES: Final = (1, 64, 1024, 4096, 8192, 16384, 65536, 262144, 1048576)
WAITS: Final = ("auto", "mpi", "sleep")
PREDICTIONS: Final = ("load", "pattern", "model", "paper")
PLACEMENTS: Final = ("packed", "spread")
RECORDED: Final = "recorded"
"""What results call the pattern of an application that replays a recorded program."""
_FACTS: Final = ("name", "pattern", "ranks", "blocking", "synchronous", "cycles", "placement")


class ConfigurationError(UsageError):
    """A configuration asks for what can't be.

    Examples
    --------
    >>> _ = Path("none.toml").write_text("[run]\\ntime = 3\\n")
    >>> pse.ace.read_configuration("none.toml", ranks=2)
    Traceback (most recent call last):
        ...
    ConfigurationError: none.toml:1: there are no applications
    """


@dataclass(frozen=True)
class Application:
    """An emulated application.

    Attributes
    ----------
    name : str
        What results call it.
    pattern : str
        What it exchanges in a cycle.
    ranks : int
        How many ranks it has.
    sizes : tuple of int
        Bytes of a message; each is a setting of its own.
    loads : tuple of float
        Shares of the time that is spent communicating, percent; each is a setting of its own.
    cycles : int
        How many cycles of computing and communicating it has.
    blocking : bool
        Whether messages are sent and received by blocking calls.
    synchronous : bool
        Whether a barrier follows each cycle.
    background : bool
        Whether it goes on after its cycles, until all that are not in the background have ended.
    start : float
        Seconds after the others' begin at which it begins.
    placement : str
        ``packed`` (node by node), or ``spread`` (over the nodes in turn).
    nodes : tuple of int or str
        The nodes that it may use, by number or name; all if empty.
    options : mapping of str to value
        The pattern's own.
    program : str, optional
        The file of a recorded program that it replays instead of a pattern.

    See Also
    --------
    check_configuration

    Examples
    --------
    >>> halo = Application("halo", "circular", 4, sizes=(1024, 65536), loads=(25.0, 50.0))
    >>> len(pse.ace.Configuration((halo,), ranks=4).settings())
    4
    """

    name: str
    pattern: str
    ranks: int
    sizes: tuple[int, ...]
    loads: tuple[float, ...]
    cycles: int = 1000
    blocking: bool = True
    synchronous: bool = True
    background: bool = False
    start: float = 0.0
    placement: str = "packed"
    nodes: tuple[int | str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    program: str | None = None


def alone_name(name: str) -> str:
    """Give the name in results of an application that runs alone."""
    return f"{name} alone"


class Setting(NamedTuple):
    """What runs at once.

    Parameters
    ----------
    parts : tuple of (int, int, float)
        For each application that runs its index, the size of its messages in bytes, and its load in percent.
    alone : bool
        Whether one of several applications runs alone.

    See Also
    --------
    read_configuration

    Examples
    --------
    >>> halo = Application("halo", "circular", 4, sizes=(1024,), loads=(25.0, 50.0))
    >>> Configuration((halo,), ranks=4).settings()
    [Setting(parts=((0, 1024, 25.0),), alone=False), Setting(parts=((0, 1024, 50.0),), alone=False)]
    """

    parts: tuple[tuple[int, int, float], ...]
    alone: bool = False


@dataclass(frozen=True)
class Configuration:
    """What is to be measured.

    Attributes
    ----------
    applications : tuple of Application
        Those that are emulated, at once.
    ranks : int
        How many ranks the job has.
    launches : int
        How often the job is started at least, if the time allows it.
    most_launches : int
        How often it is started at most.
    time : float
        Seconds that measuring may take: no launch but the first is started that would end later, going by
        those before.
    precision : float
        Percent of the median by which the ends of its interval may differ from it, for measuring to stop.
    seed : int
        Of the order of settings, and of random patterns.
    waits : str
        ``mpi`` waits as the MPI library does, ``sleep`` sleeps; ``auto`` sleeps where ranks share cores.
    isolated : bool
        Whether each of several applications runs alone, too.
    prediction : str
        Where a cycle's communication time comes from: ``load`` (its own exchanges at this load), ``pattern``
        (the same at full load), ``model`` or ``paper`` (the model that is fitted to the exchanges of phase
        one).
    exchange_sizes : tuple of int
        Bytes of phase one's messages; empty: there is no phase one.
    repetitions : int
        How often each of them is exchanged.
    matrix : bool
        Whether all pairs of ranks exchange messages, or only 0 and 1, 2 and 3, ….
    loggp : bool
        Whether the parameters of LogGP are measured.
    alpha, beta : float, optional
        Given parameters of the model, s and s/B, instead of phase one.
    pattern_files : tuple of str
        Python files that add patterns.
    source : str
        The file that it was read from.

    See Also
    --------
    check_configuration, read_configuration
    """

    applications: tuple[Application, ...]
    ranks: int
    launches: int = 10
    most_launches: int = 100
    time: float = 300.0
    precision: float = 2.0
    seed: int = 1
    waits: str = "auto"
    isolated: bool = True
    prediction: str = "load"
    exchange_sizes: tuple[int, ...] = EXCHANGE_SIZES
    repetitions: int = 100
    matrix: bool = False
    loggp: bool = False
    alpha: float | None = None
    beta: float | None = None
    pattern_files: tuple[str, ...] = ()
    source: str = ""

    @property
    def is_given(self) -> bool:
        """Whether the model's parameters are given."""
        return self.alpha is not None and self.beta is not None

    def settings(self) -> list[Setting]:
        """Give all settings: each combination of all applications at once, and each alone if asked."""
        choices = [list(_choices(number, one)) for number, one in enumerate(self.applications)]
        together = [Setting(parts) for parts in itertools.product(*choices)]
        if len(choices) < 2 or not self.isolated:
            return together
        return together + [Setting((choice,), alone=True) for own in choices for choice in own]

    def application_facts(self) -> list[dict[str, Any]]:
        """Give what results say of each application, those that run alone after those at once."""
        listed = [
            {
                **{name: getattr(one, name) for name in _FACTS},
                "options": dict(one.options),
            }
            for one in self.applications
        ]
        if len(listed) < 2 or not self.isolated:
            return listed
        return listed + [{**one, "name": alone_name(one["name"]), "alone": one["name"]} for one in listed]

    def setting_facts(self) -> list[dict[str, Any]]:
        """Give what results say of each setting: their applications by index in `application_facts`."""
        return [
            {
                "parts": [
                    {"application": number + len(self.applications) * one.alone, "size": size, "load": load}
                    for number, size, load in one.parts
                ]
            }
            for one in self.settings()
        ]

    def facts(self) -> dict[str, Any]:
        """Give what results say of what was asked for."""
        return {
            "applications": self.application_facts(),
            "settings": self.setting_facts(),
            "configuration": self.to_json(),
        }

    def to_json(self) -> dict[str, Any]:
        """Give what JSON can say."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Configuration:
        """Make the configuration that `to_json` described."""
        applications = tuple(Application(**_with_tuples(one)) for one in data["applications"])
        return cls(**{**_with_tuples(data), "applications": applications})


def _with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def _choices(number: int, application: Application) -> Iterator[tuple[int, int, float]]:
    for size, load in itertools.product(application.sizes, application.loads):
        yield number, size, load
