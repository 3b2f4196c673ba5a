"""C-level declarations of the shared arena, for the extensions that `cimport` them."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from posix.types cimport pid_t

from pse._abi.memory cimport pse_arena_statistics, pse_layout


cdef extern from "arena.h" nogil:
    ctypedef struct pse_arena
    ctypedef uint64_t pse_handle

    ctypedef struct pse_block:
        int32_t waiter
        uint32_t owner
        uint32_t site
        uint32_t flags
        uint64_t tph
        uint64_t bytes
        pse_handle parent
        pse_layout layout

    int pse_arena_create(pse_arena **out, uint64_t capacity)
    int pse_arena_attach(pse_arena **out, pid_t pid, int fd)
    int pse_arena_fd(const pse_arena *arena)
    void pse_arena_detach(pse_arena *arena)
    int pse_arena_allocate(pse_arena *arena, uint64_t bytes, pse_handle *out)
    int pse_arena_allocate_shared(
        pse_arena *arena, uint64_t key, uint32_t parts, uint64_t bytes, pse_handle *out
    )
    int pse_arena_view(
        pse_arena *arena, pse_handle parent, uint64_t offset, uint64_t bytes, pse_handle *out
    )
    void pse_arena_retain(pse_arena *arena, pse_handle block, uint32_t count)
    uint32_t pse_arena_release(pse_arena *arena, pse_handle block)
    uint32_t PSE_ARENA_NOT_HELD
    uint32_t pse_arena_references(const pse_arena *arena, pse_handle block)
    pse_block *pse_arena_block(const pse_arena *arena, pse_handle block)
    void *pse_arena_data(const pse_arena *arena, pse_handle block)
    uint64_t pse_arena_prefault(pse_arena *arena, uint64_t limit)
    uint64_t pse_arena_frees(const pse_arena *arena)
    void pse_arena_read_statistics(pse_arena *arena, pse_arena_statistics *out)
    void pse_arena_glance(const pse_arena *arena, pse_arena_statistics *out)
    size_t pse_arena_live(pse_arena *arena, pse_handle *out, size_t limit)
    bint pse_arena_is_valid(pse_arena *arena)
    void pse_arena_poison(pse_arena *arena, bint on)
    void pse_arena_guard(pse_arena *arena)
    void pse_arena_protect(const pse_arena *arena, pse_handle block)


cdef extern from "available_memory.h" nogil:
    ctypedef struct pse_arena_memory:
        uint64_t total
        uint64_t available

    int pse_arena_read_available_memory(const char *root, pse_arena_memory *out)


cdef class Arena:
    cdef pse_arena *handle  # Owned; never NULL in an object that Python code can see.


cdef class Block:
    cdef Arena arena
    cdef pse_handle _handle  # Owns one reference to it.
    cdef pse_layout layout   # A copy: the header's belongs to all holders.
    cdef char *data

    @staticmethod
    cdef Block adopt(Arena arena, pse_handle handle)
