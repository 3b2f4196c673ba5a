"""The shared arena (cext/arena/arena.h) for Python and Cython.

A method converts, calls C without the GIL, and turns a code into an exception.  A `Block` owns one reference;
an array made from it keeps the Block, so the memory is released when the last array is gone.
"""

cimport cython
from cpython.buffer cimport (
    PyBUF_ANY_CONTIGUOUS,
    PyBUF_C_CONTIGUOUS,
    PyBUF_F_CONTIGUOUS,
    PyBUF_FORMAT,
    PyBUF_STRIDES,
    PyBuffer_IsContiguous,
)
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.errno cimport errno
from libc.stdint cimport UINT64_MAX
from posix.unistd cimport getpid

from pse._abi.elements cimport PSE_MAX_DIMS, PSE_SMALLEST_ARENA

from operator import index

import numpy

from pse._abi.elements import FORMATS, TYPE_CODES
from pse.memory import _errors as errors
from pse.memory._records import ArenaStatistics, Descriptor, LiveBlock

# NumPy's names of element types by their number; bytes and pickled objects are shown as bytes.
_NAMES = dict.fromkeys(range(len(FORMATS)), "V1") | {code: name for name, code in TYPE_CODES.items()}


cdef int fill_layout(pse_layout *layout, object shape, object dtype) except -1:
    """Write the layout of a C-contiguous array."""
    kind = numpy.dtype(dtype)
    code = TYPE_CODES.get(kind.str[1:]) if kind.isnative else None
    if code is None:
        known = ", ".join(TYPE_CODES)
        raise TypeError(f"an arena block can't hold elements of type {kind}: expected one of {known}")
    extents = tuple(map(index, shape)) if hasattr(shape, "__iter__") else (index(shape),)
    if len(extents) > PSE_MAX_DIMS or any(extent < 0 for extent in extents):
        raise ValueError(f"a block has at most {PSE_MAX_DIMS} extents, none negative; got {extents}")
    layout.dtype, layout.ndim, layout.itemsize, layout.reserved = code, len(extents), kind.itemsize, 0
    stride = kind.itemsize
    if stride * numpy.prod([max(extent, 1) for extent in extents], dtype=object) > 1 << 60:
        raise ValueError(f"a block of shape {extents} is larger than any memory")
    for axis in reversed(range(len(extents))):
        layout.shape[axis] = extents[axis]
        layout.strides[axis] = stride
        stride *= max(extents[axis], 1)
    return 0


cdef uint64_t element_count(const pse_layout *layout) noexcept:
    cdef uint64_t count = 1
    for axis in range(layout.ndim):
        count *= <uint64_t>layout.shape[axis]
    return count


cdef uint64_t extent_bytes(const pse_layout *layout) noexcept:
    """Bytes from the first element to the end of the last; strides are not negative."""
    cdef uint64_t end = layout.itemsize
    if element_count(layout) == 0:
        return 0
    for axis in range(layout.ndim):
        end += <uint64_t>((layout.shape[axis] - 1) * layout.strides[axis])
    return end


def read_memory(root):
    """Total and available bytes of memory as proc and sys below `root` tell them."""
    cdef pse_arena_memory memory
    cdef bytes name = root.encode()
    if pse_arena_read_available_memory(name, &memory):
        raise errors.system_error(errno, f"{root}/proc/meminfo doesn't tell how much memory there is")
    return memory.total, memory.available


