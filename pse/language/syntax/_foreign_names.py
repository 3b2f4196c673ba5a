"""Types, values, functions and statements by the names that they have in other languages."""

from __future__ import annotations

TYPES = {"f64", "f32", "i64", "i32", "u8", "u16", "bool", "c128", "c64", "string", "object"}
FOREIGN_TYPES = {
    **dict.fromkeys(("int", "integer", "long", "size_t", "int64", "Int64", "Int", "unsigned"), "i64"),
    **dict.fromkeys(("float", "double", "real", "float64", "Float64", "REAL", "DOUBLE"), "f64"),
    **dict.fromkeys(("int32", "Int32"), "i32"),
    **dict.fromkeys(("float32", "Float32"), "f32"),
    **dict.fromkeys(("complex", "Complex", "complex128"), "c128"),
    **dict.fromkeys(("boolean", "logical", "Bool", "LOGICAL"), "bool"),
    **dict.fromkeys(("str", "String", "char", "character"), "string"),
    **{name: name for name in TYPES},
}
"""What types are called elsewhere, and here."""

_DECIDES = "remove it, and let the loop's condition or an `if` in it decide"
FOREIGN_STATEMENTS = {
    "return": "remove it: a segment gives what the outputs in its head have at its end",
    **{word: f"there is no `{word}`: {_DECIDES}" for word in ("continue", "cycle", "goto")},
    **{word: f"a block ends with `}}`: write it instead of `{word}`" for word in ("end", "endif", "enddo")},
    **{word: f"a block ends with `}}`: write it instead of `{word}`" for word in ("done", "fi", "od")},
    "begin": "a block begins with `{`: write it instead of `begin`",
    **dict.fromkeys(("pass", "noop"), "remove it: a block may be empty"),
    **dict.fromkeys(("stop", "exit", "quit"), "remove it: a program ends behind its last statement"),
    **dict.fromkeys(("call", "await", "async", "spawn", "sync"), "remove it: a call begins with its module"),
    **dict.fromkeys(("del", "delete", "free"), "remove it: memory is freed when nothing reads it any more"),
    "global": "remove it: names of the program are known in all its blocks",
    "yield": "remove it: what a call makes goes on to whoever reads it",
}
"""Statements of other languages, and what programs have in their place."""

_PARTITION = "inside PARALLEL, `partition` is the number of the partition that is at work"
_PROCS = "the number of processors is `procs`"
FOREIGN_VALUES = {
    **dict.fromkeys(("True", "TRUE", "T", "yes"), "write `true`"),
    **dict.fromkeys(("False", "FALSE", "F", "no"), "write `false`"),
    **dict.fromkeys(
        ("None", "null", "NULL", "nil", "nullptr", "undefined"),
        'every value is a number, a truth value or a string:  0, false or ""',
    ),
    **dict.fromkeys(("rank", "my_rank", "myrank", "myid", "me", "thread_id", "tid"), _PARTITION),
    **dict.fromkeys(("size", "nprocs", "nproc", "nranks", "num_procs", "numprocs", "comm_size"), _PROCS),
    **dict.fromkeys(("pi", "PI", "M_PI"), "name it above:  let {} = 3.141592653589793"),
    **dict.fromkeys(("inf", "INFINITY", "nan", "NAN", "NaN"), "reals of programs are finite: write a number"),
    **dict.fromkeys(("i32", "u8", "u16"), "a value is converted by the function i64:  i64(x)"),
    **dict.fromkeys(("i64", "f64"), "a value is converted with parentheses around it:  {}(x)"),
    "f32": "a value is converted by the function f64:  f64(x)",
}
"""What other languages have as values, and what programs write."""

