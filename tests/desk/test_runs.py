"""Runs as the page starts, watches, keeps and compares them."""

import base64
import json
import os

import numpy as np
import pytest

from pse.desk.server._files import Directory
from pse.desk.server._runs import Runs
from pse.runtime.control._address import address

QUICK = {"program": "heat.coven", "processors": 1, "parameters": {"NX": "64", "NY": "64", "tol": "1e-2"}}
LONG = QUICK | {"parameters": {"NX": "256", "NY": "256", "tol": "1e-30"}}


class Listener:
    """What a page is told of runs."""

    def __init__(self, socket):
        self.socket, self.events = socket, []

    def until(self, wanted):
        """Wait for an event; gives it."""
        while True:
            event = json.loads(self.socket.recv(120))
            self.events.append(event)
            if wanted(event):
                return event

    def ended(self, id):
        ends = ("done", "failed", "stopped")
        return self.until(
            lambda e: e["type"] == "run" and e["run"]["id"] == id and e["run"]["state"] in ends
        )["run"]


@pytest.fixture
def page(desk):
    with desk.socket("/events") as socket:
        yield Listener(socket)


def test_a_run_shows_how_it_stands_and_is_kept_with_its_report_and_trace(desk, page):
    run = desk.api("/runs", "POST", QUICK | {"trace": True}, 201)["run"]
    ended = page.ended(run["id"])
    assert ended["state"] == "done", ended
    overviews = [e["overview"] for e in page.events if e["type"] == "overview"]
    assert {(site["line"], site["thread"]) for site in overviews[-1]["sites"]} >= {
        (15, "thread_B"),
        (14, "thread_C"),
    }
    assert desk.api("/runs")["runs"][0] == ended
    details = desk.api(f"/runs/{run['id']}")
    assert details["report"]["ranks"] == 3
    assert "step" in details["report"]["text"]
    assert details["program"] == (desk.folder / "heat.coven").read_text()
    sites = desk.api(f"/runs/{run['id']}/sites")
    step = next(site for site in sites["sites"] if site["label"] == "step")
    assert (step["line"], step["column"], step["thread"]) == (15, 7, "thread_B")
    assert step["calls"] > 0
    assert sum(row["share"] for row in sites["critical"]) <= 1
    advice = desk.api(f"/runs/{run['id']}/advice", "POST")
    assert advice["text"]
    for query in ("", "&label=step"):
        picture = desk.ask(f"/api/runs/{run['id']}/picture?view=gantt{query}")
        assert (picture.status, picture.headers["Content-Type"]) == (200, "image/svg+xml")
        assert b"<svg" in picture.body
    assert "view" in desk.api(f"/runs/{run['id']}/picture?view=oil", status=422)["error"]["message"]
    (desk.folder / "heat.npy").unlink()


def test_whoever_is_told_of_a_run_that_has_just_begun_finds_it(programs, monkeypatch):
    monkeypatch.chdir(programs)
    found = []

    def told(event):
        if event["type"] == "run":
            found.append(runs.details(event["run"]["id"])["run"]["state"])

    runs = Runs(Directory(programs), told)
    id = runs.start(QUICK)["id"]
    try:
        assert found[:1] == ["preparing"]
        assert [run["id"] for run in runs.all() if run["id"] == id] == [id]
    finally:
        runs.end()


LEVELS = """coven 1
program levels {
  var f64[4] u[l in 0 .. 3]
  for l in 0 .. 3 {
    fill(l) -> u[l]
    norm(u[l]) -> size
    print(size)
  }
}
"""


def test_calls_of_an_unrolled_loop_are_one_call_of_the_text(desk, page):
    (desk.folder / "levels.coven").write_text(LEVELS)
    asked = {"program": "levels.coven", "processors": 1, "trace": True}
    run = desk.api("/runs", "POST", asked, 201)["run"]
    assert page.ended(run["id"])["state"] == "done"
    found = desk.api(f"/runs/{run['id']}/sites")
    rows = [(row["line"], row["label"], row["calls"]) for row in found["sites"]]
    assert rows == [(5, "fill", 3), (6, "norm", 3), (7, "print", 3)]
    assert sorted(row["line"] for row in found["critical"]) == [5, 6, 7]
    assert "norm [l = 2]" in desk.api(f"/runs/{run['id']}")["report"]["text"]
    assert desk.ask(f"/api/runs/{run['id']}/picture?view=gantt&label=norm").status == 200
    (desk.folder / "levels.coven").unlink()


