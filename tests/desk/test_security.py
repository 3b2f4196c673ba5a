"""Who is kept out: each attack as a browser, or a script, would make it."""

import json
import os
import subprocess
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus

from pse.desk import jupyter_tile

from .conftest import started

FOREIGN = "http://evil.example"


def test_the_token_of_the_address_becomes_a_cookie_that_other_sites_cannot_use(desk):
    answer = desk.ask(f"/?token={desk.token}", Cookie=None, Origin=None)
    assert (answer.status, answer.headers["Location"]) == (303, "./")
    cookie = answer.headers["Set-Cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=" not in cookie


@pytest.mark.parametrize("path", ["/", "/api/files", "/api/file?path=heat.coven", "/assets/desk.js"])
@pytest.mark.parametrize("cookie", [None, "pse-desk=1", "x"])
def test_without_the_cookie_everything_is_refused(desk, path, cookie):
    answer = desk.ask(path, Cookie=cookie, Origin=None)
    assert answer.status == 401
    assert b"open the address that `pse desk` printed" in answer.body


def test_the_token_is_no_cookie(desk):
    name = desk.cookie.partition("=")[0]
    assert desk.ask("/api/files", Cookie=f"{name}={desk.token}", Origin=None).status == 401


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_of_the_machine_gets_no_cookie_for_the_address(desk):
    """The command line of the browser, which has the address, is there for all to read."""
    port = desk.host.rpartition(":")[2]
    claimed = "X-Forwarded-For: 192.0.2.1"
    request = f"GET /?token={desk.token} HTTP/1.0\\r\\nHost: {desk.host}\\r\\n{claimed}\\r\\n\\r\\n"
    asking = f"exec 3<>/dev/tcp/127.0.0.1/{port}; printf '{request}' >&3; cat <&3"
    nobody = 65534
    others, own = (
        subprocess.run(["bash", "-c", asking], user=user, capture_output=True, text=True, timeout=60).stdout
        for user in (nobody, None)
    )
    assert "403" in others.splitlines()[0]
    assert "set-cookie" not in others
    assert "another user's" in others
    assert "303" in own.splitlines()[0]


def test_a_browser_that_has_the_scripts_already_may_keep_them(desk):
    first = desk.ask("/assets/desk.js")
    assert (first.status, first.headers["Cache-Control"]) == (200, "no-cache")
    assert desk.ask("/assets/desk.js", If_None_Match=first.headers["ETag"]).status == 304
    assert desk.ask("/assets/desk.js", If_None_Match=first.headers["ETag"], Cookie=None).status == 401
    assert desk.ask("/api/files").headers["Cache-Control"] == "no-store"


def test_a_wrong_token_is_refused(desk):
    assert desk.ask("/?token=guess", Cookie=None, Origin=None).status == 401


def test_another_host_name_is_refused_though_the_cookie_is_right(desk):
    """DNS rebinding: a name of the attacker's that leads to this address."""
    port = desk.host.rpartition(":")[2]
    answer = desk.ask("/api/files", Host=f"evil.example:{port}", Origin=None)
    assert answer.status == 403
    assert desk.ask("/api/files", Host="localhost:9999", Origin=None).status == 200


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_a_request_of_another_site_is_refused_though_the_cookie_is_right(desk, method):
    assert desk.ask("/api/runs", method, Origin=FOREIGN).status == 403


def test_what_changes_something_needs_an_origin(desk):
    assert desk.ask("/api/runs", "POST", {}, Origin=None).status == 403


@pytest.mark.parametrize("path", ["/lsp", "/events"])
@pytest.mark.parametrize("how", [{"origin": FOREIGN}, {"origin": None}, {"additional_headers": {}}])
def test_a_websocket_of_another_site_or_without_the_cookie_is_refused(desk, path, how):
    with pytest.raises(InvalidStatus) as refused, desk.socket(path, **how):
        pass
    assert refused.value.response.status_code == 403


OUTSIDE = ["../secret.txt", "/etc/passwd", "link.txt", "folder/secret.txt", "a/../../secret.txt", "", "x\0y"]


@pytest.fixture
def links(programs):
    """Put a secret beside the directory, and links to it into the directory."""
    secret = programs.parent / "secret.txt"
    secret.write_text("secret")
    for name, target in (("link.txt", secret), ("folder", programs.parent)):
        if not (programs / name).is_symlink():
            (programs / name).symlink_to(target)
    yield secret
    (programs / "link.txt").unlink()
    (programs / "folder").unlink()


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leads_out_of_the_directory(desk, links, path):
    from urllib.parse import quote

    read = desk.ask(f"/api/file?path={quote(path)}")
    assert read.status in (400, 403)
    assert b"secret" not in read.body or path.encode() in read.body
    written = desk.ask("/api/file", "PUT", {"path": path, "text": "mine", "revision": None})
    assert written.status in (400, 403)
    run = desk.ask("/api/runs", "POST", {"program": path})
    assert run.status in (400, 403)
    assert links.read_text() == "secret"


def test_links_out_of_the_directory_are_not_listed(desk, links):
    paths = [file["path"] for file in desk.api("/files")["files"]]
    assert "heat.coven" in paths
    assert not {"link.txt", "folder/secret.txt"} & set(paths)


@pytest.mark.parametrize(
    "path", ["/assets/../../pyproject.toml", "/../model/_text.py", "/%2e%2e/__init__.py"]
)
def test_no_file_beside_the_page_is_served(desk, path):
    assert desk.ask(path).status in (400, 404)


def test_the_language_server_reads_no_file_outside(desk, language):
    document = {"textDocument": {"uri": "file:///etc/passwd"}, "position": {"line": 0, "character": 1}}
    answer = language.request("textDocument/hover", document)
    assert "is outside the opened directory" in answer["error"]["message"]
    opened = {"uri": "file:///etc/passwd", "languageId": "coven", "version": 0, "text": "coven 1"}
    language.notify("textDocument/didOpen", {"textDocument": opened})
    answer = language.request("coven/graph", {"uri": "file:///etc/passwd"})
    assert "is outside" in answer["error"]["message"]


def test_a_page_cannot_end_the_server(desk):
    with desk.socket("/lsp") as socket:
        for frame in ("{", "[]", '"x"', json.dumps({"jsonrpc": "2.0", "method": "exit"})):
            socket.send(frame)
        list(socket)
    assert desk.api("/session")["program"] is None


@pytest.mark.parametrize("path", ["/", "/api/session", "/nothing"])
def test_every_answer_has_a_policy_that_forbids_inline_scripts_and_other_hosts(desk, path):
    headers = desk.ask(path).headers
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


def test_a_form_of_another_site_has_no_json(desk):
    """A form can't send JSON; its text is refused even from the page itself."""
    answer = desk.ask("/api/runs", "POST", {"program": "heat.coven"}, Content_Type="text/plain")
    assert answer.status == 415


@pytest.fixture(scope="module")
def proxied(programs):
    """Give a desk as jupyter-server-proxy starts it."""
    tile = jupyter_tile()
    command = [word.format(port=0) for word in tile["command"]]
    with started(programs, command=command, **tile["environment"]) as desk:
        assert tile["launcher_entry"]["path_info"] == f"pse-desk/?token={desk.token}"
        yield desk


def test_behind_a_proxy_the_name_is_the_proxys_and_token_and_origin_still_count(proxied):
    name, page = "hub.example", "https://hub.example"
    assert proxied.ask("/api/files", Host=name, Origin=page).status == 200
    assert proxied.ask("/api/files", Host=name, Origin=FOREIGN).status == 403
    assert proxied.ask("/api/files", Host=name, Origin=page, Cookie=None).status == 401
    with pytest.raises(InvalidStatus), proxied.socket("/lsp", origin=FOREIGN):
        pass


def test_jupyter_finds_the_tile():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    group = "jupyter_serverproxy_servers"
    ((name, value),) = project["entry-points"][group].items()
    assert (name, EntryPoint(name, value, group).load()) == ("pse-desk", jupyter_tile)
