"""Programs as the page edits them, without a server: a text, its graph, operations on it."""

from itertools import pairwise
from pathlib import Path

from pygls.workspace import PositionCodec

from pse.desk.model import Drawing, Edit, Names, ProgramModel, palette, perform
from pse.lsp import Analysis, OpenFiles

PROGRAMS = Path(__file__).parents[2] / "programs"


class Editing:
    """One open program."""

    def __init__(self, text, path=PROGRAMS / "edited.coven"):
        self.finder, self.names, self.path = OpenFiles({}), Names(), str(path)
        self.type(text)

    def type(self, text):
        """Take a text that was typed."""
        self.text = text
        self.model = self._model(text)

    def _model(self, text, names=None):
        analysis = Analysis(text, self.path, PositionCodec(), self.finder)
        return ProgramModel(analysis, names or self.names, self.finder)

    @property
    def graph(self):
        return Drawing(self.model, None, str(PROGRAMS)).whole()

    def do(self, *operations):
        """Carry operations out; gives their edits."""
        names = self.names.copy()
        done = perform(self.model, operations, lambda text: self._model(text, names))
        self.names, self.model, self.text = names, done.model, edited(self.text, done.edits)
        assert self.text == done.model.text
        return done.edits

    def offered(self, folder, title):
        """Give what the palette offers under a title."""
        groups = palette(self.model, str(folder))["groups"]
        return next((group["modules"] for group in groups if group["title"] == title), [])

    def node(self, label, number=0):
        """Give the n-th node of a label."""
        return [node for node in self.graph["nodes"] if node["label"] == label][number]

    def frame(self, kind, number=0):
        return [frame for frame in self.graph["frames"] if frame["kind"] == kind][number]

    def edges(self):
        """Give the edges by labels and ports."""
        names = {one["id"]: one["label"] for one in (*self.graph["nodes"], *self.graph["frames"])}
        return [
            (names[e["from"]["id"]], e["from"]["port"], names[e["to"]["id"]], e["to"]["port"])
            for e in self.graph["edges"]
        ]

    @property
    def errors(self):
        return [d["message"] for d in self.graph["diagnostics"] if d["severity"] == "error"]


def edited(text, edits):
    """Make edits as the page's editor does: all of them refer to the text before."""
    for before, after in pairwise(edits):
        assert before.end <= after.start
    for edit in reversed(edits):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def inverse(text, edits):
    """Give the edits that take edits of a text back, as the page's history keeps them."""
    moved, back = 0, []
    for edit in edits:
        start = edit.start + moved
        back.append(Edit(start, start + len(edit.text), text[edit.start : edit.end]))
        moved += len(edit.text) - (edit.end - edit.start)
    return back


def shape(graph):
    """Give what is drawn, without ids and versions."""
    numbers = {one["id"]: number for number, one in enumerate([*graph["frames"], *graph["nodes"]])}

    def plain(part):
        match part:
            case dict():
                return {k: plain(v) for k, v in part.items() if k not in ("id", "version")} | (
                    {"id": numbers[part["id"]]} if part.get("id") in numbers else {}
                )
            case list():
                return [plain(one) for one in part]
            case str() if part in numbers:
                return numbers[part]
        return part

    return plain(graph)
