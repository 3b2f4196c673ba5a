"""Random sequences of edits in the graph and in the text: both always show the same program."""

import random

import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import tried

from pse.errors import UsageError

from .editing import PROGRAMS, Editing, edited, inverse, shape

TEXTS = {
    "heat": (PROGRAMS / "heat.coven").read_text(),
    "nbody": (PROGRAMS / "nbody.coven").read_text(),
    "fft2d": (PROGRAMS / "fft2d.coven").read_text(),
    "empty": "",
    "crowded": "coven 1 param i64 n = 3 // kept\n"
    "program p { for k in 0 .. n { print(k)  let x = k } # end\n\n}\n",
}
PIECES = (
    "  let z = 1\n",
    "}",
    "{",
    "thread_C ",
    "print(1)\n",
    " // note\n",
    "\n",
    "u",
    '"',
    "𝄞",
    " -> w",
    "(",
    "#",
)
MOST_STEPS = 6


def pick(choose, graph, kind):
    """Give the id of a frame or node; one that is not there if there is none."""
    found = [one["id"] for one in graph[kind]]
    return choose.choice(found) if found else "n0"


def port(choose, graph, node, side):
    found = next((n[side] for n in graph["nodes"] if n["id"] == node), [])
    return choose.choice(found)["name"] if found else "none"


def operation(choose, graph):
    """Make an operation as the page could, sensible or not."""
    node, frame = pick(choose, graph, "nodes"), pick(choose, graph, "frames")
    inside = [n["id"] for n in graph["nodes"] if n["frame"] == frame]
    place = {"frame": frame, "after": choose.choice([None, *inside])}
    value = choose.choice(["u", "1", "0.5 * dt", "n +", "", None])
    start, end = pick(choose, graph, "nodes"), pick(choose, graph, "nodes")
    possible = [
        {"op": "thread", "node": node, "thread": choose.choice(["thread_A", "thread_C", None])},
        {"op": "argument", "node": node, "port": port(choose, graph, node, "inputs"), "value": value},
        {"op": "output", "node": node, "port": port(choose, graph, node, "outputs"), "name": "w"},
        {
            "op": "distribution",
            "node": node,
            "port": port(choose, graph, node, "outputs"),
            "distribution": choose.choice(["block(0)", None]),
        },
        {
            "op": "reduce",
            "node": node,
            "port": port(choose, graph, node, "outputs"),
            "target": "total",
            "operation": choose.choice(["sum", None]),
        },
        {"op": "value", "node": node, "field": choose.choice(["type", "value"]), "text": value},
        {
            "op": "loop",
            "frame": frame,
            "value": value,
            "field": choose.choice(["lower", "upper", "inflight", "condition", "limit", "partition", "name"]),
        },
        {"op": "parameter", "name": choose.choice(["n", "NX"]), "field": "default", "value": value},
        {"op": "option", "name": "queue_depth", "value": choose.choice(["4", None])},
        {"op": "add-parameter", "type": "i64", "name": choose.choice("abcn"), "default": "1"},
        {"op": "add-partition", "name": choose.choice("PQ"), "count": "procs"},
        {"op": "remove", "kind": "parameter", "name": choose.choice(["n", "NX", "steps"])},
        {"op": "insert", "module": {"std": choose.choice(["gather", "print", "zero"])}, **place},
        {"op": "insert", "module": {"file": "heat.c", "name": "step"}, "thread": "thread_B", **place},
        {"op": "statement", "text": choose.choice(["let y = 2", "for j in 0 .. 3 { }"]), **place},
        {"op": "wrap", "items": choose.sample(inside, min(len(inside), 2)), "head": "for j in 0 .. 2"},
        {
            "op": "connect",
            "from": {"id": start, "port": port(choose, graph, start, "outputs")},
            "to": {"id": end, "port": port(choose, graph, end, "inputs")},
        },
        {"op": "delete", "items": [choose.choice([node, frame])]},
        {"op": "copy", "items": [node], **place},
        {"op": "move", "items": [choose.choice([node, frame])], **place},
        {"op": "group", "items": [node], "name": "part"},
        {"op": "rename", "at": choose.randrange(40), "to": "renamed"},
        {"op": "program", "name": "made"},
    ]
    return choose.choice(possible)


def typed(choose, text):
    """Type a piece somewhere, or take some characters out."""
    at = choose.randrange(len(text) + 1)
    end = min(len(text), at + choose.choice([0, 0, 1, 5]))
    return text[:at] + choose.choice(PIECES) + text[end:]


@tried(75)
def test_the_text_always_draws_the_graph_that_is_shown_and_undo_gives_the_same_bytes(examples):
    @settings(max_examples=examples, deadline=None)
    @given(start=st.sampled_from(sorted(TEXTS)), seed=st.integers(0, 2**32))
    def check(start, seed):
        check_edits(start, seed)

    check()


def check_edits(start, seed):
    choose = random.Random(seed)
    program, history = Editing(TEXTS[start]), []
    for _ in range(choose.randrange(1, MOST_STEPS)):
        before = program.text
        if choose.random() < 0.3:
            program.type(typed(choose, before))
            history.append((program.text, before))
            continue
        try:
            edits = program.do(operation(choose, program.graph))
        except UsageError:
            assert program.text == before
            continue
        assert edited(before, edits) == program.text
        history.append((program.text, edited(program.text, inverse(before, edits))))
        assert shape(program.graph) == shape(Editing(program.text).graph)
    for after, before in reversed(history):
        assert program.text == after
        program.type(before)
    assert program.text == TEXTS[start]


@pytest.mark.parametrize("start", sorted(TEXTS))
def test_ids_are_unique(start):
    graph = Editing(TEXTS[start]).graph
    ids = [one["id"] for one in (*graph["nodes"], *graph["frames"])]
    assert len(ids) == len(set(ids))
