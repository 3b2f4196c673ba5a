"""A recorded program: the steps of each rank, and the file that holds them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from zipfile import BadZipFile, is_zipfile
from zlib import error as CompressionError

import numpy as np
from numpy.typing import NDArray

from pse._abi.emulate import STEP_DTYPE, StepKind
from pse.emulate.patterns._cycle import PatternError, Step
from pse.errors import system_help
from pse.files import draft_file, explained, require_directory
from pse.text import damage_text

FORMAT = "pse recorded program"
VERSION = 2
_AGAIN = "make it again: pse ace from-trace DIR"


@dataclass(frozen=True)
class RecordedProgram:
    """What the ranks of a program computed and sent, in the order of a trace.

    Parameters
    ----------
    steps : tuple of tuple of Step
        Of each rank.
    notes : tuple of str
        What is replayed otherwise than it was recorded.
    groups : tuple of tuple of int
        The ranks of each group that has collective operations of its own, in its order; steps count from 1.

    Examples
    --------
    >>> from pse._abi.emulate import StepKind
    >>> program = RecordedProgram(((Step(StepKind.COMPUTE, seconds=3.0), Step(StepKind.BARRIER)),))
    >>> program.ranks, program.compute
    (1, 3.0)
    """

    steps: tuple[tuple[Step, ...], ...]
    notes: tuple[str, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()

    @property
    def ranks(self) -> int:
        """How many ranks it has."""
        return len(self.steps)

    @property
    def compute(self) -> float:
        """What its ranks compute on average, s."""
        return sum(step.seconds for own in self.steps for step in own) / len(self.steps)

    @property
    def bytes(self) -> int:
        """What its ranks send by messages, together."""
        sends = (StepKind.SEND, StepKind.ISEND, StepKind.SSEND)
        return sum(step.bytes for own in self.steps for step in own if step.kind in sends)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the program to a file, and give its path; raise UsageError where that isn't possible."""
        require_directory(path)
        target = Path(path)
        rows = np.array(
            [(int(s.kind), s.peer, s.tag, s.group, s.bytes, 0, s.seconds) for own in self.steps for s in own],
            STEP_DTYPE,
        )
        head = json.dumps({"format": FORMAT, "version": VERSION, "notes": self.notes, "groups": self.groups})
        begins = np.cumsum([0, *map(len, self.steps)])
        with explained(target), draft_file(target) as draft, draft.open("wb") as file:
            np.savez_compressed(file, head=np.array(head), steps=rows, begins=begins)
        return target


@lru_cache(8)
def load_program(path: str) -> RecordedProgram:
    """Read a program that `RecordedProgram.save` wrote.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    RecordedProgram
        An equal program.

    Raises
    ------
    PatternError
        The file can't be read, or holds no program.
    """
    try:
        if Path(path).is_file() and not is_zipfile(path):
            raise ValueError("it is damaged, or a file of another kind")
        with np.load(path) as found:
            head = json.loads(str(found["head"]))
            rows, begins = found["steps"], found["begins"]
        if head.get("format") != FORMAT or head.get("version") != VERSION or rows.dtype != STEP_DTYPE:
            raise ValueError("it has another format or version")
        parts = [rows[begin:end] for begin, end in pairwise(begins)]
        groups = tuple(map(tuple, head["groups"]))
        return RecordedProgram(tuple(_steps_of(part) for part in parts), tuple(head["notes"]), groups)
    except OSError as error:
        message = f"cannot read the recorded program {path}: {error.strerror or error}"
        raise PatternError(message, help=system_help(error, path)) from None
    except (BadZipFile, CompressionError, EOFError):
        raise PatternError(f"the recorded program {path} is damaged", help=_AGAIN) from None
    except (ValueError, KeyError, TypeError) as error:
        raise PatternError(f"{path} is not a recorded program: {damage_text(error)}", help=_AGAIN) from None


def _steps_of(rows: NDArray[np.void]) -> tuple[Step, ...]:
    columns: Sequence[list[int | float]] = [
        rows[name].tolist() for name in ("kind", "peer", "bytes", "seconds", "tag", "communicator")
    ]
    return tuple(
        Step(StepKind(kind), int(peer), int(size), seconds, int(tag), int(group))
        for kind, peer, size, seconds, tag, group in zip(*columns, strict=True)
    )
