"""One run of mpiexec: starts it, passes on what ranks print, watches them, reports.

One thread, one selector: pipes, the pidfds of mpiexec and of every rank, signals.  The launcher owns the
board and the record file, so it knows of every rank what it was doing when it died.  It is the reaper of
the job's orphans; nothing of the job outlives it, and if it is killed itself, mpiexec and all ranks go
with it.

A run ends in one of four ways: mpiexec ends by itself; a rank is judged to have failed, then all others
are killed; a signal comes, then ranks get the time of `STOP_PATIENCE` to end; or printing fails because
the reader is gone.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

from pse._abi.environment import FORK_SERVER_VARIABLE
from pse._abi.waiting import KILLED_HELP, ExitCode
from pse.errors import RunError
from pse.runtime._channel import Board
from pse.runtime.checkpoint._schedule import STOP_GRACE, late_stop
from pse.runtime.launch._mpiexec import Mpiexec, rank_environment
from pse.runtime.request._prepared import Prepared
from pse.runtime.request._resume import way_on
from pse.runtime.status._progress_choice import choose_progress
from pse.runtime.supervise import _processes as processes
from pse.runtime.supervise._cleanup import remove_leaked, remove_session
from pse.runtime.supervise._exit_diagnosis import Diagnosis
from pse.runtime.supervise._launcher_records import LAUNCHER_VARIABLE, Launcher, Records
from pse.runtime.supervise._processes import PipeHangup, ProcessManager, RankProcess
from pse.runtime.supervise._rank_output import RankOutput
from pse.text import text_bytes

if TYPE_CHECKING:
    from pse.runtime.launch._fork_server import ForkServer

STOP_PATIENCE = 1.2
"""Seconds that ranks get to end by themselves after a signal."""

END_PATIENCE = 1.0
"""Seconds that mpiexec gets to end after all ranks are dead."""

MPIEXEC_PATIENCE = 0.05
"""Seconds that mpiexec may take to be dead after it began to die."""

NODES_PATIENCE = 2.0
"""Seconds that monitors of other nodes get to say why mpiexec has failed."""

_LOOK = 0.002
"""Seconds between two looks for ranks that have not been seen yet."""

_LOOK_AT_RECORDS = 0.5
"""Seconds between two looks at the records, where ranks are out of sight."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_MARK = "PSE_JOB"


