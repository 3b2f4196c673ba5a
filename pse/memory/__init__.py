"""The node's shared arena: arrays that ranks hand to each other without copying them.

One rank makes an arena, the others attach to it; a block that one of them fills is opened by another through
a descriptor of three numbers.  Blocks are counted by reference, and their memory is used again while warm.

>>> from pse.memory import Arena
>>> arena = Arena.create(1 << 20)
>>> block = arena.allocate((2, 3), "f8")
>>> block.array[:] = 7
>>> same = arena.open(block.share().handle)
>>> float(same.array.sum())
42.0

The implementation is C (cext/arena), its face `_arena` is Cython; the kernel that moves strided data is in
`_kernels`.  This room imports no other.  Next rooms: cext/channel carries descriptors, cext/engine decides
when to release.
"""

from pse.memory._arena import Arena, Block
from pse.memory.capacity import default_capacity, memory_figures
from pse.memory.errors import ArenaError, ArenaMemoryError, ArenaSystemError
from pse.memory.records import ArenaStatistics, Descriptor, LiveBlock, MemoryFigures

__all__ = [
    "Arena",
    "ArenaError",
    "ArenaMemoryError",
    "ArenaStatistics",
    "ArenaSystemError",
    "Block",
    "Descriptor",
    "LiveBlock",
    "MemoryFigures",
    "default_capacity",
    "memory_figures",
]