cdef class Arena:
    """The shared memory of a node's ranks: from `create` or `attach`; unmapped when nothing refers to it.

    Examples
    --------
    >>> arena = Arena.create(64 << 20)
    >>> block = arena.allocate((1000, 1000), "f8")
    >>> block.array.shape, arena.live()[0].bytes
    ((1000, 1000), 8000000)
    """

    def __dealloc__(self):
        pse_arena_detach(self.handle)

    @staticmethod
    def create(capacity):
        """Make an arena.

        Parameters
        ----------
        capacity : int
            Bytes to which it may grow.

        Returns
        -------
        Arena
            Empty; others attach to it by its `fd`.

        Raises
        ------
        ArenaError
            If `capacity` is less than 256 KiB.
        ArenaMemoryError
            If it is more than the machine, or this process's cgroup, has in all.
        ArenaSystemError
            If the system refuses the memory file or its mapping.
        """
        cdef Arena self = Arena.__new__(Arena)
        total = read_memory("")[0]
        if not PSE_SMALLEST_ARENA <= capacity <= total:
            raise errors.capacity_error(capacity, PSE_SMALLEST_ARENA, total)
        if pse_arena_create(&self.handle, capacity):
            raise errors.system_error(errno, f"an arena of {errors.exact_size(capacity)} can't be made")
        return self

    @staticmethod
    def attach(pid_t pid, int fd):
        """Map an arena that another process of the same user has made.

        Parameters
        ----------
        pid : int
            The process.
        fd : int
            Its descriptor of the memory file.

        Returns
        -------
        Arena
            The same memory.

        Raises
        ------
        ArenaSystemError
            If there is no such process or descriptor, or what it refers to is no arena.
        """
        cdef Arena self = Arena.__new__(Arena)
        cdef int code = pse_arena_attach(&self.handle, pid, fd)
        if code:
            raise errors.attach_error(code, pid, fd, errno)
        return self

    @property
    def fd(self):
        """This process's descriptor of the memory file; other processes attach with it."""
        return pse_arena_fd(self.handle)

    def allocate(self, shape, dtype="f8"):
        """Allocate a block for a C-contiguous array; its contents are undefined.

        Parameters
        ----------
        shape : int or sequence of int
            At most eight extents.
        dtype
            Whatever numpy takes for i4, i8, f4, f8, c8, c16, u1, u2, or b1, in native byte order.

        Returns
        -------
        Block
            Holds the only reference.

        Raises
        ------
        ArenaMemoryError
            If there is no room for it.
        """
        cdef pse_layout layout
        cdef pse_handle handle
        cdef int code, cause
        fill_layout(&layout, shape, dtype)
        cdef uint64_t count = element_count(&layout) * layout.itemsize
        with nogil:
            code = pse_arena_allocate(self.handle, count, &handle)
            cause = errno
        check(self, code, cause, count)
        pse_arena_block(self.handle, handle).layout = layout
        return Block.adopt(self, handle)

    def allocate_shared(self, uint64_t key, uint32_t parts, shape, dtype="f8"):
        """Give one block to several callers: the first allocates it, the others get it too.

        Parameters
        ----------
        key : int
            What the callers have in common; other than 0.
        parts : int
            How many callers there are.
        shape : int or sequence of int
            At most eight extents.
        dtype
            As for `allocate`.

        Returns
        -------
        Block
            Holds one of the references.

        Raises
        ------
        ArenaMemoryError
            If there is no room for it.
        ArenaError
            If another caller named another size or number of parts.
        """
        cdef pse_layout layout
        cdef pse_handle handle
        cdef int code, cause
        if key == 0 or parts == 0:
            raise ValueError(f"a shared block needs a key and parts other than 0; got {key} and {parts}")
        fill_layout(&layout, shape, dtype)
        cdef uint64_t count = element_count(&layout) * layout.itemsize
        with nogil:
            code = pse_arena_allocate_shared(self.handle, key, parts, count, &handle)
            cause = errno
        check(self, code, cause, count)
        pse_arena_block(self.handle, handle).layout = layout
        return Block.adopt(self, handle)

    def open(self, pse_handle handle):
        """Give the block that a descriptor names; takes over the reference that came with it.

        Parameters
        ----------
        handle : int
            The descriptor's handle.

        Returns
        -------
        Block
            Holds that reference.

        Raises
        ------
        ArenaError
            If there is no live block at this handle.
        """
        if pse_arena_block(self.handle, handle) == NULL:
            raise errors.ArenaError(
                f"there is no live block at handle {handle:#x} of this arena",
                help="a descriptor can be opened once, in the arena that it names",
            )
        return Block.adopt(self, handle)

    def prefault(self, uint64_t limit=UINT64_MAX):
        """Map memory that other ranks have grown into.

        For a rank with nothing else to do: its first pass over these blocks then meets no page fault.

        Parameters
        ----------
        limit : int, optional
            Bytes to map at most.

        Returns
        -------
        int
            Bytes that are left to map.
        """
        cdef uint64_t left
        with nogil:
            left = pse_arena_prefault(self.handle, limit)
        return left

    def statistics(self):
        """Count over all ranks.

        Returns
        -------
        ArenaStatistics
            Blocks, bytes in use, and what the arena has grown to.
        """
        cdef pse_arena_statistics counts
        pse_arena_read_statistics(self.handle, &counts)
        return ArenaStatistics(**counts)

    def glance(self):
        """Count without taking the arena's lock: for watchers, who must never wait for a rank.

        Returns
        -------
        ArenaStatistics
            As `statistics`; numbers may belong to slightly different moments.
        """
        cdef pse_arena_statistics counts
        pse_arena_glance(self.handle, &counts)
        return ArenaStatistics(**counts)

    def live(self, size_t limit=100):
        """List the largest live blocks and views.

        Parameters
        ----------
        limit : int, default 100
            How many at most.

        Returns
        -------
        list of LiveBlock
            The largest first.
        """
        cdef pse_handle *handles = <pse_handle *>PyMem_Malloc(max(limit, 1) * sizeof(pse_handle))
        if handles == NULL:
            raise MemoryError
        try:
            count = pse_arena_live(self.handle, handles, limit)
            records = [record(self, handles[i]) for i in range(count)]
            return [one for one in records if one is not None]
        finally:
            PyMem_Free(handles)

    def is_valid(self):
        """Check every invariant of the arena; walks over all blocks.

        Returns
        -------
        bool
            Whether all hold.
        """
        return pse_arena_is_valid(self.handle)

    def guard(self):
        """For debugging, before the first block: whoever reads or writes just outside of a block crashes.

        Data then end at the end of a page, so they begin at any multiple of the size of their elements.
        """
        pse_arena_guard(self.handle)

    def protect(self, pse_handle handle):
        """Forbid this process the pages around a block of a guarded arena.

        Parameters
        ----------
        handle : int
            The block.
        """
        pse_arena_protect(self.handle, handle)

    def poison(self, bint on):
        """Overwrite what is freed from now on, by all ranks: a test then sees whoever reads it afterwards.

        Parameters
        ----------
        on : bool
            Whether to.
        """
        pse_arena_poison(self.handle, on)


