#include "calls/partition_wait.h"

#include <stdlib.h>
#include <string.h>

#include "calls/call_accounting.h"
#include "calls/output_prefix.h"
#include "messaging.h"
#include "state/buffers.h"
#include "state/engine_state.h"
#include "transport/posting.h"

/* What messages among partitions need from the engine */

static bool is_remote(void *engine, uint32_t rank)
{
    return ((pse_engine *)engine)->plan->remote[rank] != 0;
}

static void post_mail(void *engine, uint32_t rank, const pse_message *message)
{
    pse_engine *s = engine;
    pse_engine_tell(s, rank, message);
}

/* A block that stands for the module's own array until it is sent. */
static bool post_array(void *engine, uint32_t rank, const pse_message *message, void *data,
                       const pse_layout *layout, void *token)
{
    pse_engine *s = engine;
    pse_block *block = calloc(1, sizeof *block);
    if (block == NULL)
        return false;
    block->flags = PSE_BLOCK_PRIVATE | PSE_BLOCK_BORROWED;
    block->layout = *layout;
    block->data = (uint64_t)(uintptr_t)data;
    block->internal[0] = (uint64_t)(uintptr_t)token;
    pse_engine_post_remote_array(s, rank, message, block, data, layout);
    s->posting.posted++; /* once more: that it has left is a message to its sender */
    pse_engine_count_up(&pse_board_statistics(s->board, s->plan->rank, message->site)->remote,
                        pse_engine_layout_bytes(layout));
    return true;
}

static pse_block *pack(void *engine, const pse_message *message, const void *data, const pse_layout *layout)
{
    pse_engine *s = engine;
    pse_handle handle;
    uint64_t bytes = pse_engine_layout_bytes(layout);
    if (pse_arena_allocate(s->arena, bytes, &handle) != 0)
        return NULL;
    pse_block *block =
        pse_engine_buffer_describe(s, pse_engine_block_at(s, handle), layout, message->site, message->tph);
    memcpy(pse_engine_buffer_data(s, block), data, bytes);
    pse_engine_count_up(&pse_board_statistics(s->board, s->plan->rank, message->site)->copied, bytes);
    return block;
}

static void *data_of(void *engine, pse_block *block)
{
    return pse_engine_buffer_data(engine, block);
}

static void release(void *engine, pse_block *block)
{
    pse_engine_buffer_release(engine, block);
}

bool pse_engine_messaging_create(pse_engine *s)
{
    pse_messaging_hooks hooks = {.engine = s,
                                 .rank = s->plan->rank,
                                 .arena_base = s->arena_base,
                                 .arena_bytes = s->arena ? pse_arena_reach(s->arena) : 0,
                                 .is_remote = is_remote,
                                 .post = post_mail,
                                 .post_array = post_array,
                                 .pack = pack,
                                 .data = data_of,
                                 .release = release,
                                 .recorder = s->recorder};
    return pse_messaging_create(&s->messaging, &hooks) == 0;
}

/* A borrowed block has done its service. */
void pse_engine_borrowed_sent(pse_engine *s, pse_block *block)
{
    s->posting.delivered++;
    pse_messaging_sent(s->messaging, (void *)(uintptr_t)block->internal[0]);
    free(block);
    pse_engine_ring_all(s);
}

bool pse_engine_messaging_step(pse_engine *s)
{
    if (pse_messaging_retry(s->messaging))
        s->waiting.wants |= PSE_WANT_SPACE;
    pse_engine_ring_all(s);
    return pse_messaging_get_fault(s->messaging)->kind != PSE_MESSAGING_FINE;
}

/* Frames: what a call needs while its module runs, and until it is complete. */

pse_engine_frame *pse_engine_frame_take(pse_engine *s)
{
    if (s->partition_wait.frame != NULL)
        return s->partition_wait.frame;
    pse_engine_frame *fresh = s->partition_wait.spare_frames;
    if (fresh != NULL)
        s->partition_wait.spare_frames = fresh->next;
    else
        fresh = malloc(sizeof *fresh);
    return s->partition_wait.frame = fresh;
}

