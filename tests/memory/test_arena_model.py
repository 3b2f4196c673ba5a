"""The arena against a model: whatever is done in whatever order, no byte changes but the written ones."""

import numpy as np
from hypothesis import settings, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule
from pse_testing.example_counts import some_of

from pse.memory import Arena, ArenaMemoryError

CAPACITY = 2 << 20

# Views and small blocks, and large ones that soon fill the arena so that blocks are broken up and merged.
SIZES = st.one_of(
    st.integers(0, 2000),
    st.integers(0, 70_000),
    st.sampled_from([65_536, 65_537, 100_000, 300_000]),
    st.integers(65_537, CAPACITY),
)


class ArenaMachine(RuleBasedStateMachine):
    """Holders are what Python code may have: blocks, views, opened descriptors; each has its model."""

    holders = Bundle("holders")

    def __init__(self):
        super().__init__()
        self.arena = Arena.create(CAPACITY)
        self.live = {}  # Of each holder: the block, its root's handle and model, the part that it sees.
        self.filled = 0

    def hold(self, block, root, model, begin, end):
        self.live[id(block)] = (block, root, model, begin, end)
        return id(block)

    def allocate_or_none(self, size):
        try:
            return self.arena.allocate(size, "u1")
        except ArenaMemoryError:
            return None

    @rule(target=holders, size=SIZES)
    def allocate(self, size):
        block = self.allocate_or_none(size)
        if block is None:
            assert self.live or size > CAPACITY // 2, "an empty arena has room"
            return multiple()
        model = np.zeros(size, "u1")
        block.array[:] = 0
        return self.hold(block, block.handle, model, 0, size)

    @rule(key=holders, begin=st.floats(0, 1), end=st.floats(0, 1), target=holders)
    def view(self, key, begin, end):
        block, root, model, first, last = self.live[key]
        low, high = sorted(int(part * (last - first)) for part in (begin, end))
        try:
            view = block.view(np.s_[low:high])
        except ArenaMemoryError:
            return multiple()
        return self.hold(view, root, model, first + low, first + high)

    @rule(key=holders, target=holders)
    def share(self, key):
        block, *rest = self.live[key]
        before = block.references
        opened = self.arena.open(block.share().handle)
        assert opened.references == before + 1
        return self.hold(opened, *rest)

    @rule(key=holders)
    def write(self, key):
        block, _, model, begin, end = self.live[key]
        self.filled = self.filled % 250 + 1
        block.array[:] = self.filled
        model[begin:end] = self.filled

    @rule(key=consumes(holders))
    def release(self, key):
        del self.live[key]

    @rule(on=st.booleans())
    def poison(self, on):
        self.arena.poison(on)

    @invariant()
    def nothing_else_changed(self):
        for block, _, model, begin, end in self.live.values():
            np.testing.assert_array_equal(block.array, model[begin:end])

    @invariant()
    def the_arena_is_whole(self):
        assert self.arena.is_valid()
        handles = {block.handle for block, *_ in self.live.values()} | {
            root for _, root, *_ in self.live.values()
        }
        counts = self.arena.statistics()
        assert counts.live_blocks == len(handles)
        assert {record.handle for record in self.arena.live(10_000)} == handles
        assert counts.in_use <= counts.peak
        assert counts.grown <= counts.capacity


TestArenaModel = ArenaMachine.TestCase
TestArenaModel.settings = settings(max_examples=some_of(60), stateful_step_count=40, deadline=None)
