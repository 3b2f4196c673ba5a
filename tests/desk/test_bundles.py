"""Bundles of tags in the graph: written whole, one is at one port, in the place of all its members."""

import pytest

from pse.errors import UsageError

from .editing import Editing

MODULES = """#@ coven module begin(out f64 rho[n], out f64 u[n])
def begin(rho, u):
    rho[:], u[:] = 1, 2

#@ coven module advance(in f64 rho[n], in f64 u[n], in f64 dt = 0.5, out f64 rho2[n], out f64 u2[n])
def advance(rho, u, dt):
    return rho * u, u / 2
"""
HEAD = """coven 1
import "flow.py" { begin, advance }
partition P = 2
bundle Fluid {
  f64[4] @ block(0) rho, u
}
"""
FLOW = (
    HEAD
    + """segment march(Fluid a, f64 dt) -> (Fluid b) {
  PARALLEL over P { advance(a, dt) -> b }
}
program flow {
  var Fluid now
  var Fluid next
  PARALLEL over P { begin() -> now }
  march(now, 0.5) -> next
  swap(now, next)
  march(now.rho, now.u, 0.5) -> next
  sum(now.rho) -> mass
  print(mass)
}
"""
)


@pytest.fixture
def flow(tmp_path):
    (tmp_path / "flow.py").write_text(MODULES)
    return lambda text=FLOW: Editing(text, tmp_path / "flow.coven")


def ports(node):
    """Give what is written at each port."""
    return [(port["name"], port["text"]) for port in (*node["inputs"], *node["outputs"])]


def test_a_bundle_has_one_port_in_the_place_of_its_members(flow):
    flow = flow()
    assert flow.errors == []
    assert ports(flow.node("begin")) == [("rho, u", "now")]
    assert ports(flow.node("advance")) == [("rho, u", "a"), ("dt", "dt"), ("rho2, u2", "b")]
    assert ports(flow.node("march")) == [("a", "now"), ("dt", "0.5"), ("b", "next")]
    loose = [("a.rho", "now.rho"), ("a.u", "now.u"), ("dt", "0.5"), ("b", "next")]
    assert ports(flow.node("march", 1)) == loose
    assert ports(flow.node("swap")) == [("a", "now"), ("b", "next")]
    edges = flow.edges()
    assert ("begin", "rho, u", "march", "a") in edges
    assert ("march", "b", "swap", "b") in edges
    assert ("advance", "rho2, u2", flow.frame("segment")["label"], "b") in edges


def test_bundles_of_libraries_are_known_through_other_files(flow, tmp_path):
    (tmp_path / "types.coven").write_text(HEAD.replace('import "flow.py" { begin, advance }\n', ""))
    library = 'coven 1\nimport "types.coven" { Fluid, P }\nimport "flow.py" { advance }\n'
    segment = FLOW[FLOW.index("segment") : FLOW.index("program")]
    (tmp_path / "lib.coven").write_text(library + segment)
    imports = 'coven 1\nimport "lib.coven" { march }\nimport "types.coven" { Fluid as Flow, P }\n'
    program = flow(
        f'{imports}import "flow.py" {{ begin }}\nprogram p {{\n  var Flow now\n  var Flow next\n'
        "  PARALLEL over P { begin() -> now }\n  march(now, 0.5) -> next\n"
        "  sum(next.u) -> most\n  print(most)\n}\n"
    )
    assert program.errors == []
    assert ports(program.node("begin")) == [("rho, u", "now")]
    assert ports(program.node("march")) == [("a", "now"), ("dt", "0.5"), ("b", "next")]


def test_files_that_import_each_other_have_no_bundles(flow, tmp_path):
    (tmp_path / "lib.coven").write_text('coven 1\nimport "flow.coven" { Fluid }\n')
    program = flow('coven 1\nimport "lib.coven" { Fluid }\nprogram p {\n  var Fluid now\n  print(now)\n}\n')
    assert ports(program.node("print")) == [("value", "now")]


def test_what_stands_at_a_port_of_a_bundle_is_edited_as_one(flow):
    flow = flow()
    begin, advance = flow.node("begin")["id"], flow.node("advance")["id"]
    flow.do({"op": "output", "node": begin, "port": "rho, u", "name": "next"})
    assert "begin() -> next" in flow.text
    flow.do({"op": "argument", "node": advance, "port": "dt", "value": "2.0"})
    flow.do({"op": "argument", "node": advance, "port": "dt", "value": None})
    assert "{ advance(a) -> b }" in flow.text
    flow.do({"op": "argument", "node": advance, "port": "rho, u", "value": "b"})
    assert "{ advance(b) -> b }" in flow.text


def test_a_bundle_is_connected_where_nothing_stands_yet(flow):
    flow = flow(FLOW.replace("advance(a, dt)", "advance()"))
    assert ports(flow.node("advance"))[:3] == [("rho", None), ("u", None), ("dt", None)]
    ends = {"from": {"id": flow.frame("segment")["id"], "port": "a"}}
    ends["to"] = {"id": flow.node("advance")["id"], "port": "rho"}
    flow.do({"op": "connect", **ends})
    assert "{ advance(a) -> b }" in flow.text
    assert ports(flow.node("advance"))[:2] == [("rho, u", "a"), ("dt", None)]
    ends["from"] = {"id": flow.node("sum")["id"], "port": "total"}
    ends["to"]["port"] = "rho, u"
    with pytest.raises(UsageError):
        flow.do({"op": "connect", **ends})


def test_a_call_from_the_palette_takes_a_bundle_of_its_kind_only(flow, tmp_path):
    flow = flow()
    after = flow.node("swap")["id"]
    for title, name in (("Segments", "march"), ("Standard library", "sum")):
        (entry,) = [e for e in flow.offered(tmp_path, title) if e["name"] == name]
        place = {"frame": flow.frame("program")["id"], "after": after}
        flow.do({"op": "insert", "module": entry["module"], **place})
    assert "march(next, " in flow.text
    assert "sum(next)" not in flow.text
    assert "sum(now)" not in flow.text
