/* A world of partitions on ranks that are all in this process: what they post is delivered in random order
 * (but for the order of each pair of ranks), so that matching and schedules can be checked without engine. */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "messaging.h"

typedef struct parcel {
    struct parcel *next;
    pse_message message;
    void *token; /* from another node: who is to be told */
} parcel;

typedef struct world {
    uint32_t ranks, partitions;
    pse_messaging **mails;
    struct end {
        struct world *world;
        uint32_t rank;
    } *ends;
    parcel **queues; /* one for each pair of ranks */
    uint32_t *owners;
    const uint8_t *remote; /* per pair of ranks */
    pse_arena *arena;
    pse_messaging_visit *visits;
    pse_recorder **recorders; /* NULL where nothing is recorded */
    uint64_t random;
} world;

static bool is_remote(void *engine, uint32_t rank)
{
    struct end *end = engine;
    return end->world->remote[end->rank * end->world->ranks + rank] != 0;
}

static void enqueue(struct end *end, uint32_t rank, const pse_message *message, void *token)
{
    parcel *item = calloc(1, sizeof *item),
           **link = &end->world->queues[end->rank * end->world->ranks + rank];
    item->message = *message;
    item->token = token;
    while (*link != NULL)
        link = &(*link)->next;
    *link = item;
}

static void post(void *engine, uint32_t rank, const pse_message *message)
{
    enqueue(engine, rank, message, NULL);
}

/* A private block: its data lie behind its head. */
static pse_block *copied(const void *data, const pse_layout *layout)
{
    size_t bytes = (size_t)layout->shape[0] * layout->itemsize;
    pse_block *block = calloc(1, sizeof *block + bytes);
    block->layout = *layout;
    memcpy(block + 1, data, bytes);
    return block;
}

static bool post_array(void *engine, uint32_t rank, const pse_message *message, void *data,
                       const pse_layout *layout, void *token)
{
    pse_message with_block = *message;
    with_block.value.pointer = copied(data, layout);
    enqueue(engine, rank, &with_block, token);
    return true;
}

static pse_block *pack(void *engine, const pse_message *message, const void *data, const pse_layout *layout)
{
    struct end *end = engine;
    pse_handle handle;
    (void)message;
    if (pse_arena_allocate(end->world->arena, (uint64_t)layout->shape[0] * layout->itemsize, &handle) != 0)
        return NULL;
    pse_block *block = pse_arena_block(end->world->arena, handle);
    block->layout = *layout;
    memcpy(pse_arena_data(end->world->arena, handle), data, (size_t)layout->shape[0] * layout->itemsize);
    return block;
}

static bool of_arena(const world *w, const pse_block *block)
{
    const char *base = pse_arena_base(w->arena), *at = (const char *)block;
    return at >= base && at < base + pse_arena_reach(w->arena);
}

static void *data_of(void *engine, pse_block *block)
{
    world *w = ((struct end *)engine)->world;
    return of_arena(w, block) ? pse_arena_base(w->arena) + block->data : (char *)(block + 1);
}

static void release(void *engine, pse_block *block)
{
    world *w = ((struct end *)engine)->world;
    if (of_arena(w, block))
        pse_arena_release(w->arena, (pse_handle)((char *)block - pse_arena_base(w->arena)));
    else
        free(block);
}

/* `directory`: where what happens is recorded, or NULL. */
world *world_create(uint32_t ranks, uint32_t partitions, const uint32_t *owners, const uint8_t *remote,
                    uint64_t seed, const char *directory)
{
    world *w = calloc(1, sizeof *w);
    w->ranks = ranks;
    w->partitions = partitions;
    w->owners = malloc(partitions * sizeof *owners);
    memcpy(w->owners, owners, partitions * sizeof *owners);
    w->remote = remote;
    w->random = seed * 2 + 1;
    w->mails = calloc(ranks, sizeof *w->mails);
    w->ends = calloc(ranks, sizeof *w->ends);
    w->queues = calloc((size_t)ranks * ranks, sizeof *w->queues);
    w->visits = calloc(partitions, sizeof *w->visits);
    w->recorders = calloc(ranks, sizeof *w->recorders);
    pse_arena_create(&w->arena, UINT64_C(1) << 24);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        w->ends[rank] = (struct end){w, rank};
        if (directory != NULL && pse_recorder_open(&w->recorders[rank], directory, rank) != 0)
            abort();
        pse_messaging_hooks hooks = {&w->ends[rank],
                                     rank,
                                     pse_arena_base(w->arena),
                                     pse_arena_reach(w->arena),
                                     is_remote,
                                     post,
                                     post_array,
                                     pack,
                                     data_of,
                                     release,
                                     w->recorders[rank]};
        pse_messaging_create(&w->mails[rank], &hooks);
    }
    for (uint32_t p = 0; p < partitions; p++)
        w->visits[p] = (pse_messaging_visit){.messaging = w->mails[owners[p]],
                                             .tph = 7,
                                             .index = -1,
                                             .partition = p,
                                             .region = {partitions, 1, w->owners}};
    return w;
}

