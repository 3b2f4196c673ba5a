"""Calling Python modules: how arguments arrive, what may come back, what is said when something else does."""

import re

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from pse.language import Span, parse_directive
from pse.modules import LoadedModule, ModuleError, call_python
from pse.modules.load._loader import parameter_names


def module(directive, function):
    """Make a loaded module of a function without a file."""
    signature = parse_directive(directive, Span("m.py", 3, 1, 3, 2))
    taken = parameter_names(function) or frozenset()
    fills = frozenset(p.name for p in signature.outputs) & taken
    by_name = bool(fills) and {p.name for p in signature.inputs} <= taken
    return LoadedModule(signature.name, "m.py", signature, None, function, fills=fills, by_name=by_name)


def wrong(directive, function, *inputs):
    with pytest.raises(ModuleError) as caught:
        call_python(module(directive, function), inputs)
    return caught.value


def test_inputs_in_order_and_outputs_as_declared():
    loaded = module("f(in i64 k, in f64 x[n], out f64 y[n], out i64 m)", lambda a, b: (b * a, a + 1))
    y, m = call_python(loaded, [3, np.arange(4.0)])
    np.testing.assert_array_equal(y, [0, 3, 6, 9])
    assert (m, m.dtype) == (4, np.int64)


def test_an_output_that_is_a_parameter_is_filled():
    given_array = np.empty(3)
    loaded = module("f(in f64 x[n], out f64 y[n], out f64 s)", lambda y, x: np.multiply(x, 2, out=y).sum())
    y, s = call_python(loaded, [np.arange(3.0)], {"y": given_array})
    assert y is given_array
    assert (s, list(y)) == (6, [0, 2, 4])


def test_an_output_to_fill_is_allocated_when_none_is_given():
    loaded = module("f(in i64 n, out i32 y[n, n+1])", lambda n, y: y.fill(n))
    (y,) = call_python(loaded, [2])
    assert (y.shape, y.dtype, y[1, 2]) == ((2, 3), np.int32, 2)


def test_an_inout_scalar_is_an_array_without_axes():
    def count(total, x):
        total[...] += x.size

    total = np.array(5)
    assert call_python(module("count(inout i64 total, in f64 x[n])", count), [total, np.zeros(3)]) == ()
    assert total == 8


def test_any_element_type_is_the_same_everywhere():
    directive = "f(in T x[...], out T y[...])"
    (y,) = call_python(module(directive, lambda x: x + x), [np.arange(3, dtype=np.uint16)])
    assert y.dtype == np.uint16
    error = wrong(directive, lambda x: x / 2, np.arange(3, dtype=np.uint16))
    assert "expected element type uint16, got float64" in error.message


@pytest.mark.parametrize(
    ("directive", "returned", "message"),
    [
        ("f(out f64 y[3])", np.zeros(4), "output `out f64 y[3]`: expected shape [3], got [4]"),
        ("f(out f64 y[3])", np.zeros((3, 1)), "expected shape [3], got [3, 1]"),
        ("f(out f64 y[3])", np.zeros(3, "f4"), "expected element type float64, got float32"),
        ("f(out f64 y[3])", "text", "expected an array, got str 'text'"),
        ("f(out f64 y[3])", None, "returned nothing; its directive declares: out f64 y[3]"),
        ("f(out f64 a, out f64 b)", 1.0, "returned float 1.0; expected a tuple of 2: out f64 a, out f64 b"),
        ("f(out f64 a, out f64 b)", (1, 2, 3), "returned a tuple of 3; expected a tuple of 2"),
        ("f()", 1, "returned int 1, but its directive declares no output"),
        ("f(out f64 a)", np.zeros(2), "expected a single value, got an array float64[2]"),
        ("f(out i64 a)", 2**70, "expected a number that fits in 64 bits, got int 1.180592e+21"),
        ("f(out f64 a)", "x", "expected a number, got the string 'x'"),
        ("f(out i64 a)", 1.5, "expected a value of type int64, got float 1.5"),
        ("f(out f64 a)", 1j, "expected a value of type float64, got complex 1j"),
        ("f(out i32 a)", 2**31, "expected a value that fits int32, got int 2147483648"),
        ("f(out u8 a)", -1, "expected a value that fits uint8, got int -1"),
        ("f(out bool a)", 1, "expected a value of type bool, got int 1"),
    ],
)
def test_wrong_results_are_named(directive, returned, message):
    error = wrong(directive, lambda: returned)
    assert error.message.startswith("module `f` (m.py:3)")
    assert message in error.message
    assert error.help


