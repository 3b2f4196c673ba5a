# The whole: transport between nodes comes last.

@cython.no_gc_clear
cdef class Sequencer(Slots):
    """Runs a plan.  `run` returns one of the RUN_ codes."""

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
