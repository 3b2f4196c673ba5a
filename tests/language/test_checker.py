"""What the checker makes of good programs, beyond the table of malformed ones."""

import pytest

from pse.language import bind_parameters, check_program, render_diagnostics, render_expression
from pse.language.check._ir import Assign, CallSite, For, If, Parallel, Swap, While
from pse.language.types._types import render_type


def program(body, finder, head=""):
    text = f'coven 1\nimport "tools.c" as t\n{head}\nprogram p {{\n{body}\n}}\n'
    result = check_program(text, "p.coven", modules=finder)
    assert result.program is not None, render_diagnostics(result.diagnostics, {"p.coven": text})
    return result.program


def codes(body, finder, head=""):
    text = f'coven 1\nimport "tools.c" as t\n{head}\nprogram p {{\n{body}\n}}\n'
    return [d.code for d in check_program(text, "p.coven", modules=finder).diagnostics]


def sites(statements):
    """Give all call sites in order."""
    for statement in statements:
        if isinstance(statement, CallSite):
            yield statement
        for name in ("body", "then", "otherwise"):
            yield from sites(getattr(statement, name, ()))


def types(checked):
    return {tag.name: render_type(tag.type) for tag in checked.tags.values()}


def sample(name, finder, request):
    path = request.path.parent / "programs" / f"{name}.coven"
    return check_program(path.read_text(), path.name, modules=finder).program


def test_tags_of_fft2d_have_the_types_that_the_description_gives(finder, request):
    checked = sample("fft2d", finder, request)
    assert types(checked) == {
        "k": "i64",
        "image": "c128[N, N] @ root",
        "rows": "c128[N, N] @ block(0)",
        "cols": "c128[N, N] @ block(0)",
        "result": "c128[N, N] @ block(0)",
        "spectrum": "c128[N, N] @ root",
    }
    (loop,) = checked.body
    assert isinstance(loop, For)
    assert render_expression(loop.inflight) == "3"
    assert isinstance(loop.body[2], Parallel)
    found = list(sites(checked.body))
    assert [site.id for site in found] == list(range(8))
    assert [site.label for site in found[2:4]] == ["fft.rows", "transpose"]
    assert [(site.thread, site.parallel, site.partition) for site in found[1:3]] == [
        ("thread_A", False, None),
        ("thread_B", True, "P"),
    ]
    assert {name: render_expression(e) for name, e in found[2].dimensions.items()} == {"m": "N", "n": "N"}
    assert [module.name for module in checked.modules] == [
        *("load_frame", "scatter", "rows", "transpose", "gather", "save_frame"),
    ]
    assert checked.modules[2].source == "kernels/fft.c"
    assert checked.modules[1].source is None


def test_statements_and_dimensions_of_heat_are_resolved(finder, request):
    checked = sample("heat", finder, request)
    first, initial, loop, *_ = checked.body
    assert isinstance(first, Assign)
    assert isinstance(loop, While)
    assert isinstance(loop.body[1], Swap)
    init = next(sites([initial]))
    assert {name: render_expression(e) for name, e in init.dimensions.items()} == {"nx": "NX", "ny": "NY"}
    step = list(sites(loop.body))[1]
    assert step.outputs[1].reduction.target == "residual"
    assert step.outputs[1].reduction.operation == "max"
    assert render_type(step.outputs[0].type) == "f64[NX, NY] @ block(0, 1) halo(1)"
    environment, diagnostics = bind_parameters(checked, {"NX": "64", "tol": "0.5"}, 3)
    assert diagnostics == ()
    assert environment == {"procs": 3, "NX": 64, "NY": 1024, "tol": 0.5, "P": 12}


def test_nbody_inlines_its_segment_twice(finder, request):
    checked = sample("nbody", finder, request)
    assert {"ring#1.visiting", "ring#2.visiting"} <= checked.tags.keys()
    assert checked.tags["ring#2.visiting"].display == "visiting"
    found = [site for site in sites(checked.body) if site.label == "forces"]
    assert [[argument.tag for argument in site.inputs] for site in found] == [
        ["xm", "ring#1.visiting", "acc"],
        ["xm", "ring#2.visiting", "acc"],
    ]
    shift = next(site for site in sites(checked.body) if site.label == "shift")
    assert render_expression(shift.inputs[1].value) == "1"


def test_without_a_partition_there_is_one_piece_for_each_processor(finder):
    checked = program("t.make(8) -> x\nscatter(x) -> y @ block(0)\nPARALLEL { t.use(y) }", finder)
    (partition,) = checked.partitions
    assert (partition.name, render_expression(partition.count)) == ("procs", "procs")
    assert bind_parameters(checked, {}, 3).environment == {"procs": 3}


def test_shapes_are_over_parameters_only(finder):
    body = "let a = 2 * N\nlet b = a + 1\nt.make2(a, b) -> x\nt.use2(x)\nprint(b)"
    checked = program(body, finder, "param i64 N = 4")
    assert types(checked)["x"] == "f64[2 * N, 2 * N + 1] @ root"


