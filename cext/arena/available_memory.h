/* How much memory this process may still take: the system's, or the memory cgroup's where that is less.
 *
 * Read from /proc and /sys/fs/cgroup. */
#ifndef PSE_ARENA_AVAILABLE_MEMORY_H
#define PSE_ARENA_AVAILABLE_MEMORY_H

#include <stdint.h>

typedef struct pse_arena_memory {
    uint64_t total;     /* Bytes that there would be if all else ended. */
    uint64_t available; /* Bytes that can be taken now without swapping or being killed. */
} pse_arena_memory;

/* Read both figures below `root` ("" on a real system; tests have a tree of their own).  Returns 0, or -1 if
 * proc/meminfo can't be read or understood: both are UINT64_MAX then. */
int pse_arena_read_available_memory(const char *root, pse_arena_memory *out);

#endif
