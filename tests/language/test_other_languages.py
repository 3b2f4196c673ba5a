"""What people write who come from Python, C, Fortran, Julia or Chapel: one error each, whose help leads on.

Each case is a text, the help of its only error, and the text after somebody has done what the help says.
"""

import pytest

from pse.language import check_program

HEAD = """coven 1
import "tools.c" as t
param i64 N = 4
partition P = procs
program p {
"""

IN_A_PROGRAM = [
    (
        "var f64 r\nprint(r)",
        "give it a value where it is declared:  var f64 r = 0.0",
        "var f64 r = 0.0\nprint(r)",
    ),
    (
        "var i64 n\nwhile n > 1 max 10 { n = n - 1 }",
        "give it a value where it is declared:  var i64 n = 0",
        "var i64 n = 0\nwhile n > 1 max 10 { n = n - 1 }",
    ),
    (
        "var bool b\nif b { print(1) }",
        "give it a value where it is declared:  var bool b = false",
        "var bool b = false\nif b { print(1) }",
    ),
    (
        "var string s\nprint(s)",
        'give it a value where it is declared:  var string s = ""',
        'var string s = ""\nprint(s)',
    ),
    (
        "var f64[4] x\nt.use(x)",
        "write it before, for example:  fill(0.0) -> x",
        "var f64[4] x\nfill(0.0) -> x\nt.use(x)",
    ),
    ("let n: i64 = 3\nprint(n)", "a `let` has the type of its value:  let n = 3", "let n = 3\nprint(n)"),
    (
        "var n: float = 3.0\nprint(n)",
        "the type stands before the name:  var f64 n = 3.0",
        "var f64 n = 3.0\nprint(n)",
    ),
    (
        "var x = 3.5\nprint(x)",
        "a variable is declared with its type:  var f64 x = 3.5",
        "var f64 x = 3.5\nprint(x)",
    ),
    ("var x f64 = 3.5\nprint(x)", "the type stands before the name:  var f64 x", "var f64 x = 3.5\nprint(x)"),
    ("let i64 n = 3\nprint(n)", "a `let` has the type of its value:  let n = 3", "let n = 3\nprint(n)"),
    (
        "let a, b = 3, 4\nprint(1)",
        "one `let` names one value:  let a = 0   let b = 0",
        "let a = 0   let b = 0\nprint(1)",
    ),
    ("LET n = 3\nprint(n)", "a new value is named with `let`:  let n = 3", "let n = 3\nprint(n)"),
    ("int n;\nprint(1)", "a variable is declared with `var`:  var i64 n = 0", "var i64 n = 0\nprint(1)"),
    (
        "real*8 x\nprint(1)",
        "a variable is declared with `var`:  var f64 x = 0.0",
        "var f64 x = 0.0\nprint(1)",
    ),
    ("integer :: n = 3\nprint(n)", "a new value is named with `let`:  let n = 3", "let n = 3\nprint(n)"),
    ("double x[N];\nprint(1)", "an array is declared with `var`:  var f64[N] x", "var f64[N] x\nprint(1)"),
    ("var f64 x(N)\nprint(1)", "the extents stand after the type:  var f64[N] x", "var f64[N] x\nprint(1)"),
    ("n := 3\nprint(n)", "write  let n = 3  for a new name, n = 3  for a variable", "let n = 3\nprint(n)"),
    (
        "x = 3\nprint(x)",
        "declare it:  let x = 3   or, to write it again:  var i64 x = 3",
        "let x = 3\nprint(x)",
    ),
    (
        "let a = b = 3\nprint(a)",
        "one statement names one value:  let b = 3   let a = b",
        "let b = 3   let a = b\nprint(a)",
    ),
    (
        "var i64 n = 3\nn += 2\nprint(n)",
        "write the name again:  n = n + 2",
        "var i64 n = 3\nn = n + 2\nprint(n)",
    ),
    (
        "var i64 n = 3\nn++\nprint(n)",
        "write the name again:  n = n + 1",
        "var i64 n = 3\nn = n + 1\nprint(n)",
    ),
    (
        "var i64 a = 1\nvar i64 b = 2\na, b = b, a\nprint(a + b)",
        "two tags change places by:  swap(a, b)",
        "var i64 a = 1\nvar i64 b = 2\nswap(a, b)\nprint(a + b)",
    ),
    (
        "print(3)\nreturn 0",
        "remove `return 0`: programs return nothing, segments write the outputs in their heads",
        "print(3)",
    ),
    (
        "let x = 3\nreturn x + 1",
        "remove `return x + 1`: programs return nothing, segments write the outputs in their heads",
        "let x = 3",
    ),
    ("exit(1)", "remove it: a program ends behind its last statement", ""),
    ("pass", "remove it: a block may be empty", ""),
    ("call print(1)", "remove it: a call begins with its module", "print(1)"),
    ("print", "a call has parentheses, with inputs or without:  print()", "print()"),
    ("print\nprint(1)", "write them, with inputs or without:  print()", "print()\nprint(1)"),
    ("begin\nprint(1)", "a block begins with `{`: write it instead of `begin`", "if N > 0 {\nprint(1) }"),
    (
        "for k in 0 to 5 { print(k) }",
        "write two dots instead of `to`; the upper bound is not reached:  for k in 0 .. 5",
        "for k in 0 .. 5 { print(k) }",
    ),
    (
        "for k = 0 to 5 { print(k) }",
        "write `in` instead of `=`:  for k in 0 .. 5",
        "for k in 0 .. 5 { print(k) }",
    ),
    (
        "for k in 0 until N { print(k) }",
        "write two dots instead of `until`; the upper bound is not reached:  for k in 0 .. N",
        "for k in 0 .. N { print(k) }",
    ),
    (
        "for k in 1..=5 { print(k) }",
        "the upper bound is not reached:  for k in 1 .. 5 + 1",
        "for k in 1 .. 5 + 1 { print(k) }",
    ),
    (
        "for k in 1:N { print(k) }",
        "a range is written with two dots:  for k in 1 .. N { … }",
        "for k in 1 .. N { print(k) }",
    ),
    (
        "for k in range(5):\n  print(k)",
        "a range is written with two dots:  for k in 0 .. 5 { … }",
        "for k in 0 .. 5 {\n  print(k) }",
    ),
    (
        "do i = 1, 10 { print(i) }",
        "write `for`, and the bound that is not reached:  for i in 1 .. 10 + 1 { … }",
        "for i in 1 .. 10 + 1 { print(i) }",
    ),
    (
        "do { print(1) } while (N > 2);",
        "a loop has its condition before its block:  while a > b max 1000 { … }",
        "while N > 2 max 1000 { print(1) }",
    ),
    (
        "forall k in 0 .. 5 { print(k) }",
        "loops count:  for k in 0 .. 4 { … }   what partitions do at a time stands in PARALLEL { … }",
        "for k in 0 .. 4 { print(k) }",
    ),
    (
        "for k in 0 .. 5; { print(k) }",
        "a block follows its head at once: remove the `;`",
        "for k in 0 .. 5 { print(k) }",
    ),
    (
        "for k in 0 .. 5 inflight = 3 { print(k) }",
        "write the number behind the word:  inflight 3",
        "for k in 0 .. 5 inflight 3 { print(k) }",
    ),
    (
        "while N > 2 max = 10 { print(1) }",
        "write the number behind the word:  max 10",
        "while N > 2 max 10 { print(1) }",
    ),
    (
        "while (N > 2) { print(1) }",
        "for example:  while N > 2 max 10000 { … }",
        "while N > 2 max 10000 { print(1) }",
    ),
    (
        "until N > 1 max 10 { print(1) }",
        "write the condition by which the loop goes on:  while not (N > 1) max 1000 { … }",
        "while not (N > 1) max 1000 { print(1) }",
    ),
    (
        "repeat 5 times { print(1) }",
        "a loop has a counter and two bounds:  for k in 0 .. 5 { … }",
        "for k in 0 .. 5 { print(1) }",
    ),
    (
        "if N > 2:\n  print(1)",
        "a block stands between `{` and `}`, without a `:`",
        "if N > 2 {\n  print(1) }",
    ),
    (
        "if N > 2 then print(1)",
        "a block stands between `{` and `}`: write `{` instead of `then`, and `}` behind the block",
        "if N > 2 { print(1) }",
    ),
    (
        "if (N > 2) print(1);",
        "a block stands between `{` and `}`: write `{` before `print`, `}` behind the block",
        "if (N > 2) { print(1); }",
    ),
    (
        "print(1) if N > 2",
        "a condition stands before what it decides:  if N > 2 { print(1) }",
        "if N > 2 { print(1) }",
    ),
    (
        "print(1) unless N > 2",
        "write the condition that the block is for:  if not (N > 2) { … }",
        "if not (N > 2) { print(1) }",
    ),
    (
        "if N > 2 { print(1) } elif N > 3 { print(2) }",
        "write `else if`:  else if N > 3 { … }",
        "if N > 2 { print(1) } else if N > 3 { print(2) }",
    ),
    (
        "switch N { }",
        "write one `if` for each case:  if N == 1 { … } else if N == 2 { … }",
        "if N == 1 { } else if N == 2 { }",
    ),
    ("try { print(1) }", "remove it: a module that fails ends the run", "print(1)"),
    (
        "assert N > 2",
        'write the condition, and what is wrong, in parentheses:  assert(a > b, "a is too small")',
        'assert(N > 2, "N is too small")',
    ),
    (
        "PARALLEL(P) { print(1) }",
        "a partition stands behind `over`:  PARALLEL over P { … }",
        "PARALLEL over P { print(1) }",
    ),
    (
        "PARALLEL for k in 0 .. 5 { print(k) }",
        "write the block of PARALLEL inside:  for … { PARALLEL { … } }",
        "for k in 0 .. 5 { PARALLEL { print(1) } }",
    ),
    ("thread_A thread_B print(1)", "a call has one label:  thread_B print(…)", "thread_B print(1)"),
    (
        "thread_B.print(1)",
        "a label and its module have a blank between them:  thread_B print(…)",
        "thread_B print(1)",
    ),
    ("thread_A: print(1)", "a thread's label has no `:`:  thread_A print(1)", "thread_A print(1)"),
    ("@thread_A print(1)", "a thread's label has no `@`:  thread_A print(1)", "thread_A print(1)"),
    (
        "t.make(N) - > x\nt.use(x)",
        "the outputs of a call stand after an arrow:  -> x",
        "t.make(N) -> x\nt.use(x)",
    ),
    (
        "t.make(N) → x\nt.use(x)",
        "the outputs of a call stand after an arrow of two characters:  ->",
        "t.make(N) -> x\nt.use(x)",
    ),
    (
        "x <- t.make(N)\nt.use(x)",
        "the outputs of a call stand behind it:  t.make(N) -> x",
        "t.make(N) -> x\nt.use(x)",
    ),
    ("t.make(N) -> (x)\nt.use(x)", "outputs have no parentheses:  -> x", "t.make(N) -> x\nt.use(x)"),
    (
        "t.make(n: 3) -> x\nt.use(x)",
        "an input is given by its name with `=`:  n = 3",
        "t.make(n = 3) -> x\nt.use(x)",
    ),
    (
        "t::make(N) -> x\nt.use(x)",
        "modules of an import are called with a dot:  t.make",
        "t.make(N) -> x\nt.use(x)",
    ),
    ('print "hello", N', 'write the values between parentheses:  print("hello", N)', 'print("hello", N)'),
    ("print *, N", "write the values between parentheses:  print(N)", "print(N)"),
    ("write(*,*) N", "write the values between parentheses:  print(N)", "print(N)"),
    ("echo N", "write the values between parentheses:  print(N)", "print(N)"),
    ('print(f"n = {N}")', 'texts and values are joined by `+`:  "n = " + N', 'print("n = " + N)'),
    (
        'print(f"n = {N:03d} of {procs}")',
        'texts and values are joined by `+`:  "n = " + N + " of " + procs',
        'print("n = " + N + " of " + procs)',
    ),
    ('print(r"hi")', "remove the `r` before the string", 'print("hi")'),
    ('print("""hi""")', "a string has one quote on each side", 'print("hi")'),
    ("print('hello')", 'strings are written in straight double quotes:  "hello"', 'print("hello")'),
    ("print(“hello”)", 'strings are written in straight double quotes:  "hello"', 'print("hello")'),
    (
        "/* a\n b */\nprint(1)",
        "begin each line of it with `//`, and remove the `/*` and `*/`",
        "// a\n// b\nprint(1)",
    ),
    (
        "! a comment\nprint(1)",
        "comments begin with `//` or `#` and end with the line",
        "// a comment\nprint(1)",
    ),
    (
        "-- a comment\nprint(1)",
        "comments begin with `//` or `#` and end with the line",
        "// a comment\nprint(1)",
    ),
    (
        "% a comment\nprint(1)",
        "comments begin with `//` or `#` and end with the line",
        "// a comment\nprint(1)",
    ),
    ("if N > 2 && N < 5 { print(1) }", "write `and`", "if N > 2 and N < 5 { print(1) }"),
    ("if !(N > 2) { print(1) }", "write `not`", "if not (N > 2) { print(1) }"),
    (
        "if N > 2 .and. N < 5 { print(1) }",
        "write `and` instead of `.and.`",
        "if N > 2 and N < 5 { print(1) }",
    ),
    ("if N .gt. 2 { print(1) }", "write `>` instead of `.gt.`", "if N > 2 { print(1) }"),
    ("if N <> 2 { print(1) }", "write `!=`", "if N != 2 { print(1) }"),
    ("if N === 2 { print(1) }", "a comparison is written `==`", "if N == 2 { print(1) }"),
    ("if N is 2 { print(1) }", "write `==` instead of `is`", "if N == 2 { print(1) }"),
    ("if N ≤ 2 { print(1) }", "write `<=`", "if N <= 2 { print(1) }"),
    ("let y = N mod 2\nprint(y)", "write `%` instead of `mod`", "let y = N % 2\nprint(y)"),
    ("let y = N << 2\nprint(y)", "there are no shifts: multiply by a power of 2", "let y = N * 4\nprint(y)"),
    ("let y = N − 2\nprint(y)", "write `-`", "let y = N - 2\nprint(y)"),
    ("let y = N as f64\nprint(y)", "a value is converted by a function:  f64(N)", "let y = f64(N)\nprint(y)"),
    (
        "let y = (f64) N\nprint(y)",
        "a value is converted with parentheses around it:  f64(x)",
        "let y = f64(N)\nprint(y)",
    ),
    ("let y = float(N)\nprint(y)", "did you mean `f64`?", "let y = f64(N)\nprint(y)"),
    ("let y = pow(N, 2)\nprint(y)", "a power is written `**`:  x ** 2", "let y = N ** 2\nprint(y)"),
    ("let y = mod(N, 2)\nprint(y)", "a remainder is written `%`:  x % 2", "let y = N % 2\nprint(y)"),
    ("let y = math.sqrt(2.0)\nprint(y)", "did you mean `sqrt`?", "let y = sqrt(2.0)\nprint(y)"),
    ("let y = round(2.5)\nprint(y)", "write:  floor(x + 0.5)", "let y = floor(2.5 + 0.5)\nprint(y)"),
    (
        "let y = np.zeros(N)\nt.use(y)",
        "an array is declared, then filled by a call:  var f64[8] x   fill(0) -> x",
        "var f64[8] y   fill(0) -> y\nt.use(y)",
    ),
    ("let y = 1.5f\nprint(y)", "numbers are written without a suffix:  1.5", "let y = 1.5\nprint(y)"),
    ("let y = 1.0d0\nprint(y)", "an exponent is written with e:  1.0e0", "let y = 1.0e0\nprint(y)"),
    ("let y = 1j\nprint(1)", "there are no complex literals: let a module make the value", "print(1)"),
    ("let y = True\nprint(y)", "write `true`", "let y = true\nprint(y)"),
    ("let y = .true.\nprint(y)", "write `true` instead of `.true.`", "let y = true\nprint(y)"),
    (
        "let y = None\nprint(y)",
        'every value is a number, a truth value or a string:  0, false or ""',
        "let y = 0\nprint(y)",
    ),
    ("print(pi)", "name it above:  let pi = 3.141592653589793", "let pi = 3.141592653589793\nprint(pi)"),
    ("print(nprocs)", "the number of processors is `procs`", "print(procs)"),
    ("procs = 4", "choose another name", "let cores = 4"),
    (
        "barrier()",
        "remove it: calls wait for what they read; modules communicate by a `comm` of their own",
        "",
    ),
    (
        "MPI_Barrier(MPI_COMM_WORLD)",
        "remove it: calls wait for what they read; modules communicate by a `comm` of their own",
        "",
    ),
    (
        "let a = [1, 2, 3]\nprint(1)",
        "programs have no lists and no indices: pass the array to a module, which works on its elements",
        "print(1)",
    ),
    ("3 + 4", "a value alone is not a statement:  print(3 + 4)", "print(3 + 4)"),
    (
        "var i64 x = 1\nx == 3\nprint(x)",
        "a value is assigned by `=`:  x = 3",
        "var i64 x = 1\nx = 3\nprint(x)",
    ),
    ('writeln("n = ", N)', "did you mean `print`?", 'print("n = ", N)'),
    ("let x = +3\nprint(x)", "a number has no sign `+`: remove it", "let x = 3\nprint(x)"),
    ("if N is not 3 { print(1) }", "write `!=` instead of `is not`", "if N != 3 { print(1) }"),
    ("integer n\nprint(1)", "a variable is declared with `var`:  var i64 n = 0", "var i64 n = 0\nprint(1)"),
    ("implicit none\nprint(1)", "remove it: names are known by what makes them", "print(1)"),
    ("double *x;\nprint(1)", "an array is declared with `var`:  var f64[8] x", "var f64[8] x\nprint(1)"),
    (
        "for i, v in enumerate(x) { print(i) }",
        "a loop has one counter:  for i in 0 .. 4 { … }",
        "for i in 0 .. 4 { print(i) }",
    ),
    ("write(6, *) N", "write the values between parentheses:  print(N)", "print(N)"),
    (
        "for k in 0 .. 4 in flight 3 { print(k) }",
        "write it as one word:  inflight 3",
        "for k in 0 .. 4 inflight 3 { print(k) }",
    ),
    ("print(N / 0)", "give a divisor other than 0", "print(N / 2)"),
]