_MODULE = "let a module work it out; functions are {known}"
_ARRAY = "an array is declared, then filled by a call:  var f64[8] x   fill(0) -> x"
_EXTENT = "write what the array was declared with: a number, a parameter, or a `let` of these"
FOREIGN_FUNCTIONS = {
    **dict.fromkeys(("float", "double", "real", "Float64"), "did you mean `f64`?"),
    **dict.fromkeys(("int", "integer", "Int64", "Int"), "did you mean `i64`?"),
    **dict.fromkeys(("len", "length", "size", "shape", "ndims"), _EXTENT),
    **dict.fromkeys(("pow", "power"), "a power is written `**`:  x ** 2"),
    **dict.fromkeys(("mod", "modulo", "fmod", "rem"), "a remainder is written `%`:  x % 2"),
    "round": "write:  floor(x + 0.5)",
    **dict.fromkeys(("str", "string", "repr", "to_string"), 'joined to a string it is one:  "n = " + n'),
    **dict.fromkeys(("input", "argv", "getenv"), "the command line sets parameters:  param i64 N = 4"),
    **dict.fromkeys(("zeros", "ones", "empty", "array", "zeros_like", "allocate", "malloc"), _ARRAY),
    **dict.fromkeys(("sin", "cos", "tan", "exp", "log", "log10", "atan", "atan2", "tanh"), _MODULE),
}
"""What other languages have as functions of values, and what programs write."""

_COLLECTIVE = "remove it: calls wait for what they read; modules communicate by a `comm` of their own"
_DISTRIBUTION = "a distribution begins with `@`:  @ {}"
_MESSAGE = "remove it: who reads a tag gets it from its call; modules send messages by `pse.partition`"
_ALL_TO_ALL = "inside PARALLEL, pieces change hands by:  redistribute(x) -> y @ block(1)"
_REDUCTION = "what partitions give is combined behind the call that makes it:  … -> own reduce total(sum)"
FOREIGN_MODULES = {
    **dict.fromkeys(("exit", "stop", "quit", "abort"), "remove it: a program ends behind its last statement"),
    **dict.fromkeys(("barrier", "Barrier", "wait", "sync"), _COLLECTIVE),
    **dict.fromkeys(("bcast", "broadcast", "allgather"), "did you mean `replicate`?"),
    **dict.fromkeys(("allreduce", "all_reduce", "reduction"), _REDUCTION),
    **dict.fromkeys(("alltoall", "all_to_all"), _ALL_TO_ALL),
    **dict.fromkeys(("send", "isend", "recv", "irecv", "receive", "sendrecv"), _MESSAGE),
    **dict.fromkeys(("writeln", "write", "puts", "echo", "disp", "display"), "did you mean `print`?"),
    **dict.fromkeys(("time", "clock", "wtime"), "the seconds of a clock:  timer() -> t"),
    "sleep": "remove it: what has to wait is a module that does so",
    **dict.fromkeys(("allocate", "malloc", "zeros"), _ARRAY),
    **dict.fromkeys(("free", "deallocate"), "remove it: memory is freed when nothing reads it any more"),
    **dict.fromkeys(("block", "cyclic", "block_cyclic"), _DISTRIBUTION.format("{}(0)")),
    **dict.fromkeys(("root", "replicated"), _DISTRIBUTION),
}
"""What other languages have as calls, and what programs write."""


def module_help(name: str) -> str | None:
    """Say what programs have in the place of a call of another language; None if it is none."""
    if name.startswith(("MPI_", "MPI.")):
        return _COLLECTIVE
    known = FOREIGN_MODULES.get(name)
    return known.format(name) if known else None


def value_help(name: str) -> str | None:
    """Say what programs write for a name that is a value in other languages; None if it is none."""
    known = FOREIGN_VALUES.get(name)
    return known.format(name) if known else None


def function_help(name: str, functions: tuple[str, ...]) -> str | None:
    """Say what programs write for a function of another language; None if it is none."""
    last = name.rpartition(".")[2]
    if last != name and last in functions:
        return f"did you mean `{last}`?"
    known = FOREIGN_FUNCTIONS.get(last)
    return known.replace("{known}", ", ".join(functions)) if known else None
