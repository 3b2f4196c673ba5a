"""What-if: the same program on other processors or links, with faster modules, with the user's threads.

Words of the command line become a `Setting` and a `Machine`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pse.advise.model._cost_model import Cores, MeasuredCosts
from pse.advise.model._errors import AdviceError
from pse.advise.model._program_subject import Subject
from pse.advise.simulate._assignment import Machine
from pse.emulate import Model as Network
from pse.language.types import OPTIONS
from pse.text import called_name

_FACTOR = re.compile(r"[x×*]?(\d+(?:\.\d+)?)[x×*]?")
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt])?(?:bit|bps|bit/s)", re.IGNORECASE)
_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_HEADERS = 0.957
"""What TCP's and MPI's headers leave of a link's rate."""


@dataclass(frozen=True)
class WhatIf:
    """What is supposed to be otherwise than in the run.

    Attributes
    ----------
    processors : int or None
        How many processors.
    link : str or None
        The rate of links between nodes: ``100Mbit``, or a factor: ``2x``.
    speeds : mapping of str to float
        How many times as fast modules are, by label or name.
    depth : int or None
        The queue depth.
    threads : mapping of str to str
        Labels for call sites: by what they call (``transpose``), or by line too (``transpose:12``).
    network : pse.ace.Model or None
        What messages between nodes cost.

    See Also
    --------
    parse_whatif

    Examples
    --------
    >>> WhatIf(processors=4, speeds={"rows": 2.0}).words
    '4 processors, rows 2 × as fast'
    """

    processors: int | None = None
    link: str | None = None
    speeds: Mapping[str, float] = field(default_factory=dict)
    depth: int | None = None
    threads: Mapping[str, str] = field(default_factory=dict)
    network: Network | None = None

    @property
    def words(self) -> str:
        """Say what is supposed; empty for nothing."""
        found = [f"{self.processors} processors"] if self.processors else []
        found += ["messages that cost what the network's model says"] if self.network else []
        found += [f"links: {self.link}"] if self.link else []
        found += [f"{name} {speed:g} × as fast" for name, speed in self.speeds.items()]
        found += [f"queue depth {self.depth}"] if self.depth else []
        return ", ".join(found)


def parse_whatif(
    processors: int | None = None,
    link: str | None = None,
    speeds: Sequence[str] = (),
    options: Sequence[str] = (),
    threads: Sequence[str] = (),
) -> WhatIf:
    """Read what-if options as the command line has them.

    Parameters
    ----------
    processors : int, optional
        How many there are.
    link : str, optional
        What connects nodes: ``100Mbit``, or ``2x`` for twice the rate.
    speeds : sequence of str
        Modules that are as many times as fast: ``fft.rows=2x``.
    options : sequence of str
        ``queue_depth=4``.
    threads : sequence of str
        Threads of calls: ``shift=thread_C``, ``shift:42=thread_C``.

    Returns
    -------
    WhatIf
        What the options say.

    Raises
    ------
    AdviceError
        One makes no sense; the message says what was expected.

    Examples
    --------
    >>> supposed = pse.advise.parse_whatif(processors=4, speeds=["rows=2x"], threads=["total=thread_B"])
    >>> supposed.words
    '4 processors, rows 2 × as fast'
    >>> str(pse.advise.advise("run1", whatif=supposed).present)
    '19.6 ms (15.6 ms to 23.6 ms)'
    """
    if link is not None:
        _link_factor(link, 1.0)
    return WhatIf(
        processors,
        link,
        {name: _speed(text, value) for text, name, value in _pairs("speed", speeds, "MODULE=2x")},
        _depth(options),
        {name: _label(text, value) for text, name, value in _pairs("thread", threads, "SITE=THREAD")},
    )


def _pairs(option: str, texts: Sequence[str], form: str) -> list[tuple[str, str, str]]:
    found = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise AdviceError(
                f"{option} {text}: expected {form}", help="name and value stand on both sides of `=`"
            )
        found.append((text, name.strip(), value.strip()))
    return found


def _factor(text: str) -> float | None:
    found = _FACTOR.fullmatch(text)
    value = float(found[1]) if found else 0.0
    return value if 0 < value < math.inf else None