def test_dimensions_are_solved_for(finder):
    checked = program(
        "t.double(N) -> x\nt.halve(x) -> y\nt.grow(x, y) -> z\nt.use(z)", finder, "param i64 N = 4"
    )
    assert types(checked)["y"] == "f64[N] @ root"
    assert types(checked)["z"] == "f64[3 * N] @ root"


def test_pieces_of_one_distribution_match(finder):
    head = "param i64 N = 64\npartition P = 2 * procs"
    body = """t.make(N) -> x
    scatter(x) -> y @ block(0)
    PARALLEL { t.sized(N / P, y)  t.product(y, y) -> z  t.sized(N / (procs * 2), z) }
    gather(z) -> w
    t.use(w)"""
    assert types(program(body, finder, head))["z"] == "f64[N] @ block(0)"


@pytest.mark.parametrize(
    ("second", "code"),
    [("@ block(0)", []), ("@ cyclic(0)", ["E0312"]), ("@ block_cyclic(0, 4)", ["E0312"])],
)
def test_pieces_of_different_distributions_do_not_match(second, code, finder):
    body = f"""t.make(64) -> x
    scatter(x) -> y @ block(0)
    scatter(x) -> z {second}
    PARALLEL {{ t.pair(y, z) }}"""
    assert codes(body, finder) == code


def test_a_halo_is_part_of_what_a_module_sees(finder):
    head = "partition P = procs as grid(procs, 1)"
    body = """var f64[8, 8] @ block(0, 1) halo(2) u
    zero() -> u
    PARALLEL { t.use2(u) }"""
    (_, site) = sites(program(body, finder, head).body)
    assert {name: render_expression(e) for name, e in site.dimensions.items()} == {"n": "12", "m": "12"}


def test_cut_axes_only_have_a_halo(finder):
    body = """var f64[8, 8] @ block(0) halo(1) u
    zero() -> u
    PARALLEL { t.use2(u) }"""
    (_, site) = sites(program(body, finder).body)
    assert {name: render_expression(e) for name, e in site.dimensions.items()} == {"n": "10", "m": "8"}


HALO = """var f64[N, 8] @ block(0) halo(2) u
zero() -> u
PARALLEL over P { exchange(u) }"""


@pytest.mark.parametrize(("rows", "procs", "codes"), [(8, 4, []), (7, 4, ["E0612"]), (1, 1, [])])
def test_a_halo_is_as_narrow_as_the_narrowest_block(finder, rows, procs, codes):
    resolved = program(HALO, finder, "param i64 N = 8\npartition P = procs")
    bound = bind_parameters(resolved, {"N": rows}, procs)
    assert [d.code for d in bound.diagnostics] == codes
    for wrong in bound.diagnostics:
        assert "the halo of `u` is wider than its smallest block along axis 0" in wrong.message
        assert "7 cells in 4 blocks are 1 each at least" in wrong.label


def test_a_block_size_of_a_parameter_is_checked_with_its_value(finder):
    body = "var f64[8] @ block_cyclic(0, B) u\nzero() -> u\ngather(u) -> v\nprint(v)"
    resolved = program(body, finder, "param i64 B = 2")
    assert bind_parameters(resolved, {}, 2).diagnostics == ()
    assert [d.code for d in bind_parameters(resolved, {"B": 0}, 2).diagnostics] == ["E0611"]


def test_defaults_and_names_of_inputs(finder):
    text = 'coven 1\nimport "shapes.py" { noise }\nprogram p { noise(4, seed = 7) -> x  print(x) }\n'
    checked = check_program(text, "p.coven", modules=finder).program
    noise = next(sites(checked.body))
    assert [render_expression(argument.value) for argument in noise.inputs] == ["4", "1.0", "7"]


def test_user_patterns_come_from_python_files(finder):
    text = """coven 1
import "shapes.py" { noise, zigzag }
import "shapes.py" as s
program p {
  noise(8) -> x
  scatter(x) -> y @ zigzag(0)
  scatter(x) -> z @ s.other(0)
  gather(y) -> a
  gather(z) -> b
  print(a, b)
}
"""
    result = check_program(text, "p.coven", modules=finder)
    assert result.diagnostics == ()
    assert result.program.tags["y"].type.distribution.user == "shapes.py:zigzag"
    assert result.program.tags["z"].type.distribution.user == "shapes.py:other"


def test_communicators_are_the_engines(finder):
    body = "t.make(8) -> x\nscatter(x) -> y @ block(0)\nPARALLEL { t.talk(y) }"
    site = list(sites(program(body, finder).body))[-1]
    assert [argument.parameter.name for argument in site.inputs] == ["x"]
    assert site.module.signature.collective


def test_else_if_and_string_conditions(finder):
    body = 'if name == "a" { print(1) } else if name < "b" { print(2) } else { print(3) }'
    (statement,) = program(body, finder, 'param string name = "x"').body
    assert isinstance(statement, If)
    assert isinstance(statement.otherwise[0], If)


