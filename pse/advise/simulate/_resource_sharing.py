"""Time, cores and links of a simulated run: who gets how much of them, and what is done when.

A call takes CPU time, for which all that runs on its cores share them evenly, then the rest of its time,
which costs no CPU.  What crosses nodes takes a link's latency, then its share of the link's rate at both
ends, and CPU time there.  Between events everything goes on at constant rates, so time leaps from one to the
next (a fluid model; for its kind see Casanova et al., "Versatile, scalable, and accurate simulation of
distributed applications and platforms", JPDC 74, 2014).  Times are seconds, amounts of cores are cores,
sizes are bytes.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from pse.advise.simulate._assignment import Machine
from pse.emulate import SMALL_MESSAGE

LEAST_SHARE = 0.05
"""The part of a core that transfers leave to calls at least."""
EPSILON = 1e-12
CRUMB = 1e-6
"""Bytes that are as good as none."""

Then = Callable[[], None]


@dataclass(slots=True, eq=False)
class Pool:
    """Cores that calls share; `load` is how much of them transfers take."""

    amount: float
    jobs: list[Job] = field(default_factory=list)
    load: float = 0.0

    def granted(self) -> float:
        """Give the part of what transfers want that they get beside calls, which want all of the cores."""
        fair = self.amount / 2 if self.jobs else self.amount
        return min(1.0, fair / self.load) if self.load > 0 else 1.0


@dataclass(slots=True, eq=False)
class Party:
    """A rank as cores and links see it: its node, its cores, whether it is in a call."""

    host: str
    pool: Pool
    busy: bool = False


@dataclass(slots=True, eq=False)
class Job:
    """The CPU time of a call."""

    left: float
    done: Then
    rate: float = 0.0


@dataclass(slots=True, eq=False)
class Flow:
    """Bytes on their way from node to node; `slack` of them move on without those at its ends."""

    sender: Party
    receiver: Party
    left: float
    done: Then
    slack: float
    rate: float = 0.0
    stalled: bool = False

    def seconds(self) -> float:
        """Give the time to its end, or to where it stalls, at its rate."""
        return (min(self.left, self.slack) if self.stalled else self.left) / self.rate


class ResourceSharing:
    """What goes on at a time, and the time.

    Parameters
    ----------
    machine : Machine
        Cores and links.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.now = 0.0
        self.pools = {cores.name: Pool(cores.amount) for cores in machine.cores.values()}
        self.flows: list[Flow] = []
        self._timers: list[tuple[float, int, Then]] = []
        self._ticks = 0
        self._changed = True  # Whether rates are to be worked out anew.

    def party(self, processor: int | None) -> Party:
        """Give a new rank a place on a processor (None: the root's)."""
        return Party(self.machine.hosts[processor], self.pools[self.machine.cores[processor].name])

    # What can be asked for.

    def after(self, seconds: float, then: Then) -> None:
        """Have something happen later; what is asked for first happens first."""
        self._ticks += 1
        heapq.heappush(self._timers, (self.now + seconds, self._ticks, then))

    def call(self, party: Party, cpu: float, rest: float, then: Then) -> None:
        """Have a rank be in a call: so many seconds of CPU time, then so many others."""
        party.busy, self._changed = True, True

        def done() -> None:
            party.busy, self._changed = False, True
            then()

        def pause() -> None:
            if rest > 0:
                self.after(rest, done)
            else:
                done()

        party.pool.jobs.append(Job(max(cpu, 1e-9), pause))

    def transfer(self, sender: Party, receiver: Party, size: float, then: Then, factor: float = 1.0) -> None:
        """Have bytes go from node to node, in so many times what they usually take."""
        latency = factor * self.machine.link.latency_of(size)
        if size <= SMALL_MESSAGE:
            self.after(latency + self._backlog(sender), then)
        else:
            slack = self.machine.slack if self.machine.eager else 0.0
            flow = Flow(sender, receiver, factor * size, then, slack)
            self.after(latency, lambda: self._add(flow))

    def _add(self, flow: Flow) -> None:
        self.flows.append(flow)
        self._changed = True

    def _backlog(self, sender: Party) -> float:
        """Seconds that a small message stands behind what its node is sending already."""
        ahead = sum(flow.left for flow in self.flows if flow.sender.host == sender.host)
        return min(ahead / self.machine.link.rate, self.machine.link.queueing)

    # From event to event.

    def run(self) -> None:
        """Let time go on until nothing is left to happen."""
        while self._advance():
            pass

    def _advance(self) -> bool:
        """Go to the next event; False if there is none."""
        if self._timers and self._timers[0][0] <= self.now:
            heapq.heappop(self._timers)[2]()
            return True
        if self._changed:
            self._set_rates()
            self._changed = False
        step = self._step()
        if step == float("inf"):
            return False
        self._pass(max(step, 0.0))
        return True

    def _step(self) -> float:
        """Give the seconds until something is done; infinite if nothing goes on."""
        step = self._timers[0][0] - self.now if self._timers else float("inf")
        for pool in self.pools.values():
            for job in pool.jobs:
                step = min(step, job.left / job.rate)
        for flow in self.flows:
            if flow.rate > 0:
                step = min(step, flow.seconds())
        return step

    def _pass(self, step: float) -> None:
        self.now += step
        done = [*self._compute(step), *self._move(step)]
        while self._timers and self._timers[0][0] <= self.now + EPSILON:
            done.append(heapq.heappop(self._timers)[2])
        for then in done:
            then()

    def _compute(self, step: float) -> list[Then]:
        """Let calls go on; gives what follows those that are done with their CPU time."""
        done: list[Then] = []
        for pool in self.pools.values():
            for job in pool.jobs:
                job.left -= step * job.rate
            if any(job.left <= EPSILON for job in pool.jobs):
                done += [job.done for job in pool.jobs if job.left <= EPSILON]
                pool.jobs = [job for job in pool.jobs if job.left > EPSILON]
                self._changed = True
        return done

    def _move(self, step: float) -> list[Then]:
        """Let transfers go on; gives what follows those that are complete."""
        for flow in self.flows:
            flow.left -= step * flow.rate
            if flow.stalled and flow.rate > 0:
                flow.slack -= step * flow.rate
                self._changed |= flow.slack <= CRUMB
        if all(flow.left > CRUMB for flow in self.flows):
            return []
        done = [flow.done for flow in self.flows if flow.left <= CRUMB]
        self.flows = [flow for flow in self.flows if flow.left > CRUMB]
        self._changed = True
        return done

    # Who gets how much.

    def _set_rates(self) -> None:
        for pool in self.pools.values():
            pool.load = 0.0
        if self.flows:
            self._share_links([flow for flow in self.flows if self._moves(flow)])
        for pool in self.pools.values():
            if pool.jobs:
                left = max(pool.amount - pool.load, LEAST_SHARE * min(pool.amount, 1.0))
                rate = min(1.0, left / len(pool.jobs))
                for job in pool.jobs:
                    job.rate = rate

    def _share_links(self, moving: list[Flow]) -> None:
        """Transfers share each link evenly, as far as cores at both ends have time for them."""
        link = self.machine.link
        out = Counter(flow.sender.host for flow in moving)
        into = Counter(flow.receiver.host for flow in moving)
        for flow in self.flows:
            flow.rate = 0.0
        for flow in moving:
            flow.rate = link.rate / max(out[flow.sender.host], into[flow.receiver.host])
            flow.sender.pool.load += flow.rate * link.cpu
            flow.receiver.pool.load += flow.rate * link.cpu
        for flow in moving:
            flow.rate *= min(flow.sender.pool.granted(), flow.receiver.pool.granted())
        for pool in self.pools.values():
            pool.load *= pool.granted()

    def _moves(self, flow: Flow) -> bool:
        """Whether bytes move: a rank in a call looks after none, but some are in the system's hands."""
        endless = self.machine.slack == float("inf")
        flow.stalled = (flow.sender.busy or flow.receiver.busy) and not endless
        if not flow.stalled:
            flow.slack = self.machine.slack
        return not flow.stalled or flow.slack > CRUMB