class JobRun:
    """One run of mpiexec, from its start to the exit code."""

    def __init__(self, prepared: Prepared, all_local: bool, server: ForkServer | None) -> None:
        self.prepared, self.all_local, self._server = prepared, all_local, server
        self._uses_hydra = True
        self.board = Board.create(*prepared.board_size)
        self.records = Records.create()
        self.progress = choose_progress(self.board, prepared)
        self.progress.observer.elsewhere = not all_local
        self.selector = selectors.DefaultSelector()
        self.diagnosis: Diagnosis | None = None
        self.stopped_by = 0
        self._running_then = ""
        self._stopped_at = float("inf")
        self.deadline = float("inf")
        self._mark = f"{_MARK}={os.urandom(8).hex()}"

    def run(self, line: list[str], mpiexec: Mpiexec) -> int:
        """Start the command, see it to its end, and say how it went."""
        began = time.time()
        processes.adopt_orphans(True)
        try:
            with _signals_to(self.selector):
                try:
                    self._start(line, mpiexec)
                    self._watch_to_end()
                finally:
                    self._clean(began)
        finally:
            self.selector.close()
            processes.adopt_orphans(False)
        return self._finish()

    def _start(self, line: list[str], mpiexec: Mpiexec) -> None:
        self._uses_hydra = mpiexec.hydra
        self.process = self._started(line, mpiexec)
        self.outputs = self._outputs(mpiexec)
        for output in self.outputs:
            self.selector.register(output.fd, selectors.EVENT_READ, output)
        self.mpiexec = os.pidfd_open(self.process.pid)
        self.selector.register(self.mpiexec, selectors.EVENT_READ, self.process)
        from pse.runtime.supervise._rank_monitor import JobNames, RankMonitor  # Ranks come up meanwhile.

        prepared = self.prepared
        names = JobNames([prepared.placement.describe(n) for n in range(prepared.ranks)], prepared.site_texts)
        self.monitor = RankMonitor(
            names,
            self.board,
            self.records,
            self.process.pid,
            self._mark,
            mpiexec.hydra,
            self.selector,
            (self._server.pid, self._server.ranks) if self._server else None,
        )

    def _started(self, line: list[str], mpiexec: Mpiexec) -> subprocess.Popen[bytes]:
        """Start mpiexec, with what ranks have to know of this process in the environment."""
        environment = rank_environment(os.environ, mpiexec, local=self.all_local)
        environment[LAUNCHER_VARIABLE] = Launcher(
            os.getpid(), self.board.fd, self.records.fd, int(self.all_local)
        ).variable()
        name, _, value = self._mark.partition("=")
        environment[name] = value
        if self._server:
            environment[FORK_SERVER_VARIABLE] = self._server.address
        try:
            return subprocess.Popen(
                line,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # A terminal's Ctrl-C is for the launcher alone, which passes it on.
                preexec_fn=mpiexec.die_with_starter,
            )
        except OSError as error:
            raise RunError(
                f"{line[0]} can't be started: {error.strerror}",
                help="check that this file exists and is executable, or install its MPI anew",
            ) from None

    def _outputs(self, mpiexec: Mpiexec) -> list[RankOutput]:
        """Give both streams of mpiexec, each with what is printed of it."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        return [
            RankOutput(
                self.process.stdout, lambda data: self.progress.printed(data, error=False), mpiexec.hydra
            ),
            RankOutput(
                self.process.stderr, lambda data: self.progress.printed(data, error=True), mpiexec.hydra
            ),
        ]

    # The loop

    def _watch_to_end(self) -> None:
        self.progress.start()
        update = time.monotonic() + self.progress.interval
        running = True
        while running:
            over = self.all_local and self.monitor.complete and not self.monitor.watched
            looking = self.all_local and not self.monitor.complete and not self._ending
            events = self.selector.select(self._patience(update, looking, over))
            running = self._handle([key.data for key, _ in events])
            self._look(looking)
            if over and running and not self._ending:
                self._say(self.monitor.look_behind())
            if time.monotonic() >= update:
                self.progress.update()
                update = time.monotonic() + self.progress.interval
            if time.monotonic() >= self.deadline:
                self._kill()
        if self.process.wait() != 0 and not self._ending:
            self._conclude(self._last_words())
        for output in self.outputs:
            output.drain()

    def _patience(self, update: float, looking: bool, over: bool) -> float:
        """Say how long nothing has to be done unless something happens."""
        wait = min(self.deadline, update) - time.monotonic()
        if over or not self.all_local:
            wait = min(wait, _LOOK_AT_RECORDS)
        if looking:
            wait = min(wait, _LOOK)
        return max(0.0, wait)

    def _look(self, looking: bool) -> None:
        """Look for ranks that are still to be found, or at what those say that can't be seen."""
        if looking and not self._ending:
            self._conclude_unless_mpiexec_was_killed(self.monitor.discover())
        if not self.all_local:
            # MPICH 4.0's mpiexec says that a machine can't be reached, and then waits for it for ever.
            self._conclude(self.monitor.recorded_failure() or self._unreached())

    def _say(self, text: str) -> None:
        if text:
            self.progress.printed(text_bytes(text), error=True)

    @property
    def _ending(self) -> bool:
        return self.diagnosis is not None or self.stopped_by != 0

    def _handle(self, sources: list[object]) -> bool:
        """Deal with what is ready, in the order in which it happened; says whether mpiexec still runs."""
        for source in sources:
            if isinstance(source, RankOutput) and not source.read_available():
                self.selector.unregister(source.fd)
            elif isinstance(source, PipeHangup):
                self.monitor.begins_to_die(source)
            elif isinstance(source, RankProcess):
                self._conclude_unless_mpiexec_was_killed(self.monitor.ended(source))
            elif isinstance(source, ProcessManager):
                self._conclude(self.monitor.manager_ended(source))
            elif source is self.process:
                self._conclude(self._mpiexec_killed(0.0))
            elif isinstance(source, _SignalPipe):
                for number in source.take():
                    self._stop(number)
        return self.process not in sources

    def _mpiexec_killed(self, patience: float) -> Diagnosis | None:
        """Blame mpiexec if it was killed: all ranks go with it, and may be dead to us before it is."""
        if self._ending or not processes.is_dead(self.mpiexec, patience):
            return None
        code = self.process.wait()
        # Of a broken pipe it dies when ranks do.
        return Diagnosis(_unexplained(code)) if code < 0 and code != -signal.SIGPIPE else None

    def _conclude_unless_mpiexec_was_killed(self, diagnosis: Diagnosis | None) -> None:
        """Conclude what ranks, or who started them, died of, unless that was the end of mpiexec."""
        self._conclude(diagnosis and (self._mpiexec_killed(MPIEXEC_PATIENCE) or diagnosis))

    def _conclude(self, diagnosis: Diagnosis | None) -> None:
        """The first diagnosis counts; what happens to other ranks after it is our doing."""
        if diagnosis and self.stopped_by:
            # This rank writes no checkpoint any more, so the others wait for none.
            self.deadline = min(self.deadline, time.monotonic() + STOP_PATIENCE)
        if diagnosis is None or self._ending:
            return
        for output in self.outputs:  # It may hold banners already, as it may say who called MPI_Abort.
            output.drop_banners()
            output.read_available()
        self.diagnosis = self._aborted() or diagnosis
        if diagnosis.text:
            self.monitor.kill()
        self.deadline = time.monotonic() + END_PATIENCE

    def _aborted(self) -> Diagnosis | None:
        """Name the rank that called MPI_Abort, of which the others died."""
        ranks = [output.aborted for output in self.outputs if output.aborted is not None]
        return self.monitor.aborted(ranks[0]) if ranks else None

    def _last_words(self) -> Diagnosis | None:
        """Look at ranks once more after mpiexec has failed; monitors of other nodes may have yet to speak."""
        if self.all_local:
            return self.monitor.check_the_rest()
        return self._unreached() or self.monitor.recorded_failure(NODES_PATIENCE)

    def _unreached(self) -> Diagnosis | None:
        """Name the machine on which mpiexec could start no rank."""
        said = [output.unreachable for output in self.outputs if output.unreachable is not None]
        if not said or self.all_local or self.monitor.any_begun:
            return None
        host, why = said[0]
        return Diagnosis(
            f"error: {host or 'a machine of --hosts'} can't be reached: {why}\n"
            f"help: ssh starts ranks on other machines: `ssh {host or 'HOST'} true` must work from here "
            "without a password; check the names in --hosts\n"
        )

    def _stop(self, number: int) -> None:
        """Pass a signal on; at the second one there is no more patience."""
        if self.stopped_by:
            self.deadline = 0.0
            return
        self.stopped_by = number
        # Of several nodes the launcher has only the first one's board.
        if not (self.monitor.all_begun if self.all_local else self.monitor.any_begun):
            # Ranks that have not begun have nothing to tidy up, but would say much about where they were.
            self.deadline = 0.0
            return
        from pse.runtime.supervise._error_format import describe_running  # Few runs are stopped.

        self._running_then = describe_running(
            self.board, range(self.prepared.ranks), self.prepared.site_texts
        )
        for output in self.outputs:
            output.drop_banners()
        passed = signal.SIGINT if number == signal.SIGINT else signal.SIGTERM
        # Open MPI's launcher kills the ranks a second later, before they have written a checkpoint.
        if self.all_local and not self._uses_hydra:
            self.monitor.send_signal(passed)
        else:
            self.process.send_signal(passed)
        self._stopped_at = time.monotonic()
        grace = STOP_GRACE if self.prepared.request.checkpoint else 0.0
        self.deadline = self._stopped_at + grace + STOP_PATIENCE

    @property
    def _stopped_late(self) -> bool:
        return time.monotonic() - self._stopped_at >= STOP_GRACE

    def _kill(self) -> None:
        self.monitor.kill()
        self.process.kill()
        self.deadline = float("inf")

    # The end

    def _clean(self, began: float) -> None:
        """Leave nothing: live lines, processes, shared memory, descriptors."""
        self.progress.stop()
        if hasattr(self, "process"):
            self.process.kill()
            self.process.wait()
            if self._server:
                self._server.close()
            processes.kill_job(os.getpid(), self._mark)
            self.monitor.reap()
            failed = self._ending or self.process.returncode != 0
            if failed:
                remove_session(self.process.pid)
            if failed or not self._uses_hydra:  # Open MPI leaves files now and then, though all went well.
                remove_leaked(began)
            self.monitor.close()
            os.close(self.mpiexec)
        if self.prepared.request.control is not None:
            from pse.runtime.control._address import remove_stale

            remove_stale(self.prepared.request.control)

    def _finish(self) -> int:
        """Print the report or the reason why there is none; give the exit code."""
        if self.stopped_by:
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_IGN)  # A second one would spoil the exit code.
            with contextlib.suppress(OSError):  # A terminal that was closed takes no words.
                self._tell_stop()
            return 128 + self.stopped_by
        diagnosis = (
            self.diagnosis
            if self.diagnosis and self.diagnosis.text
            else self.monitor.recorded_failure() or self.diagnosis
        )
        if diagnosis is None and self.process.returncode != 0:
            diagnosis = (
                self._aborted() or self._unreached() or Diagnosis(_unexplained(self.process.returncode))
            )
        if diagnosis is not None:
            sys.stderr.write(diagnosis.text + way_on(self.prepared.request))
            return diagnosis.exit_code or ExitCode.FAILED
        self._print_report()
        return 0

    def _tell_stop(self) -> None:
        sys.stderr.write(f"stopped by {signal.Signals(self.stopped_by).name}\n{self._running_then}")
        if self._stopped_late and self.prepared.request.checkpoint:
            sys.stderr.write(late_stop(self.prepared.request.checkpoint))
        sys.stderr.write(way_on(self.prepared.request))

    def _print_report(self) -> None:
        from pse.runtime.status._report import Report
        from pse.runtime.status._report_text import format_report

        for record in self.records.read():
            if record.kind == "report":
                if self.prepared.request.report == "json":
                    print(record.text)
                elif not self.prepared.request.quiet:
                    print(format_report(Report.from_json(record.text)), end="")
        sys.stdout.flush()


