"""The words of the language, the functions of its expressions, and the limits on a text's size and depth.

The checker needs them where texts need no parser, because their trees are kept (`_kept_trees`).
"""

from pse.errors import UsageError

MAX_CHARACTERS = 1 << 20
"""Longest program that is read; at 40 characters a line this is 26,000 lines."""

TOO_LONG_HELP = "replace repeated statements by loops and segments, if it is a program"

NO_TEXT = "this is not a text file: it contains null bytes"
"""What E0013 says of a file, and of a text that an editor has."""

MAX_NESTING = 100
"""Deepest nesting of braces, brackets and parentheses, and most operators in one expression."""

SHARED_KEYWORDS = {"in", "max", "halo", "over", "true", "false", "and", "or", "not"}
PROGRAM_KEYWORDS = SHARED_KEYWORDS | {
    *("coven", "import", "as", "param", "where", "partition", "options", "segment", "program"),
    *("let", "var", "for", "inflight", "while", "if", "else", "break", "PARALLEL", "reduce"),
}
DIRECTIVE_KEYWORDS = SHARED_KEYWORDS | {"out", "inout", "collective"}
KEYWORDS = {"program": PROGRAM_KEYWORDS, "directive": DIRECTIVE_KEYWORDS}
RESERVED = PROGRAM_KEYWORDS | DIRECTIVE_KEYWORDS
"""What can't be the name of a module."""


def require_name(name: str, owner: str) -> None:
    """Make sure that the language takes a name.

    Parameters
    ----------
    name : str
        The name.
    owner : str
        What is to have it: ``module`` or ``program``; for the message.

    Raises
    ------
    UsageError
        If it has other characters than names have, or is a reserved word.

    Examples
    --------
    >>> require_name("2d", "module")
    Traceback (most recent call last):
    pse.errors.UsageError: `2d` can't be the name of a module
    """
    if not (name.isidentifier() and name.isascii()):
        help = "use letters, digits and underscores, and no digit at first"
        raise UsageError(f"`{name}` can't be the name of a {owner}", help=help)
    if name in RESERVED:
        message = f"`{name}` is a reserved word of the language of programs"
        raise UsageError(message, help=f"choose another name for the {owner}")


CHOICE = "an `if` chooses between values:  var i64 x = 2   if N > 3 { x = 1 }"
"""What programs have in place of `a ? b : c` and `b if a else c`."""

BUILTINS = ("min", "max", "abs", "sqrt", "floor", "ceil", "log2", "i64", "f64")
"""Functions of scalars that expressions may use."""
