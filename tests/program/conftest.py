"""Programs to draw: the three of the language's description, made by hand, and random ones of any size."""

import random
from collections.abc import Callable

import pytest
from pse_testing.program_composer import BLOCK, HALO, ROOT, Composer

from pse.language.check._ir import Assign, CallSite, If, ResolvedProgram, Statement, Swap, While
from pse.language.types._expressions import Binary, Name, Number


def fft2d() -> ResolvedProgram:
    c = Composer()
    c.array("image", "spectrum", over=ROOT)
    c.array("rows", "cols", "result")
    c.scalar("k", counter=True)
    body = (
        c.call("load_frame", "thread_A", makes=("image",), given=(Name("k"), Name("N"))),
        c.call("scatter", "thread_A", "image", makes=("rows",)),
        c.parallel(
            c.call("fft.rows", "thread_B", changes=("rows",), parallel=True),
            c.call("transpose", "thread_C", "rows", makes=("cols",), parallel=True),
            c.call("fft.rows", "thread_B", changes=("cols",), parallel=True),
            c.call("transpose", "thread_C", "cols", makes=("result",), parallel=True),
        ),
        c.call("gather", "thread_A", "result", makes=("spectrum",)),
        c.call("save_frame", "thread_A", "spectrum", given=(Name("k"),)),
    )
    return c.program("fft2d", c.loop("k", "frames", *body, inflight=3))


def heat() -> ResolvedProgram:
    c = Composer()
    c.array("u", "v", over=HALO)
    c.array("field", over=ROOT)
    c.scalar("residual", "r")
    start = c.parallel(c.call("init", "thread_B", makes=("u",), parallel=True))
    step = c.parallel(
        c.call("exchange", "thread_C", changes=("u",), parallel=True),
        c.call("step", "thread_B", "u", makes=("v", "r"), reduces={"r": ("residual", "max")}, parallel=True),
    )
    return c.program(
        "heat",
        Assign("residual", Number(1e30), c.span()),
        start,
        While(
            Binary(">", Name("residual"), Name("tol")),
            Number(100000),
            (step, Swap("u", "v", c.span())),
            c.span(),
        ),
        c.call("gather", "thread_A", "u", makes=("field",)),
        c.call("save", "thread_A", "field"),
    )


def nbody() -> ResolvedProgram:
    c = Composer()
    c.array("x0", "v0", over=ROOT)
    c.array("xm", "vel", "acc")
    c.scalar("total", "e")
    c.scalar("s", counter=True)

    def ring(use: int) -> tuple[Statement, ...]:
        visiting, following, hop = f"ring#{use}.visiting", f"ring#{use}.next", f"ring#{use}.hop"
        c.array(visiting, shown="visiting")
        c.array(following, shown="next")
        c.scalar(hop, counter=True, shown="hop")
        both = c.parallel(
            c.call("shift", "thread_C", visiting, makes=(following,), parallel=True),
            c.call("forces", "thread_B", "xm", visiting, changes=("acc",), parallel=True),
        )
        return (
            c.call("copy", None, "xm", makes=(visiting,)),
            c.call("zero", None, makes=("acc",)),
            c.loop(hop, "P", both, Swap(visiting, following, c.span())),
        )

    def kick() -> CallSite:
        return c.call("kick", "thread_B", "acc", changes=("vel",), parallel=True)

    start = (
        c.call("plummer", "thread_A", makes=("x0", "v0")),
        c.call("scatter", "thread_A", "x0", makes=("xm",)),
        c.call("scatter", "thread_A", "v0", makes=("vel",)),
        *ring(1),
    )
    steps = (
        c.parallel(kick(), c.call("drift", "thread_B", "vel", changes=("xm",), parallel=True)),
        *ring(2),
        c.parallel(kick()),
    )
    energy = c.call(
        "energy", "thread_B", "xm", "vel", makes=("e",), reduces={"e": ("total", "sum")}, parallel=True
    )
    report = (c.parallel(energy), c.call("print", "thread_A", given=(Name("s"), Name("total"))))
    every = Binary("==", Binary("%", Name("s"), Number(100)), Number(0))
    loop = c.loop("s", "steps", *steps, If(every, report, (), c.span()))
    return c.program("nbody", Assign("total", Number(0.0), c.span()), *start, loop)


class RandomProgram:
    """A program of so many calls with loops, branches and PARALLEL around some of them."""

    def __init__(self, calls: int, seed: int) -> None:
        self.random, self.composer, self.known = random.Random(seed), Composer(), []
        self.resolved = self.composer.program("random", *self.statements(calls, False, 0))

    def statements(self, calls: int, parallel: bool, depth: int) -> tuple[Statement, ...]:
        made: list[Statement] = []
        while calls > 0:
            inner = 1
            if depth < 3 and calls > 2 and self.random.random() < 0.3:
                inner = self.random.randint(2, min(calls, 9))
                made.append(self.compound(inner, parallel, depth + 1))
            else:
                made.append(self.call(parallel))
            calls -= inner
        return tuple(made)

    def call(self, parallel: bool) -> CallSite:
        c = self.composer
        recent = self.known[-8:]
        reads = self.random.sample(recent, min(len(recent), self.random.randint(1, 3)))
        changes = (reads.pop(),) if reads and self.random.random() < 0.3 else ()
        name = f"t{len(c.tags)}"
        c.array(name, over=self.random.choice([BLOCK, ROOT]))
        self.known.append(name)
        labels = ["thread_B", "thread_C", "thread_D"] if parallel else ["thread_A", "thread_io"]
        thread = self.random.choice(labels)
        return c.call(f"work_{name}", thread, *reads, changes=changes, makes=(name,), parallel=parallel)

    def compound(self, calls: int, parallel: bool, depth: int) -> Statement:
        c, kind = self.composer, self.random.choice(["for", "if"] + ["parallel"] * (not parallel))
        if kind == "parallel":
            return c.parallel(*self.statements(calls, True, depth))
        if kind == "for":
            counter = f"k{len(c.tags)}"
            c.scalar(counter, counter=True)
            return c.loop(counter, "n", *self.statements(calls, parallel, depth))
        half = calls // 2
        then = self.statements(calls - half, parallel, depth)
        return If(Binary(">", Name("n"), Number(3)), then, self.statements(half, parallel, depth), c.span())


@pytest.fixture(scope="session")
def samples() -> dict[str, ResolvedProgram]:
    """The three programs of the language's description."""
    return {"fft2d": fft2d(), "heat": heat(), "nbody": nbody()}


@pytest.fixture(scope="session")
def random_program() -> Callable[[int, int], ResolvedProgram]:
    """Make a program of so many calls from a seed."""
    return lambda calls, seed: RandomProgram(calls, seed).resolved


@pytest.fixture(scope="session")
def nested() -> Callable[[int], ResolvedProgram]:
    """Make a program of one call in so many loops."""

    def make(depth: int) -> ResolvedProgram:
        c = Composer()
        c.array("a")
        body: Statement = c.call("make", None, makes=("a",))
        for level in range(depth):
            c.scalar(f"k{level}", counter=True)
            body = c.loop(f"k{level}", "n", body)
        return c.program("nested", body)

    return make
