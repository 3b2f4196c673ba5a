# The whole: transport between nodes comes last.

@cython.no_gc_clear
cdef class Sequencer(Slots):
    """Runs a plan.  `run` returns one of the RUN_ codes."""

    def outbox(self):
        """Take what goes to other nodes: a list of (rank, head, Buffer or None).

        A head is a message and the layout of its array, which is all zeros if it has none.
        """
        cdef pse_outgoing *entries
        cdef size_t count = pse_engine_outbox(self.sequencer, &entries), i
        cdef list out = []
        cdef Buffer buffer
        cdef bytes layout
        for i in range(count):
            buffer, layout = None, bytes(sizeof(pse_layout))
            if entries[i].buffer is not NULL:
                buffer = Buffer()
                buffer.owner, buffer.block, buffer.layout = self, entries[i].buffer, entries[i].layout
                buffer.data, buffer.writable = entries[i].data, False
                layout = (<char *>&entries[i].layout)[:sizeof(pse_layout)]
                if entries[i].moves is not NULL:
                    buffer.moves = moved(entries[i].moves, entries[i].moves_count)
            out.append((entries[i].rank, (<char *>&entries[i].message)[:sizeof(pse_message)] + layout, buffer))
        return out

    def sent(self, Buffer buffer):
        """A Buffer of the outbox is on its way for good."""
        pse_engine_sent(self.sequencer, buffer.block)

    def receive_buffer(self, bytes head):
        """Make a Buffer (C-ordered) for the array that follows a head; None if none does."""
        cdef pse_message message = self._message(head)
        cdef pse_layout layout
        memcpy(&layout, <const char *>head + sizeof(pse_message), sizeof(pse_layout))
        if layout.itemsize == 0:
            return None
        shape = tuple([layout.shape[axis] for axis in range(layout.ndim)])
        cdef int64_t size = fill_layout(&layout, layout.dtype, layout.itemsize, shape)
        cdef pse_block *block = pse_engine_receive_buffer(self.sequencer, &layout, &message)
        if block is NULL:
            raise MemoryError(f"no memory left for {size} bytes that arrive from rank {message.source}")
        return self._wrap(block, True)

    def deliver(self, bytes head, Buffer buffer):
        """Hand an arrived message to its slot; the sequencer owns the buffer from now on."""
        cdef pse_message message = self._message(head)
        if buffer is not None:
            message.value.pointer = buffer.block
        with nogil:
            pse_engine_deliver(self.sequencer, &message)

    cdef pse_message _message(self, bytes head) except *:
        cdef pse_message message
        cdef size_t size = sizeof(pse_message) + sizeof(pse_layout)
        if len(head) != size:
            raise ValueError(f"a head has {size} bytes, not {len(head)}")
        memcpy(&message, <const char *>head, sizeof(pse_message))
        return message
