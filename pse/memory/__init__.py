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

The implementation is C (cext/arena), its face `_arena` is Cython; the kernels that move strided data and rows
are in `_kernels`.  This room imports no other.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
