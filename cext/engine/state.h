/* What the sequencer's files share: its state, and the functions by which the files call each other. */
#ifndef PSE_STATE_H
#define PSE_STATE_H

#include <string.h>

#include "doorbell.h"
#include "messaging.h"
#include "quiet.h"
#include "sequencer.h"

#define PSE_MAX_ARGUMENTS 64
#define PSE_RINGS 64
#define PSE_PRIVATE_CLASSES 48
#define PSE_CONTEXT_BUCKETS 64u
#define PSE_ARRIVAL_LISTS 32u

/* Public flag of a block: it lives in this rank's own memory, not in the arena. */
#define PSE_BLOCK_PRIVATE 1u
/* ... and its data are a module's own; its head is gone when it is sent. */
#define PSE_BLOCK_BORROWED 2u
/* ... several tags stand for it, so whoever changes one of them goes on with a copy. */
#define PSE_BLOCK_LENT 4u

enum value_state {
    VALUE_EMPTY,
    VALUE_OUTER,   /* what the parent context has */
    VALUE_AWAITED, /* a message will bring it */
    VALUE_SCALAR,
    VALUE_BUFFER,
    VALUE_PIECES,
};

typedef struct piece {
    pse_block *buffer;
    double scalar[2];
    uint32_t source;
    uint16_t dtype;
    uint16_t here;
} piece;

typedef struct value {
    uint8_t state;
    uint8_t renamed; /* AWAITED: a swap gave it another name; its place in the queue is free when it comes */
    uint8_t untaken; /* came by message, and its sender has not been told yet that it was used */
    uint16_t dtype;
    uint32_t edge;
    uint32_t source;
    uint32_t missing; /* AWAITED: pieces yet to come */
    uint32_t count;   /* pieces in all; 0 for a single value */
    uint64_t ticket;  /* AWAITED: its place in the order of expectations */
    union {
        double real[2];
        int64_t integer;
        pse_block *buffer;
        piece *pieces;
    } as;
} value;

/* A message that came before anybody expected it. */
typedef struct early {
    struct early *next;
    pse_message message;
} early;

/* Messages on their way that nobody will want: they are dropped when they come. */
typedef struct unwanted {
    struct unwanted *next;
    uint32_t edge, missing, count;
    uint64_t ticket;
    uint32_t sources[]; /* per piece: who sent it, plus 1; 0 while it has not come (and been dropped) */
} unwanted;

/* This partition's part of a block that all partitions share: it is asked for once, and kept until the call
 * runs. */
typedef struct kept_output {
    pse_handle parent;
    pse_block *part;
} kept_output;

typedef union scalar {
    int64_t i64;
    int32_t i32;
    float f32;
    double f64;
    double c128[2];
    float c64[2];
    uint8_t u8;
    uint16_t u16;
} scalar;

/* What a call needs until it is complete (park.c): scalars as the module sees them, the arrays made for it,
 * what it posted. */
typedef struct frame {
    struct frame *next;
    pse_messaging_visit visit;
    pse_block *made[PSE_MAX_ARGUMENTS];
    scalar scalars[PSE_MAX_ARGUMENTS];
} frame;

/* A context runs a part of the plan on slots of its own.  A *fiber* is one partition's way through a PARALLEL
 * region: it has its own place in the code, but uses the slots, and the messages, of its `home`. */
struct pse_context {
    uint64_t tph;
    pse_context *parent;
    const value *stuck; /* the input that the call at pc waits for, if it waits for nothing else */
    pse_context *home;  /* whose slots it uses: its own, unless it is a fiber */
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
    uint64_t executed; /* calls so far, but for reductions: the same for this thread on every processor */
    uint64_t turns;    /* collective calls so far that had to wait for their turn */
    frame *parked;     /* the call at pc has run and rests until what it posted is complete */
    kept_output *kept; /* outputs that can't be given back while the call waits for space */
    uint32_t children;
    int64_t next, upper; /* FORK: iterations yet to start */
    uint64_t inflight, base, started;
    uint64_t *ordinals; /* per loop: iterations of the nested loops that it has run so far; NULL: of none */
    early *arrivals[PSE_ARRIVAL_LISTS]; /* by edge, each in order of arrival */
    uint64_t tickets;                   /* expectations so far */
    unwanted *unwanted;
    value slots[];
};

