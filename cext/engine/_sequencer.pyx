# cython: language_level=3
"""Python face of the sequencer (cext/engine/sequencer.h).

A `Plan` holds the tables of one rank, as NumPy arrays with the layout of plan.h; a `Sequencer` runs it.
Compiled modules run inside `Sequencer.run` without the GIL; for everything else `run` returns a result and
the caller acts.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from cpython.buffer cimport PyBUF_FORMAT

from pse.memory._arena cimport Arena, pse_arena, pse_block, pse_layout
from pse.runtime._channel cimport Board, pse_board
from pse.trace._recorder cimport Recorder, pse_recorder

cdef extern from "engine.h" nogil:
    ctypedef struct pse_instruction:
        pass
    ctypedef struct pse_term:
        pass
    ctypedef struct pse_expression:
        pass
    ctypedef struct pse_argument:
        pass
    ctypedef struct pse_part:
        pass
    ctypedef struct pse_move:
        uint64_t start "from"
        uint32_t ndim
        int64_t *shape
        int64_t *from_strides
    ctypedef struct pse_push:
        pass
    ctypedef struct pse_call:
        int32_t kind
        uint32_t site
        int32_t first_argument
        int32_t arguments
        const char *text
    ctypedef struct pse_loop:
        pass
    ctypedef struct pse_counting:
        pass
    ctypedef struct pse_fiber:
        pass
    ctypedef struct pse_region_row:
        pass
    ctypedef struct pse_plan:
        uint32_t rank, ranks, partition, slots, edges, loops_count, pushes_count
        uint32_t instructions_count, loads_count
        const pse_instruction *instructions
        const pse_term *terms
        const pse_expression *expressions
        const pse_argument *arguments
        const pse_part *parts
        const pse_move *moves
        const pse_push *pushes
        const int32_t *releases
        const pse_call *calls
        const pse_loop *loops
        const pse_fiber *fibers
        const pse_region_row *regions
        const uint32_t *owners
        const pse_counting *countings
        const uint32_t *participants
        const uint32_t *edge_sites
        const uint32_t *forward_first
        const uint32_t *forwards
        const uint32_t *credit_first
        const uint32_t *credits
        const uint32_t *edge_depths
        const uint8_t *remote
        const uint32_t *ensemble
        uint32_t ensemble_count, place
        uint64_t local_limit
        uint8_t shared
        uint8_t has_remote
    union pse_message_value "__typeof__(((pse_message *)0)->value)":
        uint64_t handle
        void *pointer
        double scalar[2]
        int64_t integer
    ctypedef struct pse_message:
        uint64_t tph
        uint32_t edge
        uint32_t source
        uint32_t index
        uint8_t kind
        uint8_t flags
        uint16_t dtype
        uint64_t sequence
        pse_message_value value
    ctypedef struct pse_outgoing:
        uint32_t rank
        pse_message message
        pse_block *buffer
        void *data
        pse_layout layout
        const pse_move *moves
        uint32_t moves_count
    int PSE_RUN_DONE, PSE_RUN_PYTHON, PSE_RUN_POLL, PSE_RUN_SIGNAL, PSE_RUN_MODULE_FAILED
    int PSE_RUN_ARITHMETIC, PSE_RUN_TOO_LARGE, PSE_RUN_NO_SPACE, PSE_RUN_MEMORY, PSE_RUN_BROKEN, PSE_RUN_PAUSE
    int PSE_RUN_MAIL, PSE_RUN_DEADLOCK
    int PSE_RUN_SHAPE
    ctypedef struct pse_engine
    int pse_engine_create(pse_engine **out, const pse_plan *plan, pse_board *board, pse_arena *arena,
                             pse_recorder *recorder)
    void pse_engine_destroy(pse_engine *sequencer)
    void pse_engine_set_culprit(pse_engine *sequencer, const char **culprit)
    void pse_engine_poison(pse_engine *sequencer)
    int64_t pse_engine_private_buffers(const pse_engine *sequencer)
    int pse_engine_run(pse_engine *sequencer, uint64_t patience)
    const pse_call *pse_engine_pending(const pse_engine *sequencer)
    uint64_t pse_engine_pending_tph(const pse_engine *sequencer)
    int64_t pse_engine_pending_index(const pse_engine *sequencer)
    int64_t pse_engine_pending_partition(const pse_engine *sequencer)
    int32_t pse_engine_pending_instruction(const pse_engine *sequencer)
    int pse_engine_module_code(const pse_engine *sequencer)
    int32_t pse_engine_misfit(const pse_engine *sequencer, int64_t *piece, pse_layout *found,
                                 int64_t *expected)
    pse_block *pse_engine_made(const pse_engine *sequencer, int32_t argument)
    pse_block *pse_engine_buffer(pse_engine *sequencer, int32_t slot)
    void *pse_engine_data(pse_engine *sequencer, pse_block *buffer)
    bint pse_engine_scalar(pse_engine *sequencer, int32_t expression, double *real, int64_t *integer,
                              uint16_t *dtype)
    bint pse_engine_slot_scalar(pse_engine *sequencer, int32_t slot, double *real, int64_t *integer,
                                   uint16_t *dtype)
    void pse_engine_set_integer(pse_engine *sequencer, int32_t slot, int64_t value)
    void pse_engine_set_real(pse_engine *sequencer, int32_t slot, double real, double imaginary,
                                bint complex_value)
    bint pse_engine_set_bytes(pse_engine *sequencer, int32_t slot, const char *data, uint64_t size)
    bint pse_engine_enter(pse_engine *sequencer)
    bint pse_engine_rest(pse_engine *sequencer)
    bint pse_engine_pending_is_parked(const pse_engine *sequencer)
    uint64_t pse_engine_pending_key(const pse_engine *sequencer)
    void pse_engine_abandon_module(pse_engine *sequencer)
    ctypedef struct pse_messaging_side:
        uint32_t partition, site, kind, extra, type
        uint64_t bytes
    ctypedef struct pse_messaging_fault:
        int32_t kind, tag
        uint32_t partitions
        int64_t peer, index
        uint64_t tph
        pse_messaging_side here, there
    ctypedef struct pse_messaging_wait:
        pass
    const pse_messaging_fault *pse_engine_mail_fault(const pse_engine *sequencer)
    bint pse_engine_mail_is_empty(pse_engine *sequencer)
    ctypedef struct pse_messaging_saved:
        uint32_t scope, partition, is_message, sender "from", number, site, collective, extra, type
        uint64_t bytes
        const void *data
    size_t pse_engine_kept(const pse_engine *sequencer, pse_messaging_saved *rows, size_t limit)
    bint pse_engine_put_kept(pse_engine *sequencer, const pse_messaging_saved *row)
    void pse_engine_traffic(const pse_engine *sequencer, uint64_t *posted, uint64_t *delivered)
    const pse_messaging_wait *pse_engine_waits(const pse_engine *sequencer, size_t *count)
    bint pse_engine_serve(pse_engine *sequencer)
    const void *pse_messaging_services()
    void pse_engine_complete(pse_engine *sequencer, uint64_t copied)
    void pse_engine_pin(pse_engine *sequencer, pse_block *buffer)
    void pse_engine_unpin(pse_engine *sequencer, pse_block *buffer)
    void pse_engine_set_due(pse_engine *sequencer, uint64_t rounds)
    uint64_t pse_engine_rounds(const pse_engine *sequencer)
    int32_t pse_engine_point(const pse_engine *sequencer)
    void pse_engine_take_all(pse_engine *sequencer)
    bint pse_engine_start_at(pse_engine *sequencer, int32_t point, uint64_t rounds)
    void pse_engine_succeed(pse_engine *sequencer, const pse_engine *before)
    const uint64_t *pse_engine_loads(const pse_engine *sequencer)
    void pse_engine_inherit(pse_engine *sequencer, int32_t slot, pse_engine *before, int32_t source)
    void pse_engine_abandon(pse_engine *sequencer)
    uint64_t pse_engine_lend(pse_engine *sequencer, pse_block *buffer)
    pse_block *pse_engine_lent(const pse_engine *sequencer, uint64_t handle)
    int PSE_SLOT_EMPTY, PSE_SLOT_SCALAR, PSE_SLOT_BUFFER, PSE_SLOT_PIECES
    int pse_engine_slot_kind(const pse_engine *sequencer, int32_t slot, uint32_t *pieces)
    pse_block *pse_engine_slot_piece(const pse_engine *sequencer, int32_t slot, uint32_t index,
                                        double *real, int64_t *integer, uint16_t *dtype)
    pse_block *pse_engine_make_buffer(pse_engine *sequencer, const pse_layout *layout)
    void pse_engine_set_buffer(pse_engine *sequencer, int32_t slot, pse_block *buffer)
    bint pse_engine_set_pieces(pse_engine *sequencer, int32_t slot, uint32_t count)
    void pse_engine_set_piece(pse_engine *sequencer, int32_t slot, uint32_t index, pse_block *buffer,
                                 const double *real, int64_t integer, uint16_t dtype)
    void pse_engine_skip(pse_engine *sequencer, uint32_t loop, uint64_t iterations)
    size_t pse_engine_outbox(pse_engine *sequencer, pse_outgoing **out)
    void pse_engine_sent(pse_engine *sequencer, pse_block *buffer)
    pse_block *pse_engine_receive_buffer(pse_engine *sequencer, const pse_layout *layout,
                                            const pse_message *message)
    void pse_engine_deliver(pse_engine *sequencer, const pse_message *message)

# What `run` returns.
RUN_DONE = PSE_RUN_DONE
RUN_PYTHON = PSE_RUN_PYTHON
RUN_POLL = PSE_RUN_POLL
RUN_SIGNAL = PSE_RUN_SIGNAL
RUN_MODULE_FAILED = PSE_RUN_MODULE_FAILED
RUN_ARITHMETIC = PSE_RUN_ARITHMETIC
RUN_TOO_LARGE = PSE_RUN_TOO_LARGE
RUN_NO_SPACE = PSE_RUN_NO_SPACE
RUN_MEMORY = PSE_RUN_MEMORY
RUN_BROKEN = PSE_RUN_BROKEN
RUN_SHAPE = PSE_RUN_SHAPE
RUN_PAUSE = PSE_RUN_PAUSE
RUN_MAIL = PSE_RUN_MAIL
RUN_DEADLOCK = PSE_RUN_DEADLOCK

# pse_dtype codes and the formats of the buffer protocol (and NumPy's names, in FORMATS' order).
cdef dict FORMATS = {
    0: b"B", 1: b"i", 2: b"q", 3: b"f", 4: b"d", 5: b"Zf", 6: b"Zd", 7: b"B", 8: b"H", 9: b"?", 10: b"B"
}
cdef enum:
    I64 = 2
    F64 = 4
    C128 = 6


def mail_services():
    """Give the address of what modules find behind coven.h."""
    return <uintptr_t>pse_messaging_services()


def table_sizes():
    """Give the sizes in bytes of plan.h's structs, by name of the plan's table."""
    return {
        "instructions": sizeof(pse_instruction), "terms": sizeof(pse_term),
        "expressions": sizeof(pse_expression),
        "arguments": sizeof(pse_argument), "parts": sizeof(pse_part), "moves": sizeof(pse_move),
        "pushes": sizeof(pse_push),
        "calls": sizeof(pse_call), "loops": sizeof(pse_loop),
        "countings": sizeof(pse_counting), "message": sizeof(pse_message),
        "fibers": sizeof(pse_fiber), "regions": sizeof(pse_region_row),
    }


cdef class Plan:
    """The tables of one rank, ready to run; keeps the arrays (and whatever texts they point to) alive."""

    cdef pse_plan plan
    cdef object kept

    def __init__(self, dict numbers, dict tables, object kept):
        cdef pse_plan *plan = &self.plan
        self.kept = (tables, kept)
        plan.rank, plan.ranks, plan.partition = numbers["rank"], numbers["ranks"], numbers["partition"]
        plan.slots, plan.edges = numbers["slots"], len(tables["edge_sites"])
        plan.loops_count, plan.pushes_count = numbers["loops"], len(tables["pushes"])
        plan.local_limit, plan.shared = numbers["local_limit"], numbers["shared"]
        plan.has_remote = numbers["has_remote"]
        plan.instructions = <const pse_instruction *>address(tables["instructions"])
        plan.terms = <const pse_term *>address(tables["terms"])
        plan.expressions = <const pse_expression *>address(tables["expressions"])
        plan.arguments = <const pse_argument *>address(tables["arguments"])
        plan.parts = <const pse_part *>address(tables["parts"])
        plan.moves = <const pse_move *>address(tables["moves"])
        plan.pushes = <const pse_push *>address(tables["pushes"])
        plan.releases = <const int32_t *>address(tables["releases"])
        plan.calls = <const pse_call *>address(tables["calls"])
        plan.loops = <const pse_loop *>address(tables["loops"])
        plan.fibers = <const pse_fiber *>address(tables["fibers"])
        plan.regions = <const pse_region_row *>address(tables["regions"])
        plan.owners = <const uint32_t *>address(tables["owners"])
        plan.instructions_count = len(tables["instructions"])
        plan.loads_count = numbers.get("loads", 0)
        plan.countings = <const pse_counting *>address(tables["countings"])
        plan.participants = <const uint32_t *>address(tables["participants"])
        plan.edge_sites = <const uint32_t *>address(tables["edge_sites"])
        plan.forward_first = <const uint32_t *>address(tables["forward_first"])
        plan.forwards = <const uint32_t *>address(tables["forwards"])
        plan.credit_first = <const uint32_t *>address(tables["credit_first"])
        plan.credits = <const uint32_t *>address(tables["credits"])
        plan.edge_depths = <const uint32_t *>address(tables["edge_depths"])
        plan.remote = <const uint8_t *>address(tables["remote"])
        plan.ensemble = <const uint32_t *>address(tables["ensemble"])
        plan.ensemble_count, plan.place = len(tables["ensemble"]), numbers["place"]


cdef const void *address(table) except? NULL:
    """First byte of a NumPy array that the plan keeps alive."""
    cdef uintptr_t first = table.ctypes.data
    return <const void *>first


cdef int64_t fill_layout(pse_layout *layout, int dtype, int itemsize, tuple shape) except -1:
    """Describe a C-ordered array; returns its bytes."""
    cdef int64_t stride = itemsize
    cdef int axis
    layout.dtype, layout.ndim, layout.reserved, layout.itemsize = dtype, len(shape), 0, itemsize
    for axis in range(len(shape) - 1, -1, -1):
        layout.shape[axis], layout.strides[axis] = shape[axis], stride
        stride *= shape[axis]
    return stride


cdef tuple _side(const pse_messaging_side *side):
    return side.partition, side.site, side.kind, side.extra, side.type, side.bytes


cdef tuple moved(const pse_move *moves, uint32_t count):
    """What of a buffer goes to another node: (offset, shape, strides) in bytes for each move."""
    cdef uint32_t i, axis
    return tuple([
        (moves[i].start, tuple([moves[i].shape[axis] for axis in range(moves[i].ndim)]),
         tuple([moves[i].from_strides[axis] for axis in range(moves[i].ndim)]))
        for i in range(count)
    ])


@cython.no_gc_clear  # `__dealloc__` still needs its owner.
cdef class Buffer:
    """A module's view of one buffer: NumPy arrays are made on it by the buffer protocol.

    It holds the buffer while anybody holds the array; the sequencer is told if that is longer than the call.
    No arrays are made on a buffer of the outbox of which only some `moves` go: its address says where it is.
    """

    cdef Sequencer owner
    cdef pse_block *block
    cdef pse_layout layout
    cdef void *data
    cdef bint writable
    cdef bint pinned
    cdef int exports
    cdef readonly tuple moves

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        cdef Py_ssize_t items = 1
        cdef int axis
        for axis in range(self.layout.ndim):
            items *= self.layout.shape[axis]
        buffer.buf = self.data
        buffer.obj = self
        buffer.len = items * self.layout.itemsize
        buffer.itemsize = self.layout.itemsize
        buffer.readonly = not self.writable
        buffer.ndim = self.layout.ndim
        buffer.format = <char *><const char *>FORMATS[self.layout.dtype] if flags & PyBUF_FORMAT else NULL
        buffer.shape = <Py_ssize_t *>self.layout.shape
        buffer.strides = <Py_ssize_t *>self.layout.strides
        buffer.suboffsets = NULL
        buffer.internal = NULL
        self.exports += 1

    def __releasebuffer__(self, Py_buffer *buffer):
        self.exports -= 1

    def __dealloc__(self):
        if self.pinned:
            self.owner.forget(self.block)

    @property
    def description(self):
        """(element type code, bytes of an element, shape): of what arrives, where there are moves."""
        shape = tuple(self.layout.shape[i] for i in range(self.layout.ndim))
        return self.layout.dtype, self.layout.itemsize, shape

    @property
    def address(self):
        """Of its first byte."""
        return <uintptr_t>self.data

    @property
    def held(self):
        """Whether somebody still has an array on it."""
        return self.exports > 0


@cython.no_gc_clear  # `__dealloc__` still needs plan, board and arena.
cdef class Sequencer:
    """Runs a plan.  `run` returns one of the RUN_ codes."""

    cdef pse_engine *sequencer
    cdef readonly Plan plan
    cdef readonly Board board
    cdef object arena, recorder
    cdef list unpinned

    def __init__(self, Plan plan, Board board, Arena arena, Recorder recorder, uintptr_t culprit=0):
        cdef pse_arena *mapped = NULL
        cdef pse_recorder *records = NULL
        if arena is not None:
            mapped = arena.handle
        if recorder is not None:
            records = recorder.recorder
        self.plan, self.board, self.arena, self.recorder = plan, board, arena, recorder
        self.unpinned = []
        if pse_engine_create(&self.sequencer, &plan.plan, board.open_board(), mapped, records) != 0:
            raise MemoryError("no memory left for the sequencer")
        if culprit:
            pse_engine_set_culprit(self.sequencer, <const char **>culprit)

    def __dealloc__(self):
        if self.sequencer is not NULL:
            self._unpin()
            pse_engine_destroy(self.sequencer)

    def run(self, uint64_t patience=0):
        """Run until the caller is needed; sleep at most `patience` ns at a time (0: no limit)."""
        cdef int result
        self._unpin()
        with nogil:
            result = pse_engine_run(self.sequencer, patience)
        return result

    def poison(self):
        """Overwrite private buffers when they are made and when they are freed, to show who reads them then.

        For tests; `Arena.poison` does the same with the buffers of the arena.
        """
        pse_engine_poison(self.sequencer)

    @property
    def private_buffers(self):
        """How many private buffers somebody holds: none once the work is done."""
        self._unpin()
        return pse_engine_private_buffers(self.sequencer)

    def misfit(self):
        """Give (slot, piece or -1, shape found, shape expected) of the array that doesn't fit its call."""
        cdef int64_t piece
        cdef int64_t expected[8]
        cdef pse_layout found
        cdef int32_t slot = pse_engine_misfit(self.sequencer, &piece, &found, expected)
        axes = range(found.ndim)
        return slot, piece, tuple(found.shape[i] for i in axes), tuple(expected[i] for i in axes)

    # Python modules

    def pending(self):
        """Give (call site, first argument, number of arguments) of the call `run` returned for, or None."""
        cdef const pse_call *call = pse_engine_pending(self.sequencer)
        if call is NULL:
            return None
        return call.site, call.first_argument, call.arguments

    @property
    def pending_tph(self):
        """TPH of the pending call."""
        return pse_engine_pending_tph(self.sequencer)

    @property
    def pending_index(self):
        """Loop counter of the pending call's TPH, -1 outside loops."""
        return pse_engine_pending_index(self.sequencer)

    @property
    def pending_partition(self):
        """Partition of the pending call, where it is one of several of this rank; else -1."""
        return pse_engine_pending_partition(self.sequencer)

    @property
    def pending_instruction(self):
        """Where in the plan's code the sequencer stopped."""
        return pse_engine_pending_instruction(self.sequencer)

    @property
    def module_code(self):
        """What the failed compiled module returned."""
        return pse_engine_module_code(self.sequencer)

    def read(self, int32_t slot, bint writable):
        """Give the Buffer of an input slot of the pending call."""
        return self._wrap(pse_engine_buffer(self.sequencer, slot), writable)

    def made(self, int32_t argument):
        """Give the Buffer that was allocated for an output of the pending call."""
        return self._wrap(pse_engine_made(self.sequencer, argument), True)

    cdef _wrap(self, pse_block *block, bint writable):
        if block is NULL:
            return None
        cdef Buffer buffer = Buffer()
        buffer.owner, buffer.block, buffer.layout, buffer.writable = self, block, block.layout, writable
        buffer.data = pse_engine_data(self.sequencer, block)
        return buffer

    def keep(self, Buffer buffer):
        """Module code kept an array beyond its call: hold the buffer until the array is gone."""
        pse_engine_pin(self.sequencer, buffer.block)
        buffer.pinned = True

    cdef forget(self, pse_block *block):
        self.unpinned.append(<uintptr_t>block)

    cdef _unpin(self):
        while self.unpinned:
            pse_engine_unpin(self.sequencer, <pse_block *><uintptr_t>self.unpinned.pop())

    def scalar(self, int32_t expression):
        """Evaluate a scalar argument of the pending call; raises ArithmeticError."""
        cdef double real[2]
        cdef int64_t integer = 0
        cdef uint16_t dtype = 0
        if not pse_engine_scalar(self.sequencer, expression, real, &integer, &dtype):
            raise ArithmeticError("an argument divides by zero or leaves its domain")
        return integer if dtype == I64 else complex(real[0], real[1]) if dtype == C128 else real[0]

    def slot_scalar(self, int32_t slot):
        """Give the scalar in a slot of the pending call."""
        cdef double real[2]
        cdef int64_t integer = 0
        cdef uint16_t dtype = 0
        pse_engine_slot_scalar(self.sequencer, slot, real, &integer, &dtype)
        return integer if dtype == I64 else complex(real[0], real[1]) if dtype == C128 else real[0]

    def set_scalar(self, int32_t slot, value):
        """Store a scalar result of the pending call."""
        if isinstance(value, int):
            pse_engine_set_integer(self.sequencer, slot, value)
        elif isinstance(value, complex):
            pse_engine_set_real(self.sequencer, slot, value.real, value.imag, True)
        else:
            pse_engine_set_real(self.sequencer, slot, value, 0, False)

    def set_object(self, int32_t slot, bytes data):
        """Store an object's bytes as a result of the pending call."""
        if not pse_engine_set_bytes(self.sequencer, slot, data, len(data)):
            raise MemoryError(f"no memory left for an object of {len(data)} bytes")

    def enter(self):
        """The pending Python module starts."""
        if not pse_engine_enter(self.sequencer):
            raise MemoryError("no memory left to call a Python module")

    def rest(self):
        """It returned, or waits: true if its partition rests until what it posted is complete.

        Then `run`, which returns RUN_PYTHON for the same call once more, and `parked` is true.
        """
        return bool(pse_engine_rest(self.sequencer))

    @property
    def parked(self):
        """Whether the pending call ran before and goes on."""
        return bool(pse_engine_pending_is_parked(self.sequencer))

    @property
    def pending_key(self):
        """What tells parked calls apart."""
        return pse_engine_pending_key(self.sequencer)

    def abandon_module(self):
        """The pending Python module raised."""
        pse_engine_abandon_module(self.sequencer)

    def mail_fault(self):
        """Say what went wrong among partitions: kind, numbers, and the two sides as tuples."""
        cdef const pse_messaging_fault *fault = pse_engine_mail_fault(self.sequencer)
        return {
            "kind": fault.kind, "tag": fault.tag, "partitions": fault.partitions, "peer": fault.peer,
            "index": fault.index, "tph": fault.tph, "here": _side(&fault.here), "there": _side(&fault.there),
        }

    def mail_is_empty(self):
        """Whether every message among partitions was received, or will be; if not, mail_fault names one."""
        return bool(pse_engine_mail_is_empty(self.sequencer))

    @property
    def traffic(self):
        """How many messages this rank has posted, and how many were delivered to it."""
        cdef uint64_t posted = 0, delivered = 0
        pse_engine_traffic(self.sequencer, &posted, &delivered)
        return posted, delivered

    def kept(self):
        """Give what boxes of partitions hold at a pause: the fields of pse_messaging_saved, the data as bytes."""
        cdef size_t count = pse_engine_kept(self.sequencer, NULL, 0), i
        cdef pse_messaging_saved *rows = <pse_messaging_saved *>malloc(count * sizeof(pse_messaging_saved))
        cdef list found = []
        if rows is NULL and count > 0:
            raise MemoryError("no memory left for messages among partitions")
        pse_engine_kept(self.sequencer, rows, count)
        try:
            for i in range(count):
                found.append((rows[i].scope, rows[i].partition, rows[i].is_message, rows[i].sender,
                              rows[i].number, rows[i].site, rows[i].collective, rows[i].extra, rows[i].type,
                              (<const char *>rows[i].data)[:rows[i].bytes] if rows[i].bytes else b""))
        finally:
            free(rows)
        return found

    def put_kept(self, row):
        """Put what `kept` gave into a box."""
        cdef pse_messaging_saved kept
        cdef bytes data
        (kept.scope, kept.partition, kept.is_message, kept.sender, kept.number, kept.site, kept.collective,
         kept.extra, kept.type, data) = row
        kept.bytes, kept.data = len(data), <const char *>data
        if not pse_engine_put_kept(self.sequencer, &kept):
            raise MemoryError("no memory left for messages among partitions")

    def waits(self):
        """After RUN_DEADLOCK: rows of struct pse_messaging_wait, as bytes."""
        cdef size_t count = 0
        cdef const pse_messaging_wait *rows = pse_engine_waits(self.sequencer, &count)
        return (<const char *>rows)[:count * sizeof(pse_messaging_wait)] if count else b""

    def serve(self):
        """After RUN_DONE: take messages and answer other ranks."""
        cdef bint fine
        with nogil:
            fine = pse_engine_serve(self.sequencer)
        if not fine:
            raise MemoryError("no memory left for messages of other ranks")

    def complete(self, uint64_t copied=0):
        """It returned, having made the engine copy so many bytes; `run` goes on after the call."""
        pse_engine_complete(self.sequencer, copied)

    # Pauses: what concerns slots is about the program itself, where it stands at a pause

    def set_due(self, uint64_t rounds):
        """Return at the pause with this number (0: at none); they are counted from 1."""
        pse_engine_set_due(self.sequencer, rounds)

    @property
    def rounds(self):
        """Pauses passed so far."""
        return pse_engine_rounds(self.sequencer)

    @property
    def point(self):
        """Which pause `run` returned for: the number of its statement."""
        return pse_engine_point(self.sequencer)

    def take_all(self):
        """Messages that came and were not used yet leave their queues."""
        pse_engine_take_all(self.sequencer)

    def start_at(self, int32_t point, uint64_t rounds):
        """Begin right after a pause, the slots still empty; false if there is no such pause."""
        return bool(pse_engine_start_at(self.sequencer, point, rounds))

    def succeed(self, Sequencer before):
        """Take over from another that stands at a pause; counts go on."""
        pse_engine_succeed(self.sequencer, before.sequencer)

    def loads(self):
        """Give the CPU time (ns) that the calls of each partition took in this rank so far."""
        cdef const uint64_t *loads = pse_engine_loads(self.sequencer)
        return [loads[i] for i in range(self.plan.plan.loads_count)]

    def inherit(self, int32_t slot, Sequencer before, int32_t source):
        """Take over what a slot of the sequencer before holds."""
        pse_engine_inherit(self.sequencer, slot, before.sequencer, source)

    def abandon(self):
        """Drop what slots still hold: others have taken over."""
        pse_engine_abandon(self.sequencer)

    def lend(self, Buffer buffer):
        """Give a handle by which another rank of the node gets the buffer, 0 if it is this rank's own."""
        return pse_engine_lend(self.sequencer, buffer.block)

    def lent(self, uint64_t handle):
        """Give the Buffer that another rank has lent; it must be put into a slot."""
        return self._wrap(pse_engine_lent(self.sequencer, handle), False)

    def skip(self, uint32_t loop, uint64_t iterations):
        """Leave out the first iterations of an inflight loop when it runs next."""
        pse_engine_skip(self.sequencer, loop, iterations)

    def slot_value(self, int32_t slot):
        """Give what a slot holds: None, a number, a Buffer, or a list of these (pieces)."""
        cdef uint32_t count = 0, i
        cdef int kind = pse_engine_slot_kind(self.sequencer, slot, &count)
        if kind == PSE_SLOT_SCALAR:
            return self.slot_scalar(slot)
        if kind == PSE_SLOT_BUFFER:
            return self.read(slot, False)
        if kind == PSE_SLOT_PIECES:
            return [self._piece(slot, i) for i in range(count)]
        return None

    cdef _piece(self, int32_t slot, uint32_t index):
        cdef double real[2]
        cdef int64_t integer = 0
        cdef uint16_t dtype = 0
        cdef pse_block *block = pse_engine_slot_piece(self.sequencer, slot, index, real, &integer, &dtype)
        if block is not NULL:
            return self._wrap(block, False)
        return integer if dtype == I64 else complex(real[0], real[1]) if dtype == C128 else real[0]

    def new_buffer(self, int dtype, int itemsize, tuple shape):
        """Make a Buffer (C-ordered) for `put`; it must be put into a slot."""
        cdef pse_layout layout
        fill_layout(&layout, dtype, itemsize, shape)
        cdef pse_block *block = pse_engine_make_buffer(self.sequencer, &layout)
        if block is NULL:
            raise MemoryError("no memory left for an array that is put back")
        return self._wrap(block, True)

    def put(self, int32_t slot, value):
        """Put a number, a Buffer of `new_buffer`, or a list of these (pieces) into a slot."""
        if isinstance(value, Buffer):
            pse_engine_set_buffer(self.sequencer, slot, (<Buffer>value).block)
        elif isinstance(value, list):
            if not pse_engine_set_pieces(self.sequencer, slot, len(value)):
                raise MemoryError("no memory left for a list of pieces")
            for index, piece in enumerate(value):
                self._put_piece(slot, index, piece)
        else:
            self.set_scalar(slot, value)

    cdef _put_piece(self, int32_t slot, uint32_t index, value):
        cdef double real[2]
        real[0] = real[1] = 0
        if isinstance(value, Buffer):
            pse_engine_set_piece(self.sequencer, slot, index, (<Buffer>value).block, real, 0, 0)
        elif isinstance(value, int):
            pse_engine_set_piece(self.sequencer, slot, index, NULL, real, value, I64)
        else:
            real[0], real[1] = value.real, value.imag
            pse_engine_set_piece(self.sequencer, slot, index, NULL, real, 0,
                                    C128 if isinstance(value, complex) else F64)

    # Transport between nodes

    def outbox(self):
        """Take what goes to other nodes: a list of (rank, message bytes, Buffer or None)."""
        cdef pse_outgoing *entries
        cdef size_t count = pse_engine_outbox(self.sequencer, &entries), i
        cdef list out = []
        cdef Buffer buffer
        for i in range(count):
            buffer = None
            if entries[i].buffer is not NULL:
                buffer = Buffer()
                buffer.owner, buffer.block, buffer.layout = self, entries[i].buffer, entries[i].layout
                buffer.data, buffer.writable = entries[i].data, False
                if entries[i].moves is not NULL:
                    buffer.moves = moved(entries[i].moves, entries[i].moves_count)
            out.append((entries[i].rank, (<char *>&entries[i].message)[:sizeof(pse_message)], buffer))
        return out

    def sent(self, Buffer buffer):
        """A Buffer of the outbox is on its way for good."""
        pse_engine_sent(self.sequencer, buffer.block)

    def receive_buffer(self, bytes message, int dtype, int itemsize, tuple shape):
        """Make a Buffer for an arriving array (C-ordered)."""
        cdef pse_message head
        cdef pse_layout layout
        cdef int64_t stride
        self._head(message, &head)
        stride = fill_layout(&layout, dtype, itemsize, shape)
        cdef pse_block *block = pse_engine_receive_buffer(self.sequencer, &layout, &head)
        if block is NULL:
            raise MemoryError(f"no memory left for {stride} bytes that arrive from rank {head.source}")
        return self._wrap(block, True)

    def deliver(self, bytes message, Buffer buffer):
        """Hand an arrived message to its slot; the sequencer owns the buffer from now on."""
        cdef pse_message head
        self._head(message, &head)
        if buffer is not None:
            head.value.pointer = buffer.block
        with nogil:
            pse_engine_deliver(self.sequencer, &head)

    cdef _head(self, bytes message, pse_message *head):
        if len(message) != sizeof(pse_message):
            raise ValueError(f"a message head has {sizeof(pse_message)} bytes, not {len(message)}")
        memcpy(head, <const char *>message, sizeof(pse_message))
