"""A program as the desk knows it: its text, its analysis, and what is drawn of it."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

from pse.desk.model._elements import Element, Node, count_elements, elements
from pse.desk.model._flow import Effects, Flow, Reaching, effects
from pse.desk.model._identity import Names
from pse.desk.model._libraries import Libraries
from pse.desk.model._ports import Bundles, Ports, call_ports, interface, whole_names
from pse.desk.model._text import Text
from pse.errors import UsageError
from pse.language.check import DEFAULT_LABEL, CallSite
from pse.language.syntax import ast as sx, parse_program
from pse.language.types import Name
from pse.lsp import Analysis, OpenFiles
from pse.program import number_statements


class _Call(NamedTuple):
    """A call, the interface of what it calls, and what follows from these."""

    node: Node
    interface: Ports
    bundles: Bundles
    ports: Ports
    effects: Effects


class ProgramModel:
    """One text of a program.

    Parameters
    ----------
    analysis : Analysis
        What the language server knows of it.
    names : Names
        Gives ids to nodes and frames, and has given them to those of the text before.
    finder : OpenFiles
        Finds files of modules.
    before : ProgramModel, optional
        That of the text before; what is known of statements that are the same is not found out again.

    Attributes
    ----------
    text : str
        The text.
    frames : list of Element
        The program and its segments, with all that is in them.
    elements : list of Element
        All nodes and frames in the order of the text.
    flows : list of Flow
        The edges.
    drawn : Analysis
        The analysis of what is drawn: of the text without lines that keep the others from being read.
    libraries : Libraries
        What names of segments and bundles stand for, in other files, too.

    See Also
    --------
    perform
    """

    def __init__(
        self, analysis: Analysis, names: Names, finder: OpenFiles, before: ProgramModel | None = None
    ) -> None:
        self.analysis, self.finder = analysis, finder
        self.text = Text(analysis.text)
        self.drawn = _readable(analysis)
        self.tree = self.drawn.inspection.tree
        self.libraries = Libraries(finder, analysis.path, self.tree.items if self.tree else ())
        self.frames = elements(self.tree, self.text)
        self.elements = [e for frame in self.frames for e in (frame, *frame.within())]
        names.give(self.text, self.elements)
        self._by_id = {element.id: element for element in self.elements}
        self._calls: dict[int, _Call] = {}
        self._known = before._calls if before is not None else {}
        self._interfaces: dict[str, Ports] = {}
        self._before = before._interfaces if before is not None else {}
        self._placed: dict[str, bool] = {}
        self._segments: dict[str, sx.Segment | None] = {}
        self.flows: list[Flow] = Reaching(self.drawn.symbols, self._effects).flows(self.frames)
        self._known, self._before = {}, {}

    def ports(self, element: Element) -> Ports:
        """Give the inputs and outputs of a call; none of what is not one."""
        return self._call(element).ports if element.call is not None else ([], [])

    def _effects(self, element: Element) -> Effects:
        return self._call(element).effects if element.call is not None else effects(element, ([], []))

    def _call(self, element: Element) -> _Call:
        """Give what is known of a call, which follows from its node and from what it calls."""
        key, interface, bundles = id(element.node), self.interface(element.called), self.bundles(element)
        found = self._calls.get(key) or self._known.get(key)
        same = found is not None and found.node is element.node and found.interface is interface
        if found is None or not same or found.bundles != bundles:
            ports = call_ports(element, interface, bundles)
            found = _Call(element.node, interface, bundles, ports, effects(element, ports))
        self._calls[key] = found
        return found

    def bundles(self, element: Element) -> Bundles:
        """Give the bundles of tags that a call takes or gives whole, which `swap` takes as they are."""
        if not self.libraries.may_have_bundles or self.is_swap(element):
            return {}
        sizes = {name.id: len(self.members(name)) for name in whole_names(element)}
        return {name: size for name, size in sizes.items() if size}

    def interface(self, called: str) -> Ports:
        """Give what a module or segment takes and gives, by the name that calls write."""
        if called not in self._interfaces:
            found = interface(called, self.drawn, self.segment(called), self.libraries.members)
            known = self._before.get(called)
            self._interfaces[called] = known if known is not None and known == found else found
        return self._interfaces[called]

    def segment(self, called: str) -> sx.Segment | None:
        """Give the segment that calls name so, of this file or of one that it imports."""
        if called not in self._segments:
            self._segments[called] = self.libraries.segment(called)
        return self._segments[called]

    def members(self, name: sx.Identifier | Name) -> tuple[str, ...]:
        """Give the members of the bundle of tags that a name stands for; none if it stands for one tag."""
        found = self.drawn.symbols.of(name.span) if "." not in name.id else None
        return self.libraries.members(found.node) if found is not None else ()

    def element(self, id: object) -> Element:
        """Give a node or frame.

        Raises
        ------
        UsageError
            If there is none of that id.
        """
        found = self._by_id.get(id) if isinstance(id, str) else None
        if found is None:
            raise UsageError(f"there is no element {id} in this program", help="load the graph again")
        return found

    def frame(self, id: object) -> Element:
        """Give a frame.

        Raises
        ------
        UsageError
            If there is none of that id.
        """
        found = self.element(id)
        if found.block is None:
            raise UsageError(f"{id} is a statement, not a block", help="name the block that it is in")
        return found

    @cached_property
    def _starts(self) -> list[int]:
        return [element.start for element in self.elements]

    def innermost(self, offset: int) -> Element | None:
        """Give the innermost node or frame around an offset."""
        number = bisect_right(self._starts, offset) - 1
        found = self.elements[number] if number >= 0 else None
        while found is not None and found.end < offset:
            found = found.frame
        return found

    def items(self, *kinds: type) -> list[sx.Item]:
        """Give the items of some kinds, in the order of the text."""
        return [item for item in (self.tree.items if self.tree else ()) if isinstance(item, kinds)]

    @property
    def parsed(self) -> bool:
        """Whether the text has no syntax error."""
        return not any(d.code.startswith("E00") for d in self.analysis.inspection.diagnostics)

    @cached_property
    def default_thread(self) -> str:
        """The thread of calls without a label."""
        declared = [label.id for item in self.items(sx.Threads) for label in item.names]  # type: ignore[union-attr]
        return declared[0] if declared else DEFAULT_LABEL

    @cached_property
    def _sites(self) -> dict[tuple[int, int], CallSite]:
        """The call sites that may be moved to another thread, by where they begin."""
        program = self.analysis.inspection.program
        known = program is not None and any(t.type.distribution.distributed for t in program.tags.values())
        sites = number_statements(program).sites if program is not None and known else ()
        return {(site.span.line, site.span.column): site for site in reversed(sites)}

    @cached_property
    def threads(self) -> dict[str, str | None]:
        """The thread on which each element runs, by its id; None for what runs on none, and for a segment."""
        return {element.id: self.thread(element) for element in self.elements}

    def thread(self, element: Element) -> str | None:
        """Give the thread on which a call runs; None for what runs on none, and for a segment."""
        if element.call is None or not self._is_placed(element):
            return None
        site = self._sites.get(self.text.place(element.start)) if self._sites else None
        if site is not None and site.moved and self.analysis.placement is not None:
            return self.analysis.placement.thread_of(site).label
        label = element.node.label if isinstance(element.node, sx.Call) else None
        return label.id if label is not None else self.default_thread

    def _is_placed(self, call: Element) -> bool:
        """Whether a thread runs what a call names."""
        if call.called not in self._placed:
            self._placed[call.called] = not self.is_segment(call) and not self.is_swap(call)
        return self._placed[call.called]

    def is_segment(self, element: Element) -> bool:
        """Whether a node is a call of a segment."""
        return element.call is not None and self.segment(element.called) is not None

    def is_swap(self, element: Element) -> bool:
        """Whether a call exchanges what two names stand for, which no thread does."""
        reference = self.drawn.module(element.called) if element.call is not None else None
        return reference is not None and (reference.language, reference.name) == ("std", "swap")


_MOST_LINES = 8
"""Lines that are passed over to read a text."""


def _readable(analysis: Analysis) -> Analysis:
    """Pass over the lines that have syntax errors, if more can be drawn then: a brace may get lost by one."""
    texts, mistakes = [analysis.text], analysis.inspection.diagnostics
    wrong = [d.span.line for d in mistakes if d.code.startswith("E00")]
    if not wrong:
        return analysis
    parsed = analysis.inspection.parsed
    sizes = [count_elements(parsed.tree)]
    while wrong and len(texts) <= _MOST_LINES:
        lines = texts[-1].split("\n")
        number = min(wrong[0], len(lines)) - 1
        lines[number] = " " * len(lines[number])
        texts.append("\n".join(lines))
        parsed = parse_program(texts[-1], analysis.path, parsed)
        sizes.append(count_elements(parsed.tree))
        wrong = [d.span.line for d in parsed.diagnostics]
    best = max(range(len(texts)), key=lambda number: (sizes[number], -number))
    return analysis.remade(texts[best]) if best else analysis