/* One inflight loop of the program itself, over all its runs. */
typedef struct loop_state {
    uint64_t ordinals; /* iterations of the runs begun so far */
    uint64_t done;     /* iterations complete without a gap */
    uint8_t *ahead;    /* ring of `window` flags: iterations complete beyond the gap */
    uint64_t window;
    uint64_t skip; /* iterations that its next run leaves out: an earlier run of the program has done them */
} loop_state;

/* Messages by which ranks of a thread agree on the order of collective calls (order.c): `tph` and `integer`
 * tell which call it is.  Numbered apart from the kinds in inbox.h. */
enum order_message_kind {
    PSE_CARRIES_READY = 64, /* It may run on the source and all ranks below it. */
    PSE_CARRIES_ORDER,      /* It is to run. */
};

typedef struct standing standing;

struct pse_sequencer {
    const pse_plan *plan;
    pse_board *board;
    pse_slot *self;
    pse_arena *arena;
    char *arena_base;
    pse_recorder *recorder;
    const char *volatile *culprit;

    pse_context *oldest, *youngest;
    pse_context *buckets[PSE_CONTEXT_BUCKETS];
    pse_context *spare_contexts, *spare_fibers;
    early *strays; /* for contexts that do not exist yet */
    early *spare_early;
    early *held_up; /* messages that can't be passed on before the arena has room */

    uint32_t to_ring[PSE_RINGS]; /* ranks that got a message and are to be rung once the call is done with */
    uint32_t rings;

    pse_message *overflow; /* messages that found an inbox full */
    uint32_t *overflow_ranks;
    size_t overflow_count, overflow_size;
    pse_outgoing *outbox;
    size_t outbox_count, outbox_size, outbox_given_size;
    pse_outgoing *outbox_given;
    bool aliased; /* the output of the call under way is a view of its input */

    int32_t *routes; /* per edge, from `route_first`: slots that may expect its message */
    uint32_t *route_first, *route_count;
    uint64_t *sent; /* per push: messages handed over so far */
    loop_state *loops;
    uint32_t *queued;        /* per edge: arrays that came and were not used yet */
    _Atomic uint32_t *shown; /* ... as the board shows it; NULL at the end */
    uint64_t *sequences;     /* per rank: messages sent to it */

    pse_messaging *mail;
    quiet_state quiet;
    frame *frame, *spare_frames; /* of the call under way; for the next ones */

    pse_context *pending_context;
    const pse_call *pending_call;
    pse_block *made[PSE_MAX_ARGUMENTS]; /* outputs of the call under way, not yet in their slots */
    int module_code;
    uint64_t entered, entered_cpu;

    uint64_t cpu_value, cpu_read_at;
    uint64_t cpu_guessed; /* how much of cpu_value was not read but reckoned from the time awake */
    uint64_t polled_at;
    uint32_t wants, announced; /* PSE_WANT_*: found by the last pass; shown on the board */
    uint32_t reason; /* what the oldest blocked call waits for: PSE_WANT_*, 0 for input, NO_REASON */
    uint64_t quiet_frees, quiet_since; /* for finding out that nobody can ever free */
    uint32_t quiet_bells;
    uint64_t *loads; /* per partition: ns of CPU time that its calls took */
    struct {
        int32_t slot;
        int64_t piece, expected[PSE_MAX_DIMS];
        pse_layout found;
    } misfit;             /* SHAPE: what doesn't fit */
    uint64_t rounds, due; /* PAUSE: passed so far; the next one that the caller wants to see (0: none) */

    standing *standing, *ordered; /* collective calls that stand somewhere; those to run, in their order */

    pse_block *spare_blocks[PSE_PRIVATE_CLASSES];
    int64_t private_buffers; /* made and not freed yet */
    bool poisoned;           /* they are overwritten when made and when freed */
};

#define NO_REASON UINT32_MAX

enum progress { PROGRESS_BLOCKED, PROGRESS_RAN, PROGRESS_ENDED, PROGRESS_CALLER, PROGRESS_PARKED };

