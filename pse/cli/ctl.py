"""``pse ctl``: control a running program.  The work is done by ``pse.runtime.control``."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from pse.cli.completion import words
from pse.errors import UsageError
from pse.language import parse_defines
from pse.runtime.control import MOST_ROUNDS, RunControl, running, status_text

_ACTIONS = ("status", "pause", "resume", "step", "set", "checkpoint", "stop")


def runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a run that goes on."""
    return [CompletionItem(name) for name in running() if name.startswith(incomplete)]


@click.command("ctl")
@click.argument("run", metavar="[RUN]", required=False, shell_complete=runs)
@click.argument("action", metavar="[ACTION]", default="status", shell_complete=words(*_ACTIONS))
@click.argument("values", metavar="[VALUE]...", nargs=-1)
def command(run: str | None, action: str, values: tuple[str, ...]) -> None:
    """Control a program that runs, or list those that can be controlled.

    RUN is the name that `pse run PROGRAM --control RUN` gave it.  Actions: status; pause; resume; step [N]
    (go on to the N-th pause from here); set NAME=VALUE (live parameters); checkpoint; stop.
    """
    if run is None:
        names = running()
        click.echo("\n".join(names) if names else "no run can be controlled: pse run PROGRAM --control NAME")
        return
    with RunControl(run) as control:
        match action, values:
            case "stop", ():
                control.stop()
                click.echo(f"{run}: stopping")
                return
            case "status" | "pause" | "resume" | "checkpoint", ():
                status = getattr(control, action)()
            case "step", () | (_,):
                status = control.step(_rounds(values))
            case "set", (_, *_):
                status = control.set(parse_defines(values, action))
            case "set", ():
                raise UsageError("set: no value is given", help=f"for example:  pse ctl {run} set dt=5e-4")
            case _ if action in _ACTIONS:
                more = values[1] if action == "step" else values[0]
                raise UsageError(f"{action}: `{more}` is too much", help=f"it is:  pse ctl {run} {action}")
            case _:
                raise UsageError(f"pse ctl {run} can't do `{action}`", help=f"it does: {', '.join(_ACTIONS)}")
    click.echo(status_text(status), nl=False)


def _rounds(values: tuple[str, ...]) -> int:
    text = values[0] if values else "1"
    digits = text.lstrip("0") if text.isdecimal() and text.isascii() else ""
    if not digits or len(digits) > len(str(MOST_ROUNDS)) or int(digits) > MOST_ROUNDS:
        message = f"step {text}: expected a number of pauses, from 1 to {MOST_ROUNDS:,}"
        raise UsageError(message, help="for example:  step 10")
    return int(digits)
