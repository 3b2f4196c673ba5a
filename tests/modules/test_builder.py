"""Building: what is kept and found again, what compilers' complaints become, several builders at once."""

import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from pse.errors import ModuleNotFound, RunError
from pse.modules import (
    BuildError,
    BuildMode,
    ModuleError,
    build_module,
    build_modules,
    find_unbuildable,
    load_module,
)
from pse.modules.build._compiler_messages import first_mistake
from pse.modules.build._libraries import find_library

DOUBLE = """\
#include <stdint.h>
//@ coven module twice(in f64 x[n], out f64 y[n])
int twice(const double *x, double *y, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    y[i] = 2 * x[i];
  return 0;
}
"""


def variants(cache):
    return sorted((cache / "modules").glob("*/v*/module.so"))


def test_a_build_to_be_debugged_is_another_one_that_optimises_less(write, fresh_cache):
    name = write("twice.c", DOUBLE)
    fast, debugged = build_module(name), build_module(name, mode=BuildMode(debug=True))
    assert variants(fresh_cache) == sorted([fast.library, debugged.library])
    for library, level in ((fast.library, "-O3"), (debugged.library, "-O1")):
        described = subprocess.check_output(["readelf", "--debug-dump=info", library], text=True)
        assert re.search(rf"DW_AT_producer.* {level}\b", described)


def test_a_second_build_is_found(write, fresh_cache):
    name = write("twice.c", DOUBLE)
    first, second = build_module(name), build_module(name)
    assert (first.hit, second.hit) == (False, True)
    assert first.library == second.library
    assert variants(fresh_cache) == [first.library]


def test_a_file_whose_name_is_not_utf_8_is_built(tmp_path, fresh_cache):
    file = tmp_path / os.fsdecode(b"twice\xff.c")
    file.write_text(DOUBLE)
    first, second = build_module(str(file)), build_module(str(file))
    assert (first.hit, second.hit) == (False, True)


@pytest.mark.parametrize("change", ["source", "flags", "compiler", "header"])
def test_whatever_matters_makes_another_build(write, fresh_cache, monkeypatch, tmp_path, change):
    write("scale.h", "#define SCALE 2\n")
    text = '#include "scale.h"\n' + DOUBLE.replace("2 *", "SCALE *")
    first = build_module(write("twice.c", text))
    if change == "source":
        write("twice.c", text + "\n")
    if change == "flags":
        write("twice.c", text + "//@ coven flags -O1\n")
    if change == "compiler":
        (tmp_path / "mycc").write_text('#!/bin/sh\nexec gcc "$@"\n')
        (tmp_path / "mycc").chmod(0o755)
        monkeypatch.setenv("CC", str(tmp_path / "mycc"))
    if change == "header":
        write("scale.h", "#define SCALE 3\n")
    second = build_module("twice.c")
    assert not second.hit
    assert second.library != first.library
    assert build_module("twice.c").hit


def test_going_back_to_an_older_header_finds_the_older_build(write, fresh_cache):
    write("twice.c", '#include "scale.h"\n' + DOUBLE)
    write("scale.h", "// one\n")
    first = build_module("twice.c")
    write("scale.h", "// two\n")
    build_module("twice.c")
    write("scale.h", "// one\n")
    assert build_module("twice.c").library == first.library


def test_a_changed_module_is_loaded_anew(write, load_module, call):
    x = np.arange(3.0)
    assert call(load_module(write("twice.c", DOUBLE)), x)[0][1] == 2
    assert call(load_module(write("twice.c", DOUBLE.replace("2 *", "3 *"))), x)[0][1] == 3


def test_names_of_the_c_library_are_the_users(write, load_module, call):
    text = "//@ coven module index(out i64 r)\nint index(long *r) { *r = 7; return 0; }\n"
    assert call(load_module(write("index.c", text))) == (7,)


