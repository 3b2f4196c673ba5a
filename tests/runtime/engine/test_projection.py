"""What a rank's plan says: who hands what to whom, how deep queues are, and what is refused by name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pse_testing.harness import compile_program, load_once, make_job

from pse._abi.plan import TABLES, CallKind, Operation
from pse.runtime.plan import _plan_builder as plan_builder
from pse.runtime.plan._projection import project
from pse.runtime.plan._tables import Tables

PROGRAMS = Path(__file__).parents[1] / "programs"
HEAD = """coven 1
import "kernels.c" as k
param i64 N = 8
param i64 M = 4
partition P = {count}
program sample {{
"""
CHAIN = """
  thread_A k.fill(1, N, M) -> a
  thread_A scatter(a) -> b @ block(0)
  PARALLEL over P { thread_B k.step(b, 1.0) -> c }
  PARALLEL over P { thread_C k.bump(c, 1.0) }
  thread_D gather(c) -> d
  thread_A k.bump(d, 1.0)
"""
# Its ranks on two processors: A and D at the root, then B and C of each processor.
A, D, B0, C0, B1, C1 = range(6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Modules that are compiled once for all tests."""
    folder = tmp_path_factory.mktemp("projection")
    text = (PROGRAMS / "kernels.c").read_text().replace("ELEMENT", "f64").replace("CTYPE", "double")
    (folder / "kernels.c").write_text(text)
    return folder


@pytest.fixture
def plan(folder, monkeypatch):
    """Project a program on a rank; gives its tables: ``plan(body, rank, processors=1)``."""
    kept = {}

    class Watched(Tables):
        """Tables that can be looked at after they are frozen."""

        def plan(self, *arguments):
            kept.update(self.rows)
            return super().plan(*arguments)

    monkeypatch.setattr(plan_builder, "Tables", Watched)

    def projected(body, rank, processors=1, count="procs", **how):
        text = HEAD.format(count=count) + body + "\n}\n"
        program = compile_program(text, folder / "sample.coven")
        project(make_job(program, processors, **how), rank, load_once)
        return {TABLES[kind]: [row._asdict() for row in rows] for kind, rows in kept.items()}

    return projected


def kinds(tables):
    return [CallKind(call["kind"]) for call in tables["calls"]]


def operations(tables):
    return [Operation(row["operation"]) for row in tables["instructions"]]


@pytest.mark.parametrize(
    ("rank", "peers"), [(A, [B0, B1]), (B0, [C0]), (B1, [C1]), (C0, [D]), (C1, [D]), (D, [A])]
)
def test_a_value_goes_to_those_who_read_it_next(plan, rank, peers):
    assert [push["rank"] for push in plan(CHAIN, rank, 2)["pushes"]] == peers


def test_everyone_calls_only_what_is_theirs(plan):
    assert kinds(plan(CHAIN, A, 2)) == [CallKind.NATIVE, CallKind.PUBLISH, CallKind.NATIVE]
    assert kinds(plan(CHAIN, B1, 2)) == kinds(plan(CHAIN, C0, 2)) == [CallKind.NATIVE]
    assert kinds(plan(CHAIN, D, 2)) == [CallKind.ASSEMBLE]


def test_a_root_thread_expects_a_piece_of_every_partition(plan):
    rows = plan(CHAIN, D, 2)["instructions"]
    assert [row["c"] for row in rows if row["operation"] == Operation.EXPECT] == [2]


def test_the_readers_thread_sets_the_depth_of_a_queue(plan):
    depths = {"thread_A": 1, "thread_B": 2, "thread_C": 3, "thread_D": 4}.__getitem__
    found = [plan(CHAIN, rank, 2, depths=depths)["pushes"][0]["depth"] for rank in (A, B0, C0, D)]
    assert found == [2, 3, 4, 1]


def test_pieces_that_are_gathered_on_one_node_share_a_block(plan):
    body = CHAIN.replace("PARALLEL over P { thread_C k.bump(c, 1.0) }", "")
    second = 3
    (made,) = [row for row in plan(body, second, 2, local_limit=1)["arguments"] if row["parts"]]
    assert (made["parts"], made["share_bytes"], made["share_offset"]) == (2, 8 * 4 * 8, 4 * 4 * 8)


@pytest.mark.parametrize(
    "how",
    [{"local_limit": 1 << 20}, {"shared_memory": False}, {"nodes": lambda rank: rank % 2}],
    ids=["small", "messages", "two nodes"],
)
def test_pieces_that_cannot_share_a_block_do_not(plan, how):
    body = CHAIN.replace("PARALLEL over P { thread_C k.bump(c, 1.0) }", "")
    assert not any(row["parts"] for row in plan(body, 3, 2, **how)["arguments"])


LOOP = """
  thread_A k.fill(1, N, M) -> a
  thread_A copy(a) -> b
  for j in 0 .. 100 { thread_A k.bump(a, 1.0) }
  thread_B k.total(READ) -> s
"""


def test_a_thread_follows_a_loop_only_if_it_needs_something_of_it(plan):
    inside = LOOP.replace("k.bump(a, 1.0)", "k.bump(a, 1.0) thread_B k.total(a) -> s")
    assert Operation.JUMP in operations(plan(inside.replace("READ", "a"), 1))
    assert Operation.JUMP not in operations(plan(LOOP.replace("READ", "b"), 1))
    # The last round's value comes where the loop ends.
    assert Operation.JUMP not in operations(plan(LOOP.replace("READ", "a"), 1))


EDGES = """
import sys
from pse.program import number_statements
from pse.language import check_program
from pse.modules import Finder
from pse.runtime.plan._edges import number_edges
program = check_program(open(sys.argv[1]).read(), sys.argv[1], modules=Finder()).program
print(*number_edges(number_statements(program), program.tags, {"P": 2, "procs": 2}).numbered(), sep="\\n")
"""


def test_every_process_numbers_edges_alike():
    program = str(Path(__file__).parents[1] / "programs" / "checkpointed.coven")
    found = {
        subprocess.run(
            [sys.executable, "-c", EDGES, program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(1, 5)
    }
    assert len(found) == 1
    assert "Role.EXIT" in found.pop()
