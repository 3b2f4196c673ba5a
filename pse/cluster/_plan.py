"""What is asked for: how many nodes, how fast their links, how much of a CPU each.

It is checked here; `_network` and `_cpu_quota` make it.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from pse.errors import UsageError
from pse.text import count_text, time_text

PIN = "pin"
"""In the place of a CPU share: every node has a core of its own, as far as there are enough."""

MOST_NODES = 100

_NAME = re.compile(r"[a-z][a-z0-9_]{0,19}")
_RATE = re.compile(r"(\d+(?:\.\d+)?)([kmg]?)bit", re.IGNORECASE)
_TIME = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s)", re.IGNORECASE)
_THOUSANDS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
_MICROSECONDS = {"us": 1, "ms": 1_000, "s": 1_000_000}


@dataclass(frozen=True)
class Metahost:
    """One of the machines that a cluster emulates, with nodes that are all alike.

    Attributes
    ----------
    nodes : int
        How many nodes.
    rate : int or None
        Bits a second of every node's link, in each direction; None for as fast as it goes.
    cpu : float, "pin" or None
        The share of one core that all processes of a node have together (more than 1 for several cores);
        "pin" for a whole core; None for no limit.
    """

    nodes: int
    rate: int | None = None
    cpu: float | str | None = None

    @property
    def description(self) -> str:
        """Say it in words: ``4 nodes, links of 100 Mbit/s``."""
        return f"{count_text(self.nodes, 'node')}, links of {rate_text(self.rate)}"

    @property
    def cpu_description(self) -> str:
        """Say in words what a node has of the CPU: ``, 0.25 of a core each``."""
        if self.cpu is None:
            return ""
        return ", a core each" if self.cpu == PIN else f", {self.cpu:g} of a core each"


@dataclass(frozen=True)
class Plan:
    """A cluster to be made.

    Attributes
    ----------
    name : str
        What it is called: a lower-case letter, then lower-case letters, digits and underscores.
    metahosts : tuple of Metahost
        The machines that it couples; usually one.
    latency : int or None
        Microseconds that the link of a node adds to what it sends.
    between : int or None
        Bits a second between a metahost and the others, for all its nodes together, in each direction.

    See Also
    --------
    Cluster

    Examples
    --------
    >>> from pse.cluster import Cluster
    >>> plan = Cluster(nodes=2, rate="100mbit").plan
    >>> plan.nodes, plan.rates
    (2, [100000000, 100000000])
    """

    name: str
    metahosts: tuple[Metahost, ...]
    latency: int | None = None
    between: int | None = None

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return sum(metahost.nodes for metahost in self.metahosts)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Name the nodes: n0, n1 and so on."""
        return tuple(f"n{index}" for index in range(self.nodes))

    @property
    def places(self) -> list[int]:
        """Tell for each node the index of its metahost."""
        return [index for index, metahost in enumerate(self.metahosts) for _ in range(metahost.nodes)]

    @property
    def rates(self) -> list[int | None]:
        """Tell for each node what its link carries."""
        return [self.metahosts[place].rate for place in self.places]

    @property
    def cpus(self) -> list[float | str | None]:
        """Tell for each node its share of a core."""
        return [self.metahosts[place].cpu for place in self.places]

    @property
    def metahost_names(self) -> list[str]:
        """Name for each node its metahost: m0, m1 and so on; "" where there is only one."""
        return [f"m{place}" if len(self.metahosts) > 1 else "" for place in self.places]

    @property
    def description(self) -> str:
        """Say it in words: ``4 nodes, links of 100 Mbit/s, 0.25 of a core each``."""
        latency = "" if self.latency is None else f", {time_text(1e3 * self.latency, zeros=False)} of latency"
        parts = [f"{part.description}{latency}{part.cpu_description}" for part in self.metahosts]
        if len(parts) > 1:
            parts = [f"m{index}: {part}" for index, part in enumerate(parts)]
            parts.append(f"{rate_text(self.between)} between them")
        return "; ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """Give it as what JSON knows; a cluster of one metahost has that one's values as its own."""
        common = {"name": self.name, "latency": self.latency}
        if len(self.metahosts) == 1:
            return common | asdict(self.metahosts[0])
        return common | {"metahosts": [asdict(part) for part in self.metahosts], "between": self.between}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Plan:
        """Make it from what `to_json` gave.

        Raises
        ------
        KeyError, TypeError
            If the data are those of something else.
        """
        parts = data.get("metahosts") or [{key: data[key] for key in ("nodes", "rate", "cpu")}]
        metahosts = tuple(Metahost(**part) for part in parts)
        return cls(data["name"], metahosts, data["latency"], data.get("between"))