WHOLE_FILES = [
    (
        "coven 1\nsegment f(i64 a, i64 k) -> (i64 y, i64 b) {\nb = a  y = k\nreturn y\n}\n"
        "program p { f(1, 2) -> c, d  print(c + d) }",
        "remove `return y`: the segment gives what y and b have at its end",
        "coven 1\nsegment f(i64 a, i64 k) -> (i64 y, i64 b) {\nb = a  y = k\n}\n"
        "program p { f(1, 2) -> c, d  print(c + d) }",
    ),
    (
        "coven 1\nsegment f(i64 a) -> (i64 b) {\nreturn a\n}\nprogram p { f(1) -> c }",
        "write the output that the head of the segment names:  b = a",
        "coven 1\nsegment f(i64 a) -> (i64 b) {\nb = a\n}\nprogram p { f(1) -> c }",
    ),
    (
        'coven 1\nimport "tools.c" { usee, make }\nprogram p { make(4) -> x  use(x) }',
        "did you mean `use`?",
        'coven 1\nimport "tools.c" { use, make }\nprogram p { make(4) -> x  use(x) }',
    ),
    (
        'coven 1\nimprt "tools.c" as t\nprogram p { t.make(4) -> x  t.use(x) }',
        "did you mean `import`?",
        'coven 1\nimport "tools.c" as t\nprogram p { t.make(4) -> x  t.use(x) }',
    ),
    (
        'coven 1\nimport "tools.c" a t\nprogram p { print(1) }',
        'a file\'s name in the program stands behind `as`:  import "tools.c" as t',
        'coven 1\nimport "tools.c" as t\nprogram p { print(1) }',
    ),
    (
        'coven 1\nfrom "tools.c" import make\nprogram p { print(1) }',
        'a file of modules is imported by its name:  import "tools.c" { make }',
        'coven 1\nimport "tools.c" { make }\nprogram p { print(1) }',
    ),
    (
        "coven 1\nparam N = 4\nprogram p { print(N) }",
        "a parameter is declared with its type:  param i64 N = 4",
        "coven 1\nparam i64 N = 4\nprogram p { print(N) }",
    ),
    (
        "coven 1\nparam N: int = 4\nprogram p { print(N) }",
        "the type stands before the name:  param i64 N = 4",
        "coven 1\nparam i64 N = 4\nprogram p { print(N) }",
    ),
    (
        "coven 1\nconst N = 4\nprogram p { print(N) }",
        "what the whole file knows is a parameter:  param i64 N = 4",
        "coven 1\nparam i64 N = 4\nprogram p { print(N) }",
    ),
    (
        "coven 1\npartition P(4)\nprogram p { print(P) }",
        "a partition gets its number by `=`:  partition P = 4",
        "coven 1\npartition P = 4\nprogram p { print(P) }",
    ),
    (
        "coven 1\npartition P = procs - procs\nprogram p { print(P) }",
        "write for example:  partition P = procs",
        "coven 1\npartition P = procs\nprogram p { print(P) }",
    ),
    (
        "coven 1\ndef f(x) { print(x) }\nprogram p { print(1) }",
        "what is used again is a segment, above the program:  segment f(i64 a) -> (i64 b) { b = a }",
        "coven 1\nsegment f(i64 a) -> (i64 b) { b = a }\nprogram p { print(1) }",
    ),
    (
        "coven 1\nsegment f(x) { print(x) }\nprogram p { f(1) }",
        "inputs and outputs of a segment have types before their names:  i64 x",
        "coven 1\nsegment f(i64 x) { print(x) }\nprogram p { f(1) }",
    ),
    (
        "coven 1\nsegment f(x: int) { print(x) }\nprogram p { f(1) }",
        "the type stands before the name:  i64 x",
        "coven 1\nsegment f(i64 x) { print(x) }\nprogram p { f(1) }",
    ),
    (
        "coven 1\nsegment f(i64 a) -> i64 { b = a }\nprogram p { f(1) -> c  print(c) }",
        "outputs of a segment stand in parentheses:  -> (i64 b)",
        "coven 1\nsegment f(i64 a) -> (i64 b) { b = a }\nprogram p { f(1) -> c  print(c) }",
    ),
    (
        "coven 1\nint main() { print(1); }",
        "the program begins with:  program main {",
        "coven 1\nprogram main { print(1); }",
    ),
    (
        "coven 1\nprogram p() { print(1) }",
        "a program has no inputs but parameters:  program p {",
        "coven 1\nprogram p { print(1) }",
    ),
    (
        'coven 1\nprogram "my p" { print(1) }',
        "a program's name has no quotes:  program my_p {",
        "coven 1\nprogram my_p { print(1) }",
    ),
    (
        "coven 1\nmodule p { print(1) }",
        "a file has one program:  program name { … }   modules are in files of their own",
        "coven 1\nprogram name { print(1) }",
    ),
]


