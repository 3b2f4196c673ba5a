"""Running a job slice by slice: it stands still between two slices, and is looked at then.

A slice is let begin when all ranks are blocked, so that what is in it doesn't depend on timing; ranks that
compute for longer than somebody wants to wait are not waited for.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from pse._abi.coschedule import STEPPER, DescriptorKind
from pse._executable import require_executable
from pse.coschedule._layer_observation import Layer, Listener, Match, Operation, State, layers_of, waiting_for
from pse.errors import UsageError
from pse.runtime.supervise import Backoff

_GRACE: Final = 5.0
"""Seconds that a job has to end after it was asked to."""
_LOOK: Final = 0.05
"""Seconds of the longest pause between two looks at a job that runs freely: its new layers wait for one."""


@dataclass(frozen=True)
class Break:
    """Where to stop: what is posted, or what is matched; None: whatever it is.

    Attributes
    ----------
    what : {"send", "recv", "match", "collective"}
    rank, peer, tag : int, optional
        The rank that posts, or receives a match; the other one.
    routine : str, optional
        Of collective operations: which one, such as "barrier"; "" stands for all.

    Examples
    --------
    >>> from pse import bcs
    >>> stop = bcs.Break("recv", rank=1, tag=7)
    >>> stop.peer is None
    True
    """

    what: str
    rank: int | None = None
    peer: int | None = None
    tag: int | None = None
    routine: str = ""

    def is_hit(self, one: Operation | Match) -> bool:
        """Say whether this is it."""
        if isinstance(one, Match):
            return self.what == "match" and self._fits(one.receiver, one.source, one.tag)
        kinds = {DescriptorKind.SEND: "send", DescriptorKind.RECEIVE: "recv"}
        if one.kind == DescriptorKind.COLLECTIVE:
            named = self.routine in ("", one.collective.name.lower())
            return self.what == "collective" and named and self.rank in (None, one.owner)
        return self.what == kinds.get(one.kind) and self._fits(one.owner, one.peer, one.tag)

    def _fits(self, rank: int, peer: int, tag: int) -> bool:
        given = ((self.rank, rank), (self.peer, peer), (self.tag, tag))
        return all(wanted in (None, found) for wanted, found in given)


@dataclass
class Slice:
    """What a slice did.

    Attributes
    ----------
    number : int
        Which slice of its layer it was, from 1.
    matches : list of Match
        The messages that found their receives.
    collectives : list of Operation
        The collective operations that all ranks had called.

    See Also
    --------
    Stepper : its `step` gives them
    """

    number: int
    matches: list[Match] = field(default_factory=list)
    collectives: list[Operation] = field(default_factory=list)


class Stepper:
    """A job whose slices begin one by one.

    Parameters
    ----------
    command : sequence of str
        What starts the ranks; empty: they run already.
    process : int, optional
        One of the ranks that run, or what started them.
    patience : float, optional
        Seconds to wait until all ranks are blocked, before a slice begins all the same.

    Raises
    ------
    UsageError
        The command can't be started, or the process has no coscheduled ranks.

    Examples
    --------
    >>> stepper = Stepper(["mpiexec", "-n", "2", "python", "ring.py"])  # doctest: +SKIP
    >>> [len(one.matches) for one in stepper.step()]  # doctest: +SKIP
    [2]
    """

    def __init__(self, command: Sequence[str], process: int | None = None, patience: float = 1.0) -> None:
        self.patience = patience
        self.breaks: list[Break] = []  # `add_break` adds one that is for what comes.
        self._layers: list[Layer] = [] if process is None else layers_of(process)
        self._listener: Listener | None = None
        self._job: subprocess.Popen[bytes] | None = None
        self._failed: list[Layer] = []
        self._told = 0
        self._posted: dict[tuple[Layer, int], int] = {}
        for layer in self._layers:
            layer.hold()
        if command:
            require_executable(command[0])
            self._listener = Listener()
            self._start(command)

    def _start(self, command: Sequence[str]) -> None:
        assert self._listener is not None
        try:
            # A session of its own: Ctrl-C stops the job between two slices, and doesn't end it.
            self._job = subprocess.Popen(
                command,
                env=os.environ | {STEPPER: self._listener.place},
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            self._listener.close()
            raise UsageError(
                f"{command[0]} can't be started: {error.strerror}",
                help="check the command behind `--`: the program must be on PATH, and executable",
            ) from None

    # What there is.

    def states(self) -> list[tuple[Layer, State]]:
        """Look at all layers whose ranks have not all left."""
        if self._listener is not None:
            self._layers += self._listener.accept()
        looked = [(layer, layer.state()) for layer in self._layers]
        for layer, state in looked:
            if (state.failure or state.ended) and layer not in self._failed:
                self._failed.append(layer)
            if state.is_over:
                self._layers.remove(layer)
        return [(layer, state) for layer, state in looked if layer in self._layers]

    def new_failures(self) -> list[State]:
        """Give the layers in which ranks ended without leaving, or that failed, since this was last asked."""
        self.states()
        found = self._failed[self._told :]
        self._told = len(self._failed)
        return [layer.state() for layer in found]

    def exit_code(self) -> int | None:
        """Give the code with which the job has ended, or None."""
        return None if self._job is None else self._job.poll()

    def has_ended(self) -> bool:
        """Say whether there is nothing to step any more."""
        return not self.states() and (self._job is None or self._job.poll() is not None)

    def wait_until_still(self, patience: float | None = None) -> bool:
        """Wait until all ranks of the job are blocked; False: some still compute.

        Parameters
        ----------
        patience : float, optional
            Seconds; as long as the constructor says if it isn't given.
        """
        seconds = self.patience if patience is None else patience
        return Backoff().sleep_until(lambda: self.has_ended() or self._is_still(), seconds)

    def wait_for_layers(self) -> bool:
        """Wait until ranks have made their first communicator, and then as `wait_until_still`."""
        Backoff(_LOOK).sleep_until(lambda: bool(self.states()) or self.has_ended())
        return self.wait_until_still()

    def _is_still(self) -> bool:
        states = [state for _, state in self.states()]
        ranks = [rank for state in states for rank in state.ranks if rank.doing in ("computing", "blocked")]
        busy = {rank.process for rank in ranks} - {rank.process for rank in ranks if rank.doing == "blocked"}
        return bool(states) and not busy and not any(state.is_moving for state in states)

    # What it may do.

    def step(self) -> list[Slice]:
        """Let one slice begin in each layer that has something to do.

        Returns
        -------
        list of Slice
            What they did; none if the job has ended.
        """
        self.wait_until_still()
        due = [(layer, state) for layer, state in self.states() if state.is_held and not state.failure]
        for layer, state in due:
            layer.allow(state.begun + 1)
        stepped = [self._stepped(layer, state) for layer, state in due]
        return [one for one in stepped if one is not None]

    def _stepped(self, layer: Layer, before: State) -> Slice | None:
        found: list[State] = []

        def has_begun() -> bool:
            found[:] = [layer.state()]
            return (found[0].begun > before.begun and not found[0].is_in_slice) or found[0].is_over

        Backoff(_LOOK).sleep_until(has_begun)
        if found[0].begun == before.begun:
            return None
        return Slice(found[0].begun, layer.new_matches(), _complete(before))

    def hits(self, slices: Sequence[Slice]) -> Iterator[tuple[Break, Operation | Match]]:
        """Give what is to be stopped at: in the last slices, and posted since this was last asked.

        Parameters
        ----------
        slices : sequence of Slice
            What `step` gave.
        """
        new: list[Operation | Match] = [match for one in slices for match in one.matches]
        for layer, state in self.states():
            for one in state.operations:
                if one.sequence >= self._posted.get((layer, one.owner), 0):
                    new.append(one)
            for one in state.operations:
                key = layer, one.owner
                self._posted[key] = max(self._posted.get(key, 0), one.sequence + 1)
        for what in new:
            yield from ((stop, what) for stop in self.breaks if stop.is_hit(what))

    def add_break(self, one: Break) -> None:
        """Stop at what is posted or matched from now on.

        Parameters
        ----------
        one : Break
            What to stop at.
        """
        for _ in self.hits(()):
            continue
        self.breaks.append(one)

    def go(self) -> None:
        """Let all slices begin."""
        for layer, _ in self.states():
            layer.allow(None)

    def hold(self) -> None:
        """Let no more slices begin."""
        for layer, _ in self.states():
            layer.hold()

    def run_to_end(self) -> None:
        """Let the job run freely, those layers that it makes too, until it has ended."""

        def has_ended() -> bool:
            self.go()
            return self.has_ended()

        Backoff(_LOOK).sleep_until(has_ended)

    def close(self) -> None:
        """End the job; one that was running already goes on."""
        if self._listener is not None:
            self._listener.close()
        if self._job is not None and self._job.poll() is None:
            _end(self._job)
        for layer in self._layers:
            layer.close()


def _end(job: "subprocess.Popen[bytes]") -> None:
    job.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        job.wait(_GRACE)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(job.pid, signal.SIGKILL)
    job.wait()


def _complete(state: State) -> list[Operation]:
    """Give the collective operations that all ranks have called: they move in the next slice."""
    calls = waiting_for(state.operations, len(state.ranks)).values()
    return [one for one, missing in calls if not missing and not one.is_matched]
