"""Calls of Python modules: arrays made on the engine's buffers, results put back into them.

The arrays that a module gets lie in the buffers themselves; outputs that it takes as parameters do too,
outputs that it returns are copied once. A module that keeps an array beyond its call keeps the buffer.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Generator, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from pse._abi.messaging import FaultKind
from pse._abi.plan import ArgumentKind
from pse.errors import RunError
from pse.language.check import Argument, CallSite, Output
from pse.language.types import Direction, Element, Parameter, Text, evaluate, record_of
from pse.modules import LoadedModule, ModuleError
from pse.modules.load import BegunCall, as_module_error, begin_call, resume_call
from pse.modules.messaging import Request, enter_call, leave_call, wait_for
from pse.records import dataclass
from pse.runtime import _faults
from pse.runtime._sequencer import Buffer, Sequencer
from pse.runtime.plan._arguments import bindings
from pse.runtime.plan._job import Job
from pse.runtime.plan._projection import Projection
from pse.runtime.rank import _objects as objects
from pse.text import count_text


def end_if_forked(failure: BaseException | None = None) -> None:
    """End this process if a module has forked it; `failure` is what was raised."""
    if _faults.is_forked():
        from pse.runtime.rank._forked import end_forked

        end_forked(failure)


@dataclass
class _UnfinishedCall:
    """A call of a Python module that is not complete: it may go on later, while others run."""

    site: CallSite
    begun: BegunCall
    returned: Any
    generator: Generator[Any, Any, Any] | None
    inputs: Sequence[tuple[Parameter, int]]
    outputs: Sequence[tuple[Parameter, int]]
    values: Sequence[Any]
    made: dict[str, np.ndarray[Any, Any]]
    held: list[Buffer]
    posted: list[Request]
    awaited: Request | list[Request] = field(default_factory=list)

    def received(self) -> Any:
        """Finish what was awaited; give what a generator gets for it.

        Raises
        ------
        ModuleError
            If an operation of the user's as_module_error.
        """
        done = [self.awaited] if isinstance(self.awaited, Request) else self.awaited
        try:
            results = [request.result() for request in done]
        except Exception as failure:
            raise as_module_error(self.begun.module, failure) from failure
        finished = set(map(id, done))
        self.posted[:] = [request for request in self.posted if id(request) not in finished]
        return results[0] if isinstance(self.awaited, Request) else results


class PythonCalls:
    """Calls the Python modules of one rank; `figures` collects what they report."""

    def __init__(
        self,
        sequencer: Sequencer,
        projection: Projection,
        job: Job,
        figures: dict[str, float] | None = None,
    ) -> None:
        self.sequencer, self.projection, self.job = sequencer, projection, job
        self.figures = {} if figures is None else figures
        self._resting: dict[int, _UnfinishedCall] = {}

    def call(self) -> None:
        """Execute the call that the sequencer returned for.

        Raises
        ------
        RunError
            If the module raises, or returns something other than its directive says.
        """
        pending = self.sequencer.pending()
        assert pending is not None
        site = self.projection.sites[pending[0]]
        resting = self.sequencer.parked
        unfinished = self._resting.pop(self.sequencer.pending_key) if resting else None
        self.sequencer.enter()
        try:
            unfinished = unfinished or self._begin(site, pending[1])
            enter_call(unfinished.posted)
            if self._rests(unfinished, resting):
                self._resting[self.sequencer.pending_key] = unfinished
                return
            held, copied = unfinished.held, self._finish(unfinished)
        except ModuleError as error:
            end_if_forked(error.__cause__ or error)
            from pse.runtime.faults._failures import pending_place
            from pse.runtime.faults._partition_errors import partition_error

            if (
                self.sequencer.messaging_fault()["kind"] == FaultKind.MEMORY
            ):  # What it raised follows from that.
                raise partition_error(self.sequencer, self.projection) from error
            error.message = f"{site.span}: {error.message} {pending_place(self.sequencer, self.projection)}"
            raise
        except ArithmeticError as error:
            from pse.runtime.faults._failures import arithmetic

            raise arithmetic(self.sequencer, self.projection) from error
        except MemoryError as error:
            from pse.runtime.faults._failures import no_memory

            raise no_memory(self.sequencer, self.projection) from error
        finally:
            leave_call()
            self.sequencer.abandon_module()
        del unfinished
        for buffer in held:
            if buffer.held:
                self.sequencer.keep(buffer)
        self.sequencer.complete(copied)

    def _rests(self, unfinished: _UnfinishedCall, resting: bool) -> bool:
        """Let a module go on as far as it can; true if its partition rests then."""
        value = unfinished.received() if resting else None
        while unfinished.generator is not None:
            ended, yielded = resume_call(unfinished.begun.module, unfinished.generator, value)
            if ended:
                unfinished.generator, unfinished.returned = None, yielded
                break
            unfinished.awaited = _requests(unfinished.begun.module, yielded, unfinished.posted)
            awaited = unfinished.awaited
            wait_for([awaited] if isinstance(awaited, Request) else awaited)
            if self.sequencer.rest():
                return True
            value = unfinished.received()
        unfinished.awaited = list(unfinished.posted)
        return self.sequencer.rest()

    def _begin(self, site: CallSite, first: int) -> _UnfinishedCall:
        """Call a module's function."""
        held: list[Buffer] = []
        posted: list[Request] = []
        module, bound = self.projection.modules[site.id], list(enumerate(bindings(site), first))
        inputs = [(p, row) for row, (p, given) in bound if not isinstance(given, Output)]
        outputs = [(p, row) for row, (p, given) in bound if isinstance(given, Output)]
        values = [
            self.projection.communicators[site.id].comm
            if p.type.element is Element.COMM
            else self._input(p, row, bound[row - first][1][1], held)
            for p, row in inputs
        ]
        made = {
            p.name: _array(self._made(row - first, held), given.type.element, p)
            for row, (p, given) in bound
            if isinstance(given, Output) and not p.type.scalar and not p.decided
        }
        if site.module.language == "std" and module.name == "report":
            self._report(*values)
            begun = BegunCall(module, None, {}, None, {})
        else:
            if module.makes and module.callable is not None:
                instead = self._row(inputs[0][1])[1]
                make = functools.partial(self._make, site, *outputs[0], made, instead=instead)
                module = replace(module, callable=functools.partial(module.callable, make=make))
            enter_call(posted)
            begun = begin_call(module, values, made)
            end_if_forked()
        generator = begun.returned if isinstance(begun.returned, Generator) else None
        return _UnfinishedCall(
            site, begun, begun.returned, generator, inputs, outputs, values, made, held, posted
        )

    def _finish(self, call: _UnfinishedCall) -> int:
        """Store what a module has made; returns the bytes copied."""
        call.received()
        results = call.begun.outputs(call.returned)
        self._store_updates(call.inputs, call.values)
        return sum(
            _fill(call.site, p, call.made[p.name], result)
            if p.name in call.made
            else _fill(call.site, p, self._make(call.site, p, row, call.made, result.shape[0]), result)
            if p.decided
            else self._store(p, row, result)
            for (p, row), result in zip(call.outputs, results, strict=True)
        )

    def _make(
        self,
        site: CallSite,
        parameter: Parameter,
        row: int,
        made: dict[str, np.ndarray[Any, Any]],
        rows: int,
        instead: int = -1,
    ) -> np.ndarray[Any, Any]:
        """Allocate an array of which a module has decided how many rows it has; nothing is awaited then.

        It lies in the buffer of the slot `instead` if nobody needs that any more.
        """
        pending = self.sequencer.pending()
        assert pending is not None
        place, type = (
            row - pending[1],
            next(o.type for o in site.outputs if o.parameter.name == parameter.name),
        )
        most, *others = self.sequencer.shape_due(place, len(type.shape or ()))
        if rows > most:
            raise _beyond_capacity(site, parameter, rows, most)
        buffer = self.sequencer.make_later(place, (rows, *others), instead)
        made[parameter.name] = _array(buffer, type.element, parameter)
        return made[parameter.name]

    def _store(self, parameter: Parameter, row: int, result: Any) -> int:
        """Store a scalar or object that the module returned; returns the bytes copied."""
        slot = self._row(row)[1]
        if parameter.type.element is not Element.OBJECT:
            self.sequencer.set_scalar(slot, np.asarray(result).item())
            return 0
        data = objects.to_bytes(result, parameter.name)
        self.sequencer.set_object(slot, data)
        return len(data)

    def _report(self, name: str, value: float) -> None:
        """Keep the largest value of a figure; one that is not a number stays."""
        before = self.figures.get(name, -math.inf)
        self.figures[name] = value if value > before or math.isnan(value) else before

    def _row(self, argument: int) -> tuple[int, int, int]:
        """Kind, slot and expression of an argument."""
        kind, slot, expression = self.projection.arguments[argument]
        return kind, slot, expression

    def _input(
        self,
        parameter: Parameter,
        row: int,
        given: Argument | Output | None,
        held: list[Buffer],
    ) -> Any:
        kind, slot, expression = self._row(row)
        if kind == ArgumentKind.TEXT:
            return self._text(slot, parameter, given)
        if kind == ArgumentKind.SCALAR:
            return _typed(self.sequencer.scalar(expression), self._element(parameter, given))
        if kind == ArgumentKind.UPDATE:
            element = self._element(parameter, given)
            return np.array(_typed(self.sequencer.slot_scalar(slot), element), element and element.value)
        buffer = self.sequencer.read(slot, parameter.direction is Direction.INOUT)
        assert buffer is not None
        if isinstance(given, Argument) and self._holds_object(given):
            return objects.from_bytes(memoryview(buffer))
        held.append(buffer)
        return _array(buffer, self._element(parameter, given), parameter)

    def _element(self, parameter: Parameter, given: Argument | Output | None) -> Element | None:
        """What a scalar parameter takes: what the directive says, or what is given where it says `T`."""
        if parameter.type.element is not None or not isinstance(given, Argument):
            return parameter.type.element
        tag = self.job.program.tags.get(given.tag or "")
        return tag.type.element if tag else self.job.element(given.value)

    def _holds_object(self, argument: Argument) -> bool:
        tag = self.job.program.tags.get(argument.tag or "")
        return tag is not None and tag.type.element is Element.OBJECT

    def _text(self, slot: int, parameter: Parameter, given: Argument | Output | None) -> str:
        if slot >= 0:
            buffer = self.sequencer.read(slot, False)
            assert buffer is not None
            return bytes(memoryview(buffer)[:-1]).decode()
        value = given.value if isinstance(given, Argument) else parameter.default
        assert value is not None
        return value.value if isinstance(value, Text) else str(evaluate(value, self.job.environment))

    def _made(self, place: int, held: list[Buffer]) -> Buffer:
        buffer = self.sequencer.made(place)
        assert buffer is not None
        held.append(buffer)
        return buffer

    def _store_updates(self, inputs: Sequence[tuple[Parameter, int]], values: Sequence[Any]) -> None:
        for (_, row), value in zip(inputs, values, strict=True):
            kind, slot, _ = self._row(row)
            if kind == ArgumentKind.UPDATE:
                self.sequencer.set_scalar(slot, value.item())


