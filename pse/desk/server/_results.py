"""What a run that has ended says about itself: times of call sites, the critical path, comparison, advice."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pse.advise import advise
from pse.analysis import StepKind, critical_path
from pse.desk.server._errors import Refusal
from pse.desk.server._runs import Runs
from pse.text import called_name, change_text, share_text, size_text, split_place, time_text
from pse.trace import Selection, Trace, open as open_trace
from pse.views import draw, find_view, save
from pse.views.page import write_html

Json = dict[str, Any]
_DRAWING = threading.Lock()
"""matplotlib's settings are the process's."""


def sites(runs: Runs, id: str) -> Json:
    """Give what each call of the text took, and its part of the critical path where there is a trace."""
    details = runs.details(id)
    report = _report(details, id)
    program = details["run"]["program"]
    rows = _together(_site(row, program) for row in report["sites"])
    folder = runs.folder(id) / "trace"
    return {"sites": rows, "critical": _critical(folder, program) if folder.is_dir() else None}


def _report(details: Json, id: str) -> Json:
    if details["report"] is None:
        state = details["run"]["state"]
        raise Refusal(f"the run {id} has no report: it is {state}", 409, help="choose a run that is done")
    report: Json = details["report"]
    return report


def _place(place: str, program: str) -> tuple[int | None, int | None]:
    """Give line and column of a place in the program; None for one in a file that it imports."""
    path, where = split_place(place)
    return where[-1] if where and path == program else (None, None)


def _site(row: Json, program: str) -> Json:
    line, column = _place(row["place"], program)
    return {
        "line": line,
        "column": column,
        "label": called_name(row["label"]),
        "thread": row["thread"],
        "calls": row["calls"],
        "seconds": row["seconds"],
        "cpu": row["cpu_share"],
        "waiting": row["waited_seconds"],
    }


def _together(rows: Iterable[Json]) -> list[Json]:
    """Sum up the call sites of each place of the text, which has several where loops are unrolled."""
    found: dict[tuple[object, ...], Json] = {}
    for row in rows:
        place = row["line"], row["column"], row["label"], row["thread"]
        found[place] = _sum(found[place], row) if place in found else row
    return list(found.values())


def _sum(one: Json, other: Json) -> Json:
    seconds = one["seconds"] + other["seconds"]
    used = one["seconds"] * one["cpu"] + other["seconds"] * other["cpu"]
    sums = {name: one[name] + other[name] for name in ("calls", "seconds", "waiting")}
    return {**one, **sums, "cpu": used / seconds if seconds else 0.0}


def _critical(folder: Path, program: str) -> list[Json]:
    """Give the seconds that the calls of each place take on the critical path."""
    trace = open_trace(str(folder))
    path = critical_path(trace)
    calls = path.steps[path.steps["kind"] == StepKind.CALL]
    times: Counter[tuple[int | None, int | None]] = Counter()  # ns
    for site in np.unique(calls["site"]).tolist():
        of = calls[calls["site"] == site]
        times[_place(_written(trace, site), program)] += int((of["end"] - of["begin"]).sum())
    return [
        {"line": line, "column": column, "seconds": time / 1e9, "share": time / max(path.length, 1)}
        for (line, column), time in times.most_common()
    ]


def _written(trace: Trace, site: int) -> str:
    """Give the place of a call site as the trace has it."""
    known = trace.definitions.sites if trace.definitions is not None else ()
    return next((definition.place for definition in known if definition.id == site), "")


def compare(runs: Runs, left: str, right: str) -> Json:
    """Give two runs side by side: what was asked for, and what it took."""
    both = runs.details(left), runs.details(right)
    reports = [_report(details, id) for details, id in zip(both, (left, right), strict=True)]
    return {
        "rows": [*_times(*reports), *_site_times(*reports)],
        "differences": list(_differences(both[0]["run"], both[1]["run"])),
    }


def _times(one: Json, other: Json) -> Iterator[Json]:
    yield _row("run time", one["wall_seconds"], other["wall_seconds"])
    peaks = one["peak_shared_memory_bytes"], other["peak_shared_memory_bytes"]
    texts = (size_text(peaks[0]), size_text(peaks[1]))
    yield {"what": "shared memory at most", "left": texts[0], "right": texts[1], "change": _change(*peaks)}
    for name in sorted({*one["figures"], *other["figures"]}):
        values = [report["figures"].get(name) for report in (one, other)]
        shown = ["–" if value is None else f"{value:g}" for value in values]
        yield {"what": name, "left": shown[0], "right": shown[1], "change": _change(*values)}


def _site_times(one: Json, other: Json) -> Iterator[Json]:
    """Compare call sites of one name in the order of the text."""
    seconds: dict[str, list[float | None]] = {}
    for side, report in enumerate((one, other)):
        for row in report["sites"]:
            both = seconds.setdefault(f"{row['thread']} {row['label']}", [None, None])
            both[side] = (both[side] or 0.0) + row["seconds"]
    for name, (before, after) in seconds.items():
        yield _row(name, before, after)


def _row(what: str, one: float | None, other: float | None) -> Json:
    shown = ["–" if value is None else time_text(1e9 * value) for value in (one, other)]
    return {"what": what, "left": shown[0], "right": shown[1], "change": _change(one, other)}


def _change(one: float | None, other: float | None) -> str:
    return "" if one is None or other is None or not one else change_text(other / one - 1)


def _differences(one: Json, other: Json) -> Iterator[Json]:
    for name in ("program", "revision", "version", "processors", "cluster", "serial"):
        if one[name] != other[name]:
            what = "the program's text" if name == "revision" else name
            yield {"what": what, "left": str(one[name]), "right": str(other[name])}
    for kind in ("parameters", "options"):
        for name in sorted({*one[kind], *other[kind]}):
            values = one[kind].get(name, "default"), other[kind].get(name, "default")
            if values[0] != values[1]:
                yield {"what": f"{kind[:-1]} {name}", "left": values[0], "right": values[1]}


def advice(runs: Runs, id: str) -> Json:
    """Give what the advisor proposes for a run that was recorded."""
    folder = _traced(runs, id)
    found = advise(str(folder / "trace"), program=runs.details(id)["run"]["program"])
    gain = f"predicted: {share_text(found.gain)} less time" if found.proposal else "nothing to change"
    return {
        "text": "\n".join([gain, *found.reasons, *found.notes]),
        "diff": found.diff or None,
        "program": found.text if found.proposal else None,
    }


def picture(runs: Runs, id: str, view: str, label: str | None) -> Path:
    """Draw a view of a run's trace, of all calls or those of one label; a picture that there is is given.

    Raises
    ------
    Refusal
        If the run has no trace.
    """
    folder = _traced(runs, id)
    name = find_view(view).function if label is None else f"{find_view(view).function}-{label.encode().hex()}"
    path = folder / "pictures" / f"{name}.svg"
    if not path.is_file():
        selection = Selection(modules=frozenset((label,))) if label is not None else None
        path.parent.mkdir(exist_ok=True)
        with _DRAWING:
            save(draw(open_trace(str(folder / "trace")), view, selection), path)
    return path


def page(runs: Runs, id: str) -> Path:
    """Make the page of a run's trace; one that there is is given.

    Raises
    ------
    Refusal
        If the run has no trace.
    """
    folder = _traced(runs, id)
    path = folder / "pictures" / "page.html"
    if not path.is_file():
        path.parent.mkdir(exist_ok=True)
        write_html(open_trace(str(folder / "trace")), path)
    return path


def _traced(runs: Runs, id: str) -> Path:
    folder = runs.folder(id)
    if not (folder / "trace").is_dir():
        raise Refusal(f"the run {id} has no trace", 409, help="run it again, and record a trace")
    return folder
