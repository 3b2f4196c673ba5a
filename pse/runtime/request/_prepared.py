"""What a run is: the request on a command line, and the checked program that it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TextIO

from pse.language.check import CallSite, ResolvedProgram
from pse.language.diagnostics import print_diagnostic_lines
from pse.language.io import ProgramFile
from pse.language.types import Value
from pse.modules import BuildMode
from pse.program import Placement, Walk, number_statements
from pse.records import dataclass
from pse.runtime.checkpoint._manifest import Manifest
from pse.runtime.plan._edges import inflight_loops, number_edges
from pse.runtime.request._changes import Changes
from pse.runtime.request._options import Options
from pse.runtime.supervise._processes import name_rank


@dataclass(frozen=True)
class Request:
    """What a command line asks for.

    Attributes
    ----------
    program : str
        Path of the program, as typed.
    defines : mapping of str to str
        Values of parameters.
    options : sequence of str
        ``name=value`` overrides of the program's options.
    trace : str or None
        Directory for the trace.
    report : str
        "text" or "json".
    processors : int or None
        How many processors; None if they follow from the number of ranks.
    checkpoint : str or None
        Directory for checkpoints.
    control : str or None
        The name by which the run is controlled from outside while it goes on (`pse.runtime.control`).
    changes : tuple of str
        Changes of live parameters, each at its pause: ``41:rate=0.5``.
    watch : tuple of str
        The tags that the launcher will look at; ranks don't know.
    every : str or None
        How often checkpoints are written: ``10`` (rounds), or ``30s``.
    resume : bool
        Whether to resume from the checkpoint there; then the program is the one that it names.
    coopwait : bool or None
        Whether modules wait in MPI by the tool `coopwait`; a launcher decides and tells the ranks, which
        decide without one (None).
    tools : str or None
        The configuration of the MPI tools to put under the run, or "off".
    live : bool
        Whether to show loops, threads, queues and memory while it runs, and not only call sites.
    quiet : bool
        Whether nothing is printed but what modules print, errors, and a report that is JSON.
    debug : bool
        Whether modules are built to be debugged, and buffers lie between guard pages and are poisoned.
    prefix : bool
        Whether every line that modules write begins with the thread, and the rounds of loops, of its call.
    serial : bool
        Whether one rank executes all calls, in the order of the program.
    sanitize : tuple of str
        The sanitizers that modules are built with.
    gdb : str or None
        The rank that waits for gdb when it starts, or ``crash``: any, when it crashes.

    See Also
    --------
    prepare
    """

    program: str
    defines: Mapping[str, str]
    options: Sequence[str] = ()
    trace: str | None = None
    report: str = "text"
    processors: int | None = None
    checkpoint: str | None = None
    every: str | None = None
    resume: bool = False
    coopwait: bool | None = None
    tools: str | None = None
    live: bool = False
    quiet: bool = False
    debug: bool = False
    prefix: bool = False
    serial: bool = False
    sanitize: tuple[str, ...] = ()
    gdb: str | None = None
    control: str | None = None
    changes: tuple[str, ...] = ()
    watch: tuple[str, ...] = ()

    @property
    def build(self) -> BuildMode:
        """How modules are built."""
        return BuildMode(debug=self.debug, sanitize=self.sanitize)

    @property
    def may_use_coopwait(self) -> bool:
        """Whether modules that have communicators may wait by the tool `coopwait`."""
        return self.tools is None and self.coopwait is not False

    @property
    def asked(self) -> str:
        """What to run, as it stands on the command line."""
        return f"resume {self.checkpoint}" if self.resume else self.program


@dataclass(frozen=True)
class Prepared:
    """A checked program with everything that a run of it needs to know.

    `file` is the program's, with the checker's warnings; `remarks` are lines about what was asked for;
    `resumed` is the checkpoint that the run resumes from, its files not yet verified; `changes` are values
    that live parameters get, by the number of the pause.
    """

    request: Request
    program: ResolvedProgram
    placement: Placement
    processors: int
    environment: Mapping[str, Value]
    options: Options
    file: ProgramFile
    remarks: str
    resumed: Manifest | None = None
    changes: Changes = field(default_factory=dict)

    def print_warnings(self, stream: TextIO) -> None:
        """Print the checker's warnings in a line each, and remarks on what was asked for, unless quiet."""
        if not self.request.quiet:
            print_diagnostic_lines(self.file.diagnostics, stream)
            stream.write(self.remarks)

    @property
    def pauses(self) -> bool:
        """Whether ranks pause at loops: for checkpoints, to move partitions, to be controlled or changed."""
        asked = self.request.checkpoint is not None or self.request.control is not None
        return asked or self.options.balance > 0 or bool(self.changes)

    @property
    def ranks(self) -> int:
        """Count the ranks."""
        return self.placement.ranks(self.processors)

    @cached_property
    def walk(self) -> Walk:
        """The program's statements, numbered."""
        return number_statements(self.program)

    @property
    def sites(self) -> tuple[CallSite, ...]:
        """The program's call sites; the place of each is its `id`."""
        return self.walk.sites

    @property
    def takes_communicators(self) -> bool:
        """Whether some module gets a communicator."""
        return any(site.takes_communicator for site in self.sites)

    @property
    def board_size(self) -> tuple[int, int, int, int]:
        """Count what a board has room for: ranks, call sites, edges, loops in flight."""
        edges = number_edges(self.walk, self.program.tags, self.environment)
        return self.ranks, len(self.sites), edges.size, len(inflight_loops(self.walk))

    def site_text(self, site: CallSite) -> str:
        """Name a call site in messages: ``module fft.rows, fft2d.coven:15:7``."""
        return f"module {site.label}, {site.span}"

    @property
    def site_texts(self) -> list[str]:
        """Name every call site."""
        return [self.site_text(site) for site in self.sites]

    def who(self, rank: int, host: str, pid: int) -> str:
        """Name a rank in messages."""
        return name_rank(rank, host, pid, self.placement.describe(rank))
