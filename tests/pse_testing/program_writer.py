"""Writes random programs that pass the checker.

Statements are drawn freely, most of them right; whatever the checker then refuses is cut out, line by
line, until it refuses nothing. So programs reach every corner that the checker lets through, and no rule
of it is repeated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

from pse.language import Severity, check_program
from pse.language.check._ir import ResolvedProgram
from pse_testing.harness import FINDER

LABELS = ("thread_A", "thread_B", "thread_C", "thread_D")
ELEMENTS = {
    "f64": "double",
    "i32": "int32_t",
    "c64": "float complex",
    "u16": "uint16_t",
    "c128": "double complex",
}
REDUCED = {
    "total": ("f64", ("sum", "min", "max", "prod")),
    "count": ("i64", ("sum", "min", "max", "prod")),
    "small": ("i32", ("sum", "min", "max")),
    "tiny": ("u8", ("sum", "max")),
    "half": ("f32", ("sum", "min", "max")),
    "even": ("bool", ("all", "any")),
    "phase": ("c128", ("sum", "prod")),
}
# {k} stands for a loop counter, {i64}, {f64} and {bool} for the scalars that may be written here.
CONDITIONS = ("{i64} % 2 == 0", "{f64} < 500.0", "{bool}", "not {bool} or {i64} > 3", "{k} % 2 == 1")
OWN_CONDITIONS = (
    "{own} < 4000.0",
    "{own} > 6000.0 or {bool}",
    "partition % 2 == 0",
    "not {bool} or partition > 0",
)
"""Conditions by which partitions decide for themselves; {own} is a scalar of each partition."""
BOUNDS = ("0 .. 2", "0 .. {i64} % 3", "{k} .. 3", "1 .. procs + 1", "0 .. 0", "3 .. 0 step -1")
BOUNDS += ("0 .. 5 step 2", "{i64} % 4 .. {k} - 2 step -2", "procs .. N step procs")
INTEGERS = ("({i64} * 3 + {k}) % 97", "min({i64}, 7) + procs", "N * M - {i64} % 5", "max({i64}, {k}) / 2")
REALS = (
    "({f64} * 0.5 + {i64}) % 1000.0",
    "floor({f64}) + 1.5",
    "{f64} / 4 + {k}",
    "7.25",
    "abs({f64} - {i64})",
)
FLIGHTS = ("0 .. 4", "0 .. {i64} % 6", "2 .. 5", "6 .. 0 step -2", "1 .. {i64} % 9 step 3")
WHILES = (("count", "i64", "{} % 4 < 3"), ("even", "bool", "not {}"), ("total", "f64", "{} > 900.0"))
"""Loops that hang on a reduced scalar: module, element, condition."""
FIRST = {
    "i64": " = 3",
    "f64": " = 2.5",
    "bool": " = true",
    "i32": " = 0",
    "u8": " = 1",
    "f32": " = 0.5",
    "c128": "",
}
"""Scalars that every program has, with their first values."""
BLOCKS = ("block(0)", "block(1)")


class Kind(NamedTuple):
    """What a tag is: where it lives, and its shape."""

    place: str  # "root", "replicated", or a distribution
    shape: str  # "N, M" or "M, N"

    @property
    def distributed(self) -> bool:
        return self.place.startswith("block")


@dataclass(eq=False)
class Node:
    """A statement; `body` and `otherwise` make it a block."""

    head: str
    body: list[Node] | None = None
    otherwise: list[Node] | None = None


@dataclass
class Scope:
    """Names that a block declares; `closed` where tags of the blocks around are not to be written."""

    tags: dict[str, Kind] = field(default_factory=dict)
    partial: list[str] = field(default_factory=list)  # per-partition scalars
    closed: bool = False


class Written(NamedTuple):
    """A random program."""

    text: str
    program: ResolvedProgram

    def __repr__(self) -> str:
        return "Written"


@st.composite
def programs(draw: st.DrawFn, folder: Path, size: int = 14) -> Written:
    """Draw a program; `folder` holds the modules of `write_modules`."""
    return Writer(draw, size).program(folder)


def write_modules(folder: Path, templates: Path) -> None:
    """Write the modules that programs import, one file for each element type."""
    for element, c_type in ELEMENTS.items():
        for name in ("kernels.c", "pykernels.py"):
            text = (templates / name).read_text().replace("ELEMENT", element).replace("CTYPE", c_type)
            stem, ending = name.split(".")
            path = folder / f"{stem}_{element}.{ending}"
            if not path.exists() or path.read_text() != text:
                path.write_text(text)


class Writer:
    """Draws one program."""

    def __init__(self, draw: st.DrawFn, size: int) -> None:
        self.draw, self.budget = draw, size
        self.scopes = [Scope()]
        self.scalars: dict[str, str] = {}
        self.counters: list[str] = []
        self.names = 0
        self.root_labels = self.some_labels()
        self.parallel_labels = self.some_labels()
        self.segment = self.in_segment = False

    def some_labels(self) -> list[str]:
        return self.draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=4, unique=True))

    # The whole.

    def program(self, folder: Path) -> Written:
        element = self.draw(st.sampled_from(sorted(ELEMENTS)))
        count = self.draw(st.sampled_from(["procs", "1", "2 * procs", "5"]))
        grid = self.draw(st.sampled_from(["", f" as grid({count}, 1)", f" as grid(1, {count})"]))
        self.blocks = BLOCKS + (("block(0, 1)",) if grid else ())
        segment = self.segment_body() if self.draw(st.booleans()) else None
        body = self.opening()
        while self.budget > 0:
            body += self.statement(parallel=False, depth=0)
        body += self.closing()
        head = [
            "coven 1",
            f'import "kernels_{element}.c" as k',
            f'import "pykernels_{element}.py" as py',
            "param i64 N = 5",
            "param i64 M = 4",
            f"partition P = {count}{grid}",
        ]
        return repaired(head, segment, body, folder / "random.coven", element)

    def opening(self) -> list[Node]:
        """Scalars of every type, and some arrays to begin with."""
        nodes = self.fresh_scalars()
        for _ in range(self.draw(st.integers(1, 2))):
            nodes += self.fill()
            nodes += self.scatter()
        return nodes

    def closing(self) -> list[Node]:
        """Note down what every name stands for in the end."""
        nodes = []
        for name, kind in list(self.scopes[0].tags.items()):
            if kind.distributed:
                nodes.append(Node(f"{self.label(False)}gather({name}) -> last_{name}"))
                name = f"last_{name}"
            nodes.append(self.note(name))
        for element, name in self.scalars.items():
            module = "note_flag" if element == "bool" else "note_value"
            nodes.append(Node(f'{self.label(False)}py.{module}("{name}", 0, {name})'))
        return nodes

    def fresh_scalars(self) -> list[Node]:
        """Declare scalars of every type that are written from here on."""
        self.names += 1
        self.scalars = {element: f"s_{element}_{self.names}" for element in FIRST}
        return [Node(f"var {element} {name}{FIRST[element]}") for element, name in self.scalars.items()]

    def segment_body(self) -> list[Node]:
        """The body of `segment seg(x, y, s) -> (z, w)`."""
        kept, self.budget, self.in_segment = self.budget, 4, True
        x, y = Kind("block(0)", "N, M"), Kind("root", "N, M")
        self.scopes = [Scope({"x": x, "y": y}, closed=True), Scope()]
        body = [*self.fresh_scalars(), Node(f"{self.scalars['f64']} = s")]
        while self.budget > 0:
            body += self.statement(parallel=False, depth=1)
        body.append(Node("PARALLEL over P", [Node(f"{self.label(True)}k.step(x, s) -> z")]))
        body.append(Node(f"{self.label(False)}k.bump(y2, s)"))
        body.insert(0, Node(f"{self.label(False)}k.step(y, s) -> y2"))
        body.append(Node(f"{self.label(False)}k.add(y, y2) -> w"))
        self.scopes, self.budget, self.segment, self.in_segment = [Scope()], kept, True, False
        return body

    # Names.

    def new(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def label(self, parallel: bool) -> str:
        labels = self.parallel_labels if parallel else self.root_labels
        return self.draw(st.sampled_from([*(f"{label} " for label in labels), ""]))

    def expression(self, texts: tuple[str, ...]) -> str:
        """Choose an expression, and what stands for its counter and scalars."""
        text = self.draw(st.sampled_from(texts))
        return text.format(k=self.draw(st.sampled_from([*self.counters, "1"])), **self.scalars)

    def pick(self, wanted: Callable[[Kind], bool], writable: bool = False) -> tuple[str, Kind] | None:
        """Choose a tag that can be seen; with `writable` one that may be written here."""
        found: dict[str, Kind] = {}
        for scope in reversed(self.scopes):
            found = scope.tags | found
            if writable and scope.closed:
                break
        names = [name for name, kind in found.items() if wanted(kind)]
        if not names:
            return None
        name = self.draw(st.sampled_from(names))
        return name, found[name]

    def output(self, kind: Kind) -> str:
        """Choose a name for a result: one that there is already, or a new one."""
        known = self.pick(lambda k: k == kind, writable=True)
        if known is not None and self.draw(st.booleans()):
            return known[0]
        name = self.new("t")
        self.scopes[-1].tags[name] = kind
        return name

    def real(self, parallel: bool) -> str:
        """A real expression."""
        partial = [name for scope in self.scopes for name in scope.partial] if parallel else []
        return self.expression((*REALS, *partial))

    # Statements.

    def statement(self, *, parallel: bool, depth: int) -> list[Node]:
        self.budget -= 1
        simple = self.parallel_choices() if parallel else self.root_choices()
        blocks = [self.branch, self.for_loop, self.while_loop, self.flight] if depth < 3 else []
        if depth < 3:
            blocks += [self.own_branch, self.own_while] if parallel else [self.parallel] * 3
        if depth < 3 and self.counters:
            blocks += [self.leave]
        chosen = self.draw(st.sampled_from([*simple, *blocks]))
        return chosen(parallel, depth) if chosen in blocks else chosen()

    def root_choices(self) -> list[Callable[[], list[Node]]]:
        choices = [
            self.fill,
            self.scatter,
            self.gather,
            self.replicate,
            self.turned,
            self.noted,
            self.swap,
            self.assign,
        ]
        choices += [self.whole_scalar, self.whole_copy, self.gain, self.zero_root, self.gather]
        choices += [lambda: self.compute(False)] * 5
        return choices + ([self.use_segment] * 2 if self.segment else [])

    def parallel_choices(self) -> list[Callable[[], list[Node]]]:
        choices = [
            self.exchange,
            self.exchange,
            self.reduce,
            self.reduce,
            self.partial,
            self.make,
            self.zero_piece,
        ]
        return choices + [lambda: self.compute(True)] * 6

    def compute(self, parallel: bool) -> list[Node]:
        """A module on arrays of one kind."""
        source = self.pick(lambda k: k.distributed if parallel else k.place == "root")
        if source is None:
            return []
        a, kind = source
        other = self.pick(lambda k: k == kind) or source
        changed = self.pick(lambda k: k == kind, writable=True)
        label, s = self.label(parallel), self.real(parallel)
        texts = [
            lambda: f"k.step({a}, {s}) -> {self.output(kind)}",
            lambda: f"k.add({a}, {other[0]}) -> {self.output(kind)}",
            lambda: f"py.pystep({a}, {s}) -> {self.output(kind)}",
            lambda: f"py.pyback({a}) -> {self.output(kind)}, {self.new('u')}",
            lambda: f"k.split({a}) -> {self.output(kind)}, {self.output(kind)}",
            lambda: f"copy({a}) -> {self.output(kind)}",
            lambda: f"py.pykeep({a}) -> {self.new('u')}",
        ]
        if changed is not None:
            texts += [lambda: f"k.bump({changed[0]}, {s})", lambda: f"py.pybump({changed[0]})"]
            texts += [lambda: f"k.mix({a}, {changed[0]})", lambda: f"k.bump({changed[0]}, {s})"]
        everywhere = self.pick(lambda k: k.place == "replicated")
        if everywhere is not None:
            texts += [lambda: f"k.blend({a}, {everywhere[0]}) -> {self.output(kind)}"] * 3
        return [Node(label + self.draw(st.sampled_from(texts))())]

    def fill(self) -> list[Node]:
        shape = self.draw(st.sampled_from(["N, M", "N, M", "M, N"]))
        seed = self.expression(INTEGERS)
        return [Node(f"{self.label(False)}k.fill({seed}, {shape}) -> {self.output(Kind('root', shape))}")]

    def scatter(self) -> list[Node]:
        source = self.pick(lambda k: k.place == "root")
        if source is None:
            return []
        block = self.draw(st.sampled_from(self.blocks))
        name = self.output(Kind(block, source[1].shape))
        return [Node(f"{self.label(False)}scatter({source[0]}) -> {name} @ {block}")]

    def gather(self) -> list[Node]:
        source = self.pick(lambda k: k.distributed)
        if source is None:
            return []
        name = self.output(Kind("root", source[1].shape))
        return [Node(f"{self.label(False)}gather({source[0]}) -> {name}")]

    def replicate(self) -> list[Node]:
        source = self.pick(lambda k: k.place == "root")
        if source is None:
            return []
        name = self.output(Kind("replicated", source[1].shape))
        return [Node(f"{self.label(False)}replicate({source[0]}) -> {name} @ replicated")]

    def turned(self) -> list[Node]:
        source = self.pick(lambda k: k.place == "root")
        if source is None:
            return []
        module = self.draw(st.sampled_from(["k.turn", "transpose"]))
        name = self.output(Kind("root", other_shape(source[1].shape)))
        return [Node(f"{self.label(False)}{module}({source[0]}) -> {name}")]

    def exchange(self) -> list[Node]:
        source = self.pick(lambda k: k.distributed)
        if source is None:
            return []
        block = self.draw(st.sampled_from(self.blocks))
        operation = self.draw(st.sampled_from(["transpose", "redistribute"]))
        shape = other_shape(source[1].shape) if operation == "transpose" else source[1].shape
        name = self.output(Kind(block, shape))
        return [Node(f"{self.label(True)}{operation}({source[0]}) -> {name} @ {block}")]

    def noted(self) -> list[Node]:
        # Not in the segment: iterations in flight may use it side by side, in any order.
        found = self.pick(lambda k: not k.distributed) if not self.in_segment else None
        return [self.note(found[0])] if found is not None else []

    def note(self, name: str) -> Node:
        key = " + ".join([f"{counter} * {10**i}" for i, counter in enumerate(self.counters)] or ["0"])
        return Node(f'{self.label(False)}py.note("{self.new("n")}", {key}, {name})')

    def swap(self) -> list[Node]:
        first = self.pick(lambda k: True, writable=True)
        second = first and self.pick(lambda k: k == first[1], writable=True)
        return [Node(f"swap({first[0]}, {second[0]})")] if first and second and first != second else []

    def assign(self) -> list[Node]:
        kinds = [("i64", INTEGERS), ("f64", REALS), ("bool", CONDITIONS), ("f64", INTEGERS)]
        element, texts = self.draw(st.sampled_from(kinds))
        return [Node(f"{self.scalars[element]} = {self.expression(texts)}")]

    def whole_scalar(self) -> list[Node]:
        source = self.pick(lambda k: k.place == "root")
        module, target = self.draw(st.sampled_from([("total", "f64"), ("count", "i64"), ("even", "bool")]))
        return (
            [Node(f"{self.label(False)}k.{module}({source[0]}) -> {self.scalars[target]}")] if source else []
        )

    def gain(self) -> list[Node]:
        source = self.pick(lambda k: k.place == "root")
        return [Node(f"{self.label(False)}k.gain({source[0]}, {self.scalars['f64']})")] if source else []

    def whole_copy(self) -> list[Node]:
        source = self.pick(lambda k: k.place == "root")
        return [Node(f"{self.label(False)}copy({source[0]}) -> {self.output(source[1])}")] if source else []

    def zero_root(self) -> list[Node]:
        goal = self.pick(lambda k: k.place == "root", writable=True)
        return [Node(f"{self.label(False)}zero() -> {goal[0]}")] if goal else []

    def zero_piece(self) -> list[Node]:
        goal = self.pick(lambda k: k.distributed, writable=True)
        return [Node(f"{self.label(True)}zero() -> {goal[0]}")] if goal else []

    def make(self) -> list[Node]:
        goal = self.pick(lambda k: k.distributed, writable=True)
        seed = self.expression(INTEGERS)
        return [Node(f"{self.label(True)}k.make({seed}) -> {goal[0]}")] if goal else []

    def reduce(self) -> list[Node]:
        source = self.pick(lambda k: k.distributed)
        module = self.draw(st.sampled_from(sorted(REDUCED)))
        element, operations = REDUCED[module]
        target = self.scalars[element]
        operation, own = self.draw(st.sampled_from(operations)), self.new("r")
        if source is None:
            return []
        return [Node(f"{self.label(True)}k.{module}({source[0]}) -> {own} reduce {target}({operation})")]

    def partial(self) -> list[Node]:
        source = self.pick(lambda k: k.distributed)
        if source is None:
            return []
        name = self.new("q")
        nodes = [Node(f"{self.label(True)}k.total({source[0]}) -> {name}")]
        if self.draw(st.booleans()):
            nodes.append(Node(f"let {name}l = {name} * 2 + {self.scalars['f64']}"))
            name += "l"
        self.scopes[-1].partial.append(name)
        return nodes

    def use_segment(self) -> list[Node]:
        x = self.pick(lambda k: k == Kind("block(0)", "N, M"))
        y = self.pick(lambda k: k == Kind("root", "N, M"))
        if x is None or y is None:
            return []
        z, w = self.output(x[1]), self.output(y[1])
        return [Node(f"seg({x[0]}, {y[0]}, {self.real(False)}) -> {z}, {w}")]

    # Blocks.

    def inside(self, parallel: bool, depth: int, counter: str = "", closed: bool = False) -> list[Node]:
        self.scopes.append(Scope(closed=closed))
        self.counters += [counter] * bool(counter)
        nodes: list[Node] = []
        outer = self.scalars
        if closed and not parallel:
            nodes += self.fresh_scalars()
        for _ in range(self.draw(st.integers(1, 5))):
            nodes += self.statement(parallel=parallel, depth=depth + 1)
        if closed and not parallel:
            nodes += self.noted()
        if counter:
            self.counters.remove(counter)
        self.scopes.pop()
        self.scalars = outer
        return nodes

    def branch(self, parallel: bool, depth: int) -> list[Node]:
        head = f"if {self.expression(CONDITIONS)}"
        then = self.inside(parallel, depth)
        return [Node(head, then, self.inside(parallel, depth) if self.draw(st.booleans()) else [])]

    def own_branch(self, parallel: bool, depth: int) -> list[Node]:
        """A branch by which each partition decides for itself."""
        own = [name for scope in self.scopes for name in scope.partial] or ["0.0"]
        condition = self.draw(st.sampled_from(OWN_CONDITIONS)).format(
            own=self.draw(st.sampled_from(own)), **self.scalars
        )
        return [Node(f"if {condition}", self.inside(True, depth), self.inside(True, depth))]

    def own_while(self, parallel: bool, depth: int) -> list[Node]:
        """A loop that each partition leaves when it is done."""
        source = self.pick(lambda k: k.distributed)
        if source is None:
            return []
        own, total = self.new("q"), f"{self.label(True)}k.total({source[0]})"
        body = [*self.inside(True, depth), Node(f"{total} -> {own}")]
        return [Node(f"{total} -> {own}"), Node(f"while {own} % 3.0 > 0.5 max 3", body)]

    def leave(self, parallel: bool, depth: int) -> list[Node]:
        """A branch that may leave the loop around it."""
        head = f"if {self.expression(CONDITIONS)}"
        ways = [[*self.inside(parallel, depth), Node("break")], self.inside(parallel, depth)]
        ways[1] *= self.draw(st.booleans())
        return [Node(head, *self.draw(st.permutations(ways)))]

    def for_loop(self, parallel: bool, depth: int) -> list[Node]:
        counter = self.new("k")
        head = f"for {counter} in {self.expression(BOUNDS)}"
        return [Node(head, self.inside(parallel, depth, counter))]

    def while_loop(self, parallel: bool, depth: int) -> list[Node]:
        if parallel:
            return self.reduced_while(depth)
        rounds = self.new("w")
        condition = self.expression(CONDITIONS)
        body = [*self.inside(parallel, depth, rounds), Node(f"{rounds} = {rounds} + 1")]
        return [
            Node(f"var i64 {rounds} = 0"),
            Node(f"while {rounds} < 3 and ({condition} or {rounds} < 1) max 2", body),
        ]

    def reduced_while(self, depth: int) -> list[Node]:
        """A loop inside PARALLEL that goes on as long as what it reduces says so."""
        source = self.pick(lambda k: k.distributed)
        if source is None:
            return []
        module, element, condition = self.draw(st.sampled_from(WHILES))
        target, own = self.scalars[element], self.new("r")
        operation = self.draw(st.sampled_from(REDUCED[module][1]))
        body = self.inside(True, depth)
        body.append(Node(f"{self.label(True)}k.{module}({source[0]}) -> {own} reduce {target}({operation})"))
        return [Node(f"while {condition.format(target)} max {self.draw(st.integers(0, 3))}", body)]

    def flight(self, parallel: bool, depth: int) -> list[Node]:
        counter, many = self.new("k"), self.expression(("1", "2", "3", "{i64} % 3 + 1"))
        head = f"for {counter} in {self.expression(FLIGHTS)} inflight {many}"
        return [Node(head, self.inside(parallel, depth, counter, closed=True))]

    def parallel(self, parallel: bool, depth: int) -> list[Node]:
        return [Node("PARALLEL over P", self.inside(True, depth))]


def other_shape(shape: str) -> str:
    """The shape with its axes exchanged."""
    return "M, N" if shape == "N, M" else "N, M"


def repaired(
    head: list[str], segment: list[Node] | None, body: list[Node], path: Path, element: str
) -> Written:
    """Cut out what the checker refuses until it refuses nothing."""
    whole = [Node("program random", body)]
    if segment is not None:
        array = f"{element}[N, M]"
        title = f"segment seg({array} @ block(0) x, {array} y, f64 s) -> ({array} @ block(0) z, {array} w)"
        whole.insert(0, Node(title, segment))
    while True:
        lines = [(line, None) for line in head]
        lines += [entry for node in whole for entry in printed(node, "")]
        text = "".join(f"{line}\n" for line, _ in lines)
        result = check_program(text, str(path), modules=FINDER)
        wrong = {d.span.line for d in result.diagnostics if d.severity is Severity.ERROR}
        if result.program is not None and not wrong:
            return Written(text, result.program)
        culprits = {id(lines[line - 1][1]) for line in wrong}
        assert not {id(None)} & culprits, text
        for node in whole:
            prune(node, culprits)


def printed(node: Node, indent: str) -> Iterator[tuple[str, Node | None]]:
    """Lines of a statement, each with the statement that it belongs to."""
    if node.body is None:
        yield indent + node.head, node
        return
    yield f"{indent}{node.head} {{", node
    for inner in node.body:
        yield from printed(inner, indent + "  ")
    if node.otherwise:
        yield indent + "} else {", node
        for inner in node.otherwise:
            yield from printed(inner, indent + "  ")
    yield indent + "}", node


def prune(node: Node, culprits: set[Any]) -> None:
    """Cut out the statements with these identities."""
    for body in (node.body, node.otherwise):
        if body is not None:
            body[:] = [inner for inner in body if id(inner) not in culprits]
            for inner in body:
                prune(inner, culprits)