def test_two_runs_are_compared(desk, page):
    ids = []
    for nx in ("32", "64"):
        asked = QUICK | {"parameters": QUICK["parameters"] | {"NX": nx}}
        ids.append(desk.api("/runs", "POST", asked, 201)["run"]["id"])
        page.ended(ids[-1])
    compared = desk.api(f"/compare?left={ids[0]}&right={ids[1]}")
    assert compared["differences"] == [{"what": "parameter NX", "left": "32", "right": "64"}]
    assert {"run time", "thread_B step"} <= {row["what"] for row in compared["rows"]}


def test_a_page_that_goes_away_leaves_the_run_going_and_finds_it_again(desk):
    with desk.socket("/events") as socket:
        first = Listener(socket)
        run = desk.api("/runs", "POST", LONG, 201)["run"]
        first.until(lambda event: event["type"] == "overview")
    with desk.socket("/events") as socket:
        second = Listener(socket)
        assert second.until(lambda event: event["type"] == "run")["run"]["state"] == "running"
        second.until(lambda event: event["type"] == "overview")
        assert desk.ask(f"/api/runs/{run['id']}", "DELETE").status == 409
        desk.api(f"/runs/{run['id']}/stop", "POST")
        ended = second.ended(run["id"])
    assert (ended["state"], ended["error"]) == ("stopped", None)
    assert desk.ask(f"/api/runs/{run['id']}", "DELETE").status == 204
    assert desk.ask(f"/api/runs/{run['id']}").status == 404


def test_a_run_that_dies_says_why(desk, page):
    (desk.folder / "dies.py").write_text(
        "#@ coven module die(in i64 n)\ndef die(n):\n"
        "    print('last words')\n    raise ValueError('no more')\n"
    )
    (desk.folder / "dies.coven").write_text(
        'coven 1\nimport "dies.py" { die }\nprogram dies {\n  die(1)\n}\n'
    )
    run = desk.api("/runs", "POST", {"program": "dies.coven"}, 201)["run"]
    ended = page.ended(run["id"])
    assert ended["state"] == "failed"
    assert "no more" in ended["error"]["message"]
    assert "dies.coven:4" in ended["error"]["message"]
    console = desk.api(f"/runs/{run['id']}/console")
    assert console["text"].startswith("last words")
    assert desk.api(f"/runs/{run['id']}/console?from=5")["text"] == console["text"][5:]
    assert desk.api(f"/runs/{run['id']}/console?last=5")["text"] == console["text"][-5:]
    told = "".join(e["text"] for e in page.events if e["type"] == "console")
    assert told == console["text"]


def test_of_a_run_that_does_not_hear_that_it_is_to_end_no_socket_is_left(desk, page):
    (desk.folder / "deaf.py").write_text(DEAF)
    (desk.folder / "deaf.coven").write_text(
        'coven 1\nimport "deaf.py" { wait }\nprogram deaf {\n  for k in 0 .. 9 { wait(k) }\n}\n'
    )
    run = desk.api("/runs", "POST", {"program": "deaf.coven", "checkpoint": True}, 201)["run"]
    page.until(lambda e: e["type"] == "console" and "deaf" in e["text"])
    assert os.path.exists(address(run["control"]))
    desk.api(f"/runs/{run['id']}/stop", "POST", {})
    assert page.ended(run["id"])["state"] == "stopped"
    assert not os.path.exists(address(run["control"]))


DEAF = """import time

#@ coven module wait(in i64 k)
def wait(k):
    if k > 0:
        print("deaf", flush=True)
        time.sleep(600)
"""


def test_a_program_that_is_wrong_does_not_run_and_says_where(desk):
    (desk.folder / "wrong.coven").write_text("coven 1\nprogram wrong {\n  print(y)\n}\n")
    error = desk.api("/runs", "POST", {"program": "wrong.coven"}, 422)["error"]
    assert error["message"] == "the program is wrong: 1 error"
    (diagnostic,) = error["diagnostics"]
    assert (diagnostic["path"], diagnostic["line"], diagnostic["code"]) == ("wrong.coven", 3, "E0201")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            {"parameters": {"NX": "many"}},
            "`NX` has the type i64, and 'many' is not of that type | for example:  8 in the field NX",
        ),
        ({"parameters": {"tol": "0"}}, "choose values for which `tol > 0` holds (in this form)"),
        ({"parameters": {"QQ": "1"}}, "QQ"),
        ({"options": {"queue_depth": "-1"}}, "queue_depth=-1: queue_depth must be"),
        ({"options": {"queue_depth": ""}}, "queue_depth=: queue_depth must be"),
        (
            {"options": {"queue_depth": "x"}},
            "or, for one thread:  queue_depth.thread_",
        ),
        ({"processors": 0}, "processors"),
        ({"cluster": "nowhere"}, "nowhere"),
        ({"program": "missing.coven"}, "missing.coven"),
    ],
)
def test_what_cannot_be_run_is_refused_in_words(desk, asked, words):
    answer = desk.ask("/api/runs", "POST", QUICK | asked)
    assert answer.status in (400, 422)
    error = answer.json["error"]
    told = [f"{one['message']} | {one['help']}" for one in (error, *error.get("diagnostics", ()))]
    assert words in " | ".join(told)
    assert "Traceback" not in answer.body.decode()