ELEMENTS = {
    "i32": ("int32_t", "int32_t", -5),
    "i64": ("int64_t", "int64_t", -(2**40)),
    "u8": ("uint8_t", "uint8_t", 200),
    "u16": ("uint16_t", "uint16_t", 40000),
    "f32": ("float", "float", 0.5),
    "f64": ("double", "double", 0.1),
    "c64": ("float _Complex", "std::complex<float>", 1 - 2j),
    "c128": ("double _Complex", "std::complex<double>", 1 - 2j),
    "bool": ("_Bool", "bool", True),
}
"""Of each element type: its name in C and in C++, a value."""
HEADS = {".c": "#include <stdint.h>\n", ".cpp": "#include <complex>\n#include <cstdint>\n"}
SAME = """
//@ coven module same_{element}(in {element} s, in {element} a[n], inout {element} t,
//@                             out {element} b[n], out {element} r)
int same_{element}({c} s, const {c} *a, {c} *t, {c} *b, {c} *r, int64_t n) {{
  for (int64_t i = 0; i < n; i++) b[i] = a[i];
  *r = *t; *t = s; return 0;
}}
"""


@pytest.mark.parametrize("ending", HEADS)
def test_every_element_type_passes(write, load_module, call, ending):
    is_cpp = ending == ".cpp"
    functions = [SAME.format(element=name, c=names[is_cpp]) for name, (*names, _) in ELEMENTS.items()]
    path = write(f"same{ending}", HEADS[ending] + "".join(functions))
    for element, (*_, value) in ELEMENTS.items():
        module = load_module(path, f"same_{element}")
        a = np.array([value] * 3, module.signature.parameters[0].type.element.value)
        t = np.zeros((), a.dtype)
        b, r = call(module, value, a, t)
        np.testing.assert_array_equal(b, a)
        assert (t[()], r) == (a[0], 0), element


def test_a_string_passes(write, load_module, call):
    text = """
    #include <string.h>
    //@ coven module length(in string s, out i64 n)
    int length(const char *s, long *n) { *n = (long)strlen(s); return 0; }
    """
    assert call(load_module(write("length.c", text)), "four") == (4,)


def failure(write, name, text):
    with pytest.raises(BuildError) as caught:
        build_module(write(name, text))
    assert "pse_trampolines" not in caught.value.message
    return caught.value


def test_a_compile_error_keeps_the_users_line(write):
    text = "#include <stdint.h>\n//@ coven module f(in i64 k)\nint f(int64_t k) {\n  return nope;\n}\n"
    message = failure(write, "f.c", text).message
    assert "f.c doesn't compile" in message
    assert "f (f.c:2)" in message
    assert "f.c:4:10: error: 'nope' undeclared" in message


@pytest.mark.parametrize(
    ("name", "text", "last"),
    [
        ("twice.c", DOUBLE.removesuffix("}\n"), 6),
        ("twice.c", DOUBLE + "struct pair { int a; }\n", 8),
        ("twice.c", DOUBLE + "int other(\n", 8),
        ("twice.cpp", DOUBLE.replace("int twice", 'extern "C" int twice').removesuffix("}\n"), 6),
    ],
)
def test_a_file_that_ends_too_soon_is_told_so(write, name, text, last):
    error = failure(write, name, text)
    assert f"\n{name}:{last}:1: error: " in error.message
    assert len(error.message.splitlines()) == 3
    assert "a `}`, `)` or `;` is missing" in error.help


def test_a_mistake_in_a_header_of_the_user_is_shown_there(write):
    write("mine.h", "static int wrong(void) { return nope; }\n")
    error = failure(write, "twice.c", '#include "mine.h"\n' + DOUBLE)
    assert "mine.h:1:33: error: 'nope' undeclared" in error.message.replace("‘", "'").replace("’", "'")
    assert "missing" not in error.help


def test_the_check_keeps_the_compilers_columns(write, reference):
    path = write("f.c", "//@ coven module f(in i64 k)\nint f(long k) { return nope; }\n")
    (diagnostic,) = find_unbuildable([reference(path)])
    quoted, caret = [text for _, text in diagnostic.notes if "|" in text][:2]
    assert quoted.index("nope") == caret.index("^")


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="there is no gfortran")
def test_fortran_is_told_that_mpi_has_no_module_for_it(write):
    # The compiler looks for it where no MPI puts it: the machine's may have one.
    text = "!@ coven module f(in i64 k)\nsubroutine f(k)\n  use, non_intrinsic :: mpi\nend subroutine\n"
    assert "declare MPI's C functions with bind(C)" in failure(write, "f.f90", text).help


