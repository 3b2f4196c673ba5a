"""What is asked for: how many nodes, how fast their links, how much of a CPU each.

It is checked here; `_network` and `_cpu_quota` make it.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from pse.errors import UsageError
from pse.text import count_text

PIN = "pin"
"""In the place of a CPU share: every node has a core of its own, as far as there are enough."""

MOST_NODES = 100

_NAME = re.compile(r"[a-z][a-z0-9_]{0,19}")
_RATE = re.compile(r"(\d+(?:\.\d+)?)([kmg]?)bit", re.IGNORECASE)
_TIME = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s)", re.IGNORECASE)
_THOUSANDS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
_MICROSECONDS = {"us": 1, "ms": 1_000, "s": 1_000_000}


@dataclass(frozen=True)
class Plan:
    """A cluster to be made.

    Attributes
    ----------
    name : str
        What it is called: a lower-case letter, then lower-case letters, digits and underscores.
    nodes : int
        How many nodes.
    rate : int or None
        Bits a second of every node's link, in each direction; None for as fast as it goes.
    latency : int or None
        Microseconds that the link of a node adds to what it sends.
    cpu : float, "pin" or None
        The share of one core that all processes of a node have together (more than 1 for several cores);
        "pin" for a whole core; None for no limit.
    """

    name: str
    nodes: int
    rate: int | None = None
    latency: int | None = None
    cpu: float | str | None = None

    @property
    def hosts(self) -> tuple[str, ...]:
        """Name the nodes: n0, n1 and so on."""
        return tuple(f"n{index}" for index in range(self.nodes))

    @property
    def description(self) -> str:
        """Say it in words: ``4 nodes, links of 100 Mbit/s, 0.25 of a core each``."""
        parts = [f"{count_text(self.nodes, 'node')}"]
        parts.append(f"links of {rate_text(self.rate)}")
        if self.latency is not None:
            parts.append(f"{self.latency / 1000:g} ms of latency")
        if self.cpu is not None:
            parts.append("a core each" if self.cpu == PIN else f"{self.cpu:g} of a core each")
        return ", ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """Give it as what JSON knows."""
        return asdict(self)


def make_plan(
    name: str, nodes: int, rate: str | None = None, latency: str | None = None, cpu: float | str | None = None
) -> Plan:
    """Check what is asked for.

    Raises
    ------
    UsageError
        If there can be no such cluster.
    """
    check_name(name)
    if not 1 <= nodes <= MOST_NODES:
        raise UsageError(f"{nodes} nodes: expected 1 to {MOST_NODES}", help="for example:  --nodes 4")
    return Plan(name, nodes, _rate(rate), _latency(latency), _cpu(cpu))


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
            "letters, digits and underscores, at most 20 characters in all"
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


def _cpu(value: float | str | None) -> float | str | None:
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
