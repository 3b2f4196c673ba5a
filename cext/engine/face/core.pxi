# The engine itself: made, run, ended.

@cython.no_gc_clear  # `__dealloc__` still needs plan, board and arena.
cdef class Core:
    """An engine and what it needs alive; `run` returns one of the RUN_ codes."""

    cdef pse_engine *sequencer
    cdef readonly Plan plan
    cdef readonly Board board
    cdef object arena, recorder, prefixes
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

    def guard(self):
        """For debugging, before it runs: whoever reads or writes just outside of a buffer crashes."""
        pse_engine_guard(self.sequencer)

    @staticmethod
    def input_finder():
        """Give the address of the function by which the fault handler names a guarded call's inputs."""
        return <uintptr_t>&pse_engine_input_at

    def prefix_output(self, OutputPipe pipe, SitePrefixes prefixes):
        """From now on begin every line that modules write with the prefix of its call."""
        self.prefixes = prefixes
        pse_engine_prefix_output(self.sequencer, pipe.pipes, prefixes.sites, prefixes.idle)

    @property
    def private_buffers(self):
        """How many private buffers somebody holds: none once the work is done."""
        self._unpin()
        return pse_engine_private_buffers(self.sequencer)

    def without_value(self):
        """Give the kind of the term that has no value, and its left and right operand."""
        cdef double real[2]
        cdef int64_t integer = 0
        cdef uint16_t dtype = 0
        cdef int kind = 0
        operands = []
        for right in (False, True):
            kind = pse_engine_without_value(self.sequencer, right, real, &integer, &dtype)
            operands.append(number(real, integer, dtype))
        return kind, operands[0], operands[1]

    def misfit(self):
        """Give (slot, piece or -1, shape found, shape expected) of the array that doesn't fit its call."""
        cdef int64_t piece
        cdef int64_t expected[8]
        cdef pse_layout found
        cdef int32_t slot = pse_engine_misfit(self.sequencer, &piece, &found, expected)
        axes = range(found.ndim)
        return slot, piece, tuple(found.shape[i] for i in axes), tuple(expected[i] for i in axes)

    def misfilled(self):
        """Give (slot, rows filled, rows there are, whether more was written) of an output that can't be so."""
        cdef int64_t filled = 0, capacity = 0
        cdef uint8_t overrun = 0
        cdef int32_t slot = pse_engine_misfilled(self.sequencer, &filled, &capacity, &overrun)
        return slot, filled, capacity, bool(overrun)

    def watch_descriptor(self, int descriptor):
        """From now on, end with RUN_DESCRIPTOR after a call that has closed this descriptor."""
        pse_engine_watch_descriptor(self.sequencer, descriptor)

    def check_finite(self):
        """Before it runs: look for NaN and infinity in the outputs of every call."""
        pse_engine_check_finite(self.sequencer)

    def not_finite(self):
        """Give slot, index (empty: a scalar) and value of the output that holds a NaN or infinity."""
        cdef int64_t index = 0
        cdef double value = 0
        cdef pse_layout layout
        cdef int32_t slot = pse_engine_not_finite(self.sequencer, &index, &value, &layout)
        if index < 0:
            return slot, (), value
        place = []
        for axis in reversed(range(layout.ndim)):
            place.insert(0, index % layout.shape[axis])
            index //= layout.shape[axis]
        return slot, tuple(place), value

    def underrun(self):
        """Give the slot of the array before which a module wrote, and how many bytes before it."""
        cdef uint64_t distance = 0
        return pse_engine_underrun(self.sequencer, &distance), distance

    cdef _wrap(self, pse_block *block, bint writable):
        if block is NULL:
            return None
        cdef Buffer buffer = Buffer()
        buffer.owner, buffer.block, buffer.layout, buffer.writable = self, block, block.layout, writable
        buffer.data = pse_engine_data(self.sequencer, block)
        return buffer

    cdef forget(self, pse_block *block):
        self.unpinned.append(<uintptr_t>block)

    cdef _unpin(self):
        while self.unpinned:
            pse_engine_unpin(self.sequencer, <pse_block *><uintptr_t>self.unpinned.pop())