/* A block of the arena, for data that can be read where they lie; 0 if there is no room. */
uint64_t world_take(world *w, uint64_t bytes)
{
    pse_handle handle;
    return pse_arena_allocate(w->arena, bytes, &handle) == 0 ? handle : 0;
}

void *world_data(world *w, uint64_t handle)
{
    return pse_arena_data(w->arena, handle);
}

void world_give(world *w, uint64_t handle)
{
    pse_arena_release(w->arena, handle);
}

const coven_services *world_enter(world *w, uint32_t partition, uint32_t site)
{
    w->visits[partition].site = site;
    pse_messaging_enter(&w->visits[partition]);
    return pse_messaging_services();
}

int world_rest(world *w, uint32_t partition)
{
    pse_messaging_leave();
    return pse_messaging_rest(&w->visits[partition]);
}

int world_resting(world *w, uint32_t partition)
{
    pse_mailbox *mailbox = w->visits[partition].mailbox;
    return mailbox != NULL && pse_messaging_is_resting(mailbox);
}

static uint64_t draw(world *w, uint64_t below)
{
    w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
    return (w->random >> 33) % below;
}

/* Deliver one message of a pair that has any; false if none has. */
static bool deliver_one(world *w)
{
    uint64_t pairs = (uint64_t)w->ranks * w->ranks, first = draw(w, pairs);
    for (uint64_t i = 0; i < pairs; i++) {
        uint64_t pair = (first + i) % pairs;
        parcel *item = w->queues[pair];
        if (item == NULL)
            continue;
        w->queues[pair] = item->next;
        pse_messaging_deliver(w->mails[pair % w->ranks], &item->message);
        if (item->token != NULL)
            pse_messaging_sent(w->mails[pair / w->ranks], item->token);
        free(item);
        return true;
    }
    return false;
}

/* Deliver until nothing moves; returns how many partitions still rest. */
int world_deliver(world *w, int most)
{
    int resting = 0;
    for (int i = 0; i < most && deliver_one(w); i++)
        continue;
    for (uint32_t rank = 0; rank < w->ranks; rank++) {
        pse_messaging_retry(w->mails[rank]);
        resting += (int)pse_messaging_resting(w->mails[rank]);
    }
    return resting;
}

/* The rank copies what senders keep for it. */
void world_buffer(world *w, uint32_t rank)
{
    pse_messaging_buffer(w->mails[rank]);
}

void world_close(world *w, uint32_t rank)
{
    pse_messaging_close_all(w->mails[rank], 7);
}

const pse_messaging_fault *world_fault(world *w, uint32_t rank)
{
    return pse_messaging_get_fault(w->mails[rank]);
}

size_t world_waits(world *w, uint32_t rank, pse_messaging_wait *rows, size_t limit)
{
    return pse_messaging_report_waits(w->mails[rank], rows, limit);
}

uint64_t world_blocks(world *w)
{
    pse_arena_statistics statistics;
    pse_arena_read_statistics(w->arena, &statistics);
    return pse_arena_is_valid(w->arena) ? statistics.live_blocks : UINT64_MAX;
}

void world_destroy(world *w)
{
    for (uint32_t rank = 0; rank < w->ranks; rank++) {
        pse_messaging_destroy(w->mails[rank]);
        pse_recorder_close(w->recorders[rank]);
    }
    for (uint64_t pair = 0; pair < (uint64_t)w->ranks * w->ranks; pair++)
        while (w->queues[pair] != NULL) {
            parcel *item = w->queues[pair];
            w->queues[pair] = item->next;
            free(item);
        }
    pse_arena_detach(w->arena);
    free(w->mails);
    free(w->ends);
    free(w->queues);
    free(w->visits);
    free(w->recorders);
    free(w->owners);
    free(w);
}
