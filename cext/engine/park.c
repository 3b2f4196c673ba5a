/* Calls whose partition rests: the sequencer's side of messages among partitions (room `partitions`).
 *
 * A module may post sends, receives and collectives.  If any of them is not complete when it returns, the
 * call is *parked*: its outputs and scalars stay where the module knows them, its context is blocked until
 * all is complete, then the call goes on as if the module had returned only now.
 */
#include <stdlib.h>

#include "quiet.h"
#include "state.h"

/* What the mail needs from the engine */

static bool is_remote(void *engine, uint32_t rank)
{
    return ((pse_sequencer *)engine)->plan->remote[rank] != 0;
}

static void post_mail(void *engine, uint32_t rank, const pse_message *message)
{
    pse_sequencer *s = engine;
    if (s->plan->remote[rank])
        post_remote(s, rank, message);
    else
        post(s, rank, message);
}

/* A block that stands for the module's own array until it is sent. */
static bool post_array(void *engine, uint32_t rank, const pse_message *message, void *data,
                       const pse_layout *layout, void *token)
{
    pse_sequencer *s = engine;
    pse_block *block = calloc(1, sizeof *block);
    if (block == NULL)
        return false;
    block->flags = PSE_BLOCK_PRIVATE | PSE_BLOCK_BORROWED;
    block->layout = *layout;
    block->data = (uint64_t)(uintptr_t)data;
    block->internal[0] = (uint64_t)(uintptr_t)token;
    post_remote_array(s, rank, message, block, data, layout);
    count_up(&pse_board_statistics(s->board, s->plan->rank, message->site)->remote, layout_bytes(layout));
    return true;
}

static pse_block *pack(void *engine, const pse_message *message, const void *data, const pse_layout *layout)
{
    pse_sequencer *s = engine;
    pse_handle handle;
    uint64_t bytes = layout_bytes(layout);
    if (pse_arena_allocate(s->arena, bytes, &handle) != 0)
        return NULL;
    pse_block *block = begin_block(s, block_at(s, handle), layout, message->site, message->tph);
    memcpy(buffer_data(s, block), data, bytes);
    count_up(&pse_board_statistics(s->board, s->plan->rank, message->site)->copied, bytes);
    return block;
}

static void *data_of(void *engine, pse_block *block)
{
    return buffer_data(engine, block);
}

static void release(void *engine, pse_block *block)
{
    buffer_release(engine, block);
}

bool mail_create(pse_sequencer *s)
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
    return pse_messaging_create(&s->mail, &hooks) == 0;
}

/* A borrowed block has done its service. */
void borrowed_sent(pse_sequencer *s, pse_block *block)
{
    pse_messaging_sent(s->mail, (void *)(uintptr_t)block->internal[0]);
    free(block);
    ring_all(s);
}

/* The mail's part of a round of the loop: true if the run can't go on. */
bool mail_step(pse_sequencer *s)
{
    if (pse_messaging_retry(s->mail))
        s->wants |= PSE_WANT_SPACE;
    ring_all(s);
    return pse_messaging_get_fault(s->mail)->kind != PSE_MESSAGING_FINE;
}

/* Frames: what a call needs while its module runs, and until it is complete. */

frame *frame_take(pse_sequencer *s)
{
    if (s->frame != NULL)
        return s->frame;
    frame *fresh = s->spare_frames;
    if (fresh != NULL)
        s->spare_frames = fresh->next;
    else
        fresh = malloc(sizeof *fresh);
    if (fresh == NULL)
        abort();
    return s->frame = fresh;
}

static void frame_give(pse_sequencer *s, frame *done)
{
    done->next = s->spare_frames;
    s->spare_frames = done;
}

void frames_destroy(pse_sequencer *s)
{
    for (pse_context *context = s->oldest; context != NULL; context = context->younger)
        if (context->parked != NULL)
            frame_give(s, context->parked);
    if (s->frame != NULL)
        frame_give(s, s->frame);
    while (s->spare_frames != NULL) {
        frame *next = s->spare_frames->next;
        free(s->spare_frames);
        s->spare_frames = next;
    }
    s->frame = NULL;
}

/* The module of a call runs from here to module_leave. */
void module_enter(pse_sequencer *s, pse_context *context, const pse_call *call)
{
    frame *at = context->parked;
    call_enter(s, context, call);
    if (at == NULL) {
        at = frame_take(s);
        const pse_region_row *row = call->region ? &s->plan->regions[call->region - 1] : NULL;
        at->visit = (pse_messaging_visit){
            .messaging = s->mail,
            .tph = context->tph,
            .index = context->index,
            .partition = row ? context->partition : 0,
            .site = call->site,
            .region = {.partitions = row ? row->partitions : 1,
                       .scope = call->region,
                       .owners = row ? &s->plan->owners[row->first_owner] : &s->plan->rank},
        };
    }
    pse_messaging_enter(&at->visit);
}

void module_leave(pse_sequencer *s, pse_context *context, const pse_call *call, uint64_t copied)
{
    pse_messaging_leave();
    call_leave(s, context, call, copied);
}

/* Park the call if anything it posted is not complete; it goes on with `made` and the frame as they are. */
bool call_parks(pse_sequencer *s, pse_context *context, const pse_call *call)
{
    frame *at = context->parked ? context->parked : s->frame;
    if (!pse_messaging_rest(&at->visit))
        return false;
    if (context->parked == NULL) {
        memcpy(at->made, s->made, (size_t)call->arguments * sizeof *at->made);
        context->parked = at;
        s->frame = NULL;
    }
    ring_all(s);
    return true;
}

/* Whether a parked call may go on; its outputs are at hand then. */
bool call_wakes(pse_sequencer *s, pse_context *context, const pse_call *call)
{
    if (pse_messaging_is_resting(context->parked->visit.mailbox))
        return false;
    memcpy(s->made, context->parked->made, (size_t)call->arguments * sizeof *s->made);
    return true;
}

void call_unpark(pse_sequencer *s, pse_context *context)
{
    if (context->parked != NULL)
        frame_give(s, context->parked);
    context->parked = NULL;
}

const pse_messaging_fault *pse_sequencer_mail_fault(const pse_sequencer *s)
{
    return pse_messaging_get_fault(s->mail);
}

/* At the end of the run, or at a pause, where the program's own TPH goes on: false if messages are left that
 * nobody will receive. */
bool pse_sequencer_mail_is_empty(pse_sequencer *s)
{
    pse_messaging_check_empty(s->mail, s->oldest != NULL ? s->oldest->tph : 0);
    return pse_messaging_get_fault(s->mail)->kind == PSE_MESSAGING_FINE;
}

size_t pse_sequencer_kept(const pse_sequencer *s, pse_messaging_saved *rows, size_t limit)
{
    return pse_messaging_save(s->mail, s->pending_context->tph, rows, limit);
}

bool pse_sequencer_put_kept(pse_sequencer *s, const pse_messaging_saved *row)
{
    return pse_messaging_restore(s->mail, s->pending_context->tph, row);
}
