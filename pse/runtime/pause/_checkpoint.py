"""Checkpoints while a program runs: at some pauses all ranks write down what they hold.

All meet at some of them, so that no rank gets further ahead of the others than that. The first rank decides
which (`pse.runtime.checkpoint`), tells the others there, and writes the manifest once every rank's file is
complete. Nobody waits by spinning, and messages of other nodes are served meanwhile. While an `inflight` loop
runs that began at a checkpoint, a thread of the first rank reads from the board how many of its iterations
are complete everywhere and keeps the manifest up to date.
A checkpoint that can't be written costs a warning: the run continues, and the last one stays.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from typing import Any, NoReturn

import numpy as np
from mpi4py import MPI

from pse.language.check import PROCS, For
from pse.records import dataclass
from pse.runtime._channel import Board
from pse.runtime._sequencer import Sequencer
from pse.runtime.checkpoint._files import Directory
from pse.runtime.checkpoint._manifest import FileNote, Manifest, to_text
from pse.runtime.checkpoint._reader import Reader
from pse.runtime.checkpoint._schedule import Every, Schedule
from pse.runtime.checkpoint._values import Restoring, capture
from pse.runtime.pause import _pending_messages as pending_messages
from pse.runtime.pause._pause_collectives import MpiPeers
from pse.runtime.pause._stop import StopAgreement, Stopped, can_agree
from pse.runtime.plan._edges import inflight_loops, is_entry, leads_to_entry
from pse.runtime.plan._job import Job
from pse.runtime.plan._projection import Projection
from pse.runtime.plan._slots import HIDDEN

_LOOK = 0.05
"""Seconds between two looks at the board where iterations are counted."""


@dataclass(frozen=True)
class Resumed:
    """The run that is resumed: the job as it was, and the manifest of its checkpoint."""

    before: Job
    manifest: Manifest


class Checkpoints:
    """One rank's part in the checkpoints of a run.

    Parameters
    ----------
    comm : MPI.Intracomm
        All ranks; used at meetings and at the end only.
    job : Job
    board : Board
        The node's.
    directory : str
    manifest : Manifest
        What all checkpoints of this run have in common; of a resumed run, its last one.
    resumed : Resumed, optional

    Raises
    ------
    UsageError
        If the directory can't be written to, or another run does.
    """

    def __init__(
        self,
        comm: MPI.Intracomm,
        job: Job,
        board: Board,
        directory: str,
        manifest: Manifest,
        resumed: Resumed | None = None,
    ) -> None:
        self.comm, self.job, self.board = comm, job, board
        self.rank = comm.Get_rank()
        self.directory, self.manifest, self.resumed = Directory(directory), manifest, resumed
        self._lock = self.directory.lock() if self.rank == 0 else -1
        self._serial = manifest.serial
        self._failures = 0
        self._progress: _Progress | None = None
        self._counting = threading.Lock()
        self._stop: StopAgreement | None = None
        self._for_stops = comm.Dup() if can_agree() else None
        self._schedule = Schedule(Every.parse(manifest.every), max(manifest.rounds, 1), time.monotonic())
        self.due = self._schedule.first

    def begin(self, projection: Projection, sequencer: Sequencer, figures: dict[str, float]) -> None:
        """Put back what was kept, if there is something, before the sequencer runs."""
        if self.resumed is not None:
            self._restore(self.resumed, projection, sequencer, figures)
        if self._for_stops is not None:
            self._stop = StopAgreement(
                self._for_stops,
                sequencer,
                self.directory.path,
                lambda: self._progress is not None and sequencer.rounds <= self.manifest.rounds,
                self._finish_counting,
            )

    def _restore(
        self, resumed: Resumed, projection: Projection, sequencer: Sequencer, figures: dict[str, float]
    ) -> None:
        kept = resumed.manifest
        if not sequencer.start_at(kept.point, kept.rounds - 1):
            raise AssertionError(f"there is no pause {kept.point}")
        reader = Reader(self.directory.path, kept)
        Restoring(self.job, resumed.before, reader).fill(self.rank, projection, sequencer, kept.point)
        pending_messages.restore(self.job, resumed.before, self.rank, sequencer, reader)
        reader.close()
        if kept.point in inflight_loops(self.job.liveness.walk):
            sequencer.skip(inflight_loops(self.job.liveness.walk)[kept.point], kept.iterations)
            self._count_iterations(0)
        if self.rank == 0:
            figures.update({name: float.fromhex(value) for name, value in kept.figures.items()})

    def set_due(self, sequencer: Sequencer, other: int) -> None:
        """Have the sequencer return at the next pause that concerns checkpoints, or at an earlier one."""
        due = min(self.due, other) if other else self.due
        if self._stop:
            self._stop.set_due(sequencer, due)
        else:
            sequencer.set_due(due)

    @property
    def stopping(self) -> bool:
        """Whether a signal has come, for which all save and end."""
        return self._stop is not None and self._stop.place != 0

    def pause(
        self,
        projection: Projection,
        sequencer: Sequencer,
        peers: MpiPeers,
        figures: Mapping[str, float],
    ) -> None:
        """Meet at a pause; all ranks are at the same one."""
        point, number = sequencer.point, sequencer.rounds + 1
        entry = is_entry(self.job.liveness.walk, point)
        if self._stop and self._stop.place:
            peers.wait(self._stop.agreed)
            if number == self._stop.place:
                self._save_and_stop(projection, sequencer, peers, figures, self._stop.number)
        if number < self.due and not entry:
            return
        decided = np.zeros(2, np.int64)
        peers.meet()
        if self.rank == 0:
            inner = leads_to_entry(self.job.liveness.walk, point)
            decision = self._schedule.meet(number, time.monotonic(), entry=entry, before_entry=inner)
            decided[:] = decision.save, decision.due
        peers.wait(self.comm.Ibcast(decided).Test)
        self.due = int(decided[1])
        if decided[0]:
            self.save(projection, sequencer, peers, figures)

    def _save_and_stop(
        self,
        projection: Projection,
        sequencer: Sequencer,
        peers: MpiPeers,
        figures: Mapping[str, float],
        number: int,
    ) -> NoReturn:
        """Write the last checkpoint of a run that a signal stops; then all ranks end."""
        self.save(projection, sequencer, peers, figures)
        self._stop_counting()
        peers.meet()
        raise Stopped(number)

    def end_of_loops(self) -> None:
        """There are no more pauses on this rank: a signal ends the run at once again.

        Raises
        ------
        Stopped
            If one has come meanwhile.
        """
        if self._stop:
            self._stop.end_of_pauses()

    def finish(self) -> None:
        """All ranks have come to the end of the program: there is nothing to resume."""
        if self._stop:
            self._stop.end()
        self._stop_counting()
        if self.rank == 0:
            self._commit(replace(self.manifest, finished=True, files=(), iterations=0, figures={}))
            os.close(self._lock)

    def save(
        self,
        projection: Projection,
        sequencer: Sequencer,
        peers: MpiPeers,
        figures: Mapping[str, float],
    ) -> None:
        """Write a checkpoint; all ranks are at the same pause."""
        self._stop_counting()
        boxes = self._boxes(projection, sequencer, peers)
        self._serial += 1
        mine = self._written(projection, sequencer, boxes)
        mine["figures"] = {name: float(value).hex() for name, value in figures.items()}
        loop = inflight_loops(self.job.liveness.walk).get(sequencer.point)
        mine["iterations"] = 0 if loop is None else self.board.iterations(loop, self.rank)
        notes = [json.loads(text) for text in peers.gather(json.dumps(mine).encode())]
        if self.rank != 0:
            return
        wrong = [note["error"] for note in notes if "error" in note]
        if wrong:
            self._warn(wrong[0])
            self.directory.prune(note.name for note in self.manifest.files)
            return
        if self._commit(self._described(projection, sequencer, notes)):
            self._schedule.took(time.monotonic())
            if loop is not None:
                self._count_iterations(max(note["iterations"] for note in notes))

    def _described(
        self, projection: Projection, sequencer: Sequencer, notes: Sequence[Mapping[str, Any]]
    ) -> Manifest:
        """Give the manifest of what all ranks have written."""
        return replace(
            self.manifest,
            serial=self._serial,
            point=sequencer.point,
            rounds=sequencer.rounds + 1,
            place=place_text(self.job, projection, sequencer),
            iterations=0,
            processors=int(str(self.job.environment[PROCS])),
            partitions={name: len(owners) for name, owners in self.job.placements.items()},
            figures=_largest(note["figures"] for note in notes),
            files=tuple(_note(note["file"]) for note in notes),
        )

    def _boxes(
        self, projection: Projection, sequencer: Sequencer, peers: MpiPeers
    ) -> list[pending_messages.MailboxRow]:
        """Take down messages that no partition has received yet, before any rank continues and sends more."""
        pending_messages.settle(peers, sequencer)
        if not sequencer.messaging_is_empty():
            from pse.runtime.faults._partition_errors import partition_error

            raise partition_error(sequencer, projection)
        boxes = pending_messages.mailbox_rows(sequencer)
        peers.meet()
        return boxes

    def _written(
        self, projection: Projection, sequencer: Sequencer, boxes: list[pending_messages.MailboxRow]
    ) -> dict[str, Any]:
        """Write this rank's file; gives its entry in the manifest, or the error."""
        values = capture(self.job, self.rank, projection, sequencer, sequencer.point)
        posted = pending_messages.saved(self.job, self.rank, boxes)
        try:
            return {"file": asdict(self.directory.write(self._serial, self.rank, chain(values, posted)))}
        except OSError as error:
            return {"error": _reason(error)}

    def _commit(self, manifest: Manifest) -> bool:
        try:
            self.directory.commit(to_text(manifest), manifest.files)
        except OSError as error:
            self._warn(_reason(error))
            return False
        self.manifest, self._failures = manifest, 0
        return True

    def _warn(self, reason: str) -> None:
        stops = self._stop is not None and bool(self._stop.place)
        self._failures += 1
        if self._failures.bit_count() > 1 and not stops:
            return  # The 1st, 2nd, 4th, 8th … is told: a disk that stays full would fill the screen.
        last = f"the last one is at {self.manifest.place}" if self.manifest.files else "it has none yet"
        then = "" if stops else "the run continues; "
        failed = f"; {self._failures} in a row have failed" if self._failures > 1 else ""
        sys.stderr.write(f"warning: a checkpoint can't be written: {reason}; {then}{last}{failed}\n")
        sys.stderr.flush()

    def _count_iterations(self, base: int) -> None:
        """Keep the manifest's count of iterations up to date; `base` of them belong to earlier loops."""
        if self.rank != 0:
            return
        point, started = self.manifest.point, self.manifest.iterations
        ranks = self.job.iteration_completion(point, self.rank).watched
        loop = inflight_loops(self.job.liveness.walk)[point]

        def count() -> int:
            return started + min(self.board.iterations(loop, rank) for rank in ranks) - base

        every = Every.parse(self.manifest.every)
        self._progress = _Progress(count, self._note_iterations, every, started)
        self._progress.start()

    def _note_iterations(self, count: int) -> None:
        self._commit(replace(self.manifest, iterations=count))

    def _stop_counting(self) -> None:
        with self._counting:
            if self._progress is not None:
                self._progress.stop()
            self._progress = None

    def _finish_counting(self) -> None:
        """Bring the count up to date for the last time, while the rank itself is anywhere."""
        with self._counting:
            if self._progress is not None:
                self._progress.stop(tell=True)
            self._progress = None


