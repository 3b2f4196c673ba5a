"""Runs in the background: waited for, watched as a notebook's page does it, changed and stopped."""

import signal
import threading

import pytest

pytest.importorskip("anywidget", reason="anywidget is in the extra notebook")
pytest.importorskip("ipykernel", reason="ipykernel (extra pse[dev]) is not installed")

from jupyter_client.manager import start_new_kernel

import pse
from pse.notebook import NotebookError, RunFailed

pytestmark = pytest.mark.mpi

ROD = """\
coven 1
import "rod.py" { heat, cool }
param i64 steps = 1000000
param f64 rate = 0.0 live where rate >= 0
program rod {
  thread_A heat() -> u
  for k in 0 .. steps {
    thread_A cool(u, k, rate)
  }
  thread_A print(u)
}
"""
MODULES = """\
import time

import numpy as np


#@ coven module heat(out f64 u[40, 3])
def heat(u):
    u[...] = np.arange(120.0).reshape(40, 3)


#@ coven module cool(inout f64 u[40, 3], in i64 k, in f64 rate)
def cool(u, k, rate):
    time.sleep(0.005)
    u -= rate
"""


@pytest.fixture
def rod(folder):
    (folder / "rod.py").write_text(MODULES)
    (folder / "rod.coven").write_text(ROD)
    return folder


def test_a_run_in_the_background_is_waited_for_and_then_has_its_result(rod):
    run = pse.start("rod.coven", params={"steps": 1})
    result = run.result(60)
    assert result.output.startswith("[[")
    assert run.done
    assert repr(run).startswith("rod.coven on 1 processor has ended after ")
    for ended in (run, result):
        with pytest.raises(NotebookError, match=r"has ended(?s:.*)pse\.start"):
            ended.watch("u")
    with pytest.raises(NotebookError, match="has ended after"):
        run.control()


@pytest.fixture
def ignored_ctrl_c():
    """This process ignores Ctrl-C, and so does what it starts: as a script in the background of another."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ignored_ctrl_c")
def test_a_run_in_the_background_is_held_changed_watched_and_stopped(rod):
    run = pse.start("rod.coven")
    with pytest.raises(NotebookError, match=r"rod\.coven has no tag v of numbers"):
        run.watch("v")
    with pytest.raises(NotebookError, match=r"rod\.coven has no tag \['u'\] of numbers"):
        run.watch(["u"])
    with pytest.raises(NotebookError, match=r"the run has not ended after 0\.01 s"):
        run.result(0.01)
    with run.control() as control:
        control.pause()
        assert control.set({"rate": 0.5})["live"] == {"rate": 0.5}
    seen = threading.Event()
    widget = run.watch("u")
    widget.observe(lambda _: seen.set(), "frame")
    assert seen.wait(60)
    assert (widget.frame["shape"], widget.frame["points"]) == ((40, 3), True)
    ended = threading.Event()
    widget.observe(lambda _: ended.set(), "said")
    run.stop()
    assert ended.wait(60)
    assert widget.said == "rod.coven on 1 processor was stopped"
    with pytest.raises(RunFailed, match="stopped by SIGTERM"):
        run.result()


def test_a_kernel_gives_a_page_one_frame_after_another_and_the_script_for_three_dimensions(rod):
    manager, client = start_new_kernel(cwd=str(rod))
    try:
        page = Page(client)
        page.execute("%load_ext pse")
        page.execute(f"%%coven rod.coven --background --name run\n{ROD}")
        page.execute("shown = run.watch('u')\nshown")
        first = page.state("frame")
        assert "export{" in page.states["_esm"]
        page.send({"wanted": "frame"})
        assert page.state("frame", other_than=first)["pause"] > first["pause"]
        page.send({"wanted": "space"})
        assert "WebGL" in page.message()["space"]
        page.execute("run.stop()")
        assert page.state("said") == "rod.coven on 1 processor was stopped"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


class Page:
    """What the page of a notebook does: it keeps the widget's state, and asks for more."""

    def __init__(self, client):
        self.client, self.states, self.comm = client, {}, None

    def execute(self, code):
        reply = self.client.execute_interactive(code, output_hook=self._take, timeout=60)
        assert reply["content"]["status"] == "ok", reply["content"]

    def send(self, content):
        data = {"comm_id": self.comm, "data": {"method": "custom", "content": content}}
        self.client.shell_channel.send(self.client.session.msg("comm_msg", data))

    def state(self, name, other_than=None):
        while self.states.get(name) in (None, "", {}, other_than):
            self._take(self.client.get_iopub_msg(timeout=60))
        return self.states[name]

    def message(self):
        while (found := self._take(self.client.get_iopub_msg(timeout=60))) is None:
            pass
        return found

    def _take(self, message):
        """Keep what a message says of the widget; give what it says else."""
        content = message["content"]
        if message["msg_type"] == "comm_open" and "frame" in content["data"]["state"]:
            self.comm = content["comm_id"]
        if self.comm is None or content.get("comm_id") != self.comm:
            return None
        self.states |= content["data"].get("state", {})
        return content["data"].get("content")