def _unexplained(code: int) -> str:
    if code < 0:
        return f"error: mpiexec was killed by {signal.Signals(-code).name}\nhelp: {KILLED_HELP}\n"
    if code == signal.SIGKILL:  # So mpiexec passes on how a rank ended.
        return f"error: a rank was killed as it started, before it was seen\nhelp: {KILLED_HELP}\n"
    why = f"error: mpiexec ended with code {code}, and no rank said why\n"
    return f"{why}help: read what mpiexec printed above\n"


class _SignalPipe:
    """Signals as something to select on: Python's wake-up descriptor."""

    def __init__(self) -> None:
        self.out, self.into = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def take(self) -> list[int]:
        """Give the signals that came."""
        try:
            return [number for number in os.read(self.out, 64) if number in _SIGNALS]
        except BlockingIOError:
            return []


@contextlib.contextmanager
def _signals_to(selector: selectors.BaseSelector) -> Iterator[None]:
    """Have signals wake the selector instead of interrupting whatever runs; what `nohup` ignores stays so."""
    pipe = _SignalPipe()
    heeded = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _noted) for number in heeded}
    previous = signal.set_wakeup_fd(pipe.into, warn_on_full_buffer=False)
    selector.register(pipe.out, selectors.EVENT_READ, pipe)
    try:
        yield
    finally:
        selector.unregister(pipe.out)
        signal.set_wakeup_fd(previous)
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)  # None: a library's, which can't be put back.
        os.close(pipe.out)
        os.close(pipe.into)


def _noted(number: int, frame: FrameType | None) -> None:
    """Do nothing: the wake-up descriptor has the number."""