def make_plan(
    name: str,
    nodes: int | str,
    rate: str | None = None,
    latency: str | None = None,
    cpu: float | str | None = None,
    between: str | None = None,
) -> Plan:
    """Check what is asked for.

    Raises
    ------
    UsageError
        If there can be no such cluster.
    """
    check_name(name)
    counts = [_count(word) for word in str(nodes).split(",")]
    if not 1 <= sum(counts) <= MOST_NODES or min(counts) < 1:
        raise UsageError(f"{nodes} nodes: expected 1 to {MOST_NODES}", help="for example:  --nodes 4")
    rates = [_rate(word) for word in _each("rate", rate, len(counts))]
    cpus = [_cpu(word) for word in _each("cpu", cpu, len(counts))]
    if PIN in cpus and len(set(cpus)) > 1:
        raise UsageError(f"cpu {cpu}: {PIN} is for all metahosts or for none", help="give each a share")
    if between is not None and len(counts) == 1:
        raise UsageError(
            f"rate {between} between metahosts: there is only one",
            help="give the numbers of nodes of each metahost:  --nodes 4,2",
        )
    metahosts = tuple(Metahost(*part) for part in zip(counts, rates, cpus, strict=True))
    return Plan(name, metahosts, _latency(latency), _rate(between))


def _count(word: str) -> int:
    if not word.strip().isdecimal():
        raise UsageError(
            f"nodes {word}: expected a number of nodes, or one for each metahost",
            help="for example 4, or 4,2 for two metahosts",
        )
    return int(word)


def _each(what: str, value: float | str | None, metahosts: int) -> list[str | None]:
    """Give each metahost its value; one value is for all of them."""
    words: list[str | None] = [None]
    if value is not None:
        words = [word.strip() for word in str(value).split(",")]
    if len(words) not in (1, metahosts):
        raise UsageError(
            f"{what} {value}: {count_text(len(words), 'value')} for {count_text(metahosts, 'metahost')}",
            help="give one for all, or one for each",
        )
    return words * (metahosts // len(words))


def check_name(name: str) -> None:
    """Make sure that a cluster may have a name.

    Raises
    ------
    UsageError
        If not.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} can't be the name of a cluster: expected a lower-case letter, then lower-case "
            "letters, digits and underscores, at most 20 characters in all",
            help="for example:  small_2",
        )


def rate_text(rate: int | None) -> str:
    """Write the rate of a link for people.

    Parameters
    ----------
    rate : int or None
        Bits a second; None for as fast as it goes.

    Returns
    -------
    str
        The rate in the unit that suits it.

    Examples
    --------
    >>> rate_text(100_000_000), rate_text(None)
    ('100 Mbit/s', 'unlimited rate')
    """
    if rate is None:
        return "unlimited rate"
    unit, size = next(
        (unit, size) for unit, size in (("G", 10**9), ("M", 10**6), ("k", 1000)) if rate >= size
    )
    return f"{rate / size:g} {unit}bit/s"


def _rate(text: str | None) -> int | None:
    if text is None:
        return None
    match = _RATE.fullmatch(text.strip())
    bits = round(float(match[1]) * _THOUSANDS[match[2].lower()]) if match else 0
    if not 100_000 <= bits <= 100_000_000_000:
        raise UsageError(
            f"rate {text}: expected bits a second from 100kbit to 100gbit",
            help="for example 100mbit",
        )
    return bits


def _latency(text: str | None) -> int | None:
    if text is None:
        return None
    match = _TIME.fullmatch(text.strip())
    microseconds = round(float(match[1]) * _MICROSECONDS[match[2].lower()]) if match else 0
    if not 1 <= microseconds <= 10_000_000:
        raise UsageError(f"latency {text}: expected a time from 1us to 10s", help="for example 1ms")
    return microseconds


def _cpu(value: str | None) -> float | str | None:
    if value is None or value == PIN:
        return value
    try:
        share = float(value)
    except ValueError:
        share = 0.0
    if not 0.01 <= share <= 1024:
        raise UsageError(
            f"cpu {value}: expected a share of one core from 0.01, or pin", help="for example 0.25"
        )
    return share
