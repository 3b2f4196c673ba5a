# Pauses.  What concerns slots is about the program itself, where it stands at a pause.

@cython.no_gc_clear
cdef class Pauses(Messages):
    """Pauses.  What concerns slots is about the program itself, where it stands at a pause."""

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

    def succeed(self, Core before):
        """Take over from another that stands at a pause; counts go on."""
        pse_engine_succeed(self.sequencer, before.sequencer)

    def loads(self):
        """Give the CPU time (ns) that the calls of each partition took in this rank so far."""
        cdef const uint64_t *loads = pse_engine_loads(self.sequencer)
        return [loads[i] for i in range(self.plan.plan.loads_count)]

    def inherit(self, int32_t slot, Core before, int32_t source):
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