def test_a_missing_header_is_the_users(write):
    text = '#include "nope.h"\n//@ coven module f(in i64 k)\nint f(long k) { return 0; }\n'
    assert "f.c:1:10: fatal error: nope.h: No such file" in failure(write, "f.c", text).message


def test_an_undefined_function_suggests_a_library(write):
    text = "double other(double);\n//@ coven module f(in f64 x)\nint f(double x) { return other(x) > 0; }\n"
    error = failure(write, "f.c", text)
    assert "nothing defines other" in error.message
    assert "coven link LIBRARY" in error.help


@pytest.mark.parametrize(
    ("prototype", "expected"),
    [
        ("int f(const double *x, long k, double *r)", "the number of arguments differs"),
        ("int f(const double *x, long k, double *r, long n, long m)", "the number of arguments differs"),
        ("int f(const float *x, long k, double *r, long n)", "`in f64 x[n]` is passed as `const double *`"),
        ("int f(double *x, long k, double *r, long n)", "`in f64 x[n]` is passed as `const double *`"),
        ("int f(const double *x, int k, double *r, long n)", "`in i64 k` is passed as `int64_t`"),
        ("int f(const double *x, long *k, double *r, long n)", "`in i64 k` is passed as `int64_t`"),
        ("int f(const double *x, long k, double r, long n)", "`out f64 r` is passed as `double *`"),
        ("int f(const double *x, long k, double *r, int n)", "the dimension `n` is passed as `int64_t`"),
        ("void f(const double *x, long k, double *r, long n)", "the function must return int"),
        ("double f(const double *x, long k, double *r, long n)", "the function must return int"),
    ],
)
@pytest.mark.parametrize("ending", [".c", ".cpp"])
def test_a_prototype_that_does_not_fit(write, ending, prototype, expected):
    body = "{ }" if prototype.startswith("void") else "{ return 0; }"
    error = failure(
        write, f"f{ending}", f"\n//@ coven module f(in f64 x[n], in i64 k, out f64 r)\n{prototype} {body}\n"
    )
    assert error.message.startswith(f"f{ending}:1: the directive of `f` doesn't fit the function\n")
    assert expected in error.message
    assert "asks for:  int f(const double *x, int64_t k, double *r, int64_t n)" in error.message


def test_harmless_widening_is_allowed(write):
    text = "//@ coven module f(in i32 k, in f32 x)\nint f(long k, double x) { return 0; }\n"
    assert build_module(write("f.c", text)).library.exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cdef int f(const float *x, long n) noexcept nogil:\n    return 0", "passed as `const double *`"),
        ("cdef int f(const double *x) noexcept nogil:\n    return 0", "the number of arguments differs"),
        ("cdef int f(const double *x, long n):\n    return 0", "must be `noexcept nogil`"),
        (
            "cdef int f(const double *x, long n) noexcept nogil:\n    return nope",
            "f.pyx:3:11: undeclared name",
        ),
        (
            "cdef int f(const float *x, long n) noexcept nogil:\n    return nope",
            "f.pyx:3:11: undeclared name",
        ),
    ],
)
def test_cython_that_does_not_fit_is_refused_at_its_line(write, text, expected):
    error = failure(write, "f.pyx", f"#@ coven module f(in f64 x[n])\n{text}\n")
    assert expected in error.message
    assert "pse_module" not in error.message


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([" its modules: f (f.pyx:1)", "    f.pyx:3:11: undeclared name"], (3, 11, "undeclared name")),
        (["f.c: In function 'f':", "f.c:4:7: error: 'y' undeclared"], (4, 7, "'y' undeclared")),
        (["f.c:2:1: warning: unused", "g.h:4:7: error: no", "f.c:9:8: note: here"], None),
    ],
)
def test_the_first_mistake_is_found_in_the_users_file_only(words, expected):
    found = [first_mistake(words, path) for path in ("f.pyx", "f.c")]
    assert [place for place in found if place] == ([expected] if expected else [])


