"""Options of a run: defaults, the program's ``options { … }``, and what overrides on the command line.

`pse.language` defines the options and reads their values, for both places.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from pse.errors import UsageError
from pse.language.check import Option
from pse.language.types import OPTIONS, Value
from pse.records import dataclass
from pse.runtime.distribution._partition_placement import is_users
from pse.text import did_you_mean, list_text


@dataclass(frozen=True)
class Options:
    """Options of one run.

    Attributes
    ----------
    shared_memory : bool
        Whether ranks of one node hand buffers over by descriptor; if not, through MPI.
    transport : str
        By what ranks communicate: ``bcs`` (the coscheduled layer, for hand-overs and modules), or ``auto``.
    arena : int or "auto"
        Bytes that the node's arena may grow to; "auto" lets the node's memory decide.
    local_limit : int
        Buffers of fewer bytes stay in the memory of the rank that made them.
    queue_depth : int
        How many results of one call site may wait for a reader.
    queue_depths : mapping of str to int
        The depth for threads that have their own, by label.
    placement : str
        Where partitions live: ``block``, ``cyclic``, or ``file.py:function``.
    balance : int
        After how many rounds of a loop partitions may move; 0: never.
    check : str
        What is looked for in the outputs of calls: ``nan`` (NaN and infinity), or ``off``.
    fold : bool
        Whether threads that can't overlap run on one rank.
    pin : str
        Which cores ranks use: ``off``, ``compact``, ``spread``, or a list of cores.
    """

    shared_memory: bool = True
    transport: str = "auto"
    arena: int | str = "auto"
    local_limit: int = 64 << 10
    queue_depth: int = 2
    queue_depths: Mapping[str, int] = field(default_factory=dict)
    placement: str = "block"
    balance: int = 0
    check: str = "off"
    fold: bool = True
    pin: str = "off"

    def depth(self, thread: str) -> int:
        """Give the queue depth of the thread with a label."""
        return self.queue_depths.get(thread, self.queue_depth)


def resolve(program: Iterable[Option], overrides: Iterable[str], threads: Iterable[str]) -> Options:
    """Combine defaults, the program's options, and those of the command line; later ones take precedence.

    Parameters
    ----------
    program : iterable of Option
        The program's ``options { … }``, checked.
    overrides : iterable of str
        ``name=value``, ``name.thread=value`` or ``name thread=value`` from the command line.
    threads : iterable of str
        Labels that the program uses.

    Returns
    -------
    Options
        What the run uses.

    Raises
    ------
    UsageError
        If an override is wrong.
    """
    labels = tuple(threads)
    options = Options()
    for entry in program:
        if entry.thread is None or entry.thread in labels:  # For others the checker has warned (W0601).
            options = _set(options, entry.name, entry.thread, _near(entry), labels)
    for text in overrides:
        name, thread, value = _split(text)
        try:
            options = _set(options, name, thread, _read(name, value), labels)
        except ValueError as error:
            raise UsageError(f"-o {text}: {error}", help=_help(name, labels)) from None
    # Hand-overs by descriptor would not go through the layer.
    return replace(options, shared_memory=False) if options.transport == "bcs" else options


def _near(entry: Option) -> Value:
    """Give the value of a program's option; a file in it lies relative to the program, as imports do."""
    if entry.name != "placement" or not is_users(str(entry.value)):
        return entry.value
    return os.path.join(os.path.dirname(entry.span.path), str(entry.value))


def _split(text: str) -> tuple[str, str | None, str]:
    name, equals, value = text.partition("=")
    words = re.split(r"[.\s]+", name.strip())
    if not equals or not words[0] or len(words) > 2:
        raise UsageError(
            f"-o {text}: expected NAME=VALUE",
            help="for example:  -o queue_depth=4   or, for one thread:  -o queue_depth.thread_C=4",
        )
    return words[0], words[1] if len(words) == 2 else None, value.strip()


def _read(name: str, text: str) -> Value:
    if name not in OPTIONS:
        raise ValueError(f"there is no option {name}")
    value = OPTIONS[name].read(text)
    if value is None:
        raise ValueError(f"{name} must be {OPTIONS[name].expected}, not {text or 'empty'}")
    if name == "placement" and is_users(text) and not os.path.isfile(file := text.rpartition(":")[0]):
        raise ValueError(f"there is no file {os.path.abspath(file)}")
    return value


def _set(options: Options, name: str, thread: str | None, value: Value, labels: tuple[str, ...]) -> Options:
    if thread is None:
        return replace(options, **{name: value})  # type: ignore[arg-type]  # its reader made the type
    if not OPTIONS[name].per_thread:
        raise ValueError(f"{name} applies to the whole run and can't be set for one thread")
    if thread not in labels:
        raise ValueError(f"the program has no thread {thread}; it has {', '.join(labels)}")
    return replace(options, queue_depths={**options.queue_depths, thread: int(str(value))})


def _help(name: str, labels: tuple[str, ...]) -> str:
    if name in OPTIONS:
        thread = f".{labels[0]}" if OPTIONS[name].per_thread and labels else ""
        one = f"   or, for one thread:  -o {name}{thread}={OPTIONS[name].example}" if thread else ""
        return f"for example:  -o {name}={OPTIONS[name].example}{one}"
    return did_you_mean(name, OPTIONS) or f"the options are {list_text(OPTIONS)}"
