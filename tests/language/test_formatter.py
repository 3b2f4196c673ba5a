"""The canonical form, with comments in all the odd places."""

import pytest

from pse.language import format_program

ODD = """#!/usr/bin/env pse
coven   1; // one
# head


import "x.c"{a,b as c} // imp
import "y.c"   as   // odd
  y
param i64 N=1024 where N%procs==0
options{shared_memory=on arena=auto;queue_depth thread_C=4}
options {
   local_limit = 64KiB // sz
   // last

}
program p{ // open

  // first
  thread_A load(k,// key
     N) -> img@block( 0 ) // res
  for k in 0..N inflight 3{f(-k,- 2*k)->x;g(x)}
  if a==1{f()}else if b<2 {g()}else{
   h() }   // end if
  while x>-1 max (3) {
  }


  PARALLEL over P{}
  x = not true and (a or b) ** -2 ; ; // tail
  // last
} // end
// eof
"""

NEAT = """#!/usr/bin/env pse
coven 1  // one
# head

import "x.c" { a, b as c }  // imp
import "y.c" as   // odd
    y
param i64 N = 1024 where N % procs == 0
options { shared_memory = on  arena = auto  queue_depth thread_C = 4 }
options {
  local_limit = 64KiB  // sz
  // last
}
program p {  // open

  // first
  thread_A load(k,  // key
      N) -> img @ block(0)  // res
  for k in 0 .. N inflight 3 { f(-k, -2 * k) -> x  g(x) }
  if a == 1 { f() } else if b < 2 { g() } else {
    h()
  }   // end if
  while x > -1 max (3) { }

  PARALLEL over P { }
  x = not true and (a or b) ** -2  // tail
  // last
}  // end
// eof
"""


def test_comments_in_odd_places_stay_and_formatting_again_changes_nothing():
    assert format_program(ODD, "p") == NEAT
    assert format_program(NEAT, "p") == NEAT


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("program p{f(a,b=1)->x@block(0,1)halo(1)}", "program p { f(a, b = 1) -> x @ block(0, 1) halo(1) }"),
        ("program p{f(x)->e reduce t(max)}", "program p { f(x) -> e reduce t(max) }"),
        ("program p{\nf()\n}", "program p {\n  f()\n}"),
        ("program p{for k in 0..3{f()}}", "program p {\n  for k in 0 .. 3 { f() }\n}"),
        ("program p{\nf(1,\n  2)\n}", "program p {\n  f(1, 2)\n}"),
        ("segment s(f64[N]@block(0)a)->(f64 b){\n}", "segment s(f64[N] @ block(0) a) -> (f64 b) { }"),
        ("program p { var f64[N,M]u }", "program p { var f64[N, M] u }"),
        ("program p { let y=a.b(x) }", "program p { let y = a.b(x) }"),
        ("program p { k . f ( x ) }", "program p { k.f(x) }"),
    ],
)
def test_blanks_are_set_around_operators_and_brackets(source, expected):
    assert format_program(f"coven 1\n{source}\n", "p") == f"coven 1\n{expected}\n"


def test_a_block_that_does_not_fit_is_opened():
    calls = " ".join(f"function_with_a_name_{i}(argument)" for i in range(4))
    text = f"coven 1\nprogram p {{\nPARALLEL {{ {calls} }}\n}}\n"
    lines = format_program(text, "p").split("\n")
    assert lines[2:5] == [
        "  PARALLEL {",
        "    function_with_a_name_0(argument)",
        "    function_with_a_name_1(argument)",
    ]


def test_a_long_statement_keeps_its_breaks():
    text = f"coven 1\nprogram p {{\n  f({'a' * 60},\n        {'b' * 60})\n}}\n"
    once = format_program(text, "p")
    assert once == f"coven 1\nprogram p {{\n  f({'a' * 60},\n      {'b' * 60})\n}}\n"
    assert format_program(once, "p") == once
