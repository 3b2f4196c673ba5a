# What slots hold at a pause, to be saved, moved, or put back.

@cython.no_gc_clear
cdef class Slots(Pauses):
    """What slots hold at a pause, to be saved, moved, or put back."""

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
        return integer if dtype == PSE_I64 else complex(real[0], real[1]) if dtype == PSE_C128 else real[0]

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
            pse_engine_set_piece(self.sequencer, slot, index, NULL, real, value, PSE_I64)
        else:
            real[0], real[1] = value.real, value.imag
            pse_engine_set_piece(self.sequencer, slot, index, NULL, real, 0,
                                    PSE_C128 if isinstance(value, complex) else PSE_F64)
