"""Hand-overs at the exits of loops: which tags wait until a loop ends, who hands them over, and to whom."""

from pathlib import Path

import pytest

from pse.language import check_program
from pse.modules import Finder
from pse.program import Liveness, ThreadKey, analyse_run_liveness

MODULES = """
#@ coven module make(in f64 start, out f64 y[n])
def make(start, y): ...
#@ coven module bump(in f64 x[n], out f64 y[n])
def bump(x, y): ...
#@ coven module change(inout f64 x[n])
def change(x): ...
#@ coven module look(in f64 x[n])
def look(x): ...
#@ coven module norm(in f64 x[n], out f64 r)
def norm(x): ...
"""
HEAD = """coven 1
import "work.py" {{ make, bump, change, look, norm }}
param i64 N = 8
partition P = procs
program loops {{
  var f64[N * P] @ block(0) u
  var f64[N * P] @ block(0) v
  var f64[N] a
  var f64[N] b
  PARALLEL over P {{ thread_B make(1.0) -> u }}
  thread_A make(1.0) -> a
  {body}
}}
"""
A, D, E = (ThreadKey("root", label) for label in ("thread_A", "thread_D", "thread_E"))
B, C = ThreadKey("parallel", "thread_B"), ThreadKey("parallel", "thread_C")


@pytest.fixture
def solved(tmp_path: Path):
    """Liveness of a program with such a body."""
    (tmp_path / "work.py").write_text(MODULES)

    def solve(body: str) -> Liveness:
        checked = check_program(HEAD.format(body=body), str(tmp_path / "loops.coven"), modules=Finder())
        assert checked.program is not None, checked.diagnostics
        return analyse_run_liveness(checked.program)

    return solve


def exits(live: Liveness) -> list[tuple[str, ThreadKey, set[ThreadKey]]]:
    return [(e.tag, e.maker, set(e.readers)) for handed in live.exits.values() for e in handed]


def follows(live: Liveness, key: ThreadKey) -> set[str]:
    """What a thread takes part in, by kind of statement."""
    return {type(s.statement).__name__ for s in live.walk.steps if live.participates(key, s.id)}


def test_what_is_swapped_in_a_loop_and_gathered_after_it_is_handed_over_once(solved):
    live = solved("""
  for k in 0 .. 9 { PARALLEL over P { thread_B bump(u) -> v }
    swap(u, v) }
  thread_D gather(u) -> f @ root
  thread_D look(f)""")
    assert exits(live) == [("u", B, {D})]
    assert "For" not in follows(live, D)


def test_who_changes_it_last_hands_it_over(solved):
    body = """
  for k in 0 .. 9 { PARALLEL over P { thread_B change(u)
      thread_C change(u) } }
  thread_D gather(u) -> f @ root"""
    assert exits(solved(body)) == [("u", C, {D})]


def test_nobody_hands_over_what_either_of_two_may_have_made(solved):
    body = """
  for k in 0 .. 9 { thread_A make(2.0) -> a
    thread_E make(3.0) -> b
    thread_F look(a)
    thread_F look(b)
    if k < 5 { swap(a, b) } }
  thread_D look(a)"""
    assert exits(solved(body)) == []


def test_who_reads_it_in_the_loop_gets_it_there(solved):
    live = solved("""
  for k in 0 .. 9 { thread_A change(a)
    thread_D look(a) }
  thread_D look(a)
  thread_E look(a)""")
    assert exits(live) == [("a", A, {E})]


def test_of_loops_in_loops_the_outermost_hands_over_what_none_reads(solved):
    live = solved("""
  for k in 0 .. 9 { for j in 0 .. 9 { thread_A change(a) } }
  thread_D look(a)""")
    ((outer, (handed,)),) = live.exits.items()
    assert handed.readers == {D}
    assert outer == min(s.id for s in live.walk.steps if type(s.statement).__name__ == "For")


def test_of_loops_in_loops_the_inner_one_hands_over_what_the_outer_one_reads(solved):
    live = solved("""
  for k in 0 .. 9 { for j in 0 .. 9 { thread_A change(a) }
    thread_D look(a) }""")
    ((inner, (handed,)),) = live.exits.items()
    assert handed.readers == {D}
    assert inner == max(s.id for s in live.walk.steps if type(s.statement).__name__ == "For")


def test_what_was_made_before_the_loop_is_not_handed_over_again(solved):
    body = """
  for k in 0 .. 9 { thread_A bump(a) -> b }
  thread_D look(a)"""
    assert exits(solved(body)) == []


def test_scalars_come_as_they_are_made(solved):
    body = """
  var f64 r = 1.0
  while r > 0.5 max 9 { PARALLEL over P { thread_B norm(u) -> q reduce r(max) } }
  thread_D make(r) -> b"""
    assert exits(solved(body)) == []


def test_a_loop_in_an_iteration_in_flight_has_an_exit_and_the_inflight_loop_none(solved):
    live = solved("""
  for k in 0 .. 9 inflight 2 { var f64[N] c
    thread_A make(1.0) -> c
    for j in 0 .. 9 { thread_A change(c) }
    thread_D look(c) }""")
    assert exits(live) == [("c", A, {D})]
