/* Contexts (TPHs): a part of the plan that runs on slots of its own. */
#ifndef PSE_ENGINE_CONTEXTS_H
#define PSE_ENGINE_CONTEXTS_H

#include "engine.h"
#include "state/value.h"
#include "transport/unexpected.h"
#include "transport/unwanted.h"

#define PSE_CONTEXT_BUCKETS 64u

/* This partition's part of a block that all partitions share: it is asked for once, and kept until the call
 * runs. */
typedef struct pse_engine_kept_output {
    pse_handle parent;
    pse_block *part;
} pse_engine_kept_output;

struct pse_engine_frame; /* calls/partition_wait.h */

/* A *fiber* is one partition's way through a PARALLEL region: it has its own place in the code, but uses the
 * slots, and the messages, of its `home`. */
struct pse_context {
    uint64_t tph;
    pse_context *parent;
    const pse_engine_value *stuck; /* the input that the call at pc waits for, if it waits for nothing else */
    pse_context *home;             /* whose slots it uses: its own, unless it is a fiber */
    uint32_t partition;
    uint32_t load;                /* of a fiber: where its CPU time is counted */
    pse_context *older, *younger; /* all live contexts, oldest first */
    pse_context *chained;         /* same hash bucket */
    int32_t pc;
    int32_t loop;              /* loop that it is an iteration of, or -1 */
    const pse_loop *plan_loop; /* that loop's row */
    int64_t index;             /* value of that loop's counter, or -1 */
    uint64_t ordinal;          /* iterations of that loop before it, over all its runs */
    uint8_t pushing;           /* the call at pc has run; its hand-overs go on at `push` */
    uint8_t by_view; /* ... and parts may be views: this rank alone held the source when they began */
    uint8_t forking; /* the loop, or the fibers, at pc are under way */
    uint8_t paused;  /* the caller has seen the pause at pc */
    uint8_t ended;
    uint8_t standing; /* the collective call at pc waits for its turn */
    uint8_t nested;   /* of a loop inside another inflight loop */
    int32_t push;
    pse_block *shared_part; /* what the pushes marked `again` hand over */
    uint64_t executed;      /* calls so far, but for reductions: the same for this thread everywhere */
    uint64_t turns;         /* collective calls so far that had to wait for their turn */
    struct pse_engine_frame *parked; /* the call at pc has run and rests until what it posted is complete */
    pse_engine_kept_output *kept;    /* outputs that can't be given back while the call waits for space */
    uint32_t children;
    int64_t next;  /* FORK: counter of the next iteration */
    uint64_t left; /* ... and how many are yet to start */
    uint64_t inflight, base, started;
    uint64_t *ordinals; /* per loop: iterations of the nested loops that it has run so far; NULL: of none */
    pse_engine_message_list arrivals[PSE_ARRIVAL_LISTS]; /* by edge, each in order of arrival */
    uint64_t tickets;                                    /* expectations so far */
    pse_engine_unwanted *unwanted[PSE_ARRIVAL_LISTS];    /* by edge */
    uint32_t unwanted_count;
    pse_engine_value slots[];
};

typedef struct pse_engine_contexts {
    pse_context *oldest, *youngest;
    pse_context *buckets[PSE_CONTEXT_BUCKETS];
    pse_context *spare_contexts, *spare_fibers;
} pse_engine_contexts;

pse_context *pse_engine_context_create(pse_engine *s, pse_context *parent,
                                       uint64_t tph); /* NULL: no memory */
pse_context *pse_engine_context_find(pse_engine *s, uint64_t tph);
void pse_engine_context_remove(pse_engine *s, pse_context *context);

/* A fiber of a region that `home` has come to; NULL: no memory. */
pse_context *pse_engine_fiber_create(pse_engine *s, pse_context *home, const pse_fiber *plan);
void pse_engine_fiber_remove(pse_engine *s, pse_context *fiber);

void pse_engine_contexts_destroy(pse_engine *s);

#endif