FORTRAN = """\
!@ coven module f(in f64 x[n])
function f(x, n) result(code){bind}
  use, intrinsic :: iso_c_binding
  integer(c_int64_t), value :: n
  real({real}) :: x(n)
  integer(c_int) :: code
  code = {code}
end function
"""


@pytest.mark.parametrize(
    ("bind", "real", "code", "expected"),
    [
        (" bind(C)", "c_float", "0", "`in f64 x[n]` is passed as `double *`"),
        ("", "c_double", "0", "there is no such function with bind(C)"),
        (" bind(C)", "c_double", "'a", "f.f90:7:"),
    ],
)
def test_fortran_that_does_not_fit_its_directive_is_refused(write, bind, real, code, expected):
    subprocess_or_skip("gfortran")
    assert expected in failure(write, "f.f90", FORTRAN.format(bind=bind, real=real, code=code)).message


def subprocess_or_skip(program):
    try:
        subprocess.run([program, "--version"], check=True, capture_output=True)
    except OSError:
        pytest.skip(f"{program} is not installed")


def test_a_subroutine_is_told_what_it_must_be(write):
    subprocess_or_skip("gfortran")
    text = "!@ coven module f(in f64 x)\nsubroutine f(x) bind(C)\n  use iso_c_binding\n"
    text += "  real(c_double), value :: x\nend subroutine\n"
    assert (
        "the function must be an integer(c_int) function, no subroutine"
        in failure(write, "f.f90", text).message
    )


@pytest.mark.parametrize(
    ("name", "variable", "title"), [("f.c", "CC", "C"), ("f.cpp", "CXX", "C++"), ("f.f90", "FC", "Fortran")]
)
def test_no_compiler_is_one_clear_message(write, monkeypatch, tmp_path, name, variable, title):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.delenv(variable, raising=False)
    mark = "!@" if name == "f.f90" else "//@"
    error = failure(write, name, f"{mark} coven module f()\nint f(void)\n")
    assert f"{name} needs a {title} compiler, and there is none on PATH" in error.message
    assert f"{variable}=/path/to/compiler" in error.help


