/* What the tool stack offers to a tool, beyond MPI's own profiling interface.
 *
 * A tool is a shared object that defines MPI_x for routines that it wants to see and calls PMPI_x to go on.
 * That is all it needs.  It may define pse_tool_start and pse_tool_end as well; the stack then hands it this
 * table, whose functions are valid until the process ends and may be called from any thread, each with
 * `tools->self` first.
 *
 * This header needs C11 or C++11 and no MPI; handles of requests and communicators are passed as integers
 * (PSE_HANDLE).  Entries are only ever added at the end of the table.
 */
#ifndef PSE_TOOLS_H
#define PSE_TOOLS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PSE_TOOLS_VERSION 1

/* An MPI handle (an int in MPICH, a pointer elsewhere) as a key of `keep` and `drop`. */
#define PSE_HANDLE(handle) ((uintptr_t)(handle))

typedef void (*pse_function)(void);

/* What something is kept for. */
enum pse_kept_for { PSE_FOR_REQUEST, PSE_FOR_COMMUNICATOR, PSE_FOR_OTHER };

struct pse_ring;

struct pse_tools {
    int version, layer; /* layer: 0 is nearest to the program */
    const char *name;   /* the instance's name in the configuration */
    void *self;         /* first argument of everything below */

    /* The value of an argument in the configuration; NULL if it isn't given.  One that the tool has never
     * asked for when the process ends is said to be misspelt. */
    const char *(*argument)(void *self, const char *key);
    /* The reason why pse_tool_start is about to refuse (printf's form). */
    void (*fail)(void *self, const char *format, ...) __attribute__((format(printf, 2, 3)));
    /* One line on standard error, with the tool's name and the rank before it. */
    void (*say)(void *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

    /* Services.  `publish` returns nonzero if another instance publishes the same name and signature already.
     * `subscribe` starts tools that have not been started yet until one publishes what is asked for, and
     * gives NULL if none does.  A signature is any text that both sides agree on; a C prototype is the
     * custom. */
    int (*publish)(void *self, const char *service, const char *signature, pse_function function);
    pse_function (*subscribe)(void *self, const char *service, const char *signature);

    /* The next lower definition of a routine ("MPI_Send"); NULL if MPI has no such routine. */
    pse_function (*below)(void *self, const char *routine);

    /* Memory of this instance for one handle: `bytes` of zeros when it is asked for the first time, the same
     * memory afterwards; NULL if there is none and `bytes` is 0.  `drop` gives it back.  Other instances have
     * their own. */
    void *(*keep)(void *self, enum pse_kept_for what, uintptr_t handle, size_t bytes);
    void (*drop)(void *self, enum pse_kept_for what, uintptr_t handle);

    /* The ring of events of that name; whoever asks first makes it, for at least `count` events of `bytes`
     * each. NULL if it exists with another signature or size, or if there is no memory. */
    struct pse_ring *(*ring)(void *self, const char *name, const char *signature, size_t bytes, size_t count);
};

/* A tool may define these two. */
int pse_tool_start(const struct pse_tools *tools); /* before any MPI call passes; nonzero: refuse */
void pse_tool_end(void);                           /* at exit of the process */

/* Piggyback: a header of some bytes that travels with every message from process to process.
 *
 * The tool `piggyback`, below in the stack, publishes a function of the type pse_piggyback_register under this
 * name and signature; it is to be called in pse_tool_start and returns nonzero if there is no room left.  All
 * processes that send each other messages must register the same headers.  A header's functions are called by the
 * thread that calls MPI: `fill` before a send or an active persistent send begins, `read` before the call returns
 * that completes the receive.  A receive that fails or was cancelled brings nothing. */
#define PSE_PIGGYBACK "piggyback"
#define PSE_PIGGYBACK_SIGNATURE "int (*)(const struct pse_piggyback_header *)"
#define PSE_PIGGYBACK_MOST 256 /* bytes, of all headers together */

struct pse_message_envelope {
    uintptr_t comm;   /* PSE_HANDLE of the communicator */
    int partner, tag; /* the receiver for `fill`, the sender for `read`: never a wildcard */
};

struct pse_piggyback_header {
    size_t bytes;
    void *context; /* first argument of the functions */
    /* Whether the header travels on this communicator; the same in all its processes.  NULL: on all. */
    int (*wanted)(void *context, uintptr_t comm);
    void (*fill)(void *context, const struct pse_message_envelope *message, void *bytes); /* zeros before */
    void (*read)(void *context, const struct pse_message_envelope *message, const void *bytes);
};

typedef int pse_piggyback_register(const struct pse_piggyback_header *header);

/* A ring of events of one size: any number of threads put in and take out, none ever waits.
 *
 * `cells` holds count cells of `stride` bytes: a turn, then the event.  A cell's turn says whose it is:
 * position p of the ring uses cell p % count; turn == p means free for the writer of p, turn == p + 1 means
 * filled for its reader. Both ends count upwards for ever. */
struct pse_ring {
    char name[48], signature[208];
    uint64_t bytes, stride, count; /* of an event; of a cell; cells, a power of two */
    uint64_t lost;                 /* events that found the ring full */
    uint64_t pad0[3];
    uint64_t head __attribute__((aligned(64))); /* next position to write */
    uint64_t pad1[7];
    uint64_t tail __attribute__((aligned(64))); /* next position to read */
    uint64_t pad2[7];
    unsigned char cells[] __attribute__((aligned(64)));
};

static inline uint64_t *pse_ring_turn(struct pse_ring *ring, uint64_t position)
{
    return (uint64_t *)(void *)(ring->cells + (position & (ring->count - 1)) * ring->stride);
}

/* Claim the next position of one end; `ahead` is 0 for the writers' and 1 for the readers'. */
static inline uint64_t *pse_ring_claim(struct pse_ring *ring, uint64_t *end, uint64_t ahead,
                                       uint64_t *position)
{
    *position = __atomic_load_n(end, __ATOMIC_RELAXED);
    for (;;) {
        uint64_t *turn = pse_ring_turn(ring, *position);
        int64_t late = (int64_t)(__atomic_load_n(turn, __ATOMIC_ACQUIRE) - (*position + ahead));
        if (late < 0)
            return NULL;
        if (late > 0)
            *position = __atomic_load_n(end, __ATOMIC_RELAXED);
        else if (__atomic_compare_exchange_n(end, position, *position + 1, 1, __ATOMIC_RELAXED,
                                             __ATOMIC_RELAXED))
            return turn;
    }
}

/* Put an event in; 0 if the ring is full (the event is counted as lost). */
static inline int pse_ring_put(struct pse_ring *ring, const void *event)
{
    uint64_t position, *turn = pse_ring_claim(ring, &ring->head, 0, &position);
    if (!turn) {
        __atomic_fetch_add(&ring->lost, 1, __ATOMIC_RELAXED);
        return 0;
    }
    memcpy(turn + 1, event, ring->bytes);
    __atomic_store_n(turn, position + 1, __ATOMIC_RELEASE);
    return 1;
}

/* Take the oldest event out; 0 if there is none. */
static inline int pse_ring_take(struct pse_ring *ring, void *event)
{
    uint64_t position, *turn = pse_ring_claim(ring, &ring->tail, 1, &position);
    if (!turn)
        return 0;
    memcpy(event, turn + 1, ring->bytes);
    __atomic_store_n(turn, position + ring->count, __ATOMIC_RELEASE);
    return 1;
}

#ifdef __cplusplus
}
#endif

#endif
