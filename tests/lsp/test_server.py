"""The server itself, talked to by its protocol as editors do, and by Neovim as the manual sets it up."""

import asyncio
import contextlib
import gc
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec, Workspace

from pse.lsp import OpenFiles, Readings, _outline as outline, make_server
from pse.lsp._analysis import Lines, collect_now
from pse.lsp._requests import ANSWERS

from .conftest import COMMAND, PROGRAMS, analysed, position

HEAT = (PROGRAMS / "heat.coven").read_text()


def test_a_mistake_is_told_when_typing_pauses_and_gone_when_it_is_mended(session):
    async def talk(editor):
        uri = editor.open(PROGRAMS / "heat.coven")
        right = await editor.diagnostics(uri, 1)
        editor.change(uri, 2, HEAT.replace("exchange(u)", "exchange(w)"))
        wrong = await editor.diagnostics(uri, 2)
        editor.change(uri, 3, HEAT)
        return right, wrong, await editor.diagnostics(uri, 3)

    right, (wrong,), again = session(PROGRAMS, talk)
    assert right == again == []
    assert (wrong.code, wrong.severity, wrong.source) == ("E0201", types.DiagnosticSeverity.Error, "pse")
    assert wrong.message.startswith("unknown name `w`\nhelp: ")
    assert wrong.range.start == position(HEAT, "exchange(u)", 9)


def test_related_places_and_unused_names_are_marked(session, tmp_path):
    text = "coven 1\nprogram p {\n  let x = 1\n}\nprogram q {}\n"

    async def talk(editor):
        twice = editor.open(tmp_path / "twice.coven", text)
        unused = editor.open(tmp_path / "unused.coven", text.replace("program q {}\n", ""))
        return await editor.diagnostics(twice, 1), await editor.diagnostics(unused, 1)

    (twice,), (unused,) = session(tmp_path, talk)
    assert twice.related_information[0].message == "the first program is here"
    assert list(unused.tags) == [types.DiagnosticTag.Unnecessary]


def test_a_module_source_that_is_not_saved_counts(session, tmp_path):
    program = 'coven 1\nimport "k.py" { f }\nprogram p { f(2) -> x  print(x) }\n'
    source = "#@ coven module f(in i64 n, out i64 m)\ndef f(n):\n    return n\n"
    (tmp_path / "k.py").write_text(source)

    async def talk(editor):
        uri = editor.open(tmp_path / "p.coven", program)
        before = await editor.diagnostics(uri, 1)
        module = editor.open(tmp_path / "k.py", source, "python")
        await editor.diagnostics(module, 1)
        editor.change(module, 2, source.replace("in i64 n, ", "in i64 n, in i64 k, "))
        own = await editor.diagnostics(module, 2)
        hover = await editor.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(module), types.Position(0, 22))
        )
        while not (after := await editor.diagnostics(uri, 1)):
            pass  # What was told when the source was opened.
        return before, own, after, hover

    before, own, after, hover = session(tmp_path, talk)
    assert not before
    assert [d.code for d in own] == ["E0526"], "the function has fewer parameters than its directive now"
    assert after, "the program's call is wrong now, though no file was saved"
    assert hover is None or "f(" in hover.contents.value


def test_requests_are_answered_over_the_wire(session):
    async def talk(editor):
        uri = editor.open(PROGRAMS / "heat.coven")
        document, at = types.TextDocumentIdentifier(uri), position(HEAT, "exchange(u)", 9)
        hover = await editor.text_document_hover_async(types.HoverParams(document, at))
        names = await editor.text_document_completion_async(types.CompletionParams(document, at))
        edit = await editor.text_document_rename_async(types.RenameParams(document, at, "now"))
        found = await editor.workspace_symbol_async(types.WorkspaceSymbolParams("RING"))
        changes = await editor.text_document_formatting_async(
            types.DocumentFormattingParams(document, types.FormattingOptions(2, True))
        )
        with pytest.raises(Exception, match="`v` is in use"):
            await editor.text_document_rename_async(types.RenameParams(document, at, "v"))
        return hover, names, edit, found, changes

    hover, names, edit, found, changes = session(PROGRAMS, talk)
    assert "f64[NX, NY]" in hover.contents.value
    assert "u" in [item.label for item in names]
    assert len(edit.changes[(PROGRAMS / "heat.coven").as_uri()]) == 6
    assert [symbol.name for symbol in found] == ["ring"]
    assert not changes


