# cython: language_level=3
"""Python face of the engine (cext/engine/engine.h); its parts are in face/.

A `Plan` holds the tables of one rank, as NumPy arrays with the rows of cext/abi/plan.def; a `Sequencer`
runs it.  Compiled modules run inside `Sequencer.run` without the GIL; for everything else `run` returns a
result and the caller acts.
"""

from pse._abi.elements cimport PSE_C128, PSE_F64, PSE_I64
from pse._abi.channel cimport pse_message
from pse._abi.messaging cimport pse_messaging_fault, pse_messaging_saved, pse_messaging_wait
from pse._abi.plan cimport PSE_SLOT_BUFFER, PSE_SLOT_PIECES, PSE_SLOT_SCALAR, pse_call, pse_move, pse_plan
from pse.memory._arena cimport Arena, pse_arena, pse_block, pse_layout
from pse.runtime._channel cimport Board, pse_board
from pse.trace._recorder cimport Recorder, pse_recorder

import os

from pse._abi.elements import FORMATS

include "face/declarations.pxi"


def messaging_services():
    """Give the address of what modules find behind coven.h."""
    return <uintptr_t>pse_messaging_services()


cdef number(const double *real, int64_t integer, uint16_t dtype):
    return integer if dtype == PSE_I64 else complex(real[0], real[1]) if dtype == PSE_C128 else real[0]


include "face/plan.pxi"
include "face/buffer.pxi"
include "face/output.pxi"
include "face/core.pxi"
include "face/calls.pxi"
include "face/messages.pxi"
include "face/pauses.pxi"
include "face/slots.pxi"
include "face/transport.pxi"
