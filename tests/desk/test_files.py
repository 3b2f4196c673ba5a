"""Files as the page opens and saves them."""

import json
import os
import resource
import tempfile
from pathlib import Path

import pytest

from pse.desk.server._errors import Refusal
from pse.desk.server._files import Directory

from .conftest import started


@pytest.fixture
def folder(tmp_path):
    return Directory(tmp_path)


def test_a_file_is_read_and_saved(desk):
    read = desk.api("/file?path=heat.coven")
    assert read["text"] == (desk.folder / "heat.coven").read_text()
    assert (read["kind"], read["uri"]) == ("program", desk.uri("heat.coven"))
    saved = desk.api("/file", "PUT", {**read, "path": "copy.coven", "revision": None})
    assert saved["revision"] == read["revision"]
    assert (desk.folder / "copy.coven").read_bytes() == (desk.folder / "heat.coven").read_bytes()


def test_a_file_that_was_changed_elsewhere_is_not_overwritten(desk):
    (desk.folder / "two.coven").write_text("coven 1\n")
    read = desk.api("/file?path=two.coven")
    (desk.folder / "two.coven").write_text("coven 1\n// theirs\n")
    mine = {"path": "two.coven", "text": "coven 1\n// mine\n", "revision": read["revision"]}
    conflict = desk.api("/file", "PUT", mine, 409)
    assert conflict["text"] == "coven 1\n// theirs\n"
    assert "has changed on disk" in conflict["error"]["message"]
    desk.api("/file", "PUT", mine | {"revision": conflict["revision"]})
    assert (desk.folder / "two.coven").read_text() == mine["text"]


@pytest.mark.parametrize("theirs", [b"coven 1\n// W\xe4rme\n", b"coven 1\n\0", b"//" * (9 << 20)])
def test_what_is_no_text_on_the_disk_is_not_given_as_one(desk, theirs):
    path = desk.folder / "theirs.coven"
    path.write_text("coven 1\n")
    read = desk.api("/file?path=theirs.coven")
    path.write_bytes(theirs)
    mine = {"path": "theirs.coven", "text": "coven 1\n// mine\n", "revision": read["revision"]}
    conflict = desk.api("/file", "PUT", mine, 409)
    assert (conflict["text"], path.read_bytes()) == (None, theirs)
    desk.api("/file", "PUT", mine | {"revision": conflict["revision"]})
    assert path.read_text() == mine["text"]


def test_what_one_page_saves_all_pages_are_told(desk):
    with desk.socket("/events") as one, desk.socket("/events") as other:
        for _ in range(2):
            read = desk.api("/file?path=heat.coven")
        saved = desk.api("/file", "PUT", {**read, "text": f"{read['text']}// mine\n"})
        told = {"type": "file", "path": "heat.coven", "revision": saved["revision"]}
        assert [json.loads(page.recv(20)) for page in (one, other)] == [told, told]
        desk.api("/file", "PUT", {**read, "revision": saved["revision"]})


def test_a_file_that_changes_before_another_page_reads_it_is_told_to_the_first(folder):
    path = folder.path / "x.coven"
    path.write_text("coven 1\n")
    folder.read("x.coven")
    path.write_text("coven 1\n// theirs\n")
    read = folder.read("x.coven")
    assert folder.changes() == [{"path": "x.coven", "revision": read["revision"]}]
    assert folder.changes() == []
    folder.save("x.coven", "coven 1\n", read["revision"])
    path.unlink()
    assert folder.changes() == [{"path": "x.coven", "revision": None}]
    folder.save("x.coven", "coven 1\n", None)
    path.unlink()
    assert folder.changes() == [{"path": "x.coven", "revision": None}]


def test_a_file_that_was_deleted_is_said_to_be_and_can_be_saved_anew(desk):
    (desk.folder / "gone.coven").write_text("coven 1\n")
    read = desk.api("/file?path=gone.coven")
    (desk.folder / "gone.coven").unlink()
    mine = {"path": "gone.coven", "text": "coven 1\n", "revision": read["revision"]}
    conflict = desk.api("/file", "PUT", mine, 409)
    assert (conflict["revision"], conflict["text"]) == (None, None)
    desk.api("/file", "PUT", mine | {"revision": None})


@pytest.mark.parametrize(
    ("data", "text", "saved"),
    [
        (b"a\r\nb\r\n", "a\nB\n", b"a\r\nB\r\n"),
        (b"a\r\nb\r\n", "a\nx\nb\n", b"a\r\nx\r\nb\r\n"),
        (b"a\r\nb\nc\r\n", "a\nb\nd\n", b"a\r\nb\nd\r\n"),
        (b"a\nb\r\nc", "x\na\nb\nc", b"x\na\nb\r\nc"),
        (b"a\r\nb", "", b""),
        (b"\xef\xbb\xbfa\r\n", "b\n", b"\xef\xbb\xbfb\r\n"),
        (b"a\rb\r\n", "a\nb\nc\n", b"a\rb\r\nc\r\n"),
    ],
)
def test_line_ends_and_the_byte_order_mark_stay(folder, data, text, saved):
    path = folder.path / "x.coven"
    path.write_bytes(data)
    read = folder.read("x.coven")
    assert "\r" not in read["text"]
    folder.save("x.coven", read["text"], read["revision"])
    assert path.read_bytes() == data
    folder.save("x.coven", text, read["revision"])
    assert path.read_bytes() in (saved, saved.replace(b"\r\nc", b"\rc"), saved.replace(b"x\na", b"x\r\na"))


