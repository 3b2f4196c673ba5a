"""What other languages write, where a syntax error shows it, and how programs say it.

Pure functions over tokens; a `Mistake` is a token that does not fit, with those of its line around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from lark import Token

from pse.language.syntax._foreign_marks import (
    COMMENT,
    comment_help,
    end_of,
    mark_help,
    operator_help,
    split_number,
    text_of,
    until,
)
from pse.language.syntax._foreign_names import FOREIGN_STATEMENTS, FOREIGN_TYPES, TYPES
from pse.language.syntax._lexer import ARITHMETIC
from pse.language.syntax._words import CHOICE
from pse.language.types._types import Pattern
from pse.text import list_text

_VALUE = {"INT", "FLOAT", "STRING", "TRUE", "FALSE", "NAME"}
_LITERALS = {"FLOAT": "f64", "STRING": "string", "TRUE": "bool", "FALSE": "bool"}
_EDGES = {"LBRACE", "RBRACE", "SEMICOLON"}

_CLAUSES = {
    "unless": "write the condition that the block is for:  if not ({}) {{ … }}",
    "until": "write the condition by which the loop goes on:  while not ({}) max 1000 {{ … }}",
    **dict.fromkeys(("repeat", "loop"), "a loop has a counter and two bounds:  for k in 0 .. {} {{ … }}"),
    **dict.fromkeys(("elif", "elseif", "elsif"), "write `else if`:  else if {} {{ … }}"),
}
"""Words before a block in other languages, and what programs have with what stands behind them."""

_LOOP = "loops count:  for k in 0 .. 4 { … }   what partitions do at a time stands in PARALLEL { … }"
_FUNCTION = "what is used again is a segment, above the program:  segment {}(i64 a) -> (i64 b) {{ b = a }}"
_BRANCHES = "write one `if` for each case:  if N == 1 { … } else if N == 2 { … }"
_RECORD = "a record has numbers only, and stands above the program:  record Body { f64 x, y   i32 kind }"
_FILE = 'files of modules are imported by their names:  import "tools.c" as tools'
_FIRST_WORDS = {
    **dict.fromkeys(("forall", "foreach", "coforall", "parfor"), _LOOP),
    **dict.fromkeys(("switch", "match", "select", "case", "when"), _BRANCHES),
    **dict.fromkeys(("struct", "class", "record", "interface"), _RECORD),
    **dict.fromkeys(("use", "include", "require", "using", "from"), _FILE),
    **dict.fromkeys(("try", "catch", "except", "finally"), "remove it: a module that fails ends the run"),
    "implicit": "remove it: names are known by what makes them",
    "assert": 'write the condition, and what is wrong, in parentheses:  assert(a > b, "a is too small")',
    "type": "types have their own names only, such as f64: remove it",
    "with": "remove it: what it names is there from the call that makes it",
    "module": "a file has one program:  program name { … }   modules are in files of their own",
    "main": "the program begins with:  program main {",
}
"""Words that begin a statement in other languages."""
_FUNCTIONS = ("def", "func", "function", "fn", "fun", "proc", "procedure", "subroutine", "sub")
_PRINTS = ("print", "write", "echo", "puts", "println", "printf", "display")
_OPERATIONS = {"+": "sum", "*": "prod", "<": "min", ">": "max", "and": "all", "or": "any"}
_DECLARES = ("LET", "Let", "VAR", "const", "auto", "config", "static", "final", "val", "mut")


class Mistake(NamedTuple):
    """A token that does not fit.

    Attributes
    ----------
    token : Token
        The token.
    line : list of Token
        Those before it on the line of the last of them.
    accepted : set of str
        The kinds that would fit.
    after : list of Token
        Those behind it on its line.
    statement : list of Token
        Those of its statement on one line, itself included if it is on that line.
    outputs : list of str
        Outputs of the segment that it is in.
    """

    token: Token
    line: list[Token]
    accepted: set[str]
    after: list[Token]
    statement: list[Token]
    outputs: list[str]

    @property
    def kinds(self) -> list[str]:
        """Kinds of the tokens before it."""
        return [one.type for one in self.line]


def other_language(
    token: Token, behind: Sequence[Token], accepted: set[str], ahead: Sequence[Token]
) -> str | None:
    """Recognise what other languages write, and write it as programs have it."""
    if token.type == "ELSE" and "let" in [one for one in behind if one.line == token.line]:
        return CHOICE
    if token.type == "ELSE":
        return "write the `if` before it:  if a > b { … } else { … }"
    mistake = _mistake(token, behind, accepted, ahead)
    found = (rule(mistake) for rule in (_RULES if behind else _RULES[:1]))
    return next((text for text in found if text is not None), None)


def stray_help(token: Token, behind: Sequence[Token], accepted: set[str], ahead: Sequence[Token]) -> str:
    """Say what to write instead of a character that programs do not have."""
    mistake = _mistake(token, behind, accepted, ahead)
    if token.startswith(":"):
        return _first_word(mistake) or _colon(mistake)
    return mark_help(token, behind[-1] if behind else None, mistake.after)


def _mistake(token: Token, behind: Sequence[Token], accepted: set[str], ahead: Sequence[Token]) -> Mistake:
    line = [one for one in behind if one.line == behind[-1].line]
    after = [one for one in ahead if one.line == token.line and one.type != "$END"]
    begins = accepted >= {"LET", "PARALLEL"} or accepted >= {"PARAM", "PROGRAM"}
    same = bool(line) and line[-1].line == token.line
    start = max((place for place, one in enumerate(line) if one.type in _EDGES), default=-1) + 1
    before = line[start:] if same or not begins else []
    rest = [token, *after] if same or begins else []
    return Mistake(token, line, accepted, after, before + rest, _outputs(behind))


def _outputs(behind: Sequence[Token]) -> list[str]:
    """Name the outputs of the segment that tokens end in; a program has none."""
    heads = [place for place, one in enumerate(behind) if one.type in ("SEGMENT", "PROGRAM")]
    if not heads or behind[heads[-1]].type == "PROGRAM":
        return []
    head = until(behind[heads[-1] :], "LBRACE")
    arrow = next((place for place, one in enumerate(head) if one.type == "ARROW"), len(head))
    fields = zip(head[arrow:], head[arrow + 1 :], head[arrow + 2 :], strict=False)
    ends = ("COMMA", "RPAR")
    return [str(name) for type, name, end in fields if type.type in ("NAME", "RSQB") and end.type in ends]


def _first_word(m: Mistake) -> str | None:
    """Words that begin a statement, a function or a comment elsewhere."""
    begins = m.accepted >= {"LET", "PARALLEL"} or m.accepted >= {"PARAM", "PROGRAM"}
    if begins and m.statement[:1] == [m.token] and (comment := comment_help(m.token, m.after)):
        return comment
    if begins and m.statement[:1] == [m.token] and _is_docstring(m):
        return COMMENT
    if begins and m.statement[:1] == [m.token] and m.token.type in _VALUE - {"NAME"}:
        return f"a value alone is not a statement:  print({text_of(until(m.statement, *_EDGES))})"
    if not m.statement or m.statement[0].type != "NAME":
        return None
    first, second = m.statement[0], m.statement[1] if len(m.statement) > 1 else None
    if second is not None and (second.type == "DOT" or (second == "=" and first not in _DECLARES)):
        return None
    if first in _FUNCTIONS and second is not None and second.type == "NAME":
        return _FUNCTION.format(second)
    if second == "main":
        return _FIRST_WORDS["main"]
    if first == "from" and "import" in m.statement[2:]:
        return _from_import(m.statement)
    if first in _FIRST_WORDS:
        return _FIRST_WORDS[first]
    return _return(m) or _print(m) or _do(m)


def _is_docstring(m: Mistake) -> bool:
    """Whether a string stands alone: above the program, or between three quotes."""
    thrice = m.token == '""' and [one.type for one in m.after[:1]] == ["STRING"]
    return m.token.type == "STRING" and (thrice or "LET" not in m.accepted)


def _from_import(statement: Sequence[Token]) -> str:
    """`from tools import make, use`."""
    place = [str(one) for one in statement].index("import")
    file = "".join(statement[1:place]).strip(".").replace(".", "/") + ".py"
    if statement[1].type == "STRING":
        file = statement[1][1:-1]
    names = text_of([one for one in statement[place + 1 :] if one.type in ("NAME", "COMMA", "AS")])
    used = f"{{ {names} }}" if names else f"as {file.rpartition('/')[2].partition('.')[0]}"
    return f'a file of modules is imported by its name:  import "{file}" {used}'


def _return(m: Mistake) -> str | None:
    """`return`, `return x + 1`, `continue`, `end if`: with what has to be removed."""
    if any(word.type == "IMPORT" for word in m.line[:1]):  # Modules have names that they like.
        return None
    words = [word for word in m.line[-2:] if word in FOREIGN_STATEMENTS]
    first = m.statement[0] if m.statement[0] in FOREIGN_STATEMENTS else words[0] if words else None
    if first is None:
        return None
    whole = text_of(until(m.statement, *_EDGES))
    help = FOREIGN_STATEMENTS[first]
    if first == "return" and whole.startswith("return "):
        return _returned(m.outputs, whole)
    if help.startswith("remove it") and whole.startswith(f"{first} ") and m.statement[0] == first:
        return help.replace("remove it", f"remove `{whole}`", 1)
    return help


def _returned(outputs: Sequence[str], whole: str) -> str:
    """Say what to write instead of `return x`, by the outputs of the segment around it."""
    value = whole.removeprefix("return ").strip()
    if len(outputs) == 1 and value != outputs[0]:
        return f"write the output that the head of the segment names:  {outputs[0]} = {value}"
    if outputs:
        have = "has" if len(outputs) == 1 else "have"
        return f"remove `{whole}`: the segment gives what {list_text(outputs)} {have} at its end"
    return f"remove `{whole}`: programs return nothing, segments write the outputs in their heads"


def _print(m: Mistake) -> str | None:
    """`print x`, `print "a", x`, `print *, x`, `write(*,*) x`, `echo x`."""
    if m.statement[0] not in _PRINTS:
        return None
    values = [one for one in m.statement[1:] if one.type not in _EDGES]
    kinds = [one.type for one in values]
    if kinds[:1] == ["LPAR"] and "STAR" in kinds and "RPAR" in kinds:  # Where to write, and how.
        values = values[kinds.index("RPAR") + 1 :]
    while values and (values[0].type in ("LPAR", "RPAR", "STAR", "COMMA") and "*" in values):
        values = values[1:]
    while values and values[0].type in ("RPAR", "COMMA"):
        values = values[1:]
    values = values if "LPAR" in [one.type for one in values] else until(values, "RPAR")
    if not values or values[0].type not in {*_VALUE, "MINUS"}:
        return None
    return f"write the values between parentheses:  print({text_of(values)})"


def _condition_behind(m: Mistake) -> str | None:
    """`print(1) if a > b`."""
    kinds = [one.type for one in m.statement]
    place = kinds.index("IF") if "IF" in kinds else 0
    if not place or kinds[place - 1] == "ELSE" or "LBRACE" not in m.accepted:
        return None
    condition = text_of(until(m.statement[place + 1 :], *_EDGES))
    return f"a condition stands before what it decides:  if {condition} {{ {text_of(m.statement[:place])} }}"


def _do(m: Mistake) -> str | None:
    """`do { … } while (a);`, `do i = 1, 10`, `do k = 0, n`."""
    if m.statement[0] != "do":
        return None
    kinds = [one.type for one in m.statement]
    if kinds[1:3] == ["NAME", "EQUAL"] and "COMMA" in kinds:
        comma = kinds.index("COMMA")
        last = text_of(until(m.statement[comma + 1 :], "COMMA", *_EDGES))
        lower = text_of(m.statement[3:comma])
        head = f"for {m.statement[1]} in {lower} .. {last} + 1"
        return f"write `for`, and the bound that is not reached:  {head} {{ … }}"
    return "a loop has its condition before its block:  while a > b max 1000 { … }"


def _clause(m: Mistake) -> str | None:
    """`unless a > b {`, `until (a > b) {`, `repeat 3 {`, `elsif a > b {`."""
    place = max((place for place, one in enumerate(m.line) if one in _CLAUSES), default=-1)
    given = text_of(until([*m.line[place + 1 :], m.token, *m.after], *_EDGES))
    if place < 0 or (place < len(m.line) - 2 and not given.startswith("(")):
        return None
    given = re.split(r" max\b| times\b| do\b", given)[0]
    if not given:
        return "a loop has its condition before its block:  while a > b max 1000 { … }"
    inner = given[1:-1] if given.startswith("(") and given.endswith(")") else given
    return _CLAUSES[m.line[place]].format(inner)


def _block(m: Mistake) -> str | None:
    """`if a > b then {`, `while a > b do`, `PARALLEL (P) {`, `PARALLEL for …`, `program p() {`."""
    if "LBRACE" not in m.accepted and m.line[-1].type != "OVER":
        return None
    if m.token in ("then", "do"):
        if m.after and m.after[0].type == "LBRACE":
            return f"a block begins with its `{{`: remove `{m.token}`"
        instead = f"write `{{` instead of `{m.token}`, and `}}` behind the block"
        return f"a block stands between `{{` and `}}`: {instead}"
    if m.token.type == "IN" and m.after and m.after[0] == "flight":
        return f"write it as one word:  inflight {text_of(until(m.after[1:], *_EDGES))}"
    if m.token.type == "SEMICOLON" and m.after and m.after[0].type == "LBRACE":
        return "a block follows its head at once: remove the `;`"
    if m.line[-1].type in ("PARALLEL", "OVER") and m.token.type == "INT":
        declared = f"partition P = {m.token}"
        return f"name the pieces above the program:  {declared}   and here:  PARALLEL over P {{ … }}"
    if m.line[-1].type == "PARALLEL" and "LBRACE" in [one.type for one in m.after[:3]]:
        names = [one for one in (m.token, *m.after[:1]) if one.type == "NAME"]
        return f"a partition stands behind `over`:  PARALLEL over {names[0]} {{ … }}" if names else None
    if m.line[-1].type == "PARALLEL" and m.token.type in ("FOR", "WHILE", "IF"):
        return f"write the block of PARALLEL inside:  {m.token} … {{ PARALLEL {{ … }} }}"
    if [one.type for one in m.line[-2:]] == ["PROGRAM", "NAME"] and m.token.type == "LPAR":
        return f"a program has no inputs but parameters:  program {m.line[-1]} {{"
    return None


def _loop(m: Mistake) -> str | None:
    """`for (k in 0 .. 3)`, `for k = 0 .. 3`, `for k in N`, `for k in range(N)`, `0 ... 3`, `0 to 3`."""
    kinds, line, token = m.kinds, m.line, m.token
    if token.type == "COMMA" and kinds[-2:] == ["FOR", "NAME"]:
        return f"a loop has one counter:  for {line[-1]} in 0 .. 4 {{ … }}"
    if token.type == "LPAR" and kinds[-1:] == ["FOR"]:
        return "a loop has no parentheses:  for k in 0 .. 4 { … }"
    if token.type == "EQUAL" and kinds[-2:] == ["FOR", "NAME"]:
        bounds = _two_bounds(until(m.after, "LBRACE", "STRAY")) or "0 .. 3"
        return f"write `in` instead of `=`:  for {line[-1]} in {bounds}"
    return _range(m, len(kinds) - 1 - kinds[::-1].index("FOR")) if "FOR" in kinds else None


def _range(m: Mistake, start: int) -> str | None:
    """`0 ... 3`, `0 to 3`, `0 .. = 3`, `(0 .. 3)`, `0 .. 10, 2`, behind the `for` at a place of the line."""
    kinds, line, token = m.kinds, m.line, m.token
    counter = line[start + 1] if len(line) > start + 1 else "k"
    if token in ("step", "by", ",") and "INFLIGHT" in m.accepted:
        step = text_of(until(m.after, "LBRACE", "INFLIGHT")) or "2"
        if token == "step":
            return f"write the step on the line of the bounds:  step {step}"
        return f"write `step` instead of `{token}`:  step {step}"
    if token.type == "RANGE" and "LPAR" in kinds[start:]:
        return f"a range has no parentheses:  for {counter} in 0 .. 4"
    head = until([*line[start + 3 :], token, *m.after], "LBRACE")
    if token.type == "EQUAL" and kinds[-1] == "RANGE":
        lower, upper = text_of(line[start + 3 : -1]), text_of(until(m.after, "LBRACE"))
        return f"the upper bound is not reached:  for {counter} in {lower} .. {upper} + 1"
    if token in ("to", "until", "upto", "downto") and "RANGE" in m.accepted:
        bounds = _two_bounds(head) or "0 .. 4"
        return (
            f"write two dots instead of `{token}`; the upper bound is not reached:  for {counter} in {bounds}"
        )
    if token.type in ("DOT", "ELLIPSIS") and "RANGE" in m.accepted:
        return "the bounds of a loop have two dots between them:  0 .. 4"
    if token.type == "LBRACE" and "RANGE" in m.accepted and kinds[start + 1 : start + 3] == ["NAME", "IN"]:
        return f"a loop has two bounds:  for {line[start + 1]} in {_bounds(line[start + 3 :])}"
    return None


def _two_bounds(tokens: list[Token]) -> str | None:
    """Write two bounds with two dots between them, whatever stands there now."""
    apart = [
        place for place, one in enumerate(tokens) if one in ("to", "until", "upto", ",", "..", "...", ":")
    ]
    if not apart or not tokens[apart[0] + 1 :]:
        return None
    upper = until(tokens[apart[0] + 1 :], "COMMA", "STRAY", "SEMICOLON")
    return f"{text_of(tokens[: apart[0]])} .. {text_of(upper)}"


def _bounds(tokens: list[Token]) -> str:
    """Write the bounds of a loop of which only the upper one, or the `range` of Python, is given."""
    if len(tokens) > 3 and tokens[0] == "range" and tokens[1].type == "LPAR":
        inside = tokens[2:-1]
        commas = [place for place, one in enumerate(inside) if one.type == "COMMA"]
        if commas:
            end = commas[1] if len(commas) > 1 else len(inside)
            return f"{text_of(inside[: commas[0]])} .. {text_of(inside[commas[0] + 1 : end])}"
        tokens = inside
    return f"0 .. {text_of(tokens)}"


def _colon(m: Mistake) -> str:
    """Say what is written instead of a colon, by what stands around it."""
    line, kinds = m.line, m.kinds
    if m.accepted == {"EQUAL", "NAME"}:
        return "an option gets its value by `=`"
    if kinds[-2:-1] and line[-2] in ("let", "var", "param"):
        return _typed_name(m)
    if "SEGMENT" in kinds and kinds[-1] == "NAME" and m.after:
        type = FOREIGN_TYPES.get(m.after[0], m.after[0])
        return f"the type stands before the name:  {type} {line[-1]}"
    if "FOR" in kinds and "RANGE" in m.accepted:
        start = len(kinds) - 1 - kinds[::-1].index("FOR")
        head = line[start + 3 :]
        last = _two_bounds([*head, m.token, *until(m.after, "LBRACE")]) if m.after else None
        return f"a range is written with two dots:  for {line[start + 1]} in {last or _bounds(head)} {{ … }}"
    if any(kind in ("FOR", "WHILE", "IF", "ELSE", "PROGRAM", "PARALLEL") for kind in kinds):
        return "a block stands between `{` and `}`, without a `:`"
    return _colon_of_statement(m)


def _colon_of_statement(m: Mistake) -> str:
    """`integer :: n = 3`, `std::print(1)`, `n := 3`, `f(seed: 3)`, `thread_A: f(3)`."""
    line, kinds = m.line, m.kinds
    if not line:
        return "remove it; it is allowed only in strings and comments"
    if m.token == "::" and line[0] in FOREIGN_TYPES and m.after:
        return f"a new value is named with `let`:  let {text_of(m.after)}"
    if m.token == "::":
        return f"modules of an import are called with a dot:  {line[-1]}.{m.after[0] if m.after else 'name'}"
    if m.after and m.after[0].type == "EQUAL" and m.after[0].column == end_of(m.token):
        value = text_of(m.after[1:])
        return f"write  let {line[-1]} = {value}  for a new name, {line[-1]} = {value}  for a variable"
    if kinds.count("LPAR") > kinds.count("RPAR") and kinds[-1] == "NAME" and m.after:
        value = text_of(until(m.after, "COMMA", "RPAR")) or "0"
        return f"an input is given by its name with `=`:  {line[-1]} = {value}"
    if "REDUCE" in kinds:
        return "name what the partitions give together, then the operation:  -> own reduce total(sum)"
    if m.statement[1:2] == [m.token] and m.after and m.after[0].type == "NAME":
        return f"a thread's label has no `:`:  {line[-1]} {text_of(m.after)}"
    return "remove it; it is allowed only in strings and comments"


def _typed_name(m: Mistake) -> str:
    """`let n: i64 = 3`, `var n: i64 = 3`, `param N: i64 = 4`."""
    word, name = m.line[-2], m.line[-1]
    kinds = [one.type for one in m.after]
    value = text_of(until(m.after[kinds.index("EQUAL") + 1 :], *_EDGES)) if "EQUAL" in kinds else ""
    if word == "let":
        return f"a `let` has the type of its value:  let {name} = {value or '0'}"
    type = text_of(until(m.after, "EQUAL", *_EDGES)) or "i64"
    given = f" = {value}" if value else ""
    return f"the type stands before the name:  {word} {FOREIGN_TYPES.get(type, type)} {name}{given}"


def _call(m: Mistake) -> str | None:
    """`num(1) => c`, `num(1) - > c`, `x <- num(1)`, `thread A num(1)`, `random -> x`, `f(1) -> (x)`."""
    token, after, before = m.token, m.after, m.line[-1]
    next_mark = after[0] if after else None
    if token.type in ("EQUAL", "MINUS") and next_mark is not None and next_mark.type == "MORETHAN":
        return f"the outputs of a call stand after an arrow:  -> {after[1] if len(after) > 1 else 'x'}"
    if token.type == "LESSTHAN" and next_mark == "-" and len(after) > 1 and before.type == "NAME":
        return f"the outputs of a call stand behind it:  {text_of(until(after[1:], *_EDGES))} -> {before}"
    if token.type == "ARROW" and "LPAR" in m.accepted and before.type == "NAME":
        return f"a call has parentheses, with inputs or without:  {before}() {text_of([token, *after])}"
    if before.type == "ARROW" and token.type == "LPAR":
        return f"outputs have no parentheses:  -> {text_of(until(after, 'RPAR'))}"
    if token.type in ("LSQB", "NAME") and (known := _stated_type(m)):
        blank = " " if token.type == "NAME" else ""
        return f"the type is called `{known}`:  {known}{blank}{text_of(until([token, *after], *_EDGES))}"
    if token.type == "LSQB" and "AT" in m.kinds[-2:]:
        return f"axes stand in parentheses:  @ {before}({text_of(until(after, 'RSQB'))})"
    if token.type == "EQUAL" and m.kinds[-4:] == ["AT", "NAME", "LPAR", "NAME"]:
        return f"axes are numbers without names:  @ {m.line[-3]}({text_of(until(after, 'RPAR'))})"
    if m.kinds[-3:] == ["REDUCE", "NAME", "LPAR"] and token.type != "RPAR":
        return f"an operation is written as a word:  reduce {m.line[-2]}({_OPERATIONS.get(token, 'sum')})"
    return _label(m)


def _stated_type(m: Mistake) -> str | None:
    """Give the type that `double` stands for in `-> double[N] q` and `-> a, double q`."""
    output = "ARROW" in m.kinds and m.kinds[-2:-1] in (["ARROW"], ["COMMA"])
    return FOREIGN_TYPES.get(m.line[-1]) if output and m.line[-1].line == m.token.line else None


def _label(m: Mistake) -> str | None:
    """`thread A num(1)`, `thread.A num(1)`, `thread_A thread_B num(1)`, `@thread_A num(1)`, `print` alone."""
    token, after = m.token, m.after
    if token.type == "AT" and "LET" in m.accepted and len(after) > 1 and "VAR" not in m.kinds:
        return f"a thread's label has no `@`:  {text_of(after)}"
    if token.type == "NAME" and after and after[0].type == "LPAR" and "LPAR" in m.accepted:
        parts = [one for one in m.line[-3:] if one.type != "DOT"][-2:]
        if [one.type for one in parts] == ["NAME", "NAME"] and parts[0] in ("thread", "Thread", "THREAD"):
            return f"a label is one word:  {'_'.join(parts)} {token}(…)"
        if [one.type for one in parts] == ["NAME", "NAME"] and parts[1].line == token.line:
            return f"a call has one label:  {parts[1]} {token}(…)"
    if m.kinds[-2:] == ["NAME", "NAME"] and m.line[-2] in ("on", "at", "by") and "RPAR" in m.kinds:
        return f"a label stands before its call:  {m.line[-1]} {text_of(m.line[:-2])}"
    alone = len(m.statement) == 1 and token.line != m.line[-1].line and m.kinds[-1] == "NAME"
    if alone and m.accepted >= {"LPAR", "DOT", "EQUAL", "NAME"}:
        return f"a call has parentheses, with inputs or without:  {m.line[-1]}()"
    return None


def _dashed_name(m: Mistake) -> str | None:
    """`thread-A num(1)`, `threads thread-A, thread-B`, `queue thread-A = 3`."""
    token, after, line = m.token, m.after, m.line
    before = line[-1]
    if token.type != "MINUS" or before.type != "NAME" or not after or after[0].type not in ("NAME", "INT"):
        return None
    joined = end_of(before) == token.column and end_of(token) == after[0].column
    around = [*(one.type for one in line[-2:-1]), *(one.type for one in after[1:2])]
    if joined and ("NAME" in around or line[0].type == "THREADS"):
        return f"names have no `-`:  {before}_{after[0]}"
    return None


def _declaration(m: Mistake) -> str | None:
    """`float q = 3`, `const q = 3`, `int q;`, `var q = 3`, `let i64 q = 3`, `let a, b = 3, 4`, `f64[N] q`."""
    token, line, kinds, after = m.token, m.line, m.kinds, m.after
    value = text_of(until(after, *_EDGES))
    if token.line != line[-1].line and kinds[-2:] == ["VAR", "NAME"]:
        return f"a variable is declared with its type:  var i64 {line[-1]} = 0"
    if token.type == "EQUAL" and kinds[-2:] == ["VAR", "NAME"]:
        return f"a variable is declared with its type:  var {_typed(line[-1], after)}"
    if token.type == "EQUAL" and kinds[-2:] == ["PARAM", "NAME"]:
        return f"a parameter is declared with its type:  param {_typed(line[-1], after)}"
    if token.type == "AT" and "VAR" in kinds and kinds[-2:] == ["RSQB", "NAME"]:
        type = text_of(line[len(kinds) - kinds[::-1].index("VAR") : -1])
        given = text_of(until(after, "EQUAL", *_EDGES))
        where = given if after[:1] and after[0] in [pattern.value for pattern in Pattern] else "block(0)"
        return f"the distribution stands before the name:  var {type} @ {where} {line[-1]}"
    if token.type == "AT" and "ARROW" in kinds and kinds[-1] == "RSQB" and after:
        type = text_of(line[len(kinds) - kinds[::-1].index("ARROW") :])
        size = len(until(after, "RPAR")) + 1 if after[1:2] == ["("] else 1
        named = after[size] if after[size:] else "y"
        return f"the distribution stands behind the name:  -> {type} {named} @ {text_of(after[:size])}"
    if token.type == "NAME" and kinds[-2:] == ["LET", "NAME"] and after[:1] == ["="]:
        return f"a `let` has the type of its value:  let {token} = {text_of(until(after[1:], *_EDGES))}"
    if token.type == "COMMA" and kinds[-2:] == ["LET", "NAME"]:
        return f"one `let` names one value:  let {line[-1]} = 0   let {after[0] if after else 'b'} = 0"
    if token.type == "EQUAL" and kinds[-2:] == ["NAME", "NAME"] and line[-2] in {*FOREIGN_TYPES, *_DECLARES}:
        return f"a new value is named with `let`:  let {line[-1]} = {value or '…'}"
    return _uninitialised(m) or _array(m)


def _item(m: Mistake) -> str | None:
    """`const N = 4` and `int N = 4` in the file, `partition P(4)`, `program "p"`, `segment f(x)`, `a t`."""
    kinds, token, after = m.kinds, m.token, m.after
    words = [one for one in m.statement if one.type == "NAME"]
    types = [one.type for one in m.statement]
    if {"PARAM", "PROGRAM"} <= m.accepted and "EQUAL" in types and types[0] == "NAME":
        place = types.index("EQUAL")
        declared = _typed(m.statement[place - 1], m.statement[place + 1 :])
        return f"what the whole file knows is a parameter:  param {declared}"
    if "AS" in m.accepted and kinds[-2:] == ["IMPORT", "STRING"] and token.type == "NAME" and words:
        return f"a file's name in the program stands behind `as`:  import {m.line[-1]} as {words[-1]}"
    if kinds[-2:] == ["PARTITION", "NAME"] and token.type == "LPAR":
        return (
            f"a partition gets its number by `=`:  partition {m.line[-1]} = {text_of(until(after, 'RPAR'))}"
        )
    if kinds[-1:] == ["PROGRAM"] and token.type == "STRING":
        return f"a program's name has no quotes:  program {re.sub(r'[^A-Za-z_0-9]', '_', token[1:-1])} {{"
    if "SEGMENT" in kinds and token.type in ("RPAR", "COMMA") and kinds[-1:] == ["NAME"]:
        return f"inputs and outputs of a segment have types before their names:  i64 {m.line[-1]}"
    if "SEGMENT" in kinds and kinds[-1:] == ["ARROW"] and token.type == "NAME":
        named = text_of(until([token, *after], "LBRACE")).strip()
        return f"outputs of a segment stand in parentheses:  -> ({named if ' ' in named else named + ' b'})"
    return _list_in_item(m)


def _list_in_item(m: Mistake) -> str | None:
    """`param i64 N = 4, M = 3`, `partition P = 2 x 2`, `threads A B`, `import "tools.c" { * }`."""
    kinds, token, after = m.kinds, m.token, m.after
    if kinds[:2] == ["PARAM", "NAME"] and token.type == "COMMA":
        rest = " ".join([m.line[1], text_of(after)])
        return f"one `param` declares one parameter:  {text_of(m.line)}   param {rest}"
    if kinds[:3] == ["PARTITION", "NAME", "EQUAL"] and token in ("x", "X", "by", ",") and after:
        sides = f"{text_of(m.line[3:])}, {text_of(after)}"
        number = sides.replace(",", " *")
        return f"a grid stands behind the number:  partition {m.line[1]} = {number} as grid({sides})"
    if kinds[:1] == ["THREADS"] and token.type == "NAME":
        names = [one for one in (*m.line[1:], token, *after) if one.type == "NAME"]
        return f"labels have commas between them:  threads {', '.join(names)}"
    if kinds[-3:] == ["IMPORT", "STRING", "LBRACE"] and token.type == "STAR":
        name = re.sub(r"\W", "_", m.line[-2][1:-1].rpartition("/")[2].partition(".")[0])
        return f"name the file, then its modules are called by that name:  import {m.line[-2]} as {name}"
    return None


def _uninitialised(m: Mistake) -> str | None:
    """`int n;` and `real*8 x`."""
    words = until(m.statement, "SEMICOLON", "RBRACE")
    if not words or words[0] not in FOREIGN_TYPES or "LPAR" not in m.accepted:
        return None
    type = FOREIGN_TYPES[words[0]]
    zero = {"bool": "false", "string": '""', "f64": "0.0", "f32": "0.0"}.get(type, "0")
    if [one.type for one in words] == ["NAME", "STAR", "NAME"]:
        return f"an array is declared with `var`:  var {type}[8] {words[-1]}"
    if [one.type for one in words] in (["NAME", "NAME"], ["NAME", "STAR", "INT", "NAME"]):
        return f"a variable is declared with `var`:  var {type} {words[-1]} = {zero}"
    return None


def _array(m: Mistake) -> str | None:
    """`var f64 q[N]`, `var f64 q(N)`, `f64[N] q`, `double q[N]`."""
    token, line, kinds = m.token, m.line, m.kinds
    if token.type not in ("LSQB", "LPAR"):
        return _indexed(m)
    close = "RSQB" if token.type == "LSQB" else "RPAR"
    shape = text_of(until(m.after, close))
    if kinds[-3:] == ["VAR", "NAME", "NAME"]:
        return f"the extents stand after the type:  var {line[-2]}[{shape}] {line[-1]}"
    if token.type == "LSQB" and kinds[-2:] == ["NAME", "NAME"] and line[-2] in FOREIGN_TYPES:
        return f"an array is declared with `var`:  var {FOREIGN_TYPES[line[-2]]}[{shape}] {line[-1]}"
    if token.type == "LSQB" and line[-1] in FOREIGN_TYPES and "LPAR" in m.accepted:
        rest = m.after[len(until(m.after, close)) + 1 :]
        name = rest[0] if rest and rest[0].type == "NAME" else "x"
        return f"an array is declared with `var`:  var {FOREIGN_TYPES[line[-1]]}[{shape}] {name}"
    return None


def _indexed(m: Mistake) -> str | None:
    """`var f64 q[N]` and `f64[N] q`, which begin like arrays of tags."""
    kinds, words = [one.type for one in m.statement], [str(one) for one in m.statement]
    if kinds[:4] == ["VAR", "NAME", "NAME", "LSQB"] and "IN" not in kinds[:6]:
        shape = text_of(until(m.statement[4:], "RSQB"))
        return f"the extents stand after the type:  var {words[1]}[{shape}] {words[2]}"
    if kinds[:2] == ["NAME", "LSQB"] and words[0] in FOREIGN_TYPES and m.token.type == "NAME":
        shape = text_of(until(m.statement[2:], "RSQB"))
        return f"an array is declared with `var`:  var {FOREIGN_TYPES[words[0]]}[{shape}] {m.token}"
    return None


def _assignment(m: Mistake) -> str | None:
    """`n += 1`, `n++`, `++n`, `a, b = b, a`, `max = 10` of a loop, `let a = b = 3`."""
    token, line, after = m.token, m.line, m.after
    kinds = [one.type for one in m.statement]
    if token.type in ARITHMETIC and kinds[1:3] == [token.type, "EQUAL"] and kinds[0] == "NAME":
        name, value = m.statement[0], text_of(until(m.statement[3:], *_EDGES))
        return f"write the name again:  {name} = {name} {token} {value or '1'}"
    if token.type in ("PLUS", "MINUS") and after[:1] == [token]:
        names = [one for one in m.statement if one.type == "NAME"]
        return f"write the name again:  {names[0]} = {names[0]} {token} 1" if names else None
    if token.type == "EQUALS" and kinds[:2] == ["NAME", "EQUALS"]:
        value = text_of(until(m.statement[2:], *_EDGES))
        return f"a value is assigned by `=`:  {m.statement[0]} = {value}"
    if kinds[:4] == ["NAME", "COMMA", "NAME", "EQUAL"] and token.type == "COMMA":
        first, second = m.statement[0], m.statement[2]
        if [str(one) for one in m.statement[4:7]] == [second, ",", first]:
            return f"two tags change places by:  swap({first}, {second})"
        return f"write one assignment for each name:  {first} = 0   {second} = 0"
    if token.type == "EQUAL" and line[-1].type in ("MAX", "INFLIGHT") and len(line) > 1 and after:
        return f"write the number behind the word:  {line[-1]} {after[0]}"
    if token.type == "EQUAL" and "LET" in m.kinds and "EQUAL" in m.kinds:
        return "one statement names one value:  let b = 3   let a = b"
    return None


def _string(m: Mistake) -> str | None:
    """`f"n = {N}"`, `r"a"`, three quotes, `"n = {}".format(N)`."""
    before = m.line[-1]
    if m.token.type == "DOT" and before.type == "STRING" and m.after[:1] == ["format"]:
        values = [text_of(list(one)) for one in _separated(until(m.after[2:], "RPAR"))]
        return _joined(re.split(r"\{[^{}]*\}", before[1:-1]), values)
    if m.token.type != "STRING":
        return None
    joined = end_of(before) == m.token.column
    if joined and before in ("f", "F"):
        parts = re.split(r"\{([^{}:!]+)[^{}]*\}", m.token[1:-1])
        return _joined(parts[::2], parts[1::2])
    if joined and before.type == "NAME" and len(before) <= 2:
        return f"remove the `{before}` before the string"
    if joined and before.type == "STRING":
        return "a string has one quote on each side"
    return None


def _separated(tokens: Sequence[Token]) -> list[list[Token]]:
    """Part tokens where commas stand."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.type == "COMMA":
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _joined(texts: Sequence[str], values: Sequence[str]) -> str:
    """Write texts and the values between them as one string."""
    shown = [f'"{texts[0]}"']
    for place, value in enumerate(values, 1):
        shown += [value, f'"{texts[place]}"' if place < len(texts) else ""]
    return f"texts and values are joined by `+`:  {' + '.join(one for one in shown if one.strip(chr(34)))}"