/* buffers.c */
pse_block *buffer_make(pse_sequencer *s, uint64_t bytes, int *code);
pse_block *buffer_make_private(pse_sequencer *s, uint64_t bytes);
void buffer_release(pse_sequencer *s, pse_block *block);
void buffer_retain(pse_sequencer *s, pse_block *block, uint32_t count);
pse_block *buffer_pack(pse_sequencer *s, const pse_context *context, const pse_call *call, pse_block *block,
                       const pse_part *part, bool private_copy,
                       int *code); /* copy (a part of) it, C-ordered */
uint64_t buffer_move(const pse_sequencer *s, const pse_part *part, char *to, const char *from);
bool layout_is(const pse_layout *layout, int ndim, const int64_t *shape);
bool buffer_exclusive(pse_sequencer *s, pse_block *block);
void buffer_describe(pse_sequencer *s, pse_block *block, const pse_call *call, const pse_context *context,
                     const pse_layout *layout);
void layout_fill(pse_layout *layout, uint16_t dtype, uint32_t itemsize, int ndim, const int64_t *shape);
uint64_t layout_bytes(const pse_layout *layout);

static inline bool buffer_is_private(const pse_block *block)
{
    return (block->flags & PSE_BLOCK_PRIVATE) != 0;
}

static inline pse_block *block_at(const pse_sequencer *s, pse_handle handle)
{
    return (pse_block *)(s->arena_base + handle);
}

/* Write the head of a block that this rank has just been given. */
static inline pse_block *begin_block(const pse_sequencer *s, pse_block *block, const pse_layout *layout,
                                     uint32_t site, uint64_t tph)
{
    block->layout = *layout;
    block->owner = s->plan->rank;
    block->site = site;
    block->tph = tph;
    atomic_store_explicit(&block->waiter, -1, memory_order_relaxed);
    return block;
}

static inline pse_handle buffer_handle(const pse_sequencer *s, const pse_block *block)
{
    return (pse_handle)((const char *)block - s->arena_base);
}

static inline void *buffer_data(const pse_sequencer *s, const pse_block *block)
{
    return buffer_is_private(block) ? (char *)(uintptr_t)block->data : s->arena_base + block->data;
}

/* context.c */
pse_context *context_create(pse_sequencer *s, pse_context *parent, uint64_t tph);
pse_context *fiber_create(pse_sequencer *s, pse_context *home, const pse_fiber *plan);
void fiber_remove(pse_sequencer *s, pse_context *fiber);
pse_context *context_find(pse_sequencer *s, uint64_t tph);
void context_remove(pse_sequencer *s, pse_context *context);
value *slot_read(pse_context *context, int32_t slot);
value *slot_renew(pse_sequencer *s, pse_context *context,
                  int32_t slot); /* drop what it has; make it the context's own */
void slot_drop(pse_sequencer *s, pse_context *context, int32_t slot);
uint64_t count_taken(pse_sequencer *s, uint32_t edge);
void tell_taken(pse_sequencer *s, uint32_t source, uint32_t edge, uint64_t taken);
void value_rename(pse_sequencer *s, value *v);
void value_take(pse_sequencer *s, value *v); /* tell the sender that its message was used */
void value_clear(pse_sequencer *s, pse_context *context, value *v);
void set_integer(value *v, int64_t integer);
void set_real(value *v, double real);

/* deliver.c */
void expect(pse_sequencer *s, pse_context *context, int32_t slot, uint32_t edge, uint32_t pieces);
void deliver(pse_sequencer *s, const pse_message *message);
bool drain(pse_sequencer *s);
void queue_changed(pse_sequencer *s, uint64_t tph, uint32_t edge, uint32_t source, int by);
void adopt_strays(pse_sequencer *s, pse_context *context);
early *early_new(pse_sequencer *s, const pse_message *message);
void early_recycle(pse_sequencer *s, early *item);
pse_block *message_buffer(pse_sequencer *s, const pse_message *message);
void forget_unwanted(pse_context *context, const value *v);

/* forward.c */
void forward(pse_sequencer *s, const pse_message *message);
bool forward_retry(pse_sequencer *s);
bool credit_grew(pse_sequencer *s, uint32_t edge, uint64_t before);

/* push.c */
int push_all(pse_sequencer *s, pse_context *context,
             const pse_call *call); /* 0, or PSE_ARENA_* while it must wait */