def test_names_of_sibling_blocks_are_different_tags(finder):
    body = "for k in 0 .. 2 { let a = k  print(a) }\nfor k in 0 .. 3 { let a = 2.5  print(a, k) }"
    assert types(program(body, finder)) == {"k": "i64", "a": "i64", "k#2": "i64", "a#2": "f64"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for k in 0 .. 3 { t.make(8) -> x }\nt.use(x)", []),
        ("if N > 2 { t.make(8) -> x } else { t.make(8) -> x }\nt.use(x)", []),
        ("while N > 2 max 3 { t.make(8) -> x }\nt.use(x)", ["E0401"]),
        ("for k in 0 .. 9 inflight 3 { t.make(8) -> x  t.change(x)  t.use(x) }", []),
        ("t.make(8) -> w\nfor k in 0 .. 9 inflight 3 { copy(w) -> x  t.change(x) }", []),
        ("thread_A t.make(8) -> x\nthread_A t.use(x)\nthread_B t.make(8) -> x\nt.use(x)", []),
        ("thread_A t.make(8) -> x\nt.make(8) -> x\nt.use(x)", []),
        ("if N > 2 { thread_A t.make(8) -> x } else { thread_B t.make(8) -> x }\nt.use(x)", []),
        ("var f64 s = 0.0\nfor k in 0 .. 9 inflight 2 { s = f64(k)  print(s) }", []),
        ("var f64 s = 0.0\nfor k in 0 .. 9 inflight 2 { if k > 3 { s = 1.0 }  print(s) }", ["E0402"]),
        ("for i in 0 .. 2 { for k in 0 .. 9 inflight 2 { t.make(8) -> x  t.use(x) } }", []),
        ("for k in 0 .. 9 inflight 2 { t.make(8) -> x  for j in 0 .. 3 { t.change(x) } }", []),
    ],
)
def test_tags_are_followed_through_branches_loops_and_iterations_in_flight(body, expected, finder):
    found = codes(body, finder, "param i64 N = 4")
    assert [code for code in found if code.startswith("E")] == expected


def test_many_diagnostics_in_one_pass(finder):
    body = "t.make(M) -> a\nt.use(a)\nt.square(b)\nlet c = 1 / 0\nt.nothing()\nprint(c, d)"
    assert codes(body, finder) == ["E0201", "E0201", "E0323", "E0502", "E0201"]


def test_a_segment_is_wrong_once_however_often_it_is_used(finder):
    head = "segment s(i64 n) -> () { t.make(n, n) -> x }"
    assert codes("s(1)\ns(2)\ns(3)", finder, head) == ["E0301"]
    assert codes("print(1)\nt.number() -> _n", finder, head) == ["E0301"]


def test_warnings_do_not_stop_a_program(finder):
    checked = program("t.make(4) -> x", finder, "param i64 N = 1")
    assert "x" in checked.tags
    assert codes("t.make(4) -> x", finder, "param i64 N = 1") == ["W0203", "W0201"]


def test_binding_reads_values_by_type(finder):
    head = """param f64 tol
    param bool loud = false
    param string name = "a"
    param i32 n = 2
    param i64 m = 2 * n"""
    checked = program("print(tol, loud, name, n, m)", finder, head)
    values = {"tol": "1e-3", "loud": "on", "name": " spaced ", "n": "-7"}
    assert bind_parameters(checked, values, 1).environment == {
        "procs": 1,
        "tol": 1e-3,
        "loud": True,
        "name": " spaced ",
        "n": -7,
        "m": -14,
    }
    for wrong in (
        {"tol": "nan"},
        {"tol": "inf"},
        {"n": "3000000000"},
        {"n": "1_0"},
        {"loud": "maybe"},
        {"n": "2.5"},
    ):
        environment, diagnostics = bind_parameters(checked, {"tol": "1", **wrong}, 1)
        assert [d.code for d in diagnostics] == ["E0604"], environment


def test_an_array_that_no_memory_can_hold(finder):
    checked = program("var f64[N, N] x  zero() -> x  print(x)", finder, "param i64 N = 3")
    assert bind_parameters(checked, {"N": "500000000"}, 1).diagnostics == ()
    (wrong,) = bind_parameters(checked, {"N": "9000000000"}, 1).diagnostics
    assert wrong.code == "E0610"
    assert "`x` would have 9000000000 × 9000000000 elements" in wrong.message


def test_grid_must_hold_all_pieces(finder):
    head = "param i64 N = 3\npartition P = 2 * N as grid(N, procs)"
    checked = program("PARALLEL { print(N) }", finder, head)
    assert bind_parameters(checked, {}, 2).diagnostics == ()
    (wrong,) = bind_parameters(checked, {}, 3).diagnostics
    assert wrong.code == "E0607"
    assert "has 3 × 3 cells, but the partition has 6 pieces" in wrong.message
