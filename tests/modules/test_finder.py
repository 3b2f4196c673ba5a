"""From an import's path to signatures: what is found, and what is said when nothing is."""

import os

import pytest
from hypothesis import given, strategies as st

from pse.errors import ModuleNotFound
from pse.language import Span
from pse.language.types._types import LANGUAGES, Direction
from pse.modules import Finder
from pse.modules.directives import _directives as directives, _finder as finder

STEP = """\
//@ coven module step(in f64 u[nx+2], out f64 residual)
int step(const double *u, double *residual, int64_t nx);
"""


def find(path, importing_file="program.coven"):
    return Finder().find(path, importing_file)


def only_message(found):
    (diagnostic,) = found.diagnostics
    return f"{diagnostic.span}: {diagnostic.message}"


def test_a_directive_becomes_a_signature(write):
    found = find(write("step.c", STEP))
    (signature,) = found.signatures
    assert (found.language, found.path, found.diagnostics) == ("c", "step.c", ())
    assert [(p.name, p.direction) for p in signature.parameters] == [
        ("u", Direction.IN),
        ("residual", Direction.OUT),
    ]
    assert signature.dimensions == ("nx",)
    assert signature.span.line == 1


@pytest.mark.parametrize(
    ("name", "language", "text"),
    [
        ("f.cpp", "c++", "//@ coven module f(in i64 k)\nint f(long k);"),
        ("f.F90", "fortran", "!@ coven module f(in i64 k)\nfunction F(k) bind(C)"),
        ("f.pyx", "cython", "#@ coven module f(in i64 k)\ncdef int f(long k) noexcept nogil: return 0"),
        ("f.py", "python", "#@ coven module f(in i64 k)\ndef f(k): pass"),
        ("f.py", "python", "# @ coven module f(in i64 k)\ndef f(k): pass"),
        ("f.py", "python", "import pse\n@pse.module('f(in i64 k)')\ndef f(k): pass"),
        ("f.py", "python", "import pse as coven\n@coven.module('f(in i64 k)')\ndef f(k): pass"),
        ("f.py", "python", "from pse import module as m\n@m('f('\n   'in i64 k)')\ndef f(k): pass"),
    ],
)
def test_every_language_has_its_comment(write, name, language, text):
    found = find(write(name, text))
    assert found.diagnostics == ()
    assert found.language == language
    assert [s.name for s in found.signatures] == ["f"]


def test_paths_are_relative_to_the_program_and_shown_as_typed(write, tmp_path):
    (tmp_path / "kernels").mkdir()
    write("kernels/step.c", STEP)
    found = find("kernels/step.c", "./programs/../heat.coven")
    assert found.path == os.path.join("kernels", "step.c")
    assert found.source == str(tmp_path / "kernels" / "step.c")


def test_a_directive_goes_on_over_lines_with_true_positions(write):
    name = write("f.c", "  //@ coven module f(in f64 a[n],\n  //@   in wrong b)\nint f(const double *a);\n")
    (diagnostic,) = find(name).diagnostics
    assert (diagnostic.span.line, diagnostic.span.column) == (2, 12)
    assert "wrong" in diagnostic.message


def test_nothing_is_executed(write, tmp_path):
    name = write(
        "f.py", f"open({str(tmp_path / 'ran')!r}, 'w')\n#@ coven module f(in i64 k)\ndef f(k): pass\n"
    )
    assert [s.name for s in find(name).signatures] == ["f"]
    assert not (tmp_path / "ran").exists()


def test_a_file_for_patterns_alone_needs_no_directive(write):
    found = find(write("patterns.py", "def spiral(low, high): return 0\n"))
    assert (found.signatures, found.diagnostics) == ((), ())


def test_a_changed_file_is_read_again(write):
    one = Finder()
    assert [s.name for s in one.find(write("f.c", STEP), "p.coven").signatures] == ["step"]
    write("f.c", STEP.replace("step", "stride"))
    assert [s.name for s in one.find("f.c", "p.coven").signatures] == ["stride"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.c", None, "there is no file absent.c"),
        ("step.xyz", b"", "its name ends in `.xyz`"),
        ("step", b"", "its name has no ending"),
        ("step.c", b"\x7fELF\x00\x01", "step.c is binary, not source text"),
        ("step.c", "// é\n".encode("latin-1"), "step.c:1: the file is not UTF-8 text"),
        ("step.c", b"//" + b"x" * finder.LARGEST, "too large for a module's source"),
    ],
)
def test_files_that_are_no_modules(tmp_path, monkeypatch, name, content, message):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ModuleNotFound) as caught:
        find(name)
    assert message in caught.value.message


