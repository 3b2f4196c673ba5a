/* Memory of handles, and rings by name. */
#include "layers/storage.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CHAINS 4096
#define LOCKS 64

struct kept_memory {
    struct kept_memory *next;
    void *self;
    uintptr_t handle;
    enum pse_kept_for what;
    _Alignas(16) unsigned char bytes[];
};

static struct kept_memory *chains[CHAINS];
static pthread_mutex_t locks[LOCKS] = {[0 ... LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};

static unsigned chain_of(const void *self, enum pse_kept_for what, uintptr_t handle)
{
    uint64_t mixed =
        ((uint64_t)handle ^ (uint64_t)(uintptr_t)self << 1 ^ (uint64_t)what << 61) * 0x9e3779b97f4a7c15u;
    return (unsigned)(mixed >> 52);
}

static struct kept_memory **place(unsigned chain, const void *self, enum pse_kept_for what, uintptr_t handle)
{
    struct kept_memory **at = &chains[chain];
    while (*at && ((*at)->self != self || (*at)->handle != handle || (*at)->what != what))
        at = &(*at)->next;
    return at;
}

void *pse_toolstack_keep(void *self, enum pse_kept_for what, uintptr_t handle, size_t bytes)
{
    const unsigned chain = chain_of(self, what, handle);
    pthread_mutex_lock(&locks[chain % LOCKS]);
    struct kept_memory **at = place(chain, self, what, handle), *kept = *at;
    if (!kept && bytes && (kept = calloc(1, sizeof *kept + bytes))) {
        kept->self = self;
        kept->what = what;
        kept->handle = handle;
        *at = kept;
    }
    pthread_mutex_unlock(&locks[chain % LOCKS]);
    return kept ? kept->bytes : NULL;
}

void pse_toolstack_drop(void *self, enum pse_kept_for what, uintptr_t handle)
{
    const unsigned chain = chain_of(self, what, handle);
    pthread_mutex_lock(&locks[chain % LOCKS]);
    struct kept_memory **at = place(chain, self, what, handle), *kept = *at;
    if (kept)
        *at = kept->next;
    pthread_mutex_unlock(&locks[chain % LOCKS]);
    free(kept);
}

/* Rings
 * -------------------------------------------------------------------------------------------------------------
 */

struct named_ring {
    struct named_ring *next;
    struct pse_ring *ring;
};

static struct named_ring *rings;
static pthread_mutex_t ring_lock = PTHREAD_MUTEX_INITIALIZER;

static struct pse_ring *find_ring(const char *name)
{
    for (const struct named_ring *named = rings; named; named = named->next)
        if (strcmp(named->ring->name, name) == 0)
            return named->ring;
    return NULL;
}

static struct pse_ring *make_ring(const char *name, const char *signature, size_t bytes, size_t least)
{
    const size_t stride = (sizeof(uint64_t) + bytes + 7) & ~(size_t)7;
    size_t count = 2;
    while (count < least)
        count *= 2;
    const size_t size = (sizeof(struct pse_ring) + count * stride + 63) & ~(size_t)63;
    struct pse_ring *ring = aligned_alloc(64, size);
    struct named_ring *named = malloc(sizeof *named);
    if (!ring || !named) {
        free(ring);
        free(named);
        return NULL;
    }
    memset(ring, 0, sizeof *ring);
    strcpy(ring->name, name);
    strcpy(ring->signature, signature);
    ring->bytes = bytes;
    ring->stride = stride;
    ring->count = count;
    for (uint64_t i = 0; i < count; i++)
        *pse_ring_turn(ring, i) = i;
    *named = (struct named_ring){rings, ring};
    rings = named;
    return ring;
}

struct pse_ring *pse_toolstack_open_ring(void *self, const char *name, const char *signature, size_t bytes,
                                         size_t count)
{
    struct pse_ring *ring = NULL;
    (void)self;
    if (strlen(name) >= sizeof ring->name || strlen(signature) >= sizeof ring->signature || !bytes)
        return NULL;
    pthread_mutex_lock(&ring_lock);
    ring = find_ring(name);
    if (!ring)
        ring = make_ring(name, signature, bytes, count);
    else if (ring->bytes != bytes || strcmp(ring->signature, signature) != 0)
        ring = NULL;
    pthread_mutex_unlock(&ring_lock);
    return ring;
}

struct pse_ring *pse_toolstack_ring(const char *name)
{
    pthread_mutex_lock(&ring_lock);
    struct pse_ring *ring = find_ring(name);
    pthread_mutex_unlock(&ring_lock);
    return ring;
}
