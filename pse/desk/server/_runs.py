"""Runs that the desk started: what they print and how they stand, live; and what is kept of each.

A run is a child process that a thread watches; pages come and go without it.  It is kept in
``.pse/runs/ID/`` of the opened directory: ``run.json``, ``console.txt``, ``report.json``, the program's text
and the trace.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from pse import __version__
from pse.desk.server._errors import Refusal
from pse.desk.server._events import Event
from pse.desk.server._files import Directory, revision
from pse.errors import PseError
from pse.files import replace_file
from pse.notebook import Checked, Job, NotebookError, RunFailed, Screen, asked_by_form, checked, make_job
from pse.runtime.control import remove_stale, running
from pse.runtime.status import Overview, Report, format_report

KEPT = Path(".pse", "runs")
MOST_CONSOLE = 1_000_000
"""Characters of the console that are given at a time."""
_ENDED = ("done", "failed", "stopped")
_LAST_WAIT = 6.0
"""Seconds in which runs end when the desk ends."""
_DYING, _LOOK = 2.0, 0.02
"""Seconds that ranks may still live when who started them has been killed; seconds between two looks."""


@dataclass
class Record:
    """What is kept of a run."""

    id: str
    program: str
    processors: int
    parameters: dict[str, str]
    options: dict[str, str]
    trace: bool
    cluster: str | None
    serial: bool
    started: str
    revision: str
    control: str
    checkpoint: bool = False
    version: str = __version__
    state: str = "preparing"
    seconds: float = 0.0
    wall: float | None = None
    error: dict[str, Any] | None = None


class RunScreen(Screen):
    """Where a run shows itself: the pages, and the file of its console."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def show(self, drawing: RenderableType) -> None:
        """Tell a note: what is done before anything runs."""
        self._run.print(f"{drawing}\n", "note")

    def follow(self, overview: Overview) -> None:
        """Tell how the run stands."""
        self._run.follow(overview)

    def write(self, text: str, *, error: bool = False) -> None:
        """Tell what modules print."""
        self._run.print(text, "stderr" if error else "stdout")


@dataclass(eq=False)
class Run:
    """A run that goes on, or has ended in this session."""

    record: Record
    folder: Path
    publish: Callable[[Event], None]
    job: Job | None = None
    overview: Event | None = None
    thread: threading.Thread | None = None
    _printed: int = 0
    _began: float = field(default_factory=time.monotonic)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        """Run, in a thread of its own: the child process dies with the thread that started it."""
        self._change("preparing")  # Whoever is told of the run finds it.
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        assert self.job is not None
        try:
            self._change("running")
            with asked_by_form():
                result = self.job.run(RunScreen(self))
        except RunFailed as error:
            self.print(f"{error.message}\n", "stderr")
            self._end("failed", error)
        except PseError as error:
            self._end("failed", error)
        except Exception as error:  # A mistake of the desk's own: the page says so, other runs go on.
            help = "start it again, or in a terminal by `pse run`"
            self._end("failed", NotebookError(f"the run can't be watched: {error!r}", help=help))
        else:
            self.record.wall = result.report.wall_seconds
            replace_file(self.folder / "report.json", result.report.to_json().encode())
            self._end("done")

    def _end(self, state: str, error: PseError | None = None) -> None:
        stopped = self.record.state == "stopping" and state == "failed"
        if error is not None and not stopped:
            self.record.error = {"message": error.message, "help": error.help}
        if stopped:
            self._remove_socket()
        self._change("stopped" if stopped else state)

    def _remove_socket(self) -> None:
        """Remove the socket of a run that was killed, once the kernel has ended its ranks."""
        deadline = time.monotonic() + _DYING
        while self.record.control in running() and time.monotonic() < deadline:
            time.sleep(_LOOK)
        remove_stale(self.record.control)

    def _change(self, state: str) -> None:
        with self._turn:
            if state == "running" and self.record.state != "preparing":
                return
            self.record.state = state
            self.record.seconds = round(time.monotonic() - self._began, 3)
            with contextlib.suppress(OSError):  # A full disk doesn't end a run.
                replace_file(self.folder / "run.json", json.dumps(asdict(self.record)).encode())
        self.publish({"type": "run", "run": asdict(self.record)})

    def print(self, text: str, stream: str) -> None:
        """Take what the run says."""
        with contextlib.suppress(OSError), (self.folder / "console.txt").open("a", encoding="utf-8") as file:
            file.write(text)
        self._printed += len(text)
        told = {"run": self.record.id, "stream": stream, "text": text, "next": self._printed}
        self.publish({"type": "console", **told})

    def follow(self, overview: Overview) -> None:
        """Take how it stands."""
        self.record.seconds = round(time.monotonic() - self._began, 3)
        told = overview_json(overview)
        self.overview = {"type": "overview", "run": self.record.id, "overview": told}
        self.publish(self.overview)

    def stop(self) -> None:
        """End the run."""
        if self.record.state not in _ENDED and self.job is not None:
            self._change("stopping")
            self.job.interrupt()