def test_a_directory_is_no_module(tmp_path):
    (tmp_path / "step.c").mkdir()
    with pytest.raises(ModuleNotFound, match="is a directory"):
        find(str(tmp_path / "step.c"))


def test_a_near_miss_is_suggested(write):
    write("kernels.c", STEP)
    with pytest.raises(ModuleNotFound) as caught:
        find("kernel.c")
    assert caught.value.help == 'did you mean "kernels.c"?'


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_module_in_a_file_without_permission_is_refused_with_the_reason(write, tmp_path):
    (tmp_path / write("step.c", STEP)).chmod(0)
    with pytest.raises(ModuleNotFound, match="can't be read: Permission denied"):
        find("step.c")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("f.c", "//@ coven module g()\nint f(void); // g()", "names `g`, but there is no such function"),
        ("f.py", "#@ coven module g()\ndef f(): 'g'", "names `g`, but there is no such function"),
        ("f.c", "//@ coven module f(inout comm c)\nint f(void);", "can only be a scalar `in` parameter"),
        ("f.py", "#@ coven module f(in i64 n)\ndef f(*, n): 0", "too many positional arguments"),
    ],
)
def test_a_wrong_directive_is_told_in_one_message(write, name, text, message):
    assert message in only_message(find(write(name, text)))


@pytest.mark.parametrize(
    "function",
    [
        "def f(n, x): 0",
        "def f(x, n): 0",
        "def f(n, /, scale=1, *, x): 0",
        "def f(*given, **filled): 0",
        "@decorated\ndef f(anything): 0",
        "def f(): 0\nf = other",
    ],
)
def test_functions_that_may_be_called_as_their_directive_says(write, function):
    assert not find(write("f.py", f"#@ coven module f(in i64 n, out f64 x[n])\n{function}")).diagnostics


def test_two_directives_point_at_each_other(write):
    text = "//@ coven module f()\n//@ coven module f()\nint f(void);"
    (diagnostic,) = find(write("f.c", text)).diagnostics
    assert (diagnostic.span.line, diagnostic.notes[0][0].line) == (2, 1)


def test_a_function_may_come_from_an_included_file(write):
    found = find(write("f.c", '#include "f.h"\n//@ coven module f(in i64 k)\n'))
    assert found.diagnostics == ()


def test_options_of_link_and_flags_directives_are_collected_without_repeats():
    text = "//@ coven link fftw3, m\n//@ coven link m\n//@ coven flags -O2 '-DNAME=\"a b\"'\n"
    options = directives.options(directives.scan(text, "c", "f.c"))
    assert options == directives.Options(("fftw3", "m"), ("-O2", '-DNAME="a b"'))


def test_flags_begin_with_a_minus():
    found = directives.scan("//@ coven flags ffast-math\n//@ coven flags -include x.h\n", "c", "f.c")
    ((directive, message, help),) = directives.problems(found)
    assert (directive.span.line, message) == (1, "`ffast-math` is not a flag: flags begin with `-`")
    assert help == "write:  coven flags -ffast-math"


def test_other_tools_comments_are_left_alone():
    assert directives.scan("//@ requires n > 0;\n//@ coven link m\n", "c", "f.c") == [
        directives.Directive("link", "m", Span("f.c", 2, 16, 2, 17))
    ]


@given(st.text(max_size=300), st.sampled_from(sorted(LANGUAGES)))
def test_no_text_makes_the_finder_fail(text, ending):
    found = finder.examine_source(text, f"f{ending}")
    assert found.signatures or found.diagnostics or ending == ".py"


@given(
    st.lists(
        st.sampled_from(["@ coven module f(", "in f64 a[n]", ")", "link ", "//@", "#@", "!@", "\n", ","]),
        max_size=30,
    ),
    st.sampled_from(sorted(LANGUAGES)),
)
def test_no_directive_makes_the_finder_fail(pieces, ending):
    found = finder.examine_source("".join(pieces), f"f{ending}")
    assert {signature.name for signature in found.signatures} <= {"f"}


def test_the_standard_library_is_found():
    found = find("pse.std")
    assert (found.source, found.language, found.diagnostics) == (None, "std", ())
    assert {"scatter", "gather", "transpose", "zero", "save", "load", "source", "print"} <= {
        s.name for s in found.signatures
    }
