# The call that `run` returned for, and Python modules.

@cython.no_gc_clear
cdef class Calls(Core):
    """The call that `run` returned for, and Python modules."""

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

    def shape_due(self, int32_t argument, int ndim):
        """Give the shape of an output that is allocated later, with the most rows; raises ArithmeticError."""
        cdef int64_t shape[8]
        if not pse_engine_shape_due(self.sequencer, argument, shape):
            raise ArithmeticError("an extent has no value")
        return tuple([shape[axis] for axis in range(ndim)])

    def make_later(self, int32_t argument, tuple rows, int32_t instead=-1):
        """Allocate an output of the pending call, now that its shape is known; gives the Buffer.

        It is that of the input slot `instead`, if it has room and nobody needs the input after the call.
        """
        cdef int64_t shape[8]
        cdef int code = 0
        for axis in range(len(rows)):
            shape[axis] = rows[axis]
        cdef pse_block *block = pse_engine_make_later(self.sequencer, argument, instead, shape, &code)
        if block is NULL:
            raise MemoryError("no memory left for an output")
        return self._wrap(block, True)

    def keep(self, Buffer buffer):
        """Module code kept an array beyond its call: hold the buffer until the array is gone."""
        pse_engine_pin(self.sequencer, buffer.block)
        buffer.pinned = True

    def scalar(self, int32_t expression):
        """Evaluate a scalar argument of the pending call; raises ArithmeticError."""
        cdef double real[2]
        cdef int64_t integer = 0
        cdef uint16_t dtype = 0
        if not pse_engine_scalar(self.sequencer, expression, real, &integer, &dtype):
            raise ArithmeticError("an argument has no value")
        return number(real, integer, dtype)

    def slot_scalar(self, int32_t slot):
        """Give the scalar in a slot of the pending call."""
        cdef double real[2]
        cdef int64_t integer = 0
        cdef uint16_t dtype = 0
        pse_engine_slot_scalar(self.sequencer, slot, real, &integer, &dtype)
        return number(real, integer, dtype)

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

    def complete(self, uint64_t copied=0):
        """It returned, having made the engine copy so many bytes; `run` goes on after the call."""
        pse_engine_complete(self.sequencer, copied)
