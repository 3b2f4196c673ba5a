"""The language server and the graph over one WebSocket."""

import json

HEAT = "heat.coven"


def opened(desk, language, name=HEAT):
    text = (desk.folder / name).read_text()
    language.open(desk.uri(name), text)
    return desk.uri(name), text


def test_the_graph_and_the_language_server_see_the_same_text(desk, language):
    uri, text = opened(desk, language)
    graph = language.request("coven/graph", {"uri": uri, "version": 0})
    assert (graph["version"], graph["name"], graph["correct"]) == (0, "heat", True)
    place = {"line": 14, "character": 16}
    hover = language.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": place})
    assert "coven module step" in hover["contents"]["value"]
    language.change(uri, 1, text.replace("step(u)", "step(w)"))
    graph = language.request("coven/graph", {"uri": uri, "version": 1})
    assert (graph["version"], graph["correct"]) == (1, False)
    assert graph["diagnostics"][0]["path"] == HEAT


def test_an_edit_of_the_graph_is_answered_with_edits_of_the_text(desk, language):
    uri, text = opened(desk, language)
    graph = language.request("coven/graph", {"uri": uri})
    step = next(node for node in graph["nodes"] if node["label"] == "step")
    operation = {"op": "thread", "node": step["id"], "thread": "thread_C"}
    answer = language.request("coven/edit", {"uri": uri, "version": 0, "operations": [operation]})
    (edit,) = answer["edits"]
    assert text[edit["start"] : edit["end"]] + edit["text"] == "BC"
    assert answer["version"] == answer["graph"]["version"] == 1
    changed = text[: edit["start"]] + edit["text"] + text[edit["end"] :]
    language.change(uri, 1, changed)
    assert language.request("coven/graph", {"uri": uri}) | {"number": 2} == answer["graph"]


def test_a_page_that_has_the_last_graph_is_told_only_what_differs(desk, language):
    uri, text = opened(desk, language)
    number = language.request("coven/graph", {"uri": uri, "since": None})["number"]
    language.change(uri, 1, text.replace("step(u)", "step(w)"))
    difference = language.request("coven/graph", {"uri": uri, "since": number})
    assert (difference["since"], difference["version"]) == (number, 1)
    assert [node["label"] for _, node in difference["nodes"]["put"]] == ["step"]
    operation = {"op": "program", "name": "other"}
    asked = {"uri": uri, "version": 1, "operations": [operation], "since": difference["number"]}
    assert "refused" in language.request("coven/edit", asked)
    assert "since" not in language.request("coven/graph", {"uri": uri, "since": number})


def test_an_edit_of_an_older_text_is_refused(desk, language):
    uri, text = opened(desk, language)
    language.change(uri, 4, text)
    answer = language.request("coven/edit", {"uri": uri, "version": 0, "operations": []})
    assert answer["refused"]["message"] == "the text has changed meanwhile"


def test_what_can_be_connected_and_why_the_rest_cannot(desk, language):
    uri, _ = opened(desk, language)
    graph = language.request("coven/graph", {"uri": uri})
    ids = {node["label"]: node["id"] for node in graph["nodes"]}
    start = {"id": ids["residual"], "port": "residual"}
    answer = language.request("coven/canConnect", {"uri": uri, "from": start})
    reasons = {(t["id"], t["port"]): t.get("reason") for t in answer["targets"]}
    assert "can't go into" in reasons[ids["step"], "u"] or "has 0 axes" in reasons[ids["step"], "u"]
    end = {"id": ids["step"], "port": "u"}
    answer = language.request("coven/canConnect", {"uri": uri, "from": start, "to": end})
    assert not answer["ok"]
    assert answer["reason"]


def test_the_palette_has_imports_the_directory_and_the_library(desk, language):
    uri, _ = opened(desk, language)
    groups = {g["title"]: g["modules"] for g in language.request("coven/palette", {"uri": uri})["groups"]}
    assert [module["name"] for module in groups["Imported"]] == ["init", "step"]
    beside = {(m["module"]["file"], m["name"]) for m in groups["In this directory"]}
    assert ("gravity.c", "forces") in beside
    assert ("heat.c", "step") not in beside
    assert "scatter" in [module["name"] for module in groups["Standard library"]]


def test_a_request_that_makes_no_sense_is_answered_and_the_conversation_goes_on(desk, language):
    uri, _ = opened(desk, language)
    assert "there is no request" in language.request("coven/conjure", {"uri": uri})["error"]["message"]
    assert (
        "is not open" in language.request("coven/graph", {"uri": desk.uri("nbody.coven")})["error"]["message"]
    )
    refused = language.request("coven/edit", {"uri": uri, "version": 0, "operations": [{"op": "x"}]})
    assert refused["refused"]["message"] == "there is no operation x"
    assert language.request("coven/graph", {"uri": uri})["name"] == "heat"


def test_a_path_that_an_import_had_while_it_was_typed_is_forgotten(desk, language):
    uri, text = opened(desk, language)
    library = desk.folder / "half.coven"
    with desk.socket("/events") as events:
        for version, name in enumerate(("ha", "half", "half.coven", "half.coven"), 1):
            typed = text.replace("coven 1\n", f'coven 1\nimport "{name}" {{ twice }}\n')
            language.change(uri, version, typed + "\n" * version)
            assert not language.request("coven/graph", {"uri": uri})["correct"]
        for name in ("ha", "half"):
            (desk.folder / name).write_text("")
        library.write_text("coven 1\nsegment twice() -> () { }\n")
        assert json.loads(events.recv(20))["path"] == "half.coven"
        for name in ("ha", "half", "half.coven"):
            (desk.folder / name).unlink()
        assert json.loads(events.recv(20))["path"] == "half.coven"


def test_a_module_that_changes_on_disk_is_told_and_the_next_graph_knows_it(desk, language):
    uri, _ = opened(desk, language)
    module = desk.folder / "heat.c"
    before = module.read_text()
    with desk.socket("/events") as events:
        graph = language.request("coven/graph", {"uri": uri})
        assert graph["correct"]
        for source, correct in (
            (before.replace("module step(", "module stride("), False),
            (None, False),
            (before, True),
        ):
            module.unlink() if source is None else module.write_text(source)
            assert json.loads(events.recv(20))["path"] == "heat.c"
            graph = language.request("coven/graph", {"uri": uri})
            assert graph["correct"] == correct
