"""Errors that users see say what to do: whoever raises one without help stands here, with the reason."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOT_ERROR = "PseError"

OURS = "a bench found a wrong result: that is a mistake in pse, about which users can do nothing"
CALLERS = "callers know what the value is for, and give the help"
INSIDE = "the text holds the diagnostics of a program or module, each with its help"
OWN_CODE = "the user's own code failed: its traceback says where"
ASSERTED = "what a program asserts, in its own words"
ITS_CLASS = "the class has the help"
WHOLE_FILE = "whoever reads the file adds its path, and the help for a damaged one"
WITHOUT_HELP = {
    "pse/bench/subjects/bcs.py": (1, OURS),
    "pse/bench/subjects/fft.py": (1, OURS),
    "pse/bench/subjects/fft3.py": (1, OURS),
    "pse/bench/subjects/idle.py": (1, OURS),
    "pse/bench/subjects/pingpong.py": (1, OURS),
    "pse/bench/subjects/tracing.py": (1, OURS),
    "pse/cluster/_prerequisites.py": (2, ITS_CLASS),
    "pse/language/types/_evaluation.py": (8, CALLERS),
    "pse/modules/build/_builder.py": (1, INSIDE),
    "pse/modules/std/_functions.py": (1, ASSERTED),
    "pse/notebook/_errors.py": (1, INSIDE),
    "pse/notebook/_programs.py": (1, INSIDE),
    "pse/runtime/distribution/_partition_placement.py": (1, OWN_CODE),
    "pse/runtime/distribution/_user_distributions.py": (1, OWN_CODE),
    "pse/trace/format/_dataclass_validation.py": (3, WHOLE_FILE),
    "pse/trace/format/_definitions.py": (10, WHOLE_FILE),
}
"""How often each file makes an error without help, and why."""


def test_errors_say_what_to_do():
    trees = {path: ast.parse(path.read_text()) for path in sorted(ROOT.glob("pse/**/*.py"))}
    names = errors_of(trees.values())
    assert len(names) > 20
    found = {str(path.relative_to(ROOT)): without_help(tree, names) for path, tree in trees.items()}
    said = {name: len(lines) for name, lines in found.items() if lines}
    assert said == {name: count for name, (count, _) in WITHOUT_HELP.items()}, found


def test_an_error_without_help_is_seen():
    tree = ast.parse(
        "class Own(UsageError): pass\nraise Own('wrong')\nraise Own('wrong', help='do this')\nraise O(1)"
    )
    assert without_help(tree, errors_of([ast.parse("class UsageError(PseError): pass"), tree])) == [2]


def errors_of(trees):
    """Name the classes of errors that users see."""
    classes = [
        (node.name, {named(base) for base in node.bases})
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    found, before = {ROOT_ERROR}, 0
    while len(found) > before:
        before = len(found)
        found |= {name for name, bases in classes if bases & found}
    return found - {"ProgramRefused"}  # It has diagnostics.


def without_help(tree, names):
    """List the lines where such an error is made without `help`."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and named(node.func) in names
        and not {keyword.arg for keyword in node.keywords} & {"help", None}
        and not isinstance(node.func, ast.Attribute)
    ]


def named(node):
    """Give the last word of a name."""
    return getattr(node, "id", getattr(node, "attr", None))