def _requests(module: LoadedModule, yielded: Any, posted: list[Request]) -> Request | list[Request]:
    """What a generator waits for: what it yielded, or all that it posted."""
    if yielded is None:
        return list(posted)
    if isinstance(yielded, Request):
        return yielded
    if isinstance(yielded, list | tuple) and all(isinstance(request, Request) for request in yielded):
        return list(yielded)
    raise ModuleError(
        f"module `{module.name}` ({module.place}) yielded {type(yielded).__name__}: expected a request of "
        "pse.partition, a list of them, or nothing (for all that it posted)",
        help="yield what send, receive or a collective of pse.partition gave",
    )


def _array(buffer: Buffer, element: Element | None, parameter: Parameter) -> np.ndarray[Any, Any]:
    """Make an array on a buffer, whose records the engine takes for bytes; a single one has no axis."""
    array, record = np.asarray(buffer), record_of(element)
    typed = array if record is None else array.view(np.dtype(record.value))
    return typed.reshape(()) if parameter.single else typed


def _typed(value: complex, element: Element | None) -> Any:
    """A scalar as Python code expects it: an int, float, complex or bool."""
    if element is Element.BOOL:
        return bool(value)
    if element in (Element.F32, Element.F64) and isinstance(value, int):
        return float(value)
    return complex(value) if element in (Element.C64, Element.C128) else value


def _beyond_capacity(site: CallSite, parameter: Parameter, rows: int, capacity: int) -> RunError:
    return RunError(
        f"{site.span}: module {site.label} returned {parameter.name} with {count_text(rows, 'row')}, "
        f"more than its capacity of {capacity:,}",
        help="return fewer rows, or give it a larger capacity in the directive",
    )


def _fill(
    site: CallSite, parameter: Parameter, made: np.ndarray[Any, Any], result: np.ndarray[Any, Any]
) -> int:
    """Put a returned array where the engine wants it; returns the bytes copied."""
    if result is made:
        return 0
    if result.shape != made.shape or result.dtype != made.dtype:
        raise RunError(
            f"{site.span}: module {site.label} returned {parameter.name} as {result.dtype}"
            f"{list(result.shape)}; the program expects {made.dtype}{list(made.shape)}",
            help=f"return an array of that shape, or change the declared shape of {parameter.name}",
        )
    made[...] = result
    return result.nbytes
