# The plan: the tables of one rank, as NumPy arrays with the rows of cext/abi/plan.def.

cdef class Plan:
    """The tables of one rank, ready to run: a record of PLAN_DTYPE, and what it points to and must be kept."""

    cdef pse_plan plan
    cdef object kept

    def __init__(self, record, object kept):
        if record.nbytes != sizeof(pse_plan):
            raise ValueError(f"a plan has {sizeof(pse_plan)} bytes, not {record.nbytes}")
        self.kept = kept
        memcpy(&self.plan, address(record), sizeof(pse_plan))


cdef const void *address(table) except? NULL:
    """First byte of a NumPy array that the plan keeps alive."""
    cdef uintptr_t first = table.ctypes.data
    return <const void *>first
