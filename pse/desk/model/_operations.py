"""Operations on the graph, each as the smallest edits of the text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pse.desk.model import (
    _block_edits as blocks,
    _call_edits as calls,
    _connections as connections,
    _insertion as insertion,
    _item_edits as items,
)
from pse.desk.model._fields import Operation
from pse.desk.model._program import ProgramModel
from pse.desk.model._text import Edit, PieceTable, apply_edits, tidy
from pse.errors import UsageError

_OPERATIONS: dict[str, Callable[[ProgramModel, Operation], list[Edit]]] = {
    "program": blocks.create_program,
    "thread": calls.move_to_thread,
    "argument": calls.set_argument,
    "output": calls.set_output,
    "distribution": calls.set_distribution,
    "reduce": calls.set_reduction,
    "value": calls.set_value,
    "loop": blocks.set_head,
    "parameter": items.set_parameter,
    "partition": items.set_partition,
    "option": items.set_option,
    "add-parameter": items.add_parameter,
    "add-partition": items.add_partition,
    "remove": items.remove,
    "insert": insertion.insert,
    "statement": blocks.add_statement,
    "wrap": blocks.wrap,
    "connect": connections.connect,
    "delete": blocks.delete,
    "copy": blocks.copy,
    "move": blocks.move,
    "group": blocks.group,
    "ungroup": blocks.ungroup,
    "rename": blocks.rename,
}


class Performed(NamedTuple):
    """What operations come to.

    Attributes
    ----------
    edits : list of Edit
        Edits of the text before them.
    model : ProgramModel
        The program after them.
    new : list of str
        The ids of its new elements.

    See Also
    --------
    perform
    """

    edits: list[Edit]
    model: ProgramModel
    new: list[str]


def perform(
    model: ProgramModel, operations: Sequence[Operation], remake: Callable[[str], ProgramModel]
) -> Performed:
    """Carry operations out one after the other.

    Parameters
    ----------
    model : ProgramModel
        The program.
    operations : sequence of mapping
        What the page asks for; see docs/desk_protocol.md.
    remake : callable
        Makes the model of a new text.

    Returns
    -------
    Performed
        The smallest edits that do it, and the program after them.

    Raises
    ------
    UsageError
        If one can't be carried out; nothing is changed then.

    Examples
    --------
    >>> from pygls.workspace import PositionCodec
    >>> from pse.desk.model import Names, ProgramModel, perform
    >>> from pse.lsp import Analysis, OpenFiles
    >>> finder, names = OpenFiles({}), Names()
    >>> def model_of(text):
    ...     return ProgramModel(Analysis(text, "heat.coven", PositionCodec(), finder), names, finder)
    >>> heat = model_of(Path("heat.coven").read_text())
    >>> step = next(element.id for element in heat.elements if element.label == "step")
    >>> done = perform(heat, [{"op": "thread", "node": step, "thread": "thread_C"}], model_of)
    >>> [(heat.text[start:end], new) for start, end, new in done.edits]
    [('B', 'C')]
    """
    pieces, before = PieceTable(model.text), {element.id for element in model.elements}
    try:
        for operation in operations:
            edits = _edits(model, operation)
            pieces.apply(edits)
            made = remake(apply_edits(model.text, edits)) if edits else model
            _refuse_mistakes(model, made)
            model = made
    except RecursionError:
        raise UsageError("this is nested too deep", help="use a segment for an inner part") from None
    new = [element.id for element in model.elements if element.id not in before]
    return Performed(pieces.edits(), model, new)


def _edits(model: ProgramModel, operation: Operation) -> list[Edit]:
    perform_one = _OPERATIONS.get(str(operation.get("op")))
    if perform_one is None:
        known = ", ".join(_OPERATIONS)
        raise UsageError(f"there is no operation {operation.get('op')}", help=f"there are: {known}")
    return tidy(model.text, perform_one(model, operation))


def _refuse_mistakes(before: ProgramModel, after: ProgramModel) -> None:
    """Refuse what makes a text that can't be read: a form's text is no expression, say."""
    known = {d.message for d in before.analysis.inspection.diagnostics if d.code.startswith("E00")}
    for diagnostic in after.analysis.inspection.diagnostics:
        if diagnostic.code.startswith("E00") and diagnostic.message not in known:
            raise UsageError(diagnostic.message, help=diagnostic.help)