def test_a_file_that_changes_on_disk_is_told(desk, page):
    (desk.folder / "watched.coven").write_text("coven 1\n")
    read = desk.api("/file?path=watched.coven")
    (desk.folder / "watched.coven").write_text("coven 1\n// more\n")
    told = page.until(lambda event: event["type"] == "file" and event["path"] == "watched.coven")
    assert told["revision"] not in (None, read["revision"])
    (desk.folder / "watched.coven").unlink()
    told = page.until(lambda event: event["type"] == "file" and event["path"] == "watched.coven")
    assert told["revision"] is None


SLOW = """coven 1
import "slow.py" { cool }
param f64 rate = 0.5 live where rate > 0
program slow {
  var f64[4, 300] u
  zero() -> u
  var f64 sum = 0.0
  for k in 0 .. 100000 {
    thread_A cool(u, rate) -> sum
  }
  thread_A print(sum)
}
"""
COOL = """import time


#@ coven module cool(inout f64 u[m, n], in f64 rate, out f64 sum)
def cool(u, rate):
    time.sleep(0.002)
    u += rate
    return float(u.sum())
"""


SLOWLY = {"program": "slow.coven", "processors": 1}


def test_a_run_that_goes_on_is_held_changed_and_watched(desk, page):
    (desk.folder / "slow.coven").write_text(SLOW)
    (desk.folder / "slow.py").write_text(COOL)
    run = desk.api("/runs", "POST", {**SLOWLY, "checkpoint": True}, 201)["run"]["id"]
    page.until(lambda e: e["type"] == "overview" and e["run"] == run and e["overview"]["sites"][0]["calls"])
    held = desk.api(f"/runs/{run}/control", "POST", {"action": "pause"})["status"]
    assert held["state"] == "held"
    assert held["tags"] == {"u": "f64[4, 300] @ root", "sum": "f64"}
    assert desk.api(f"/runs/{run}/watch", "POST", {"tags": ["u", "sum"]})["tags"] == ["u", "sum"]
    frame = page.until(lambda e: e["type"] == "frame" and e["tag"] == "u")
    assert (frame["cells"], frame["block"], frame["pause"]) == ([4, 150], [1, 2], held["pause"])
    values = np.frombuffer(base64.b64decode(frame["data"]), "<f4")
    assert (values == 0.5 * (held["pause"] - 1)).all()
    assert page.until(lambda e: e["type"] == "frame" and e["tag"] == "sum")["cells"] == []
    changed = desk.api(f"/runs/{run}/control", "POST", {"action": "set", "values": {"rate": "2"}})["status"]
    assert changed["live"] == {"rate": 2.0}
    stepped = desk.api(f"/runs/{run}/control", "POST", {"action": "step", "rounds": 3})["status"]
    assert stepped["pause"] == held["pause"] + 3
    frame = page.until(lambda e: e["type"] == "frame" and e["pause"] == held["pause"] + 3 and e["tag"] == "u")
    assert frame["low"] == frame["high"] == 0.5 * (held["pause"] - 1) + 6
    for asked, words in (
        ({"action": "set", "values": {"rate": "0"}}, "does not satisfy its `where` clause"),
        ({"action": "jump"}, "a run can't jump"),
        ({"action": "step", "rounds": 0}, "rounds is 0: expected a whole number, from 1 to 1,000,000,000"),
        ({"action": "step", "rounds": 10**30}, "expected a whole number, from 1 to 1,000,000,000"),
    ):
        answer = desk.ask(f"/api/runs/{run}/control", "POST", asked)
        assert answer.status in (400, 422)
        assert words in answer.json["error"]["message"]
    kept = desk.api(f"/runs/{run}/control", "POST", {"action": "checkpoint"})["status"]["checkpoint"]
    assert json.loads((desk.folder / kept / "checkpoint.json").read_text())["rounds"] == held["pause"] + 3
    assert desk.api(f"/runs/{run}/control", "POST", {"action": "resume"})["status"]["state"] == "running"
    page.until(lambda e: e["type"] == "frame" and e["pause"] > held["pause"] + 3)
    desk.api(f"/runs/{run}/stop", "POST", {})
    assert page.ended(run)["state"] == "stopped"
    assert desk.api(f"/runs/{run}/control", "POST", {"action": "status"}) == {"status": None}
    over = desk.api(f"/runs/{run}/control", "POST", {"action": "pause"}, 409)
    assert over["error"]["message"] == "this run does not go on"