def _marks(m: Mistake) -> str | None:
    """Numbers and operators of other languages."""
    before = m.line[-1]
    return split_number(m.token, before, m.after) or operator_help(m.token, m.line, m.after)


def _typed(name: str, value: Sequence[Token]) -> str:
    """Write a declaration with the type that the value shows by its first token; `True` is true."""
    given = until(value, *_EDGES)
    spelled = {"True": "true", "False": "false", "None": "0", "null": "0"}.get(given[0]) if given else "0"
    type = "bool" if spelled in ("true", "false") else _LITERALS.get(given[0].type, "i64") if given else "i64"
    return f"{type} {name} = {spelled or text_of(given)}"


def _typed_output(m: Mistake) -> str | None:
    """`f() -> u64[7, 3] x`: what is no type reads as an array of tags, which has one index."""
    kinds = m.kinds
    if m.token.type != "COMMA" or "ARROW" not in kinds or "LSQB" not in kinds:
        return None
    opened = len(kinds) - 1 - kinds[::-1].index("LSQB")
    name, size = m.line[opened - 1], _SIZED.fullmatch(m.line[opened - 1])
    meant = FOREIGN_TYPES.get(name)
    if name in TYPES or (meant is None and size is None):
        return None
    types = f"types are {list_text(sorted(TYPES), 'and')}"
    return f"`{name}` is no type: did you mean `{meant}`?" if meant else f"`{name}` is no type: {types}"


_SIZED = re.compile(r"[A-Za-z]+(8|16|32|64|80|128|256)(_t)?")
"""What looks like a type of some size."""

_RULES: tuple[Callable[[Mistake], str | None], ...] = (
    _first_word,
    _clause,
    _condition_behind,
    _block,
    _loop,
    _typed_output,
    _call,
    _dashed_name,
    _declaration,
    _item,
    _assignment,
    _string,
    _marks,
)


def closes_nothing(token: Token, opened: Token | None, accepted: Collection[str]) -> bool:
    """Whether a token closes a bracket where none is open, or only the brace of a block."""
    if token.type not in ("RPAR", "RSQB") or token.type in accepted:
        return False
    return opened is None or (opened.type == "LBRACE" and not {"RBRACE", "COMMA"} <= set(accepted))