@pytest.mark.parametrize(
    ("directive", "returned", "help"),
    [
        ("f(out f64 y[3])", np.zeros((3, 1)), "declare the one that it has:  out f64 y[3, 1]"),
        ("f(out f64 a, out f64 b)", None, "end the function by `return a, b`"),
        ("f(out i64 a)", 1.5, "return such a value, or declare another type"),
    ],
)
def test_wrong_results_have_a_remedy(directive, returned, help):
    assert help in wrong(directive, lambda: returned).help


def test_a_write_into_an_input_is_told_of_inout():
    array = np.zeros(3)
    array.flags.writeable = False
    assert "`inout`" in wrong("f(in f64 x[n])", lambda x: x.fill(1), array).help


def test_a_wrong_shape_shows_the_extents_it_comes_from():
    error = wrong("f(in f64 x[n, m], out f64 y[m, n+1])", lambda x: x, np.zeros((2, 3)))
    assert "expected shape [3, 3] (m, n + 1), got [2, 3]" in error.message
    assert error.help.endswith("declare the one that it has:  out f64 y[m - 1, n + 1]")
    error = wrong("f(in f64 x[n], out f64 y[n])", lambda x: np.zeros((2, 4)), np.zeros(2))
    assert error.help.endswith("declare the one that it has:  out f64 y[n, 4]")
    error = wrong("f(out f64 a[?k, 2], out i64 b[?k])", lambda: (np.zeros((3, 2)), np.arange(4)))
    assert error.help.endswith("declare the one that it has:  out i64 b[?k_b]")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([np.zeros(3)], "takes 2 inputs (in f64 x[n], in f64 y[n]), got 1"),
        ([np.zeros(3), np.zeros(4)], "`in f64 y[n]`: an axis must be 3 long, got an array [4]"),
        ([np.zeros(3), np.zeros((3, 1))], "`in f64 y[n]` has 1 axes, got an array [3, 1]"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(inputs, message):
    assert message in wrong("f(in f64 x[n], in f64 y[n])", lambda x, y: None, *inputs).message


def test_an_array_that_is_too_short_for_its_directive_is_refused():
    error = wrong("f(in f64 u[m + 2])", lambda u: None, np.zeros(1))
    assert "`in f64 u[m + 2]`: an axis is too short for `m + 2`, got an array [1]" in error.message


@given(hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), st.integers(0, 4))
def test_dimensions_are_solved_from_shapes(shape, border):
    loaded = module(
        f"f(in f64 u[m+{border}, n], out i64 rows, out f64 v[m, n])", lambda u: (u.shape[0], u[border:])
    )
    rows, v = call_python(loaded, [np.zeros((shape[0] + border, shape[1]))])
    assert (rows, v.shape) == (shape[0] + border, shape)


FAILING = """\
import helper

#@ coven module outer(in f64 x[n])
def outer(x):
    inner(x)

def inner(x):
    helper.divide(int(x[0]))

#@ coven module library(in f64 x[n])
def library(x):
    import numpy
    numpy.linalg.inv(x)

#@ coven module leaving()
def leaving():
    raise SystemExit(3)
"""


@pytest.fixture
def failing(write, load_module):
    """Load a module of a file whose modules all fail."""
    write("helper.py", "def divide(x):\n    return 1 // x\n")
    name = write("failing.py", FAILING)
    return lambda module_name: load_module(name, module_name)


