"""Names that a module, its ports and its dimensions can't have, by the language of their source."""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Iterable
from typing import Final

from pse.errors import UsageError

_C_WORDS: Final = """
    auto bool break case char complex const continue default do double else enum extern false float for goto
    if inline int int32_t int64_t long register restrict return short signed sizeof static struct switch true
    typedef uint16_t uint8_t union unsigned void volatile while I MPI_Comm
"""
"""Words of the language, and those that the headers of a new file define."""
_CPP_WORDS: Final = """
    alignas alignof and and_eq asm bitand bitor catch char16_t char32_t char8_t class co_await co_return
    co_yield compl concept const_cast consteval constexpr constinit decltype delete dynamic_cast explicit
    export friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
    reinterpret_cast requires static_assert static_cast std template this thread_local throw try typeid
    typename using virtual wchar_t xor xor_eq
"""
_C_FUNCTIONS: Final = """
    abort abs acos acosh asin asinh atan atan2 atanh atof atoi atol bcmp bcopy bzero cabs calloc carg cbrt
    ceil cexp cimag clog conj copysign cos cosh cpow creal csin csqrt ctan erf erfc exit exp exp2 expm1 fabs
    fdim floor fma fmax fmin fmod fprintf fputc fputs free frexp fscanf fwrite gamma hypot ilogb index
    isalnum isalpha isdigit isfinite isinf islower isnan isprint isspace isupper j0 j1 jn labs ldexp lgamma
    llabs log log10 log1p log2 logb lrint lround main malloc memchr memcmp memcpy memmove memset modf nan
    nearbyint pow printf putchar puts realloc remainder rindex rint round scalbn scanf signbit sin sinh
    snprintf sprintf sqrt sscanf strcat strchr strcmp strcpy strlen strncat strncmp strncpy strstr tan tanh
    tgamma tolower toupper trunc vprintf y0 y1 yn
"""
"""Functions that the compiler knows, with their parameters, and `main`."""
_C: Final = frozenset(_C_WORDS.split())
_CPP: Final = _C | frozenset(_CPP_WORDS.split())
_PYTHON: Final = frozenset(keyword.kwlist)
_CYTHON: Final = _C | _PYTHON | {"NULL", "cdef", "cimport", "cpdef", "ctypedef", "include", "nogil", "print"}
_RESERVED: Final = {
    "c": ("C", _C),
    "c++": ("C++", _CPP),
    "cython": ("Cython", _CYTHON),
    "fortran": ("Fortran", frozenset({"code"})),
    "python": ("Python", _PYTHON),
    "pybind11": ("C++", _CPP | _PYTHON | {"m", "py"}),
}


def require_source_names(names: Iterable[str], language: str) -> None:
    """Refuse names with which a new source file would not compile.

    Parameters
    ----------
    names : iterable of str
        Of the module, its ports and its dimensions.
    language : str
        One of `TEMPLATE_ENDINGS`.

    Raises
    ------
    UsageError
        If one is a word of the language, or is no name in it.

    Examples
    --------
    >>> require_source_names(["int"], "c")
    Traceback (most recent call last):
        ...
    pse.errors.UsageError: `int` is a reserved word of C
    """
    shown, reserved = _RESERVED[language]
    names = list(names)
    if taken := next((name for name in names if name in reserved), None):
        raise UsageError(f"`{taken}` is a reserved word of {shown}", help="choose another name")
    if language == "fortran":
        _require_fortran(names)


def require_function_name(name: str, language: str) -> None:
    """Refuse the name of a module that would be a function of C's library, with other parameters.

    Parameters
    ----------
    name : str
        The module's.
    language : str
        One of `TEMPLATE_ENDINGS`.

    Raises
    ------
    UsageError
        If it is.

    Examples
    --------
    >>> require_function_name("printf", "python")
    """
    if language in ("c", "c++", "cython") and name in _C_FUNCTIONS.split():
        raise UsageError(f"`{name}` is a function of C already", help="choose another name")


def _require_fortran(names: list[str]) -> None:
    if wrong := next((name for name in names if name.startswith("_")), None):
        raise UsageError(f"`{wrong}` is no name in Fortran", help="begin it with a letter")
    counts = Counter(name.lower() for name in names)
    if twice := next((name for name in names if counts[name.lower()] > 1), None):
        help = "choose another name: capitals make no difference there"
        raise UsageError(f"`{twice}` would stand for two things in Fortran", help=help)
