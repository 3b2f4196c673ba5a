# Views of buffers: NumPy arrays are made on them.

cdef int64_t fill_layout(pse_layout *layout, int dtype, int itemsize, tuple shape) except -1:
    """Describe a C-ordered array; returns its bytes."""
    cdef int64_t stride = itemsize
    cdef int axis
    layout.dtype, layout.ndim, layout.reserved, layout.itemsize = dtype, len(shape), 0, itemsize
    for axis in range(len(shape) - 1, -1, -1):
        layout.shape[axis], layout.strides[axis] = shape[axis], stride
        stride *= shape[axis]
    return stride



cdef tuple moved(const pse_move *moves, uint32_t count):
    """What of a buffer goes to another node: (offset, shape, strides) in bytes for each move."""
    cdef uint32_t i, axis
    return tuple([
        (moves[i].source, tuple([moves[i].shape[axis] for axis in range(moves[i].ndim)]),
         tuple([moves[i].source_strides[axis] for axis in range(moves[i].ndim)]))
        for i in range(count)
    ])


cdef class Core


@cython.no_gc_clear  # `__dealloc__` still needs its owner.
cdef class Buffer:
    """A module's view of one buffer: NumPy arrays are made on it by the buffer protocol.

    It holds the buffer while anybody holds the array; the sequencer is told if that is longer than the call.
    No arrays are made on a buffer of the outbox of which only some `moves` go: its address says where it is.
    """

    cdef Core owner
    cdef pse_block *block
    cdef pse_layout layout
    cdef void *data
    cdef bint writable
    cdef bint pinned
    cdef int exports
    cdef readonly tuple moves
    cdef bytes record_format  # Of elements that are so many bytes: records.  Views point to it.

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        cdef Py_ssize_t items = 1
        cdef int axis
        for axis in range(self.layout.ndim):
            items *= self.layout.shape[axis]
        buffer.buf = self.data
        buffer.obj = self
        buffer.len = items * self.layout.itemsize
        buffer.itemsize = self.layout.itemsize
        buffer.readonly = not self.writable
        buffer.ndim = self.layout.ndim
        buffer.format = NULL
        if flags & PyBUF_FORMAT and self.layout.dtype == 0 and self.layout.itemsize > 1:
            if self.record_format is None:  # `s`, as NumPy copies nothing of arrays whose elements are `x`.
                self.record_format = b"%ds" % self.layout.itemsize
            buffer.format = self.record_format
        elif flags & PyBUF_FORMAT:
            buffer.format = <char *><const char *>FORMATS[self.layout.dtype]
        buffer.shape = <Py_ssize_t *>self.layout.shape
        buffer.strides = <Py_ssize_t *>self.layout.strides
        buffer.suboffsets = NULL
        buffer.internal = NULL
        self.exports += 1

    def __releasebuffer__(self, Py_buffer *buffer):
        self.exports -= 1

    def __dealloc__(self):
        if self.pinned:
            self.owner.forget(self.block)

    @property
    def description(self):
        """(element type code, bytes of an element, shape): of what arrives, where there are moves."""
        shape = tuple(self.layout.shape[i] for i in range(self.layout.ndim))
        return self.layout.dtype, self.layout.itemsize, shape

    @property
    def address(self):
        """Of its first byte."""
        return <uintptr_t>self.data

    @property
    def held(self):
        """Whether somebody still has an array on it."""
        return self.exports > 0
