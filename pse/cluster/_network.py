"""The nodes' network: namespaces on a bridge, a link for each, and what the link may carry.

The bridge has a namespace of its own, so that the machine's firewall has no say in what nodes exchange; the
machine itself has one link to it that is not shaped, for mpiexec and what ranks print.  A node's link
is a pair of virtual interfaces: `eth0` in the node, `n<i>` on the bridge, each shaped in what it sends (tbf).
Where there are several metahosts, each has a bridge of its own, and such a link to the first one.
All names begin with the cluster's mark.  Rejected: HTB on the bridge alone (one queue, and it shapes half
of what a node sends).
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import re
from collections.abc import Iterable, Iterator

from pse import _proc
from pse.cluster._plan import Plan
from pse.cluster._prerequisites import Refused, run_program
from pse.errors import UsageError

NAMESPACES = "/run/netns"
INTERFACE = "eth0"
"""What a node calls its link."""

_MARKED = re.compile(r"(pse-[0-9a-f]{6})(?:-\w+)?")
_NETWORKS = "10.213.{}.0/24"
_BURST_SECONDS, _LEAST_BURST = 0.002, 3_028
_QUEUE = "100ms"


def free_subnet() -> int:
    """Find a network that this machine has no route to yet; gives the third byte of its addresses.

    Raises
    ------
    UsageError
        If there is none.
    """
    known = [
        ipaddress.ip_network(route["dst"])
        for route in json.loads(run_program("ip", "-j", "-4", "route", "show", "table", "all") or "[]")
        if route["dst"] != "default"
    ]
    for number in range(256):
        wanted = ipaddress.ip_network(_NETWORKS.format(number))
        if not any(wanted.overlaps(network) for network in known):
            return number
    raise UsageError(
        "all networks from 10.213.0.0 to 10.213.255.0 are taken", help="end a cluster: pse cluster down NAME"
    )


def address(subnet: int, index: int) -> str:
    """Give the address of a node; of the machine itself for -1."""
    return f"10.213.{subnet}.{index + 1 if index >= 0 else 254}"


def namespace(mark: str, host: str) -> str:
    """Name the namespace of a node."""
    return f"{mark}-{host}"


def build_network(mark: str, plan: Plan, subnet: int) -> None:
    """Make namespaces, bridge, links and their limits.

    Raises
    ------
    Refused
        If the system won't.
    """
    switch = namespace(mark, "switch")
    for host in ("switch", *plan.hosts):
        run_program("ip", "netns", "add", namespace(mark, host))
    run_program("ip", "-batch", "-", text=_lines(_trunk(mark, switch, subnet)))
    run_program("ip", "-n", switch, "-batch", "-", text=_lines(_switch(mark, plan)))
    for index, host in enumerate(plan.hosts):
        node = namespace(mark, host)
        run_program("ip", "-n", node, "-batch", "-", text=_lines(_node(address(subnet, index))))
        _limit(node, plan.latency, plan.rates[index])
    limits = [*zip(plan.hosts, plan.rates, strict=True)]
    limits += [(end, plan.between) for ends in _uplinks(plan) for end in ends]
    lines = [f"qdisc add dev {device} root {_shape(rate)}" for device, rate in limits if rate is not None]
    run_program("tc", "-n", switch, "-batch", "-", text=_lines(lines))


def _limit(node: str, latency: int | None, rate: int | None) -> None:
    """Limit what a node sends; what it gets is limited at the bridge."""
    if latency is not None:
        _delay(node, latency)
    if rate is not None:
        parent = "parent 1:1 handle 10:" if latency is not None else "root"
        run_program("tc", "-n", node, *f"qdisc add dev {INTERFACE} {parent} {_shape(rate)}".split())


def _uplinks(plan: Plan) -> list[tuple[str, str]]:
    """Name both ends of each metahost's link to the others: at its own bridge, and at the first."""
    several = len(plan.metahosts) > 1
    return [(f"up{index}", f"down{index}") for index in range(len(plan.metahosts) if several else 0)]


def _lines(commands: Iterable[str]) -> str:
    return "".join(f"{command}\n" for command in commands)


def _trunk(mark: str, switch: str, subnet: int) -> Iterator[str]:
    yield f"link add {mark} type veth peer name trunk netns {switch}"
    yield f"address add {address(subnet, -1)}/24 dev {mark}"
    yield f"link set {mark} up"


def _switch(mark: str, plan: Plan) -> Iterator[str]:
    yield from _bridge("bridge")
    yield "link set trunk master bridge up"
    for index, (up, down) in enumerate(_uplinks(plan)):
        yield from _bridge(f"metahost{index}")
        yield f"link add {up} type veth peer name {down}"
        yield f"link set {up} master metahost{index} up"
        yield f"link set {down} master bridge up"
    for host, place in zip(plan.hosts, plan.places, strict=True):
        yield f"link add {host} type veth peer name {INTERFACE} netns {namespace(mark, host)}"
        yield f"link set {host} master {f'metahost{place}' if len(plan.metahosts) > 1 else 'bridge'} up"


def _bridge(name: str) -> Iterator[str]:
    yield f"link add {name} type bridge"
    yield f"link set {name} up"


def _node(own: str) -> Iterator[str]:
    yield "link set lo up"
    yield f"address add {own}/24 dev {INTERFACE}"
    yield f"link set {INTERFACE} up"


def _shape(rate: int) -> str:
    """Describe a token bucket; its burst holds what the rate brings in some milliseconds."""
    burst = max(round(rate / 8 * _BURST_SECONDS), _LEAST_BURST)
    return f"tbf rate {rate}bit burst {burst} latency {_QUEUE}"


def _delay(node: str, latency: int) -> None:
    try:
        run_program(
            "tc", "-n", node, *f"qdisc add dev {INTERFACE} root handle 1: netem delay {latency}us".split()
        )
    except Refused as refused:
        raise UsageError(
            f"this kernel has no netem, which a latency needs ({refused.words})",
            help="leave the latency out, or load it where the kernel has it: modprobe sch_netem",
        ) from None


def existing_marks() -> set[str]:
    """Find the marks of all clusters that have a link or a namespace."""
    links = (
        link["ifname"] for link in json.loads(run_program("ip", "-j", "link", "show", "type", "veth") or "[]")
    )
    names = [*links, *_namespaces()]
    return {match[1] for name in names if (match := _MARKED.fullmatch(name))}


def _namespaces() -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return os.listdir(NAMESPACES)
    return []


def node_processes(mark: str) -> dict[int, str]:
    """Find the processes inside a cluster, each with its node."""
    hosts = {}
    for name in _namespaces():
        if name.startswith(f"{mark}-"):
            with contextlib.suppress(OSError):
                hosts[os.stat(f"{NAMESPACES}/{name}").st_ino] = name.removeprefix(f"{mark}-")
    found = {}
    for pid in _proc.processes() if hosts else ():
        with contextlib.suppress(OSError):
            host = hosts.get(os.stat(f"/proc/{pid}/ns/net").st_ino)
            if host is not None:
                found[pid] = host
    return found


def remove_network(mark: str) -> None:
    """Take away what there is of a cluster's network; its processes must be gone."""
    with contextlib.suppress(Refused):
        run_program("ip", "link", "delete", mark)
    for name in _namespaces():
        if name.startswith(f"{mark}-"):
            run_program("ip", "netns", "delete", name)