def test_a_wrong_cc_is_named(write, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    error = failure(write, "twice.c", DOUBLE)
    assert "CC=no-such-compiler can't be found" in error.message


def test_a_compiler_that_fails_without_a_word_is_named(write, monkeypatch):
    monkeypatch.setenv("CC", "false")
    assert "compiler printed nothing and ended with exit code 1" in failure(write, "twice.c", DOUBLE).message


def test_a_killed_compiler_is_told_with_its_signal(write, monkeypatch, tmp_path):
    (tmp_path / "dying").write_text("#!/bin/sh\nkill -9 $$\n")
    (tmp_path / "dying").chmod(0o755)
    monkeypatch.setenv("CC", str(tmp_path / "dying"))
    assert "killed by signal 9" in failure(write, "twice.c", DOUBLE).message


def test_wrong_directives_stop_a_build(write):
    error = failure(write, "f.c", "//@ coven module f(in f65 k)\nint f(void);\n")
    assert "f.c can't be used as a module" in error.message
    assert "unknown type `f65`" in error.message


def test_a_missing_library_is_named(write):
    error = failure(write, "twice.c", DOUBLE + "//@ coven link nosuchlibrary\n")
    assert "twice.c links `nosuchlibrary`" in error.message
    assert "libnosuchlibrary-dev" in error.help


def test_fftw_is_found_without_root():
    pytest.importorskip("pyfftw")
    from pse.modules.build._compilers import find_compiler

    library = find_library("fftw3", find_compiler("c", "x.c"), "x.c")
    assert library.link_flags


def test_pkg_config_is_asked_first(write, tmp_path, monkeypatch, load_module, call):
    subprocess_or_skip("pkg-config")
    (tmp_path / "answer.pc").write_text(
        "Name: answer\nDescription: x\nVersion: 1\nCflags: -DANSWER=42\nLibs: -lm\n"
    )
    monkeypatch.setenv("PKG_CONFIG_PATH", str(tmp_path))
    text = "//@ coven link answer\n//@ coven module f(out i64 r)\nint f(long *r) { *r = ANSWER; return 0; }\n"
    assert call(load_module(write("f.c", text))) == (42,)


def test_building_a_file_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(ModuleNotFound, match="there is no file"):
        build_module(str(tmp_path / "absent.c"))


def test_a_cache_that_cannot_be_written(write, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PSE_CACHE", str(tmp_path / "file" / "cache"))
    error = failure(write, "twice.c", DOUBLE)
    assert "the cache of built modules can't be used: Not a directory" in error.message
    assert error.help.startswith("set PSE_CACHE")


def test_a_lost_library_is_built_again(write, fresh_cache):
    first = build_module(write("twice.c", DOUBLE))
    first.library.unlink()
    second = build_module("twice.c")
    assert not second.hit
    assert second.library.exists()


@pytest.mark.parametrize("length", [0, 100])
def test_a_library_that_was_cut_off_is_built_again(write, fresh_cache, load_module, call, length):
    os.truncate(build_module(write("twice.c", DOUBLE)).library, length)
    assert not build_module("twice.c").hit
    assert build_module("twice.c").hit
    assert load_module("twice.c")


def test_a_damaged_library_of_the_same_size_is_built_again(write, fresh_cache):
    library = build_module(write("twice.c", DOUBLE)).library
    data = bytearray(library.read_bytes())
    data[len(data) // 2] ^= 1
    library.chmod(0o755)
    library.write_bytes(data)
    assert not build_module("twice.c").hit


def test_a_directory_in_the_place_of_the_lock_is_removed(write, fresh_cache):
    folder = build_module(write("twice.c", DOUBLE)).library.parents[1]
    shutil.rmtree(folder)
    (folder / "lock").mkdir(parents=True)
    assert not build_module("twice.c").hit
    assert build_module("twice.c").hit


STRANGER = 4_000_000_000
"""A user number that nobody has."""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_strangers_cache_is_refused(write, fresh_cache):
    build_module(write("twice.c", DOUBLE))
    os.chown(fresh_cache, STRANGER, -1)
    with pytest.raises(RunError, match=f"the cache directory .* belongs to user {STRANGER}") as caught:
        build_module("twice.c")
    assert "PSE_CACHE" in caught.value.help


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_strangers_put_into_a_shared_cache_is_not_loaded(write, fresh_cache):
    library = build_module(write("twice.c", DOUBLE)).library
    for changed in (library, library.parent):
        os.chown(changed, STRANGER, -1)
        assert not build_module("twice.c").hit
    os.chown(library.parents[1], STRANGER, -1)
    with pytest.raises(RunError, match=f"in the cache, .* belongs to user {STRANGER}, and pse loads only"):
        build_module("twice.c")


@pytest.mark.parametrize(
    ("mode", "group", "hit"), [(0o777, 0, False), (0o1777, 0, True), (0o775, 12345, False)]
)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_strangers_may_write_to_is_not_loaded(write, fresh_cache, mode, group, hit):
    library = build_module(write("twice.c", DOUBLE)).library
    for folder in (library.parents[2], fresh_cache):
        os.chown(folder, -1, group)
        folder.chmod(mode)
        if hit:
            assert build_module("twice.c").hit
        else:
            with pytest.raises(RunError, match="can be written to by other users, and pse loads only"):
                build_module("twice.c")
        folder.chmod(0o755)


def test_warnings_are_kept_and_told_again(write, fresh_cache):
    name = write("f.c", "//@ coven module f(in i64 k)\nint f(long k) { int unused; return 0; }\n")
    assert "f.c:2:21: warning: unused variable" in build_module(name).warnings
    assert build_module(name).warnings == build_module(name).warnings != ""


def test_many_builders_at_once_compile_once(write, fresh_cache, tmp_path, monkeypatch):
    counter = tmp_path / "compiled"
    (tmp_path / "counting").write_text(f'#!/bin/sh\necho x >> {counter}\nexec gcc "$@"\n')
    (tmp_path / "counting").chmod(0o755)
    monkeypatch.setenv("CC", str(tmp_path / "counting"))
    name = write("twice.c", DOUBLE)
    with multiprocessing.get_context("spawn").Pool(6) as pool:
        results = pool.map(_start_build, [(name, str(tmp_path))] * 6, chunksize=1)
    assert len(set(results)) == 1
    assert counter.read_text() == "x\n"
    assert len(variants(fresh_cache)) == 1


def _start_build(arguments):
    name, folder = arguments
    os.chdir(folder)
    return str(build_module(name).library)


def test_a_killed_builder_leaves_nothing_in_the_way(write, fresh_cache, tmp_path, monkeypatch):
    started, allowed = tmp_path / "started", tmp_path / "allowed"
    os.mkfifo(started)
    waiting = f'#!/bin/sh\n[ -e {allowed} ] && exec gcc "$@"\necho x > {started}\nexec sleep 60\n'
    (tmp_path / "waiting").write_text(waiting)
    (tmp_path / "waiting").chmod(0o755)
    monkeypatch.setenv("CC", str(tmp_path / "waiting"))
    name = write("twice.c", DOUBLE)
    command = [sys.executable, "-c", f"from pse.modules import build_module; build_module({name!r})"]
    builder = subprocess.Popen(command, start_new_session=True)
    started.read_text()
    assert len(list((fresh_cache / "modules").glob("*/tmp-*"))) == 1
    os.killpg(builder.pid, signal.SIGKILL)
    builder.wait()
    allowed.touch()
    assert not build_module(name).hit
    assert not list((fresh_cache / "modules").glob("*/tmp-*"))
    assert len(variants(fresh_cache)) == 1


def test_a_failed_build_leaves_no_draft(write, fresh_cache):
    failure(write, "f.c", "//@ coven module f()\nint f(void) { nope }\n")
    assert not list((fresh_cache / "modules").glob("*/*/*"))


def test_a_directive_that_changed_after_the_check_is_refused(write, reference):
    checked = reference(write("twice.c", DOUBLE))
    write(
        "twice.c",
        DOUBLE.replace("in f64 x[n]", "in f64 x[n], in i64 k").replace("double *y,", "long k, double *y,"),
    )
    with pytest.raises(ModuleError, match="the directive of `twice` changed after the program was checked"):
        load_module(checked)


def test_a_programs_files_are_built_once_each(write, reference, fresh_cache):
    two = (
        DOUBLE
        + "//@ coven module thrice(in f64 x[n])\nint thrice(const double *x, int64_t n) { return 0; }\n"
    )
    write("twice.c", two)
    write("plain.py", "#@ coven module plain()\ndef plain(): pass\n")
    modules = [reference("twice.c", "twice"), reference("twice.c", "thrice"), reference("plain.py")]
    (built,) = build_modules(modules)
    assert (built.source.shown, built.hit) == ("twice.c", False)


STRUCTS = {
    ".c": (
        "#include <stdint.h>\n#include <stdbool.h>\ntypedef struct {{ {0} }} Body;\n",
        "//@ coven record Body {{ i32 kind   f64 x   bool wet }}\n",
        "//@ coven module f(inout Body b[n])\n"
        "int f(Body *b, int64_t n) {{\n"
        "  for (int i = 0; i < n; i++) {{ b[i].x *= 2; b[i].wet = 1; }}\n  return 0;\n}}\n",
    ),
    ".f90": (
        "module bodies\n  use, intrinsic :: iso_c_binding\n  implicit none\n"
        "  type, bind(c) :: Body\n    {0}\n  end type\ncontains\n",
        "  !@ coven record Body {{ i32 kind   f64 x   bool wet }}\n",
        "  !@ coven module f(inout Body b[n])\n"
        "  function f(b, n) result(code) bind(c)\n"
        "    integer(c_int64_t), value :: n\n    type(Body), intent(inout) :: b(n)\n"
        "    integer(c_int) :: code\n    b%x = 2 * b%x\n    b%wet = .true.\n    code = 0\n"
        "  end function\nend module\n",
    ),
    ".pyx": (
        "from libc.stdint cimport int32_t, int64_t, uint8_t\ncdef struct Body:\n    {0}\n",
        "#@ coven record Body {{ i32 kind   f64 x   bool wet }}\n",
        "#@ coven module f(inout Body b[n])\n"
        "cdef int f(Body *b, int64_t n) noexcept nogil:\n    cdef int64_t i\n    for i in range(n):\n"
        "        b[i].x *= 2\n        b[i].wet = 1\n    return 0\n",
    ),
}
STRUCTS[".cpp"] = STRUCTS[".c"]
FIELDS = {
    "in order": ("int32_t kind; double x; bool wet;", ""),
    "turned round": (
        "double x; int32_t kind; bool wet;",
        "field `kind` begins at byte 0 in the record, at byte 8",
    ),
    "of another type": (
        "int64_t kind; double x; bool wet;",
        "field `kind` is `int32_t` in the record; in the struct: `{int64_t}`",
    ),
    "misnamed": ("int32_t sort; double x; bool wet;", "field `kind` is missing in the struct"),
    "one too many": (
        "int32_t kind; double x; bool wet; double v;",
        "the whole has 24 bytes in the record, 32 in the struct",
    ),
}
IN_FORTRAN = {
    "int32_t": "integer(c_int32_t)",
    "int64_t": "integer(c_int64_t)",
    "double": "real(c_double)",
    "bool": "logical(c_bool)",
}


def struct_in(ending, fields):
    """Write a file of a language with a struct of some fields, and a module for arrays of it."""
    declared = [field.strip().split() for field in fields.split(";") if field.strip()]
    if ending == ".f90":
        fields = "\n    ".join(f"{IN_FORTRAN[type]} :: {name}" for type, name in declared)
    elif ending == ".pyx":
        fields = "\n    ".join(f"{'uint8_t' if type == 'bool' else type} {name}" for type, name in declared)
    head, directive, rest = (part.format(fields) for part in STRUCTS[ending])
    return head + directive + rest


@pytest.mark.parametrize("ending", STRUCTS)
def test_a_module_gets_an_array_of_structs(write, load_module, call, ending):
    if ending == ".f90":
        subprocess_or_skip("gfortran")
    bodies = np.zeros(3, np.dtype([("kind", "i4"), ("x", "f8"), ("wet", "?")], align=True))
    bodies["kind"], bodies["x"] = 7, [1, 2, 3]
    call(load_module(write(f"f{ending}", struct_in(ending, FIELDS["in order"][0]))), bodies)
    assert bodies.tolist() == [(7, 2.0, True), (7, 4.0, True), (7, 6.0, True)]


@pytest.mark.parametrize("ending", STRUCTS)
@pytest.mark.parametrize("how", [how for how in FIELDS if how != "in order"])
def test_a_struct_with_another_layout_than_its_record_is_refused(write, ending, how):
    if ending == ".f90":
        subprocess_or_skip("gfortran")
    fields, told = FIELDS[how]
    error = failure(write, f"f{ending}", struct_in(ending, fields))
    assert "the struct `Body` has another layout than the record `Body`\n" in error.message
    spelled = {".f90": "long int"}.get(ending, "int64_t")
    assert told.replace("{int64_t}", spelled) in error.message
    due = {
        ".f90": "type, bind(c) :: Body; integer(c_int32_t) :: kind; real(c_double) :: x; "
        "logical(c_bool) :: wet; end type",
        ".pyx": "cdef struct Body:\n    int32_t kind\n    double x\n    uint8_t wet",
        ".cpp": "typedef struct { int32_t kind;  double x;  bool wet; } Body;",
    }
    assert due.get(ending, "typedef struct { int32_t kind;  double x;  _Bool wet; } Body;") in error.help
