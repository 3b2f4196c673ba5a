"""The program graph: who gets what from whom, and round which loop."""

import networkx as nx
import pytest
from pse_testing.harness import compile_program

from pse.language.check import For
from pse.program import ThreadKey, build_graph, number_statements


def edges(graph: nx.MultiDiGraph) -> set[tuple]:
    """Every edge by its labels: source, target, name there, name here, and whether a loop brings it round."""
    label = nx.get_node_attributes(graph, "label")
    return {
        (label[a], label[b], d["source_tag"], d["tag"], d["loop"] is not None)
        for a, b, d in graph.edges(data=True)
    }


def test_heat_flows_round_its_loop_and_past_it(samples):
    assert edges(build_graph(samples["heat"]).nx) == {
        ("init", "exchange", "u", "u", False),
        ("init", "gather", "u", "u", False),  # the loop may run no iteration at all
        ("exchange", "step", "u", "u", False),
        ("step", "exchange", "v", "u", True),
        ("step", "gather", "v", "u", False),
        ("step", "while residual > tol max 100000", "residual", "residual", True),
        ("gather", "save", "field", "field", False),
    }


def test_a_swap_in_a_loop_is_no_edge_within_one_iteration(samples):
    flows = edges(build_graph(samples["nbody"]).nx)
    assert ("shift", "forces", "ring#1.next", "ring#1.visiting", True) in flows
    assert not any(flow[:2] == ("shift", "forces") and not flow[4] for flow in flows)


def test_iterations_in_flight_pass_nothing_on(samples):
    assert not any(brought for *_, brought in edges(build_graph(samples["fft2d"]).nx))


def test_calls_say_thread_and_what_they_free(samples):
    graph = build_graph(samples["fft2d"]).nx
    found = {(data["label"], data["key"], data["frees"]) for _, data in graph.nodes(data=True)}
    assert found == {
        ("load_frame", ThreadKey("root", "thread_A"), ()),
        ("scatter", ThreadKey("root", "thread_A"), ("image",)),
        ("fft.rows", ThreadKey("parallel", "thread_B"), ()),
        ("transpose", ThreadKey("parallel", "thread_C"), ("rows",)),
        ("transpose", ThreadKey("parallel", "thread_C"), ("cols",)),
        ("gather", ThreadKey("root", "thread_A"), ("result",)),
        ("save_frame", ThreadKey("root", "thread_A"), ("spectrum",)),
    }


def test_edges_say_type_distribution_and_crossing(samples):
    graph = build_graph(samples["fft2d"]).nx
    first, second, third = (graph.get_edge_data(a, a + 1)[0] for a in range(3))
    assert (first["type"], first["distribution"], first["crosses"], first["inout"]) == (
        "f64[N, N]",
        "@ root",
        False,
        False,
    )
    assert (second["distribution"], second["crosses"], second["inout"]) == ("@ block(0)", True, True)
    assert third["crosses"]
    heat = build_graph(samples["heat"]).nx
    assert {d["distribution"] for *_, d in heat.edges(data=True) if d["tag"] == "u"} == {
        "@ block(0, 1) halo(1)"
    }


def test_every_read_has_an_origin_that_liveness_pushes_to(random_program):
    """Two analyses of the same program agree: whoever reads what a call made is among its readers."""
    graph = build_graph(random_program(60, 5))
    assert graph.nx.edges
    for source, target, data in graph.nx.edges(data=True):
        site = graph.walk.sites[source]
        assert graph.nx.nodes[target]["key"] in graph.liveness.readers(site, data["source_tag"])


@pytest.mark.parametrize("seed", range(5))
def test_a_tag_is_freed_after_its_last_reader(random_program, seed):
    """No call reads what an earlier call in the same block has freed for good."""
    graph = build_graph(random_program(40, seed))
    for block in graph.walk.blocks:
        gone: set[str] = set()
        for step in block.steps:
            site = next((s for s in graph.walk.sites if graph.walk.step_of_site[s.id] == step), None)
            if site is not None:
                assert not gone & {argument.tag for argument in site.inputs}
                gone = (gone - {output.tag for output in site.outputs}) | graph.liveness.frees(site)


TWICE = """coven 1
param i64 n = 8
segment halve(f64[n] x) -> (f64[n] y) {
  for k in 0 .. 2 { copy(x) -> y }
}
segment quarter(f64[n] x) -> (f64[n] y) {
  halve(x) -> half
  halve(half) -> y  copy(half) -> rest  copy(half) -> last
}
program twice {
  var f64[n] a
  zero() -> a
  quarter(a) -> b  quarter(b) -> c
}
"""


def test_calls_in_segments_are_told_apart_by_the_lines_of_the_calls_that_lead_there():
    program = compile_program(TWICE, "twice.coven")
    walk = number_statements(program)
    lines = [walk.line(site) for site in walk.sites]
    assert len(set(lines)) == len(lines)
    assert lines[:3] == ["12", "13:3 → 7:3 → 4:21", "13:3 → 8:3 → 4:21"]
    assert [str(site.span) for site in walk.sites[1:2]] == ["twice.coven:13:3 → 7:3 → 4:21"]
    once = number_statements(compile_program(TWICE.replace("  quarter(b) -> c", ""), "twice.coven"))
    assert [once.line(site) for site in once.sites[1:3]] == ["13 → 7 → 4", "13 → 8 → 4"]


def test_a_loop_in_a_segment_has_the_calls_that_lead_there_in_its_place():
    walk = number_statements(compile_program(TWICE, "twice.coven"))
    loops = [step.statement for step in walk.steps if isinstance(step.statement, For)]
    assert str(loops[0].span) == "twice.coven:13:3 → 7:3 → 4:3"
