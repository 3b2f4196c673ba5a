"""What a person types to run a job slice by slice, and what is shown then."""

import cmd
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from pse._abi.coschedule import NONE, Collective, DescriptorKind, Failure
from pse.coschedule._errors import operation_text
from pse.coschedule._layer_observation import Match, Operation, RankView, State, waiting_for
from pse.coschedule._stepper import Break, Slice, Stepper
from pse.errors import UsageError
from pse.runtime.supervise import print_error
from pse.text import count_text, did_you_mean, list_text, size_text

_WIDTH: Final = 100
_SHORT: Final = {"s": "step", "c": "continue", "r": "ranks", "p": "pending", "b": "break", "q": "quit"}
_BREAKS: Final = ("send", "recv", "match", "collective")


def _shown(place: str) -> str:
    """Name a file as seen from here."""
    return os.path.relpath(place) if place.startswith(str(Path.cwd()) + os.sep) else place


def _doing(state: State, rank: RankView) -> str:
    """Say what a rank waits for: the operations that its call is about, or the call."""
    if rank.doing != "blocked":
        return f"in {rank.routine}" if rank.routine else ""
    waits = [one for one in state.operations if one.owner == rank.rank and one.is_awaited]
    if not waits:
        return rank.routine or "a call that isn't of the layer"
    first = f"{_operation(waits[0])}, {size_text(waits[0].size)}"
    return first if len(waits) == 1 else f"{first}, and {len(waits) - 1} more"


def _operation(one: Operation) -> str:
    return operation_text(one.kind, one.peer, one.tag, one.collective)


def _ranks(state: State) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    nodes = ["node"] if any(rank.node for rank in state.ranks) else []
    for name in ("rank", *nodes, "state", "call", "place"):
        table.add_column(name, overflow="fold")
    for rank in state.ranks:
        node = [str(rank.node) for _ in nodes]
        table.add_row(str(rank.rank), *node, rank.doing, _doing(state, rank), _shown(rank.place))
    return table


def _pending(state: State) -> Iterator[str]:
    """Say of each operation that waits for another rank what it waits for."""
    for one in state.operations:
        if one.is_matched or one.kind == DescriptorKind.COLLECTIVE:
            continue
        why = "not received yet" if one.kind == DescriptorKind.SEND else "no such message yet"
        why = "goes into the next slice" if one.is_new else why
        yield f"rank {one.owner}: {_operation(one)}, {size_text(one.size)}: {why}"
    for one, missing in waiting_for(state.operations, len(state.ranks)).values():
        who = f"waits for {_those(missing)}" if missing else "all ranks have called it"
        yield f"{one.collective.name.capitalize()}: {who}"


def _those(ranks: Sequence[int]) -> str:
    return ("rank " if len(ranks) == 1 else "ranks ") + list_text(map(str, ranks))


def _slice(one: Slice) -> Iterator[str]:
    moved = count_text(len(one.matches), "message"), count_text(len(one.collectives), "collective operation")
    yield f"slice {one.number}: {moved[0]}, {moved[1]}"
    for match in one.matches:
        yield f"  {_match(match)}"
    for call in one.collectives:
        yield f"  {call.collective.name.capitalize()} of all ranks, {size_text(call.size)}"


def _break_of(words: Sequence[str]) -> Break:
    """Read ``recv rank=1 peer=0 tag=7`` or ``collective barrier``."""
    what, *rest = words or [""]
    if what not in _BREAKS:
        raise UsageError(
            f"break {what}: expected one of {', '.join(_BREAKS)}", help="for example: break recv rank=1 tag=7"
        )
    numbers: dict[str, int] = {}
    routine = ""
    for word in rest:
        name, _, value = word.partition("=")
        if name in ("rank", "peer", "tag") and value.isdecimal():
            numbers[name] = int(value)
        elif what == "collective" and word.upper() in Collective.__members__:
            routine = word.lower()
        else:
            raise UsageError(
                f"{word} does not say where to stop",
                help="expected rank=N, peer=N, tag=N or a routine's name",
            )
    return Break(what, **numbers, routine=routine)


