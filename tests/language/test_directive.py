"""Module directives: what they say, and what is wrong with them."""

from dataclasses import replace

import pytest

from pse.language import Span, parse_directive, parse_record
from pse.language.types._types import Direction, Element, Pattern, Signature, render_signature

PLACE = Span("kernels/k.c", 8, 18, 8, 90)


def read(text):
    found = parse_directive(text, PLACE)
    assert isinstance(found, Signature), found
    return found


def test_a_directive_of_the_manual_is_read():
    signature = read("step(in f64 u[nx+2, ny+2], out f64 v[nx+2, ny+2], out f64 residual)")
    assert signature.name == "step"
    assert signature.dimensions == ("nx", "ny")
    assert signature.span == PLACE
    assert [p.name for p in signature.inputs] == ["u"]
    assert [p.name for p in signature.outputs] == ["v", "residual"]
    assert signature.outputs[1].type.scalar
    assert signature.inputs[0].type.distribution.pattern is Pattern.ANY


def test_everything_that_a_directive_can_say():
    text = (
        "f(inout c128 a[m, n + 2] @ block(0, 1) halo(1) interior, in T b[...], in i64 n, in f64 dt = -0.5, "
        'in string name = "x", in comm c, out T s) collective'
    )
    signature = read(text)
    a, b, n, dt, name, c, s = signature.parameters
    assert (a.direction, a.type.element) == (Direction.INOUT, Element.C128)
    assert (a.type.distribution.pattern, a.type.distribution.axes) == (Pattern.BLOCK, (0, 1))
    assert (b.type.element, b.type.shape) == (None, None)
    assert signature.dimensions == ("m",)
    assert (a.interior, b.interior) == (True, False)
    assert (n.type.scalar, dt.default is None, name.default.value) == (True, False, "x")
    assert (c.type.element, s.type.element) == (Element.COMM, None)
    assert signature.collective
    assert parse_directive(render_signature(signature).removeprefix("coven module "), PLACE) == signature


def test_a_record_without_brackets_is_one():
    body = parse_record("Body { i32 kind   f64 x }", PLACE)
    text = "push(in Body sun, inout Body all[n], out Body next[1])"
    signature = parse_directive(text, PLACE, {"Body": body})
    sun, every, last = signature.parameters
    assert (sun.single, every.single, last.single) == (True, False, False)
    assert (sun.type, sun.shape) == (replace(last.type, distribution=sun.type.distribution), ())
    assert not sun.type.scalar
    assert render_signature(signature) == f"coven module {text}"


def test_what_a_module_decides_is_a_dimension_with_a_capacity():
    text = "pick(in f64 x[n, 3], in i64 most, out f64 kept[?k <= 2 * most, 3], out i64 which[?k <= 2 * most])"
    signature = parse_directive(text, PLACE)
    assert render_signature(signature) == f"coven module {text}"
    assert signature.dimensions == ("n", "?k")
    assert [parameter.decided for parameter in signature.parameters] == [None, None, "?k", "?k"]


@pytest.mark.parametrize(
    ("text", "code", "column", "message"),
    [
        ("", "E0510", 18, "expected a name, found the end of the directive"),
        ("f", "E0510", 19, "expected"),
        ("f(in f64 x[n)", "E0510", 30, "found"),
        ("f(f64 x)", "E0510", 20, "found `f64`"),
        ("f(in f64 x[n]) $", "E0510", 33, "found `$`"),
        ("f(in f63 x)", "E0305", 23, "unknown type `f63`"),
        ("f(in f64 x, in i64 x)", "E0511", 37, "two parameters are called `x`"),
        ("f(in f64 x[2.5])", "E0511", 29, "integer arithmetic"),
        ("f(in f64 n, in f64 x[n])", "E0511", 39, "must be `in i64 n`"),
        ("f(out string s)", "E0511", 20, "scalar `in` parameter"),
        ("f(in f64 x[n] = 1.0)", "E0511", 20, "can have a default"),
        ("f(in i64 n = 0.5)", "E0511", 31, "is not of type i64"),
        ("f(in i64 n = m)", "E0511", 31, "must be a literal"),
        ("f(in f64 x[n] @ block(1))", "E0306", 32, "axis 1 does not exist"),
        ("f(in f64 x[n] @ block(0) over P)", "E0511", 48, "cannot name a partition"),
        ("program(in f64 x)", "E0510", 18, "`program` is a word of the language"),
        ("f(in f64 for, in f64 x = 2)", "E0510", 27, "`for` is a word of the language"),
        ("f(in f64 x[-1])", "E0306", 29, "an extent cannot be negative: this is -1"),
        ("f(in f64 x[n] @ block(0) halo(-1))", "E0306", 48, "the width of a halo cannot be negative"),
        ("f(in f64 x[?n])", "E0511", 29, "`?n`: an input has the extent of what the call gives"),
        ("f(out f64 x[3, ?n <= 4])", "E0511", 33, "`?n`: a module decides how many rows it gives, which is"),
        ("f(out f64 x[?n <= -4])", "E0306", 36, "a capacity cannot be negative: this is -4"),
        ("f(out f64 x[?n <= m / 2.5])", "E0511", 36, "an extent must be integer arithmetic"),
        ("f(out f64 x[?n] @ block(0) halo(1))", "E0511", 30, "of a size that the module decides has no halo"),
        ("f(in f64 y[n], out f64 x[?n])", "E0511", 20, "`n` is both known before the call and decided"),
        ("f(in i64 n, out f64 x[?n])", "E0511", 20, "`n` is both known before the call and decided"),
        ("f(out f64 x[?n <= 4], out f64 y[?n <= 5])", "E0511", 40, "`?n` has two capacities"),
        ("f(out f64 x[2 * ?n])", "E0510", 34, "expected an expression, found `?`"),
        ("f(in f64 x" + "(" * 200, "E0008", 0, "too deep"),
    ],
)
def test_a_wrong_directive_is_reported_at_its_column(text, code, column, message):
    found = parse_directive(text, PLACE)
    assert isinstance(found, tuple)
    assert found[0].code == code
    assert message in found[0].message
    if column:
        assert (found[0].span.path, found[0].span.line, found[0].span.column) == ("kernels/k.c", 8, column)
