"""The plan's tables: item sizes are NumPy's, and the engine evaluates expressions as the language does."""

import numpy as np
from hypothesis import example, given, settings, strategies as st
from pse_testing.example_counts import some_of

from pse._abi.plan import (
    ArgumentKind,
    ArgumentRow,
    CallKind,
    CallRow,
    ExpressionRow,
    InstructionRow,
    Operation,
    RunResult,
    TermRow,
)
from pse.errors import EvaluationError
from pse.language.types._elements import expression_element, literal_element
from pse.language.types._evaluation import evaluate
from pse.language.types._expressions import Apply, Binary, Name, Number, Text, Unary
from pse.language.types._types import Element
from pse.runtime._channel import Board
from pse.runtime._sequencer import Sequencer
from pse.runtime.plan import _tables as tables
from pse.runtime.plan._expression_lowering import ExpressionLowering, Slot
from pse.runtime.plan._tables import Tables


def test_item_sizes_are_numpys():
    assert [tables.itemsize(e) for e in (Element.BOOL, Element.U16, Element.F32, Element.C128)] == [
        1,
        2,
        4,
        16,
    ]


# Expressions: the C evaluator against the language's.

integers = st.integers(-20, 20) | st.sampled_from([2**31, -(2**52)])
extremes = integers | st.sampled_from([2**62, -(2**63), 2**63 - 1])
# Quarters: sums, products and remainders of them are exact, or far too large.
reals = st.sampled_from([0.0, 1e10, 1e300]) | st.integers(-400, 400).map(lambda n: n / 4)
numbers = (integers | reals).map(Number)
names = st.sampled_from(["i", "j", "x", "y"]).map(Name)
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]


def arithmetic(inner):
    binary = st.builds(Binary, st.sampled_from(["+", "-", "*", "/", "%", "**"]), inner, inner)
    several = st.builds(
        Apply, st.sampled_from(["min", "max"]), st.lists(inner, min_size=2, max_size=4).map(tuple)
    )
    one = st.builds(
        Apply, st.sampled_from(["abs", "sqrt", "floor", "ceil", "log2", "i64", "f64"]), st.tuples(inner)
    )
    return binary | several | one | st.builds(Unary, st.just("-"), inner)


values = st.recursive(numbers | names, arithmetic, max_leaves=8)
comparisons = st.builds(Binary, st.sampled_from(COMPARISONS), values, values)
conditions = st.recursive(
    comparisons,
    lambda inner: (
        st.builds(Binary, st.sampled_from(["and", "or"]), inner, inner)
        | st.builds(Unary, st.just("not"), inner)
    ),
    max_leaves=4,
)


def element_of(value):
    return Element.C128 if isinstance(value, complex) else literal_element(value)


def in_c(tree, environment):
    """Evaluate an expression as an argument of a Python module's call, with names in slots."""
    made = Tables()
    slots = {name: number for number, name in enumerate(environment)}
    lowering = ExpressionLowering(
        lambda name: Slot(slots[name]),
        lambda tree: expression_element(tree, lambda name: element_of(environment[name])),
        made.text,
    )

    def add(tree):
        terms = lowering.terms(tree)
        return made.add(ExpressionRow(*made.extend(TermRow, terms)))

    asked = add(tree)
    for name, value in environment.items():
        constant = Text(value) if isinstance(value, str) else Number(value)
        made.add(InstructionRow(Operation.ASSIGN, slots[name], add(constant)))
    none = dict.fromkeys(CallRow._fields, 0)
    made.add(ArgumentRow(ArgumentKind.SCALAR, -1, asked, 4, 0, 8, (0,) * 8, 0, False, -1, 0, 0, 0, 0))
    call = {"kind": CallKind.PYTHON, "arguments": 1, "source": -1, "target": -1, "text": made.text("call")}
    made.add(CallRow(**none | call))
    made.add(InstructionRow(Operation.CALL))
    made.add(InstructionRow(Operation.END))
    numbers = {
        "rank": 0,
        "ranks": 1,
        "partition": 0,
        "slots": len(slots),
        "loops_count": 0,
        "local_limit": 0,
        "loads_count": 0,
    }
    plan = made.plan(numbers | {"shared": 0, "has_remote": 0}, [], [], [False])
    sequencer = Sequencer(plan, Board.create(1, 1, 0, 0), None, None)
    assert sequencer.run() == RunResult.PYTHON
    return sequencer.scalar(asked)


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except (EvaluationError, ArithmeticError):
        return "no value"


def assert_agreed(tree, environment):
    expected, found = outcome(evaluate, tree, environment), outcome(in_c, tree, environment)
    if isinstance(expected, float) and isinstance(found, float):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    else:
        assert (found, isinstance(found, float)) == (expected, isinstance(expected, float))


@settings(max_examples=some_of(400), deadline=None)
@given(values | conditions, integers, st.integers(-5, 5), reals, reals)
def test_ranks_evaluate_as_the_checker_does(tree, i, j, x, y):
    assert_agreed(tree, {"i": i, "j": j, "x": x, "y": y})


complexes = st.builds(complex, st.integers(-3, 3), st.sampled_from([-2.0, -0.5, 0.0, 1.0, 3.0]))
planes = st.recursive(
    st.sampled_from(["z", "w"]).map(Name) | reals.map(Number),
    lambda inner: (
        st.builds(Binary, st.sampled_from(["+", "-", "*", "/"]), inner, inner)
        | st.builds(Unary, st.just("-"), inner)
    ),
    max_leaves=5,
)


@settings(max_examples=some_of(200), deadline=None)
@given(planes, complexes, complexes)
def test_complex_numbers_keep_their_imaginary_part(tree, z, w):
    environment = {"z": z, "w": w}
    expected, found = outcome(evaluate, tree, environment), outcome(in_c, tree, environment)
    if "no value" in (expected, found):
        assert expected == found
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


plain = numbers | names
texts = st.recursive(
    st.text(alphabet="ab é\n", max_size=3).map(Text) | st.just(Name("s")),
    lambda inner: (
        st.builds(Binary, st.just("+"), inner, inner | plain)
        | st.builds(Binary, st.just("+"), plain | st.builds(Binary, st.just("<"), plain, plain), inner)
    ),
    max_leaves=5,
)


@settings(max_examples=some_of(300), deadline=None)
@given(
    st.builds(Binary, st.sampled_from(COMPARISONS), texts, texts), integers, reals, st.text("ab", max_size=2)
)
def test_ranks_compare_strings_as_the_checker_does(tree, i, x, s):
    assert_agreed(tree, {"i": i, "j": 2, "x": x, "y": 0.5, "s": s})


WORDS = ["+", "-", "*", "/", "%", "**"]
whole = st.recursive(
    extremes.map(Number) | st.sampled_from(["i", "j"]).map(Name),
    lambda inner: (
        st.builds(Binary, st.sampled_from(WORDS), inner, inner)
        | st.builds(Unary, st.just("-"), inner)
        | st.builds(Apply, st.sampled_from(["abs", "floor", "ceil", "i64"]), st.tuples(inner))
        | st.builds(Apply, st.sampled_from(["min", "max"]), st.tuples(inner, inner))
    ),
    max_leaves=6,
)


@settings(max_examples=some_of(300), deadline=None)
@example(Binary("%", Number(-(2**63)), Name("i")), -1, 0)
@given(whole | st.builds(Binary, st.sampled_from(COMPARISONS), whole, whole), extremes, extremes)
def test_integers_keep_all_their_bits_or_have_no_value(tree, i, j):
    assert_agreed(tree, {"i": i, "j": j})
