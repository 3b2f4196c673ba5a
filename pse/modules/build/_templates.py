"""Starting points for `pse module new`: one commented file for each language, ready to be built.

Each computes `y = factor * x` and the largest value, so that all show the same things: an array in, an array
out, a scalar in, a scalar out, and how to report that something is wrong.  Pure text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pse.errors import UsageError, system_help
from pse.files import require_directory
from pse.language.syntax import require_name
from pse.modules.build._reserved_words import require_function_name, require_source_names

TEMPLATE_ENDINGS: Final = {
    "c": ".c",
    "c++": ".cpp",
    "cython": ".pyx",
    "fortran": ".f90",
    "python": ".py",
    "pybind11": ".cpp",
}
"""Languages that a file can be started in, and how its name ends."""

_DIRECTIVE: Final = "coven module NAME(in f64 x[n], in f64 factor, out f64 y[n], out f64 largest)"

_C: Final = """\
/* NAME: one sentence on what this module computes.
 *
 * The directive is the module's interface.  Arrays come as pointers, scalars that are only read by value,
 * other scalars as pointers; then, for each dimension name, an int64_t.  Return 0, or a code whose text
 * coven_error() gives.  The function runs without Python's lock, in any number of ranks at once.
 */
#include <stdint.h>

const char *coven_error(int code) {
  return code == 1 ? "the array is empty" : "unknown code";
}

//@ DIRECTIVE
int NAME(const double *x, double factor, double *y, double *largest, int64_t n) {
  if (n == 0)
    return 1;
  *largest = factor * x[0];
  for (int64_t i = 0; i < n; i++) {
    y[i] = factor * x[i];
    if (y[i] > *largest)
      *largest = y[i];
  }
  return 0;
}
"""

_CPP: Final = """\
// NAME: one sentence on what this module computes.
//
// The directive is the module's interface.  Arrays come as pointers, scalars that are only read by value,
// other scalars as pointers; then, for each dimension name, an int64_t.  Return 0; what an exception says
// becomes the error's text.
#include <algorithm>
#include <cstdint>
#include <stdexcept>

//@ DIRECTIVE
int NAME(const double *x, double factor, double *y, double *largest, int64_t n) {
  if (n == 0)
    throw std::invalid_argument("the array is empty");
  std::transform(x, x + n, y, [factor](double value) { return factor * value; });
  *largest = *std::max_element(y, y + n);
  return 0;
}
"""

_CYTHON: Final = """\
# cython: boundscheck=False, wraparound=False
\"\"\"NAME: one sentence on what this module computes.

A `cdef` function that is `noexcept nogil` runs without Python's lock: it gets arrays as pointers, scalars
that are only read by value, other scalars as pointers; then, for each dimension name, an int64_t.  It returns
0, or a code whose text coven_error() gives.  A `def` function gets NumPy arrays, as a module in Python does.
\"\"\"
from libc.stdint cimport int64_t


cdef const char *coven_error(int code) noexcept nogil:
    return "the array is empty"


#@ DIRECTIVE
cdef int NAME(const double *x, double factor, double *y, double *largest, int64_t n) noexcept nogil:
    cdef int64_t i
    if n == 0:
        return 1
    largest[0] = factor * x[0]
    for i in range(n):
        y[i] = factor * x[i]
        if y[i] > largest[0]:
            largest[0] = y[i]
    return 0
"""

_FORTRAN: Final = """\
! NAME: one sentence on what this module computes.
!
! The directive is the module's interface.  The function has bind(C) and returns an integer(c_int): 0, or a
! code.  Scalars that are only read and, after the parameters, the dimension names come by value.  The last
! axis of the directive is the fastest: an a[m, n] there is declared a(n, m) here.

!@ DIRECTIVE
function NAME(x, factor, y, largest, n) result(code) bind(C, name="NAME")
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int64_t), value :: n
  real(c_double), value :: factor
  real(c_double), intent(in) :: x(n)
  real(c_double), intent(out) :: y(n), largest
  integer(c_int) :: code
  y = factor * x
  largest = maxval(y)
  code = merge(1, 0, n == 0)
