/* The node's shared arena: one sparse memory file, mapped once by every rank of the node.
 *
 * A block is a header (`pse_block`) and its data; its handle is the header's offset in the arena, so it means
 * the same in every rank.  Blocks are counted by reference; a view is a block without data of its own that
 * holds one reference to its parent.  Freed blocks keep their pages and are given out again while warm.
 *
 * The file is a memfd: it never has a name, so no kill can leak it.  Other ranks open it through
 * /proc/PID/fd/FD of the rank that made it.
 *
 * The library has no state outside the handle; all functions are safe to call from several ranks at once. One
 * lock (robust, process-shared) guards the free lists; counts are atomic and need no lock.
 *
 */
#ifndef PSE_ARENA_H
#define PSE_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi_elements.h"
#include "abi_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pse_arena pse_arena; /* Process-local handle. */
typedef uint64_t pse_handle;        /* Offset of a block's header in the arena; 0 means none. */

/* Head of a block.  Only the fields named "public" may be read or written outside the library. */
typedef struct pse_block {
    uint64_t magic;
    _Atomic uint32_t references; /* Read it through pse_arena_references. */
    _Atomic uint32_t pinned;     /* Public: references that Python code kept after its call. */
    _Atomic int32_t waiter;      /* Public: rank slot that waits to be the only holder, or -1. */
    uint32_t owner;              /* Public: rank slot that allocated it. */
    uint32_t site;               /* Public: call site that allocated it. */
    uint32_t flags;              /* Public: PSE_BLOCK_*. */
    uint64_t tph;                /* Public: TPH that allocated it. */
    uint64_t bytes;              /* Public: usable bytes. */
    uint64_t data;               /* Offset of the first data byte in the arena (64-byte aligned, unless the
                                    arena is guarded). */
    pse_handle parent;           /* Public: block that a view belongs to, or 0. */
    pse_layout layout;           /* Public: written by the allocating rank before the handle is passed on. */
    uint64_t internal[6];        /* The library's own: size class, list links. */
} pse_block;

/* Make an arena of at most `capacity` bytes and map it.  Nothing is reserved: memory is taken as blocks grow
 * into it. On error *out is NULL and errno tells why. */
int pse_arena_create(pse_arena **out, uint64_t capacity);

/* Map the arena that process `pid` holds as descriptor `fd`; both ends must run as the same user. */
int pse_arena_attach(pse_arena **out, pid_t pid, int fd);

int pse_arena_fd(const pse_arena *arena);
void pse_arena_detach(pse_arena *arena); /* Unmap and forget; blocks live on for the other ranks. */

/* A block of at least `bytes` bytes with one reference.  The layout, site, tph, owner are the caller's to
 * write. Returns PSE_ARENA_FULL where waiting may help, PSE_ARENA_TOO_LARGE where it never will. */
int pse_arena_allocate(pse_arena *arena, uint64_t bytes, pse_handle *out);

/* One shared parent for `parts` partitions: the first caller with this key allocates it, later ones get the
 * same block. Each call gives one reference; the block holds all `parts` of them from the start, so that it
 * outlives a partition that is done before the next one comes.  After `parts` calls the key is forgotten.
 * Keys are never 0. */
int pse_arena_allocate_shared(pse_arena *arena, uint64_t key, uint32_t parts, uint64_t bytes,
                              pse_handle *out);

/* A view of `parent` that starts `offset` bytes into its data; takes a reference to the parent, has one of
 * its own. A view of a view belongs to the same root parent (its parent field is the root block). */
int pse_arena_view(pse_arena *arena, pse_handle parent, uint64_t offset, uint64_t bytes, pse_handle *out);

void pse_arena_retain(pse_arena *arena, pse_handle block, uint32_t count);

/* Give up one reference; returns how many are left.  The last one frees the block (and a view's hold on its
 * parent).  PSE_ARENA_NOT_HELD: nobody held it, and nothing was done. */
#define PSE_ARENA_NOT_HELD UINT32_MAX
uint32_t pse_arena_release(pse_arena *arena, pse_handle block);

uint32_t pse_arena_references(const pse_arena *arena, pse_handle block);
pse_block *pse_arena_block(const pse_arena *arena,
                           pse_handle block); /* Never NULL for a live handle, NULL otherwise. */
char *pse_arena_base(const pse_arena *arena); /* Where handle 0 would be: a block lies at base + handle. */
uint64_t
pse_arena_reach(const pse_arena *arena); /* All of the arena lies within so many bytes of its base. */
void *pse_arena_data(const pse_arena *arena, pse_handle block);

/* Map memory that other ranks have grown into, at most `limit` bytes of it, so that this rank's first pass
 * over a block meets no page fault; for a rank with nothing else to do.  Returns how many bytes are still
 * unmapped. */
uint64_t pse_arena_prefault(pse_arena *arena, uint64_t limit);

/* How often memory was freed so far; a rank that waits for space compares it before it sleeps. */
uint64_t pse_arena_frees(const pse_arena *arena);

void pse_arena_read_statistics(pse_arena *arena, pse_arena_statistics *out);

/* The same without the lock, for whoever only watches: it never waits for a rank, but the counts may be of
 * different moments. */
void pse_arena_glance(const pse_arena *arena, pse_arena_statistics *out);

/* Live blocks, largest first, at most `limit`; returns how many were written.  For the report of who holds
 * what. */
size_t pse_arena_live(pse_arena *arena, pse_handle *out, size_t limit);

/* Walk all blocks and lists; true if every invariant holds. */
bool pse_arena_is_valid(pse_arena *arena);

/* What a poisoned arena holds in freed blocks, and in fresh ones until they are written. */
#define PSE_POISON_FREED 0xA5
#define PSE_POISON_FRESH 0x5A

/* From now on, overwrite freed blocks, data and layout, and the data of fresh ones.  For tests: whoever reads
 * what was freed, or never written, gives a wrong result. */
void pse_arena_poison(pse_arena *arena, bool on);

/* For debugging, before the first block is allocated: every block but a view gets a forbidden page before and
 * after its data, which end where a page ends. */
void pse_arena_guard(pse_arena *arena);

/* Let this process crash if it reads or writes just outside of a block's data; only in guarded arenas. */
void pse_arena_protect(const pse_arena *arena, pse_handle block);

/* What lies between the first forbidden page and the data of a guarded block (of a view: its parent's),
 * filled with these bytes when the block was allocated. */
#define PSE_MARGIN 0xC3
const unsigned char *pse_arena_margin(const pse_arena *arena, pse_handle block, uint64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
