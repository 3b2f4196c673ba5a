"""Colours for programs in manuals, notebooks and on terminals: a lexer, which Pygments finds by itself.

Editors have the language server's semantic tokens, which know what each name is; this knows words alone.
"""

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
)

from pse.language.syntax import BUILTINS, PROGRAM_KEYWORDS
from pse.language.types import Element

_LITERALS = ("true", "false")
_NAMED = r"[A-Za-z_][A-Za-z_0-9]*"


class CovenLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types.
    """Programs: files that end in ``.coven``."""

    name = "Coven"
    aliases: ClassVar[list[str]] = ["coven"]
    filenames: ClassVar[list[str]] = ["*.coven"]
    url = ""
    version_added = ""

    tokens: ClassVar = {
        "root": [
            (r"\s+", Text.Whitespace),
            (r"(?://|#)[^\n]*", Comment.Single),
            (r'"', String.Double, "string"),
            (rf"(segment|program)(\s+)({_NAMED})", bygroups(Keyword, Text.Whitespace, Name.Function)),
            (rf"(bundle|record)(\s+)({_NAMED})", bygroups(Keyword, Text.Whitespace, Name.Class)),
            (rf"(@)(\s*)({_NAMED})", bygroups(Operator, Text.Whitespace, Name.Decorator)),
            (words(_LITERALS, prefix=r"\b", suffix=r"\b"), Keyword.Constant),
            (words([e.label for e in Element], prefix=r"\b", suffix=r"\b(?!\s*\()"), Keyword.Type),
            (rf"({'|'.join(BUILTINS)})(?=\()", Name.Builtin),
            (
                words(sorted(PROGRAM_KEYWORDS - {*_LITERALS, "partition"}), prefix=r"\b", suffix=r"\b"),
                Keyword,
            ),
            (r"\b(partition|threads)\b", Keyword),
            (r"(?<=[\w.)]\s)live\b(?=\s*(?:$|where\b|//|#|;))", Keyword),
            (r"\bprocs\b", Name.Builtin.Pseudo),
            (r"\bthread_\w+", Name.Label),
            (rf"{_NAMED}(?:\s*\.\s*{_NAMED})?(?=\s*\()", Name.Function),
            (_NAMED, Name),
            (r"\d+(?:\.\d+)?(?:[KMGT]i?)?B\b", Number),
            (r"\d+\.(?!\.)\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+", Number.Float),
            (r"\d+", Number.Integer),
            (r"->|\.\.|\*\*|//|[=!<>]=|[-+*/%<>=@]", Operator),
            (r"[{}()\[\],.;]", Punctuation),
        ],
        "string": [
            (r"\\.", String.Escape),
            (r'[^"\\\n]+', String.Double),
            (r'"|\n', String.Double, "#pop"),
        ],
    }