def errors(text, finder):
    """List the errors of a program; warnings are no part of these cases."""
    found = check_program(text, "p.coven", modules=finder).diagnostics
    return [one for one in found if one.code.startswith("E")]


def body(text):
    """Put statements into a program."""
    return f"{HEAD}{text}\n}}\n"


@pytest.mark.parametrize(("wrong", "help", "right"), IN_A_PROGRAM, ids=[wrong for wrong, *_ in IN_A_PROGRAM])
def test_a_habit_in_a_program_is_one_error_whose_help_leads_on(finder, wrong, help, right):
    assert [one.help for one in errors(body(wrong), finder)] == [help]
    assert errors(body(right), finder) == []


@pytest.mark.parametrize(("wrong", "help", "right"), WHOLE_FILES, ids=[wrong for wrong, *_ in WHOLE_FILES])
def test_a_habit_in_a_file_is_one_error_whose_help_leads_on(finder, wrong, help, right):
    assert [one.help for one in errors(wrong, finder)] == [help]
    assert errors(right, finder) == []


@pytest.mark.parametrize("text", [":= 3", "::x", ":", "f(a: , 3)", "program p { f(a: ) }", "@ : x", "!"])
def test_marks_without_anything_around_them_are_answered(finder, text):
    assert errors(text, finder)