def overview_json(overview: Overview) -> dict[str, Any]:
    """Give how a run stands, with the lines of its call sites and loops as numbers."""
    told = overview.to_json()
    for kind in ("sites", "loops"):
        told[kind] = [{**row, **place_of(row["name"])} for row in told[kind]]
    return told


def place_of(name: str) -> dict[str, int | None]:
    """Give line and column, with which a name like ``step:14`` or ``step:14:5`` ends."""
    found = re.search(r"(\d+)(?::(\d+))?$", name)
    return {
        "line": int(found[1]) if found else None,
        "column": int(found[2]) if found and found[2] else None,
    }


def _report_json(text: str) -> dict[str, Any]:
    """Give a report with its table as the terminal has it."""
    return {**json.loads(text), "text": format_report(Report.from_json(text))}


def _how(record: Record, folder: Path) -> dict[str, Any]:
    """Give what a request has beside what every run has."""
    checkpoint = {"checkpoint": str(folder / "checkpoint")} if record.checkpoint else {}
    return {"control": record.control, "serial": record.serial, **checkpoint}


class Runs:
    """All runs of a directory.

    Parameters
    ----------
    directory : Directory
        The opened directory, which is the current one.
    publish : callable
        Tells pages an event.
    """

    def __init__(self, directory: Directory, publish: Callable[[Event], None]) -> None:
        self._directory, self._publish = directory, publish
        self._folder = directory.path / KEPT
        self._live: dict[str, Run] = {}
        self._turn = threading.Lock()

    def start(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Check and start a run.

        Raises
        ------
        PseError
            If the program, or what is asked for, is wrong.
        """
        path = self._directory.find(asked.get("program"))
        program = self._directory.shown(path)
        found = checked(Path(program))  # A text would be taken for a program.
        record = self._record(program, found, asked)
        folder = self._folder / record.id
        trace = str(folder / "trace") if record.trace else None
        folder.mkdir(parents=True)
        try:
            with asked_by_form():
                job = make_job(
                    *(found, record.processors, record.parameters),
                    [f"{name}={value}" for name, value in record.options.items()],
                    trace,
                    cluster=record.cluster,
                    debugging=_how(record, folder),
                )
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        replace_file(folder / "program.coven", found.file.text.encode())
        run = self._live[record.id] = Run(record, folder, self._publish, job)
        run.start()
        return asdict(record)

    def _record(self, program: str, found: Checked, asked: Mapping[str, Any]) -> Record:
        processors = asked.get("processors", 1)
        if isinstance(processors, bool) or not isinstance(processors, int) or processors < 1:
            raise Refusal("processors must be a whole number from 1", help='for example  "processors": 2')
        given = {name: asked.get(name) or {} for name in ("parameters", "options")}
        if not all(isinstance(values, dict) for values in given.values()):
            raise Refusal("parameters and options are objects", help='for example  {"N": "512"}')
        texts = {name: {k: str(v) for k, v in values.items()} for name, values in given.items()}
        cluster, id = asked.get("cluster"), self._new_id(program)
        return Record(
            *(id, program, processors, texts["parameters"], texts["options"]),
            *(bool(asked.get("trace")), str(cluster) if cluster else None, bool(asked.get("serial"))),
            started=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            revision=revision(Path(program).read_bytes()),
            control=f"{id[:36]}.{os.getpid()}",
            checkpoint=bool(asked.get("checkpoint")),
        )

    def _new_id(self, program: str) -> str:
        stem = re.sub(r"\W", "-", Path(program).stem)
        name = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{stem}"
        with self._turn:
            ids = (name, *(f"{name}-{number}" for number in range(2, 1000)))
            return next(id for id in ids if not (self._folder / id).exists())

    # What is kept.

    def all(self) -> list[dict[str, Any]]:
        """Give all runs, the newest first."""
        folders = sorted(self._folder.glob("*/run.json"), reverse=True) if self._folder.is_dir() else []
        found = [self._kept(path.parent) for path in folders]
        return [record for record in found if record is not None]

    def _kept(self, folder: Path) -> dict[str, Any] | None:
        """Give what is kept of a run; one that was going on when its desk ended has failed."""
        if (live := self._live.get(folder.name)) is not None:
            return asdict(live.record)
        try:
            record: dict[str, Any] = json.loads((folder / "run.json").read_text())
        except (OSError, ValueError):
            return None
        if record["state"] not in _ENDED:
            error = {"message": "the desk ended while it ran", "help": "run it again"}
            record |= {"state": "failed", "error": error}
        return record

    def folder(self, id: str) -> Path:
        """Give the folder of a run.

        Raises
        ------
        Refusal
            If there is no such run.
        """
        path = self._folder / id
        if not re.fullmatch(r"[\w-]+", id) or not (path / "run.json").is_file():
            raise Refusal(f"there is no run {id}", 404, help="load the list of runs again")
        return path

    def details(self, id: str) -> dict[str, Any]:
        """Give a run with its report, how it stands, and the program that ran."""
        folder, live = self.folder(id), self._live.get(id)
        report = folder / "report.json"
        return {
            "run": self._kept(folder),
            "report": _report_json(report.read_text()) if report.is_file() else None,
            "overview": live.overview["overview"] if live and live.overview else None,
            "program": (folder / "program.coven").read_text(encoding="utf-8"),
        }

    def console(self, id: str, start: int, last: int = 0) -> dict[str, Any]:
        """Give what a run has printed from a character on, or its last characters."""
        path = self.folder(id) / "console.txt"
        text = path.read_bytes().decode(errors="replace") if path.is_file() else ""
        start = max(len(text) - last, 0) if last else start
        part = text[start : start + MOST_CONSOLE]
        return {"text": part, "from": start, "next": start + len(part), "more": start + len(part) < len(text)}

    def control_name(self, id: str) -> str:
        """Give the name by which a run that goes on is controlled.

        Raises
        ------
        Refusal
            If it is over.
        """
        self.folder(id)
        live = self._live.get(id)
        if live is None or live.record.state != "running":
            raise Refusal("this run does not go on", 409, help="start it again")
        return live.record.control

    def stop(self, id: str) -> dict[str, Any]:
        """End a run."""
        folder = self.folder(id)
        if (live := self._live.get(id)) is not None:
            live.stop()
        return {"run": self._kept(folder)}

    def remove(self, id: str) -> None:
        """Forget a run that has ended."""
        folder, live = self.folder(id), self._live.get(id)
        if live is not None and live.record.state not in _ENDED:
            raise Refusal("this run has not ended", 409, help="stop it first")
        self._live.pop(id, None)
        shutil.rmtree(folder, ignore_errors=True)

    def present(self) -> list[Event]:
        """Give what a new page is told of the runs that go on."""
        events: list[Event] = []
        for run in list(self._live.values()):
            if run.record.state not in _ENDED:
                events += [
                    {"type": "run", "run": asdict(run.record)},
                    *([run.overview] if run.overview else []),
                ]
        return events

    def end(self) -> None:
        """End all runs: the desk ends."""
        going = [run for run in self._live.values() if run.record.state not in _ENDED]
        for run in going:
            run.stop()
        deadline = time.monotonic() + _LAST_WAIT
        for run in going:
            if run.thread is not None:
                run.thread.join(max(0.0, deadline - time.monotonic()))
