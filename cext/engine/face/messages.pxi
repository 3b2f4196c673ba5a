# Messages among partitions.

@cython.no_gc_clear
cdef class Messages(Calls):
    """Messages among partitions."""

    def messaging_fault(self):
        """Say what went wrong among partitions: the fields of pse_messaging_fault."""
        cdef pse_messaging_fault fault = pse_engine_messaging_fault(self.sequencer)[0]
        return fault

    def messaging_is_empty(self):
        """Whether every message among partitions was received, or will be; if not, messaging_fault names one."""
        return bool(pse_engine_messaging_is_empty(self.sequencer))

    @property
    def traffic(self):
        """How many messages this rank has posted, and how many were delivered to it."""
        cdef uint64_t posted = 0, delivered = 0
        pse_engine_traffic(self.sequencer, &posted, &delivered)
        return posted, delivered

    def saved_mailboxes(self):
        """Give what mailboxes of partitions hold at a pause: the fields of pse_messaging_saved, the data as bytes."""
        cdef size_t count = pse_engine_save_mailboxes(self.sequencer, NULL, 0), i
        cdef pse_messaging_saved *rows = <pse_messaging_saved *>malloc(count * sizeof(pse_messaging_saved))
        cdef list found = []
        if rows is NULL and count > 0:
            raise MemoryError("no memory left for messages among partitions")
        pse_engine_save_mailboxes(self.sequencer, rows, count)
        try:
            for i in range(count):
                found.append((rows[i].scope, rows[i].partition, rows[i].is_message, rows[i].from_,
                              rows[i].number, rows[i].site, rows[i].collective, rows[i].extra, rows[i].type,
                              (<const char *>rows[i].data)[:rows[i].bytes] if rows[i].bytes else b""))
        finally:
            free(rows)
        return found

    def restore_mailbox(self, row):
        """Put a row of `saved_mailboxes` into its mailbox."""
        cdef pse_messaging_saved kept
        cdef bytes data
        (kept.scope, kept.partition, kept.is_message, kept.from_, kept.number, kept.site, kept.collective,
         kept.extra, kept.type, data) = row
        kept.bytes, kept.data = len(data), <const char *>data
        if not pse_engine_restore_mailbox(self.sequencer, &kept):
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