end function
"""

_PYTHON: Final = """\
\"\"\"NAME: one sentence on what this module computes.

The directive is the module's interface.  Inputs come in its order, arrays as NumPy arrays (an `in` array is
read-only).  Return the outputs in its order; a parameter with the name of an output is an array to fill.
\"\"\"

import numpy as np


#@ DIRECTIVE
def NAME(x, factor, y):
    if x.size == 0:
        raise ValueError("the array is empty")
    np.multiply(x, factor, out=y)
    return y.max()
"""

_PYBIND11: Final = """\
// NAME: one sentence on what this module computes.
//
// A pybind11 extension: the function gets NumPy arrays and returns the outputs in the directive's order; an
// argument with the name of an output is an array to fill.  Name all arguments with py::arg; noconvert()
// keeps pybind11 from filling a converted copy.
#include <algorithm>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;

//@ DIRECTIVE
static double NAME(py::array_t<double> x, double factor, py::array_t<double> y) {
  if (x.size() == 0)
    throw py::value_error("the array is empty");
  const double *from = x.data();
  double *to = y.mutable_data();
  py::gil_scoped_release without_gil;
  std::transform(from, from + x.size(), to, [factor](double value) { return factor * value; });
  return *std::max_element(to, to + x.size());
}

PYBIND11_MODULE(NAME, m) {
  m.def("NAME", &NAME, py::arg("x"), py::arg("factor"), py::arg("y").noconvert());
}
"""

_TEXTS: Final = {
    "c": _C,
    "c++": _CPP,
    "cython": _CYTHON,
    "fortran": _FORTRAN,
    "python": _PYTHON,
    "pybind11": _PYBIND11,
}


def template_text(name: str, language: str) -> str:
    """Give the text of a commented module file to start from.

    Parameters
    ----------
    name : str
        The module's name.
    language : str
        One of `TEMPLATE_ENDINGS`.

    Returns
    -------
    str
        The file.

    Examples
    --------
    >>> template_text("blur", "python").splitlines()[0]
    '\"\"\"blur: one sentence on what this module computes.'
    """
    return _TEXTS[language].replace("DIRECTIVE", _DIRECTIVE).replace("NAME", name)


def create_module_file(path: str, language: str) -> Path:
    """Write a new module file; the module is called like the file.

    Parameters
    ----------
    path : str
        Where; the language's ending is added if it has none.
    language : str
        One of `TEMPLATE_ENDINGS`.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    UsageError
        If there is such a file already, its name can't be a module's, or it can't be written.

    Examples
    --------
    >>> create_module_file("blur", "c")
    PosixPath('blur.c')
    >>> Path("blur.c").read_text().splitlines()[0]
    '/* blur: one sentence on what this module computes.'
    """
    ending = TEMPLATE_ENDINGS[language]
    target = Path(path)
    if target.suffix not in ("", ending):
        raise UsageError(_wrong_ending(target, language), help=f"name it {target.with_suffix(ending)}")
    target = target.with_suffix(ending)
    name = target.stem
    require_name(name, "module")
    require_function_name(name, language)
    require_source_names([name], language)
    require_directory(target)
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(template_text(name, language))
    except FileExistsError:
        message = f"{target} exists already and is left as it is"
        raise UsageError(message, help="choose another name, or remove it first") from None
    except OSError as failure:
        message = f"{target} can't be written: {failure.strerror}"
        raise UsageError(message, help=system_help(failure, target, writing=True)) from None
    return target


def _wrong_ending(target: Path, language: str) -> str:
    known = ", ".join(f"{ending} ({name})" for name, ending in TEMPLATE_ENDINGS.items())
    return (
        f"{target.name}: a module in {language} ends in {TEMPLATE_ENDINGS[language]}, not {target.suffix};"
        f" the endings are {known}"
    )