cdef int check(Arena arena, int code, int cause, uint64_t asked) except -1:
    if code == 0:
        return 0
    counts = arena.statistics()
    raise errors.allocation_error(code, asked, counts.in_use, counts.capacity, cause)


cdef object record(Arena arena, pse_handle handle):
    """What is known about a block, or None if another rank has freed it meanwhile."""
    cdef pse_block *block = pse_arena_block(arena.handle, handle)
    if block == NULL:
        return None
    return LiveBlock(
        handle=handle,
        bytes=block.bytes,
        references=pse_arena_references(arena.handle, handle),
        owner=block.owner,
        site=block.site,
        tph=block.tph,
        parent=block.parent,
        shape=tuple([block.layout.shape[axis] for axis in range(min(block.layout.ndim, PSE_MAX_DIMS))]),
        dtype=_NAMES.get(block.layout.dtype, "V1"),
    )


cdef pse_layout layout_of_view(Block block, object whole, object part, object key) except *:
    """The layout of a numpy view of a block's array."""
    cdef pse_layout layout = block.layout
    is_view = isinstance(part, numpy.ndarray) and (part.size == 0 or numpy.may_share_memory(part, whole))
    if not is_view or min(part.strides, default=0) < 0:
        raise IndexError(f"a view is made by integers and forward slices that leave an array, not by {key!r}")
    layout.ndim = part.ndim
    for axis in range(part.ndim):
        layout.shape[axis] = part.shape[axis]
        layout.strides[axis] = part.strides[axis]
    return layout


