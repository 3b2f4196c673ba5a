"""The command line ``pse``: one small file per command, no logic.

The group below finds its commands by looking at the files of this directory:  ``pse/cli/check.py`` is the
command ``pse check`` and offers a click command of the name ``command``.  A command's file is imported
when that command is used, so ``pse check`` never pays for MPI.  Logic lives in the rooms below.
"""

from typing import Any

import click

from pse import __version__
from pse.cli._options.group import LazyGroup, guarded, plain_warnings

__all__ = ["main"]

SECTIONS = (
    (
        "Write programs and modules",
        {
            "new": (
                "Write a folder NAME to start from: a program, a module in C and one in Python, a notebook"
            ),
            "check": (
                "Check programs: names, types, shapes, distributions, paths; modules are built, none is "
                "executed"
            ),
            "explain": "Explain codes of diagnostics, such as E0312; without CODE, list all of them",
            "fmt": "Write programs in their canonical form; comments stay where they are",
            "graph": "Draw a program's graph without running anything, or with what a recorded run measured",
            "module": "Start, list, show and build modules",
            "desk": "Open a program or a directory in the browser: draw, write, run and watch programs",
            "lsp": (
                "Serve an editor: diagnostics, completion, hover, navigation, renaming and formatting of "
                "programs"
            ),
        },
    ),
    (
        "Run them",
        {
            "run": "Run PROGRAM and report where its time went",
            "resume": "Go on from the checkpoint in DIR, which `pse run --checkpoint DIR` wrote",
            "ctl": "Control a program that runs, or list those that can be controlled",
            "watch": "Show the tag TAG of a program that runs, as it changes: a number, a line or an image",
            "tools": "Load and chain MPI tools under any MPI program, without relinking it",
            "cluster": "Emulate a cluster on this machine: nodes with links and CPUs of their own",
        },
    ),
    (
        "See what happened, and improve it",
        {
            "trace": "Look at what a run recorded (pse run PROGRAM --trace DIR)",
            "analyze": "Say how long ranks waited for each other, in which call paths, and in which way",
            "cube": (
                "Compute with what pse analyze found: traces, OTF2 archives, or the cubes that it wrote "
                "(.npz)"
            ),
            "view": "Draw pictures of what a run recorded (pse run PROGRAM --trace DIR)",
            "advise": "Propose threads for a program from a trace of one run (pse run PROGRAM --trace DIR)",
        },
    ),
    (
        "Measure the network",
        {
            "ace": (
                "Measure what communication costs here and how much that varies, with emulated applications"
            ),
        },
    ),
    (
        "Coscheduled communication",
        {
            "bcs": "Step, simulate and examine programs with coscheduled communication (pse.bcs)",
        },
    ),
    (
        "This machine",
        {
            "doctor": (
                "Examine this machine (MPI, compilers, memory, limits, versions), and say how to mend "
                "what is wrong"
            ),
            "bench": (
                "Measure what pse's own work costs on this machine, beside lower bounds and other systems"
            ),
            "cache": (
                "Show, or clear, what pse keeps for later: compiled modules and MPI tools, tables "
                "of its grammar"
            ),
            "completion": (
                "Print a script by which a shell completes commands, options and files; without a name, "
                "for $SHELL"
            ),
        },
    ),
)
"""What ``pse --help`` lists: the first sentences of all helps (by test), so that it imports no command."""


class Commands(LazyGroup):
    """All commands: the modules of this package."""

    sections = SECTIONS

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Read the command line and run; what is printed for ``--help`` may go wrong too."""
        with guarded(), plain_warnings():
            return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; whatever goes wrong is printed and becomes an exit code, never a traceback."""
        with guarded():
            return super().invoke(ctx)


@click.group(cls=Commands, package=__name__, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pse")
def main() -> None:
    """Compose modules in a .coven program, run it on MPI ranks, see what happened."""
