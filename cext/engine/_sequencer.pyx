# cython: language_level=3
"""Python face of the engine (cext/engine/engine.h); its parts are in face/.

A `Plan` holds the tables of one rank, as NumPy arrays with the layout of plan.h; a `Sequencer` runs it.
Compiled modules run inside `Sequencer.run` without the GIL; for everything else `run` returns a result and
the caller acts.
"""

from pse._abi.elements cimport PSE_C128, PSE_F64, PSE_I64
from pse.memory._arena cimport Arena, pse_arena, pse_block, pse_layout
from pse.runtime._channel cimport Board, pse_board
from pse.trace._recorder cimport Recorder, pse_recorder

from pse._abi.elements import FORMATS

include "face/declarations.pxi"
include "face/results.pxi"


def messaging_services():
    """Give the address of what modules find behind coven.h."""
    return <uintptr_t>pse_messaging_services()


cdef tuple _side(const pse_messaging_side *side):
    return side.partition, side.site, side.kind, side.extra, side.type, side.bytes


include "face/plan.pxi"
include "face/buffer.pxi"
include "face/core.pxi"
include "face/calls.pxi"
include "face/messages.pxi"
include "face/pauses.pxi"
include "face/slots.pxi"
include "face/transport.pxi"