cdef int refuse_order(Py_buffer *buffer, int flags) except -1:
    """Raise if the consumer wants the elements in an order that they don't have."""
    cdef char order
    if flags & PyBUF_C_CONTIGUOUS == PyBUF_C_CONTIGUOUS or not flags & PyBUF_STRIDES == PyBUF_STRIDES:
        order = b"C"
    elif flags & PyBUF_F_CONTIGUOUS == PyBUF_F_CONTIGUOUS:
        order = b"F"
    elif flags & PyBUF_ANY_CONTIGUOUS == PyBUF_ANY_CONTIGUOUS:
        order = b"A"
    else:
        return 0
    if not PyBuffer_IsContiguous(buffer, order):
        raise BufferError("the elements of this view aren't contiguous: use its array")
    return 0


@cython.no_gc  # Its one reference leads to no cycle, and must be there until __dealloc__.
cdef class Block:
    """One reference to a block of an arena, and the array that its bytes are.

    Supports the buffer protocol: `numpy.asarray(block)` is the array without a copy.

    Examples
    --------
    >>> arena = Arena.create(1 << 20)
    >>> block = arena.allocate(8, "i4")
    >>> block.array[:] = range(8)
    >>> arena.open(block.share().handle).view(slice(2, 4)).array.tolist()  # As another rank does.
    [2, 3]
    """

    def __init__(self):
        raise TypeError("a Block comes from Arena.allocate, Arena.open or Block.view")

    @staticmethod
    cdef Block adopt(Arena arena, pse_handle handle):
        cdef Block self = Block.__new__(Block)
        self.arena = arena
        self._handle = handle
        self.layout = pse_arena_block(arena.handle, handle).layout
        self.data = <char *>pse_arena_data(arena.handle, handle)
        return self

    def __dealloc__(self):
        if self._handle and pse_arena_release(self.arena.handle, self._handle) == PSE_ARENA_NOT_HELD:
            raise errors.ArenaError(
                f"block {self._handle:#x} of the arena was released more often than it was held"
            )

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        buffer.buf = self.data
        buffer.obj = self
        buffer.len = <Py_ssize_t>(element_count(&self.layout) * self.layout.itemsize)
        buffer.itemsize = self.layout.itemsize
        buffer.readonly = 0
        buffer.ndim = self.layout.ndim
        buffer.format = <char *><const char *>FORMATS[self.layout.dtype] if flags & PyBUF_FORMAT else NULL
        buffer.shape = <Py_ssize_t *>self.layout.shape
        buffer.strides = <Py_ssize_t *>self.layout.strides
        buffer.suboffsets = NULL
        buffer.internal = NULL
        refuse_order(buffer, flags)

    @property
    def handle(self):
        """Offset of the block in its arena: the same in every rank."""
        return self._handle

    @property
    def array(self):
        """The block as a numpy array; the block lives as long as the array does."""
        return numpy.asarray(self)

    @property
    def references(self):
        """How many references there are, over all ranks."""
        return pse_arena_references(self.arena.handle, self._handle)

    def view(self, key):
        """Give a part of the block, as a block of its own that shares its memory.

        Parameters
        ----------
        key
            What stands in the brackets of a numpy array: integers and slices.

        Returns
        -------
        Block
            Keeps this one alive.

        Raises
        ------
        IndexError
            If `key` would copy, leaves the block, or runs backwards.
        """
        cdef pse_handle handle
        cdef int code, cause
        whole = self.array
        part = whole[key]
        cdef pse_layout layout = layout_of_view(self, whole, part, key)
        cdef uint64_t count = extent_bytes(&layout)
        cdef uint64_t offset = part.ctypes.data - whole.ctypes.data if count else 0
        with nogil:
            code = pse_arena_view(self.arena.handle, self._handle, offset, count, &handle)
            cause = errno
        check(self.arena, code, cause, count)
        pse_arena_block(self.arena.handle, handle).layout = layout
        return Block.adopt(self.arena, handle)

    def share(self):
        """Make a reference for one other holder.

        Returns
        -------
        Descriptor
            Whoever opens it takes the reference over; one that is never opened keeps the block alive.
        """
        pse_arena_retain(self.arena.handle, self._handle, 1)
        return Descriptor(getpid(), pse_arena_fd(self.arena.handle), self._handle)