bool credit_left(pse_sequencer *s, const pse_context *context, const pse_call *call);
bool flush_overflow(pse_sequencer *s);
void ring_all(pse_sequencer *s);
void post(pse_sequencer *s, uint32_t rank, const pse_message *message);
void post_remote(pse_sequencer *s, uint32_t rank, const pse_message *message);
void post_remote_array(pse_sequencer *s, uint32_t rank, const pse_message *message, pse_block *block,
                       void *data, const pse_layout *layout); /* takes a reference to the block */

/* expression.c */
bool evaluate(pse_context *context, const pse_sequencer *s, int32_t expression, value *out);
bool evaluate_integer(pse_context *context, const pse_sequencer *s, int32_t expression, int64_t *out);
bool expression_ready(pse_context *context, const pse_sequencer *s, int32_t expression);

/* call.c */
int call_step(pse_sequencer *s, pse_context *context, const pse_call *call, int *result);
int call_fail(pse_sequencer *s, pse_context *context, const pse_call *call, int reason, int *result);
void call_store(pse_sequencer *s, pse_context *context, const pse_call *call);

int call_in_turn(pse_sequencer *s, pse_context *context, const pse_call *call,
                 int *result); /* a call that stood runs */

/* order.c */
bool order_matters(const pse_sequencer *s, const pse_call *call);
void order_stand(pse_sequencer *s, pse_context *context, const pse_call *call);
int order_step(pse_sequencer *s, int *result); /* run what is ordered */
void order_message(pse_sequencer *s, const pse_message *message);
void order_destroy(pse_sequencer *s);

/* routes.c */
bool routes_create(pse_sequencer *s);
void routes_destroy(pse_sequencer *s);

/* pause.c */
int pause_step(pse_sequencer *s, pse_context *context, int *result);

/* native.c */
int native_run(pse_sequencer *s, pse_context *context, const pse_call *call, int *result);
int native_complete(pse_sequencer *s, pse_context *context, const pse_call *call);

/* park.c */
bool mail_create(pse_sequencer *s);
bool mail_step(pse_sequencer *s);
void borrowed_sent(pse_sequencer *s, pse_block *block);
frame *frame_take(pse_sequencer *s);
void frames_destroy(pse_sequencer *s);
void module_enter(pse_sequencer *s, pse_context *context, const pse_call *call);
void module_leave(pse_sequencer *s, pse_context *context, const pse_call *call, uint64_t copied);
bool call_parks(pse_sequencer *s, pse_context *context, const pse_call *call);
bool call_wakes(pse_sequencer *s, pse_context *context, const pse_call *call);
void call_unpark(pse_sequencer *s, pse_context *context);

/* books.c */
void cpu_slept(pse_sequencer *s, uint64_t now, uint64_t slept);
void call_enter(pse_sequencer *s, pse_context *context, const pse_call *call);
void call_rest(pse_sequencer *s, pse_context *context, const pse_call *call);
void call_leave(pse_sequencer *s, pse_context *context, const pse_call *call, uint64_t copied);

/* engine.c */
bool engine_fits(pse_sequencer *s, pse_context *context, const pse_call *call);
bool engine_alias(pse_sequencer *s, pse_context *context, const pse_call *call);
uint64_t engine_run(pse_sequencer *s, pse_context *context, const pse_call *call);

/* loop.c */
int fork_step(pse_sequencer *s, pse_context *context, const pse_loop *loop, int *result);
int spread_step(pse_sequencer *s, pse_context *context, const pse_instruction *at, int *result);
uint64_t complete_everywhere(pse_sequencer *s, const pse_loop *loop);
void iteration_complete(pse_sequencer *s, pse_context *context);
void count_heard(pse_sequencer *s, const pse_message *message, uint64_t before);
void ring_wanting(pse_sequencer *s, uint32_t want);

/* Add to a counter that only this rank writes. */
static inline void count_up(_Atomic uint64_t *counter, uint64_t amount)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + amount,
                          memory_order_relaxed);
}

static inline void record(pse_sequencer *s, uint64_t time, uint16_t type, uint16_t flags, uint32_t site,
                          uint64_t tph, uint64_t a, uint64_t b, uint64_t c)
{
    if (s->recorder != NULL)
        pse_recorder_add_at(s->recorder, time, type, flags, site, tph, a, b, c);
}

#endif