class _Progress(threading.Thread):
    """Tells how many iterations are complete, every so many of them or seconds, whenever that has changed."""

    def __init__(
        self, count: Callable[[], int], tell: Callable[[int], None], every: Every, told: int
    ) -> None:
        super().__init__(daemon=True)
        self._count, self._tell, self._told = count, tell, told
        self._least = every.rounds or 1
        self._interval = every.seconds or _LOOK
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(self._interval):
            self._look(self._least)

    def _look(self, least: int) -> None:
        complete = self._count()
        if complete >= self._told + least:
            self._tell(complete)
            self._told = complete

    def stop(self, *, tell: bool = False) -> None:
        """End; what it was writing is complete then, and with `tell` up to date."""
        self._over.set()
        self.join()
        if tell:
            self._look(1)


def place_text(job: Job, projection: Projection, sequencer: Sequencer) -> str:
    """Say where the program is, for people: ``heat.coven:5:3, t = 40``."""
    walk, point = job.liveness.walk, sequencer.point
    words = [str(walk.steps[point].statement.span)]
    for step in (*reversed(list(walk.ancestors(point))), point):
        statement = walk.steps[step].statement
        kind, counter = ("count", statement.counter) if isinstance(statement, For) else ("rounds", "round")
        slot = projection.slots.get((f"{HIDDEN}{kind}{step}", None))
        if slot is not None:
            words.append(f"{counter} = {sequencer.slot_value(slot)}")
    return ", ".join(words)


def _note(given: Mapping[str, Any]) -> FileNote:
    return FileNote(**{**given, "members": tuple(given["members"])})


def _largest(figures: Any) -> dict[str, str]:
    """Put together what ranks reported: the largest value of each name, as the report does."""
    found: dict[str, str] = {}
    for mine in figures:
        for name, text in mine.items():
            value, before = float.fromhex(text), float.fromhex(found.get(name, "-inf"))
            found[name] = text if value > before or value != value else found.get(name, text)
    return found


def _reason(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}"