static void frame_give(pse_engine *s, pse_engine_frame *done)
{
    done->next = s->partition_wait.spare_frames;
    s->partition_wait.spare_frames = done;
}

void pse_engine_frames_destroy(pse_engine *s)
{
    for (pse_context *context = s->contexts.oldest; context != NULL; context = context->younger)
        if (context->parked != NULL)
            frame_give(s, context->parked);
    if (s->partition_wait.frame != NULL)
        frame_give(s, s->partition_wait.frame);
    while (s->partition_wait.spare_frames != NULL) {
        pse_engine_frame *next = s->partition_wait.spare_frames->next;
        free(s->partition_wait.spare_frames);
        s->partition_wait.spare_frames = next;
    }
    s->partition_wait.frame = NULL;
}

/* The module of a call runs from here to module_leave. */
bool pse_engine_module_enter(pse_engine *s, pse_context *context, const pse_call *call)
{
    pse_engine_frame *at = context->parked;
    if (at == NULL) {
        at = pse_engine_frame_take(s);
        if (at == NULL)
            return false;
        const pse_region_row *row = call->region ? &s->plan->regions[call->region - 1] : NULL;
        at->visit = (pse_messaging_visit){
            .messaging = s->messaging,
            .tph = context->tph,
            .index = context->index,
            .partition = row ? context->partition : 0,
            .site = call->site,
            .region = {.partitions = row ? row->partitions : 1,
                       .scope = call->region,
                       .owners = row ? &s->plan->owners[row->first_owner] : &s->plan->rank,
                       .grid = row ? row->grid : NULL},
        };
    }
    pse_engine_output_enter(s, context, call);
    pse_engine_account_enter(s, context, call);
    pse_messaging_enter(&at->visit);
    return true;
}

void pse_engine_module_leave(pse_engine *s, pse_context *context, const pse_call *call, uint64_t copied)
{
    pse_messaging_leave();
    pse_engine_account_leave(s, context, call, copied);
    pse_engine_look_at_descriptor(s, context);
    pse_engine_output_leave(s);
}

/* Park the call if anything it posted is not complete; it goes on with `made`, to which a module may have
 * added since it parked before, and the frame as they are. */
bool pse_engine_call_parks(pse_engine *s, pse_context *context, const pse_call *call)
{
    pse_engine_frame *at = context->parked ? context->parked : s->partition_wait.frame;
    if (!pse_messaging_rest(&at->visit))
        return false;
    memcpy(at->made, s->outputs.made, (size_t)call->arguments * sizeof *at->made);
    if (context->parked == NULL) {
        context->parked = at;
        s->partition_wait.frame = NULL;
    }
    pse_engine_ring_all(s);
    return true;
}

/* Whether a parked call may go on; its outputs are at hand then. */
bool pse_engine_call_wakes(pse_engine *s, pse_context *context, const pse_call *call)
{
    if (pse_messaging_is_resting(context->parked->visit.mailbox))
        return false;
    memcpy(s->outputs.made, context->parked->made, (size_t)call->arguments * sizeof *s->outputs.made);
    return true;
}

void pse_engine_call_unpark(pse_engine *s, pse_context *context)
{
    if (context->parked != NULL)
        frame_give(s, context->parked);
    context->parked = NULL;
}

const pse_messaging_fault *pse_engine_messaging_fault(const pse_engine *s)
{
    return pse_messaging_get_fault(s->messaging);
}

/* At the end of the run, or at a pause, where the program's own TPH goes on: false if messages are left that
 * nobody will receive. */
bool pse_engine_messaging_is_empty(pse_engine *s)
{
    pse_messaging_check_empty(s->messaging, s->contexts.oldest != NULL ? s->contexts.oldest->tph : 0);
    return pse_messaging_get_fault(s->messaging)->kind == PSE_MESSAGING_FINE;
}

size_t pse_engine_save_mailboxes(const pse_engine *s, pse_messaging_saved *rows, size_t limit)
{
    return pse_messaging_save(s->messaging, s->pending.context->tph, rows, limit);
}

bool pse_engine_restore_mailbox(pse_engine *s, const pse_messaging_saved *row)
{
    return pse_messaging_restore(s->messaging, s->pending.context->tph, row);
}