class Prompt(cmd.Cmd):
    """Commands that step a job; each prints what it did.

    Parameters
    ----------
    stepper : Stepper
        The job.
    commands : sequence of str, optional
        What to do instead of asking a person, or the standard input if that is not a terminal.

    See Also
    --------
    Stepper
    """

    prompt = "(bcs) "
    doc_header = "Commands; help NAME tells more:"

    def __init__(self, stepper: Stepper, commands: Sequence[str] | None = None) -> None:
        super().__init__()
        self._stepper = stepper
        self._lines = sys.stdin if commands is None and not sys.stdin.isatty() else commands
        self._last: list[Slice] = []
        self._console = Console() if sys.stdout.isatty() else Console(width=_WIDTH)

    def run(self) -> int:
        """Take commands until there are none, or the job has ended; then it runs to its end.

        Returns
        -------
        int
            The exit code of the job; 0 if it was told to end, or goes on.
        """
        self._say(self._standing(self._stepper.wait_for_layers()))
        if self._lines is None:
            self._ask()
        elif not any(self.onecmd(line.strip()) for line in self._lines):
            self.onecmd("continue")
        return self._stepper.exit_code() or 0

    def _ask(self) -> None:
        while True:
            try:
                return self.cmdloop()
            except KeyboardInterrupt:
                self._stepper.hold()
                self._say("\nstopped; quit ends the job")
            except UsageError as error:
                print_error(error, sys.stdout)

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        sys.stdout.flush()

    def precmd(self, line: str) -> str:
        """Leave out the blanks around what was typed."""
        return line.strip()

    def onecmd(self, line: str) -> bool:
        """Do what a line says; true: there is nothing more to do."""
        name, _, rest = line.partition(" ")
        done = bool(super().onecmd(f"{_SHORT.get(name, name)} {rest}".strip()))
        for state in self._stepper.new_failures():
            self._say(_failure(state))
        if not done and self._stepper.has_ended():
            code = self._stepper.exit_code()
            self._say("all ranks have left" if code is None else f"the job has ended with code {code}")
            return True
        return done

    def get_names(self) -> list[str]:
        """Name the commands that help lists: not the end of the input."""
        return [name for name in dir(type(self)) if name != "do_EOF"]

    def emptyline(self) -> bool:
        """Do nothing."""
        return False

    def default(self, line: str) -> None:
        """Refuse what is not a command.

        Parameters
        ----------
        line : str
            What was typed.

        Raises
        ------
        UsageError
            Always.
        """
        name = line.split()[0]
        known = [one.removeprefix("do_") for one in self.get_names() if one.startswith("do_")]
        raise UsageError(f"there is no command {name}", help=did_you_mean(name, known) or "try: help")

    def _standing(self, is_still: bool) -> str:
        states = [state for _, state in self._stepper.states()]
        if not states:
            return "no ranks communicate in slices"
        where = ", ".join(f"slice {state.begun}" for state in states)
        return f"stopped after {where}" + ("" if is_still else f"; {self._busy()}")

    def _busy(self) -> str:
        ranks = [rank for _, state in self._stepper.states() for rank in state.ranks]
        return f"{_those([rank.rank for rank in ranks if rank.doing == 'computing'])} still compute"

    def _step(self) -> bool:
        """Do a slice; true: a break was hit, or there was nothing to do."""
        self._last = self._stepper.step()
        self._stepper.wait_until_still()
        hits = list(self._stepper.hits(self._last))
        for stop, what in hits:
            self._say(f"break at {_break_text(stop)}: {_event(what)}")
        return bool(hits) or not self._last

    def _show_last(self) -> None:
        for one in self._last:
            for line in _slice(one):
                self._say(line)
        if not self._last and not self._stepper.has_ended():
            self._say(f"nothing waits for a slice; {self._busy()}")

    def do_step(self, words: str) -> None:
        """Let one slice begin, or N of them, each when all ranks are blocked: step [N]."""
        for _ in range(_number(words, 1)):
            stops = self._step()
            self._show_last()
            if stops:
                return

    def do_until(self, words: str) -> None:
        """Let slices begin up to the N-th, or to a break: until N."""
        last = _number(words, None)
        while all(state.begun < last for _, state in self._stepper.states()):
            if self._step():
                break
        self._show_last()

    def do_continue(self, _: str) -> None:
        """Run to the next break, or else to the end of the job; Ctrl-C stops it: continue."""
        if not self._stepper.breaks:
            return self._stepper.run_to_end()
        while not self._step():
            continue
        return self._show_last()

    def do_break(self, words: str) -> None:
        """Stop where something is posted or matched; without words: list the breaks.

        break send|recv|match|collective, and any of: rank=N peer=N tag=N ROUTINE
        """
        if words:
            self._stepper.add_break(_break_of(words.split()))
        for number, one in enumerate(self._stepper.breaks, 1):
            self._say(f"{number}: {_break_text(one)}")

    def do_delete(self, words: str) -> None:
        """Forget a break: delete N."""
        number = _number(words, None)
        if number > len(self._stepper.breaks):
            raise UsageError(f"there is no break {number}", help="break lists them")
        del self._stepper.breaks[number - 1]

    def do_ranks(self, _: str) -> None:
        """Show what each rank does, and where in the program: ranks."""
        self._stepper.wait_until_still()
        for _layer, state in self._stepper.states():
            self._console.print(_ranks(state))

    def do_pending(self, _: str) -> None:
        """Show what has been posted and waits for another rank: pending."""
        self._stepper.wait_until_still()
        lines = [line for _layer, state in self._stepper.states() for line in _pending(state)]
        self._say("\n".join(lines) or "nothing is pending")

    def do_moved(self, _: str) -> None:
        """Show again what the last slice moved: moved."""
        self._show_last()

    def do_quit(self, _: str) -> bool:
        """End the job; one that ran already goes on: quit."""
        return True

    do_EOF = do_quit


def _failure(state: State) -> str:
    if state.failure in (Failure.NONE, Failure.DEAD):
        who = (
            [state.culprit] if state.failure and state.culprit != NONE else [one.rank for one in state.ended]
        )
        return f"{_those(who)} ended and did not leave, in slice {state.begun}"
    return f"the ranks have failed in slice {state.begun}: {Failure(state.failure).name.lower()}"


def _number(words: str, default: int | None) -> int:
    if not words and default is not None:
        return default
    if not words.isdecimal() or int(words) < 1:
        raise UsageError(f"{words or 'nothing'} is not a number of slices", help="for example: step 10")
    return int(words)


def _break_text(one: Break) -> str:
    given = {"rank": one.rank, "peer": one.peer, "tag": one.tag}
    words = [f"{name}={value}" for name, value in given.items() if value is not None]
    return " ".join([one.what, *([one.routine] if one.routine else []), *words])


def _event(what: Operation | Match) -> str:
    if isinstance(what, Match):
        return _match(what)
    return f"rank {what.owner} in {_operation(what)}, {size_text(what.size)}"


def _match(one: Match) -> str:
    return f"rank {one.source} -> rank {one.receiver}, tag {one.tag}, {size_text(one.size)}"
