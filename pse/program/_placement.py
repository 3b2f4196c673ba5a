"""Thread placement: which ranks a program needs, and which of them executes a call site.

Root threads come first, in order of first use; then, processor by processor, the threads that ``PARALLEL``
uses: ``rank = R + p * W + w`` and ``N = R + P * W``.  The same label inside and outside ``PARALLEL`` means
two threads.

A serial placement ignores labels: one rank executes all call sites, in the order of the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import NamedTuple

from pse.language.check import DEFAULT_LABEL, CallSite, ResolvedProgram
from pse.program._walk import number_statements
from pse.records import dataclass

ROOT = "root"
PARALLEL = "parallel"
SERIAL_LABEL = "serial"


class ThreadKey(NamedTuple):
    """A thread of the program.

    Attributes
    ----------
    region : str
        ``"root"`` or ``"parallel"``.
    label : str
        As written: ``thread_B``.

    Examples
    --------
    >>> str(ThreadKey("root", "thread_A"))
    'thread_A'
    """

    region: str
    label: str

    def __str__(self) -> str:
        return self.label if self.region == ROOT else f"{self.label} in PARALLEL"


class Seat(NamedTuple):
    """What one rank is.

    Attributes
    ----------
    key : ThreadKey
        Its thread.
    processor : int or None
        The processor it works on; None for a root thread.

    See Also
    --------
    Placement

    Examples
    --------
    >>> seat = place_threads(program).seat(3)
    >>> str(seat.key), seat.processor
    ('thread_B in PARALLEL', 1)
    """

    key: ThreadKey
    processor: int | None


@dataclass(frozen=True)
class Placement:
    """The threads of a program in order of first use, and their ranks.

    Attributes
    ----------
    root_threads, parallel_threads : tuple of str
        Labels of the threads outside and inside PARALLEL.
    default : str
        The label of calls without one.
    serial : bool
        Whether one thread of one processor executes all call sites, whatever their labels.
    folded : mapping of ThreadKey to ThreadKey
        Threads that execute nothing, because another one executes their call sites; see `fold_threads`.

    Examples
    --------
    >>> placement = Placement(("thread_A",), ("thread_B", "thread_C"))
    >>> placement.ranks(2)
    5
    >>> placement.rank_of(ThreadKey("parallel", "thread_C"), 1)
    4
    >>> placement.describe(4)
    'thread_C of processor 1'
    >>> placement.processors_for(7), placement.processors_for(6), placement.nearest_ranks(6)
    (3, None, (5, 7))
    """

    root_threads: tuple[str, ...]
    parallel_threads: tuple[str, ...]
    default: str = DEFAULT_LABEL
    serial: bool = False
    folded: Mapping[ThreadKey, ThreadKey] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[ThreadKey, ...]:
        """Every thread: those of the root, then those of one processor."""
        root = tuple(ThreadKey(ROOT, label) for label in self.root_threads)
        return root + tuple(ThreadKey(PARALLEL, label) for label in self.parallel_threads)

    def thread_of(self, site: CallSite) -> ThreadKey:
        """Give the thread that executes a call site; a moved one that names none takes the first."""
        if self.serial or (site.moved and site.thread not in self.parallel_threads):
            return ThreadKey(PARALLEL, self.parallel_threads[0])
        key = ThreadKey(PARALLEL if site.parallel else ROOT, site.thread or self.default)
        return self.folded.get(key, key)

    def ranks(self, processors: int) -> int:
        """Count the ranks that so many processors need."""
        return len(self.root_threads) + processors * len(self.parallel_threads)

    def rank_of(self, key: ThreadKey, processor: int = 0) -> int:
        """Give the rank of a thread; the processor does not matter for a root thread.

        Raises
        ------
        ValueError
            If the program has no such thread.
        """
        labels = self.root_threads if key.region == ROOT else self.parallel_threads
        if key.label not in labels:
            raise ValueError(
                f"no {key.region} thread {key.label!r}; there are: {', '.join(labels) or 'none'}"
            )
        place = labels.index(key.label)
        return place if key.region == ROOT else self.ranks(processor) + place

    def seat(self, rank: int) -> Seat:
        """Tell which thread of which processor a rank is.

        Raises
        ------
        ValueError
            If no number of processors gives the program such a rank.
        """
        inner = rank - len(self.root_threads)
        if rank >= 0 > inner:
            return Seat(ThreadKey(ROOT, self.root_threads[rank]), None)
        if rank < 0 or not self.parallel_threads:
            raise ValueError(
                f"no rank {rank}: the program has root ranks 0 to {len(self.root_threads) - 1} only"
            )
        processor, place = divmod(inner, len(self.parallel_threads))
        return Seat(ThreadKey(PARALLEL, self.parallel_threads[place]), processor)

    def describe(self, rank: int) -> str:
        """Name a rank for people: ``root thread_A``, ``thread_C of processor 1``."""
        key, processor = self.seat(rank)
        if self.serial:
            return key.label
        return f"root {key.label}" if processor is None else f"{key.label} of processor {processor}"

    def processors_for(self, n_ranks: int) -> int | None:
        """Infer the number of processors from the number of ranks; None if it does not fit (`nearest_ranks`).

        A program without ``PARALLEL`` runs on its root ranks alone and counts as one processor.
        """
        inner, width = n_ranks - len(self.root_threads), len(self.parallel_threads)
        if width == 0:
            return 1 if inner == 0 else None
        return inner // width if inner >= width and inner % width == 0 else None

    def nearest_ranks(self, n_ranks: int) -> tuple[int, ...]:
        """Give the numbers of ranks that fit, nearest to `n_ranks` from below and from above, ascending.

        It is one number where nothing smaller fits, where `n_ranks` itself fits, or where only one number
        does.
        """
        width = len(self.parallel_threads)
        if width == 0:
            return (self.ranks(1),)
        below = max(1, (n_ranks - len(self.root_threads)) // width)
        candidates = (self.ranks(below), self.ranks(below + 1))
        return candidates if candidates[0] < n_ranks else candidates[:1]


def place_threads(program: ResolvedProgram, *, serial: bool = False) -> Placement:
    """Collect a program's threads, region by region, in order of first use.

    A call without a label runs on the first thread that the program declares, else on ``thread_A``: whatever
    labels other calls have.  A call that is written outside PARALLEL and works where the pieces of its tag
    are adds a thread there only by a label that no call on whole arrays has.

    Parameters
    ----------
    program : ResolvedProgram
        A checked program.
    serial : bool
        Whether labels are ignored, and one rank executes all call sites.

    Returns
    -------
    Placement
        The threads, and which ranks they are.

    Examples
    --------
    >>> placement = place_threads(program)
    >>> placement.ranks(2), str(placement.seat(0).key), placement.seat(4).processor
    (5, 'thread_A', 1)
    """
    default = program.threads[0] if program.threads else DEFAULT_LABEL
    if serial:
        return Placement((), (SERIAL_LABEL,), default, serial=True)
    sites = number_statements(program).sites
    root = _labels((site for site in sites if not site.parallel), default)
    return Placement(root, _labels((site for site in sites if site.parallel), default, root), default)


def _labels(sites: Iterable[CallSite], default: str, root: tuple[str, ...] = ()) -> tuple[str, ...]:
    """List labels in order of first use; calls without one have the default."""
    every = list(sites)
    adding = (site for site in every if not site.moved or site.thread not in (None, *root))
    labels = dict.fromkeys(site.thread or default for site in adding)
    return tuple(labels) or ((default,) if every else ())