def _speed(text: str, value: str) -> float:
    factor = _factor(value)
    if factor is None:
        raise AdviceError(
            f"speed {text}: expected MODULE=FACTOR, how many times as fast, as in fft.rows=2x",
            help="for example:  --speed fft.rows=2x",
        )
    return factor


def _label(text: str, value: str) -> str:
    if not value.isidentifier():
        raise AdviceError(
            f"thread {text}: {value} is not a thread label; expected one such as thread_C",
            help="a label has letters, digits and _ only:  --threads fft.rows=thread_C",
        )
    return value


def _depth(options: Sequence[str]) -> int | None:
    depth = None
    for text, name, value in _pairs("option", options, "queue_depth=N"):
        if name != "queue_depth":
            raise AdviceError(
                f"option {text}: unknown option; advice knows only queue_depth",
                help="for example queue_depth=4",
            )
        read = OPTIONS["queue_depth"].read(value)
        if not isinstance(read, int):
            raise AdviceError(
                f"option {text}: queue_depth must be {OPTIONS['queue_depth'].expected}",
                help="for example:  --option queue_depth=4",
            )
        depth = read
    return depth


def _link_factor(text: str, rate: float) -> float:
    """Give bytes a second of a supposed link, where the run's had `rate`."""
    found = _RATE.fullmatch(text.strip())
    if found and float(found[1]) > 0:
        return float(found[1]) * _UNITS[(found[2] or "").lower()] / 8 * _HEADERS
    factor = _factor(text.strip())
    if factor is None:
        raise AdviceError(
            f"link {text}: expected a rate such as 100Mbit, or a factor such as 2x",
            help="for example:  --link 100Mbit   or, twice the measured rate:  --link 2x",
        )
    return rate * factor


def supposed_machine(measured: MeasuredCosts, machine: Machine, whatif: WhatIf) -> Machine:
    """Give the machine with other links and as many processors as supposed."""
    link = machine.link
    if whatif.network is not None:
        link = link.with_network(whatif.network)
    if whatif.link is not None:
        link = replace(link, rate=_link_factor(whatif.link, link.rate))
    if whatif.processors is None:
        return replace(machine, link=link)
    hosts, cores = dict(machine.hosts), dict(machine.cores)
    known = measured.processors
    apart = len({hosts[p] for p in range(known)}) == known > 1
    for processor in range(whatif.processors):
        if processor >= known:
            like = processor % known
            hosts[processor] = f"node {processor}" if apart else hosts[like]
            cores[processor] = Cores(f"node {processor}", cores[like].amount) if apart else cores[like]
    keep = {None, *range(whatif.processors)}
    return replace(
        machine,
        link=link,
        hosts={place: host for place, host in hosts.items() if place in keep},
        cores={place: share for place, share in cores.items() if place in keep},
    )


def factors(subject: Subject, whatif: WhatIf) -> dict[int, float]:
    """Give what the times of call sites are multiplied by.

    Raises
    ------
    AdviceError
        The program calls no such module.
    """
    found: dict[int, float] = {}
    for name, speed in whatif.speeds.items():
        for site in _named(subject, name, "speed"):
            found[site] = 1.0 / speed
    return found


def chosen_threads(subject: Subject, whatif: WhatIf) -> dict[int, str]:
    """Give the labels that the user chose, by call site.

    Raises
    ------
    AdviceError
        The program has no such call, or it can't have a label.
    """
    found: dict[int, str] = {}
    for name, label in whatif.threads.items():
        for site in _named(subject, name, "thread"):
            span = subject.walk.sites[site].span
            if (span.line, span.column) not in subject.calls:
                raise AdviceError(
                    f"thread {name}={label}: the call in line {span.line} can't have a thread label",
                    help="leave it out: the engine chooses where this call runs",
                )
            found[site] = label
    return found


def _named(subject: Subject, name: str, option: str) -> list[int]:
    what, _, line = name.partition(":")
    there = [site for site in subject.walk.sites if line in ("", str(site.span.line))]
    sites = [s.id for s in there if what in (s.label, called_name(s.label), s.module.name)]
    if not sites:
        labels = ", ".join(dict.fromkeys(called_name(site.label) for site in subject.walk.sites))
        raise AdviceError(f"{option} {name}: the program has no such call", help=f"its calls are: {labels}")
    return sites