def test_an_exception_shows_the_modules_frames_only(failing):
    with pytest.raises(ModuleError) as caught:
        call_python(failing("outer"), [np.zeros(1)])
    assert (
        caught.value.message
        == "module `outer` (failing.py:3) raised ZeroDivisionError: integer division or modulo by zero"
    )
    frames = re.findall(r'File "([^"]*)", line (\d+), in (\w+)', caught.value.traceback)
    assert [(file.rpartition("/")[2], int(line), name) for file, line, name in frames] == [
        ("failing.py", 5, "outer"),
        ("failing.py", 8, "inner"),
        ("helper.py", 2, "divide"),
    ]
    assert caught.value.traceback.endswith("ZeroDivisionError: integer division or modulo by zero")


def test_frames_of_libraries_are_cut(failing):
    with pytest.raises(ModuleError) as caught:
        call_python(failing("library"), [np.zeros(3)])
    assert "LinAlgError" in caught.value.message
    assert caught.value.traceback.count("File ") == 1


def test_a_module_that_calls_exit_has_failed(failing):
    with pytest.raises(ModuleError, match=r"module `leaving` \(failing.py:15\) called sys.exit\(\): 3"):
        call_python(failing("leaving"), [])


def test_a_cython_def_function_is_called_with_arrays(write, load_module, call):
    text = """
    #@ coven module total(in f64 x[n], out f64 s)
    def total(const double[:] x):
        cdef double s = 0
        for i in range(x.shape[0]):
            s += x[i]
        if s < 0:
            raise ValueError("negative")
        return s
    """
    loaded = load_module(write("total.pyx", text))
    assert loaded.native is None
    assert call(loaded, np.arange(4.0)) == (6,)
    with pytest.raises(ModuleError, match="raised ValueError: negative") as caught:
        call(loaded, -np.ones(2))
    assert 'File "total.pyx", line 7, in' in caught.value.traceback


def test_a_cython_function_that_takes_an_input_as_if_it_wrote_is_told_how_to_take_it(
    write, load_module, call
):
    text = """
    #@ coven module total(in f64 x[n], out f64 s)
    def total(double[:] x):
        return x[0]
    """
    inputs = np.ones(2)
    inputs.flags.writeable = False
    with pytest.raises(ModuleError, match="is read-only") as caught:
        call(load_module(write("total.pyx", text)), inputs)
    assert "`const double[:] x`" in caught.value.help


def test_two_files_of_one_name_stay_apart(tmp_path, load_module, call):
    for folder, value in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "shared.py").write_text(f"VALUE = {value}\n")
        text = "import shared\n#@ coven module value(out i64 v)\ndef value():\n    return shared.VALUE\n"
        (tmp_path / folder / "frames.py").write_text(text)
    first, second = (load_module(tmp_path / folder / "frames.py") for folder in "ab")
    assert (call(first), call(second)) == ((1,), (2,))


def test_modules_of_one_file_share_its_state(write, load_module, call):
    text = """
    state = []
    #@ coven module add()
    def add(): state.append(1)
    #@ coven module count(out i64 n)
    def count(): return len(state)
    """
    name = write("shared_state.py", text)
    call(load_module(name, "add"))
    assert call(load_module(name, "count")) == (1,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nosuchpackage\n#@ coven module f()\ndef f(): pass", "ModuleNotFoundError: No module named"),
        ("#@ coven module f()\ndef f(): pass\n1 / 0", "ZeroDivisionError: division by zero"),
        ("#@ coven module f()\ndef f(): pass\ndel f", "`f` is not there after the file was imported"),
        ("#@ coven module f()\nf = 3", "`f` is not a function"),
        (
            "#@ coven module f(in i64 k)\nf = lambda: 0",
            "the function f() can't be called as its directive says",
        ),
        ("#@ coven module f()\nf = lambda k: 0", "missing a required argument: 'k'"),
    ],
)
def test_files_that_cannot_be_loaded(write, load_module, text, message):
    name = write("f.py", text)
    with pytest.raises(ModuleError) as caught:
        load_module(name)
    assert "f.py" in caught.value.message
    assert message in caught.value.message