@pytest.mark.parametrize(
    ("data", "status", "words"),
    [
        (b"\0\1", 415, "is not a text"),
        (b"\xff\xfe", 415, "is not UTF-8 text"),
        (b"x" * ((16 << 20) + 1), 413, "is larger than 16 MiB"),
    ],
    ids=["binary", "latin", "large"],
)
def test_what_cannot_be_edited_is_refused(folder, data, status, words):
    (folder.path / "x").write_bytes(data)
    with pytest.raises(Refusal, match=words) as refused:
        folder.read("x")
    assert refused.value.status == status
    assert refused.value.help


def test_a_full_disk_leaves_the_file_as_it_was(folder):
    """A limit on the size of files is what a full disk is to a writer."""
    path = folder.path / "x.coven"
    path.write_text("coven 1\n")
    known = folder.read("x.coven")["revision"]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(Refusal, match="can't be saved") as refused:
            folder.save("x.coven", "x" * 5000, known)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert refused.value.status == 507
    assert path.read_text() == "coven 1\n"
    assert [file.name for file in folder.path.iterdir()] == ["x.coven"]


def test_a_pipe_is_refused_and_nobody_waits_for_it(folder):
    os.mkfifo(folder.path / "pipe.coven")
    for work in (lambda: folder.read("pipe.coven"), lambda: folder.save("pipe.coven", "", None)):
        with pytest.raises(Refusal, match=r"pipe\.coven can't be (read|saved): it is a pipe or a device"):
            work()


def test_a_file_that_nobody_may_write_to_stays(another_user):
    with tempfile.TemporaryDirectory() as name:
        folder, path = Directory(Path(name)), Path(name, "x.coven")
        path.write_text("coven 1\n")
        path.chmod(0o444)
        known = folder.read("x.coven")["revision"]
        with another_user(name), pytest.raises(Refusal, match=r"x\.coven can't be saved: it is read-only"):
            folder.save("x.coven", "coven 1\n// mine\n", known)
        assert path.read_text() == "coven 1\n"


@pytest.mark.parametrize(
    ("name", "text", "status", "words"),
    [
        ("x.coven", "coven 1\n\ud800\n", 415, "line 2 has half of a character"),
        ("x.coven", "x" * ((16 << 20) + 1), 413, "is larger than 16 MiB"),
        ("nowhere/x.coven", "", 404, "can't be saved: there is no folder nowhere"),
        ("folder", "", 403, "can't be saved: Is a directory"),
    ],
    ids=["surrogate", "large", "nowhere", "directory"],
)
def test_what_cannot_be_saved_is_refused_and_says_why(folder, name, text, status, words):
    (folder.path / "folder").mkdir()
    with pytest.raises(Refusal, match=words) as refused:
        folder.save(name, text, None)
    assert refused.value.status == status
    assert "permissions" not in refused.value.help
    assert [file.name for file in folder.path.iterdir()] == ["folder"]


def test_where_boxes_lie_is_kept_for_desks_to_come(tmp_path):
    (tmp_path / "p.coven").write_text("coven 1\n")
    cache = tmp_path / "cache"
    layout = {"asked": "{}", "places": [["0", {"x": 1}]], "routes": []}
    with started(tmp_path, PSE_CACHE=str(cache)) as desk:
        assert desk.api("/layout?path=p.coven") == {"layout": None}
        desk.api("/layout", "PUT", {"path": "p.coven", "layout": layout}, status=204)
        desk.api("/layout", "PUT", {"path": "p.coven", "layout": "x" * (1 << 20)}, status=413)
        desk.api("/layout", "PUT", {"path": "../p.coven", "layout": layout}, status=403)
    with started(tmp_path, PSE_CACHE=str(cache)) as desk:
        assert desk.api("/layout?path=p.coven") == {"layout": layout}
        assert desk.api("/layout?path=q.coven") == {"layout": None}
        [kept] = (cache / "layouts").iterdir()
        kept.write_text("[")
        assert desk.api("/layout?path=p.coven") == {"layout": None}


def test_a_request_of_any_size_is_refused_without_being_kept(desk):
    before = memory(desk.process.pid)
    answer = desk.ask("/api/file", "PUT", {"path": "large.coven", "text": "x" * (128 << 20)})
    assert (answer.status, answer.json["error"]["message"]) == (413, "this is larger than 64 MiB")
    assert memory(desk.process.pid) - before < 150 << 10


def memory(process):
    """Give the most kibibytes that a process has had."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def test_a_number_that_is_too_long_is_refused(desk):
    answer = desk.ask(f"/api/runs/x/console?from={'9' * 5000}")
    assert (answer.status, answer.json["error"]["message"]) == (400, "from is not a number")
