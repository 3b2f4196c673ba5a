"""Labels of threads: declared ones, those that calls have, and what looks like a slip of the pen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pse.language.check._context import Context
from pse.language.check._ir import Option
from pse.language.diagnostics._diagnostic import Diagnostic, error_at, warning_at
from pse.language.diagnostics._suggestions import did_you_mean
from pse.language.syntax import ast as sx


def use_thread(context: Context, label: sx.Identifier) -> None:
    """Note the label of a call; where the program declares its threads, others are errors."""
    context.threads.setdefault(label.id, set()).add(label.span)
    declared = context.declared_threads
    if declared and label.id not in declared:
        help = did_you_mean(label.id, declared) or f"declare it:  threads {', '.join([*declared, label.id])}"
        notes = [(next(iter(declared.values())), "threads are declared here")]
        context.report(error_at("E0212", f"unknown thread `{label.id}`", label.span, notes=notes, help=help))


def thread_warnings(context: Context, options: Sequence[Option]) -> list[Diagnostic]:
    """Warn of declared threads without calls, options of unknown threads, labels that look misspelt."""
    return [*_unused(context), *_without_effect(context, options), *_slips(context)]


def _unused(context: Context) -> Iterator[Diagnostic]:
    for name, span in context.declared_threads.items():
        if name not in context.threads:
            message = f"no call runs on thread `{name}`"
            yield warning_at("W0205", message, span, help="remove it, or write the label before a call")


def _without_effect(context: Context, options: Sequence[Option]) -> Iterator[Diagnostic]:
    known = f"threads of calls are {', '.join(sorted(context.threads))}"
    for option in options:
        if option.thread is not None and option.thread not in context.threads:
            message = f"no call runs on thread `{option.thread}`, so this option has no effect"
            help = did_you_mean(option.thread, context.threads)
            help = help or (known if context.threads else "write the thread's label before a call")
            yield warning_at("W0601", message, option.span, help=help)


def _slips(context: Context) -> Iterator[Diagnostic]:
    """Find labels of a single call that differ from another's by one letter, or in upper and lower case."""
    if context.declared_threads:
        return
    seen: list[str] = []
    for label, places in context.threads.items():
        often = [other for other, uses in context.threads.items() if len(uses) > 1]
        meant = next((other for other in (*often, *seen) if _is_slip(label, other)), None)
        seen.append(label)
        if meant is not None and len(places) == 1:
            message = f"only this call has the label `{label}`, which starts ranks of its own"
            help = (
                f"did you mean `{meant}`? If not, declare all threads:  threads {', '.join(context.threads)}"
            )
            yield warning_at("W0206", message, next(iter(places)), help=help)


def _is_slip(label: str, other: str) -> bool:
    """Whether one label may be another one, misspelt."""
    if label == other:
        return False
    if label.lower() == other.lower():
        return True
    return _one_letter_apart(label, other) and not _is_numbered(label, other)


def _is_numbered(label: str, other: str) -> bool:
    """Whether labels count: `thread_B` and `thread_C`, `io1` and `io12`."""
    return label[:-1] == other[:-1] or label.rstrip("0123456789") == other.rstrip("0123456789")


def _one_letter_apart(left: str, right: str) -> bool:
    """Whether a letter more, less, other or exchanged with its neighbour makes one of the other."""
    short, long = sorted((left, right), key=len)
    start = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    rest, longer = short[start:], long[start:]
    if len(short) < len(long):
        return rest == longer[1:]
    return rest[1:] == longer[1:] or (rest[1::-1] == longer[:2] and rest[2:] == longer[2:])
