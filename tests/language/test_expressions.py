"""Values of expressions, how they are written, and extents compared symbolically."""

import contextlib

import pytest
from hypothesis import given, strategies as st

from pse.errors import EvaluationError
from pse.language import Span, evaluate, names_in, parse_program, render_expression
from pse.language.types._expressions import Name
from pse.language.types._symbolic_extents import atom, extent_of, is_large, to_expression


def expression(text):
    result = parse_program(f"coven 1\nparam i64 N = {text}\n", "p")
    assert result.diagnostics == ()
    return result.tree.items[1].default


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7 / 2", 3),
        ("-7 / 2", -4),
        ("-7 % 3", 2),
        ("7.0 / 2", 3.5),
        ("2 ** 3 ** 2", 512),
        ("-2 ** 2", -4),
        ("2 ** -1.0", 0.5),
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("not 1 < 2 or 3 == 3", True),
        ("false and 1 / 0 == 1", False),
        ('"a" + 1 + true', "a1true"),
        ("max(3, min(5, 9)) + abs(-2)", 7),
        ("floor(2.7) + ceil(2.1) + i64(-2.7)", 3),
        ("f64(3) / 2 + sqrt(4) + log2(8)", 6.5),
        ("1e3", 1000.0),
        ("9223372036854775807", 2**63 - 1),
        ("(0 - 1) ** 9223372036854775807", -1),
    ],
)
def test_an_expression_has_a_value_of_the_right_type(text, value):
    found = evaluate(expression(text), {})
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("1.0 / 0.0", "division by zero"),
        ("2 ** 64", "does not fit in 64 bits"),
        ("2 ** 9223372036854775807", "too large"),
        ("10 ** 10 ** 10", "too large"),
        ("9223372036854775807 + 1", "does not fit in 64 bits"),
        ("99999999999999999999999999999999999999999", "does not fit in 64 bits"),
        ("1e308 * 10", "not finite"),
        ("1e999", "not finite"),
        ("10.0 ** 400", "too large"),
        ("sqrt(-1)", "has no value"),
        ("log2(0)", "has no value"),
        ("2 ** -1", "has no value"),
        ('"%d" % 3', "has no value"),
        ('"a" * 1000000000', "has no value"),
        ("(0.0 - 8.0) ** 0.5 < 1", "has no value"),
        ("missing + 1", "`missing` has no value"),
    ],
)
def test_an_expression_without_a_value_is_refused_with_its_place(text, message):
    with pytest.raises(EvaluationError, match=message) as failure:
        evaluate(expression(text), {})
    assert failure.value.exit_code == 1
    assert failure.value.span.line == 2


def test_the_place_is_the_smallest_part():
    with pytest.raises(EvaluationError, match="division by zero") as failure:
        evaluate(expression("3 + (8 / (2 - 2))"), {})
    assert failure.value.span == Span("p", 2, 19, 2, 32)


EXPRESSIONS = st.recursive(
    st.one_of(st.integers(0, 99).map(str), st.sampled_from(["N", "M", "procs", "2.5"])),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "%", "**"]), inner).map(
            lambda parts: "({} {} {})".format(*parts)
        ),
        inner.map(lambda text: f"-{text}"),
        st.tuples(inner, inner).map(lambda parts: "max({}, {})".format(*parts)),
    ),
    max_leaves=8,
)


@given(EXPRESSIONS)
def test_written_and_read_again_is_the_same(text):
    tree = expression(text)
    assert expression(render_expression(tree)) == tree


@given(EXPRESSIONS)
def test_any_expression_has_a_value_or_an_evaluation_error(text):
    value = None
    with contextlib.suppress(EvaluationError):  # Anything else would be a crash.
        value = evaluate(expression(text), {"N": 7, "M": 0, "procs": 2})
    assert value is None or isinstance(value, int | float | complex)


def extent(text):
    return extent_of(expression(text), atom)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("N * 2", "2 * N"),
        ("N + N", "2 * N"),
        ("(N + 1) * (N - 1)", "N ** 2 - 1"),
        ("N + M - N", "M"),
        ("2 * N / 2", "N"),
        ("N * procs / procs", "N"),
        ("(N + 0) / (procs * 1)", "N / procs"),
        ("max(N, M)", "max(M, N)"),
        ("N / 2 / 4", "N / 8"),
        ("2 ** 6 * N", "64 * N"),
        ("(N + N) / (2 * procs)", "N / procs"),
    ],
)
def test_extents_that_are_equal_for_all_values_are_recognized(left, right):
    if "2 * procs" in left:
        assert extent(left) != extent(right)  # Floors of different quotients: only exact ones are simplified.
    else:
        assert extent(left) == extent(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [("N", "M"), ("N / 2 * 2", "N"), ("N - M", "M - N"), ("N % 2", "0"), ("N / (0 - 2) / 2", "N / (0 - 4)")],
)
def test_extents_that_may_differ_are_told_apart(left, right):
    assert extent(left) != extent(right)


@given(
    EXPRESSIONS.filter(lambda text: "2.5" not in text),
    st.integers(1, 50),
    st.integers(1, 50),
    st.integers(1, 9),
)
def test_normal_form_has_the_same_value(text, n, m, procs):
    environment = {"N": n, "M": m, "procs": procs}
    tree = expression(text)
    try:
        value = evaluate(tree, environment)
        again = evaluate(to_expression(extent_of(tree, atom)), environment)
    except EvaluationError:
        return
    assert again == value


def test_large_expressions_are_taken_whole():
    tree = expression(" + ".join(["N * N"] * 40))
    assert is_large(tree)
    assert to_expression(extent_of(tree, atom)) == tree


def test_names_in_an_expression_are_found_and_looked_up():
    assert names_in(expression("N + max(M, 2) / procs")) == {"N", "M", "procs"}
    assert evaluate(Name("N"), {"N": 3}) == 3