class Wire:
    """An editor's bare wire to the server, on which it can write what no editor should."""

    def __init__(self, root):
        self.process = subprocess.Popen(
            COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.last = 0
        self.ask("initialize", {"processId": None, "capabilities": {}, "rootUri": root.as_uri()})
        self.say({"method": "initialized", "params": {}})

    def say(self, message):
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def write(self, data):
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self.process.stdin.flush()

    def ask(self, method, params):
        self.last += 1
        self.say({"id": self.last, "method": method, "params": params})
        while True:
            size = 0
            while (line := self.process.stdout.readline()).strip():
                name, _, value = line.decode().partition(":")
                size = int(value) if name == "Content-Length" else size
            message = json.loads(self.process.stdout.read(size))
            if message.get("id") == self.last:
                return message


def test_every_request_has_an_answer_and_no_mistake_of_an_editor_is_a_traceback(tmp_path):
    os.mkfifo(tmp_path / "pipe.coven")
    (tmp_path / "p.coven").write_text("coven 1\nprogram p {\n  let a = 1\n  let b = a\n  print(b)\n}\n")
    document, at = {"uri": (tmp_path / "p.coven").as_uri()}, {"line": 2, "character": 6}
    wire = Wire(tmp_path)

    def refused(method, params):
        error = wire.ask(method, params)["error"]
        assert "data" not in error or error["data"] is None
        return error["code"], error["message"]

    taken = {"textDocument": document, "position": at, "newName": "b"}
    assert refused("textDocument/rename", taken) == (-32602, "`b` is in use (line 4): choose another name")
    for uri, words in (
        ((tmp_path / "nowhere.coven").as_uri(), "No such file"),
        ((tmp_path / "pipe.coven").as_uri(), "it is a pipe or a device, not a file"),
        ("untitled:Untitled-1", "Untitled-1 cannot be read"),
    ):
        code, said = refused("textDocument/hover", {"textDocument": {"uri": uri}, "position": at})
        assert (code, words in said) == (-32602, True), said
    for params in ({"textDocument": document}, {}, None):
        code, said = refused("textDocument/hover", params)
        assert (code, said.startswith("wrong parameters of textDocument/hover: ")) == (-32602, True), said
    found = wire.ask("workspace/symbol", {"query": "p"})["result"]
    assert [symbol["name"] for symbol in found] == ["p"], "and the pipe is passed over"
    assert wire.ask("shutdown", None)["result"] is None
    code, said = refused("textDocument/hover", {"textDocument": document, "position": at})
    assert (code, said) == (-32600, "the server has been shut down")
    wire.say({"method": "exit"})
    assert wire.process.communicate(timeout=60)[1].decode() == ""
    assert wire.process.returncode == 0


@pytest.mark.parametrize(("methods", "code"), [(["exit"], 1), (["shutdown", "exit"], 0), ([], 0)])
def test_the_exit_code_says_whether_an_editor_has_shut_the_server_down(tmp_path, methods, code):
    wire = Wire(tmp_path)
    for method in methods:
        wire.say({"id": 9, "method": method} if method == "shutdown" else {"method": method})
    wire.process.communicate(timeout=60)
    assert wire.process.returncode == code


def test_a_message_that_is_not_json_is_told_in_a_line_and_the_next_one_is_answered(tmp_path):
    wire = Wire(tmp_path)
    wire.write(b"{not json")
    wire.write(b"\xff")
    assert wire.ask("shutdown", None)["result"] is None
    wire.say({"method": "exit"})
    said = wire.process.communicate(timeout=60)[1].decode().splitlines()
    assert len(said) == 2, said
    assert all("a message is not JSON: " in line for line in said)


def test_a_program_is_analysed_anew_once_when_what_is_imported_changes_though_by_another_one(tmp_path):
    for name in "ab":
        source = f"#@ coven module {name}(out f64 x)\ndef {name}():\n    return 1.0\n"
        (tmp_path / f"{name}.py").write_text(source)
        program = f'coven 1\nimport "{name}.py" {{ {name} }}\nprogram p {{ {name}() -> x  print(x) }}\n'
        (tmp_path / f"{name}.coven").write_text(program)

    async def ask():
        server = make_server()
        server.protocol._workspace = Workspace(None)
        uris = [(tmp_path / f"{name}.coven").as_uri() for name in "ab"]
        before = [await server.fresh(uri) for uri in uris]
        assert [await server.fresh(uri) for uri in uris] == before
        (tmp_path / "a.py").unlink()
        other = await server.fresh(uris[1])
        assert await server.fresh(uris[1]) is other
        after = [await server.fresh(uris[0]), other]
        assert [await server.fresh(uri) for uri in uris] == after
        return [{one.code for one in analysis.inspection.diagnostics} for analysis in (*before, *after)]

    assert asyncio.run(ask()) == [set(), set(), {"E0501"}, set()]


def words(data):
    """Give the words of an answer: line, character, length, type and modifiers."""
    found, line, character = [], 0, 0
    for lines, characters, *rest in zip(*[iter(data)] * 5, strict=True):
        line, character = line + lines, characters if lines else character + characters
        found.append((line, character, *rest))
    return found


def test_what_an_edit_has_not_changed_is_told_without_a_new_analysis():
    text = HEAT.replace("coven 1\n", "coven 1 // new\n// more\n")
    server, known = make_server(), analysed(HEAT)
    server.latest, server.lines = lambda _: known, lambda _: Lines(text, PositionCodec())
    server.fresh, server.colours_later = lambda _: pytest.fail("it waits"), lambda _: True
    document, at = types.TextDocumentIdentifier("file:///heat.coven"), position(text, "exchange(u)", 9)
    answers = {name: answer for name, (answer, _) in ANSWERS.items()}
    hover = answers[types.TEXT_DOCUMENT_HOVER](server, types.HoverParams(document, at))
    colours = answers[types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL](server, types.SemanticTokensParams(document))
    found = asyncio.run(hover)
    assert "f64[NX, NY]" in found.contents.value
    assert found.range.start == at
    before = words(outline.semantic_tokens(known).data)
    assert words(asyncio.run(colours).data) == [(line + 1, *rest) for line, *rest in before if line > 0]


def test_an_editor_that_comes_again_does_not_wait_until_all_is_read_once_more():
    readings = Readings()
    texts = HEAT, HEAT + "// more\n"
    first, second = (readings.read(text, "heat.coven", PositionCodec(), OpenFiles({})) for text in texts)
    assert first.inspection.tree.items[-1].body.statements
    assert (
        second.inspection.tree.items[-1].body.statements[0]
        is first.inspection.tree.items[-1].body.statements[0]
    )


class Part:
    """Is part of itself."""

    def __init__(self):
        self.whole = self


def test_memory_is_searched_for_cycles_where_it_may_be_worth_while():
    gc.collect()
    gc.disable()
    try:
        first = weakref.ref(Part())
        collect_now()
        assert first() is not None
        many = [Part() for _ in range(150_000)]
        collect_now()
        assert first() is None
        assert many
    finally:
        gc.enable()


def test_an_editor_asks_for_colours_again_when_an_edit_is_analysed(session, tmp_path):
    async def talk(editor):
        again, told = asyncio.Event(), []
        editor.feature(types.WORKSPACE_SEMANTIC_TOKENS_REFRESH)(lambda _: again.set())
        uri = editor.open(tmp_path / "a.coven", HEAT)
        await editor.diagnostics(uri, 1)
        editor.change(uri, 2, f"// new\n{HEAT}")
        while not told or told[0][0] > 0:
            asked = types.SemanticTokensParams(types.TextDocumentIdentifier(uri))
            told = words((await editor.text_document_semantic_tokens_full_async(asked)).data)
            if told[0][0] > 0:
                await asyncio.wait_for(again.wait(), 60)
        return told

    refreshing = types.SemanticTokensWorkspaceClientCapabilities(refresh_support=True)
    capabilities = types.ClientCapabilities(types.WorkspaceClientCapabilities(semantic_tokens=refreshing))
    assert session(tmp_path, talk, capabilities)[0] == (0, 0, 6, 1, 0)


def test_an_editor_that_goes_away_ends_the_server():
    server = subprocess.run(COMMAND, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert (server.returncode, server.stdout, server.stderr) == (0, b"", b"")


@pytest.mark.parametrize("address", ["abc", "127.0.0.1:0", "70000"])
def test_a_port_that_cant_be_is_told(address):
    told = subprocess.run([*COMMAND, "--tcp", address], capture_output=True, text=True, timeout=60)
    assert told.returncode == 2
    assert f"--tcp {address} names no port" in told.stderr


def test_a_port_in_use_is_told():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = subprocess.run([*COMMAND, "--tcp", str(port)], capture_output=True, text=True, timeout=60)
    assert told.returncode == 2
    assert told.stderr.startswith(
        f"error: the language server can't listen at 127.0.0.1, port {port}: address"
    )
    assert "help: name another port" in told.stderr


@contextlib.contextmanager
def listening():
    """Start a server, and give the port at which it listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [*COMMAND, "--tcp", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        yield server, port


def reset(editor):
    editor.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize("leave", [reset, lambda editor: editor.sendall(b"Content-Length: 99\r\n\r\n{")])
def test_an_editor_that_dies_ends_the_server_and_no_other_editor_is_let_in(leave):
    with listening() as (server, port), connected(port) as editor:
        send(editor, {"id": 1, "method": "initialize", "params": {"capabilities": {}}})
        assert editor.recv(1 << 16)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        leave(editor)
        editor.close()
        said = server.communicate(timeout=60)[1]
    assert "Traceback" not in said


def test_an_editor_that_says_goodbye_over_tcp_ends_the_server_without_a_word():
    with listening() as (server, port), connected(port) as editor:
        for number, method in enumerate(("initialize", "shutdown")):
            send(editor, {"id": number, "method": method, "params": {"capabilities": {}}})
            assert editor.recv(1 << 16)
        send(editor, {"method": "exit"})
        said = server.communicate(timeout=60)[1]
    assert (server.returncode, said) == (0, "")


def send(editor, message):
    body = json.dumps({"jsonrpc": "2.0", **message})
    editor.sendall(f"Content-Length: {len(body)}\r\n\r\n{body}".encode())


def connected(port):
    """Connect as soon as the server listens."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=60)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline


def test_without_pygls_the_command_says_what_to_install():
    script = "import sys; sys.modules['pygls'] = None; from pse.cli import main; main()"
    told = subprocess.run(
        [sys.executable, "-P", "-c", script, "lsp"], capture_output=True, text=True, timeout=60
    )
    assert told.returncode == 2
    assert "pip install 'pse[desk]'" in told.stderr


@pytest.mark.skipif(shutil.which("nvim") is None, reason="there is no Neovim here")
def test_neovim_shows_diagnostics_with_the_set_up_of_the_manual(tmp_path):
    manual = (Path(__file__).parents[2] / "docs" / "editors.md").read_text()
    (tmp_path / "init.lua").write_text(re.search(r"```lua\n(.*?)```", manual, re.DOTALL)[1])
    (tmp_path / "wrong.coven").write_text("coven 1\nprogram p { print(y) }\n")
    ask = """
    vim.wait(30000, function() return #vim.diagnostic.get(0) > 0 end, 50)
    for _, found in ipairs(vim.diagnostic.get(0)) do
      io.stdout:write(found.code, " line ", found.lnum + 1, "\\n")
    end
    """
    bin = str(Path(sys.executable).parent)
    told = subprocess.run(
        [
            "nvim",
            "--headless",
            "-u",
            "init.lua",
            "wrong.coven",
            "-c",
            "lua " + " ".join(ask.split("\n")),
            "-c",
            "qa!",
        ],
        cwd=tmp_path,
        env={"PATH": f"{bin}:/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert "E0201 line 2" in told.stdout, told.stderr
