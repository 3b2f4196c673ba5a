/* Contexts (TPHs) and the values in their slots. */
#include <stdlib.h>

#include "state.h"

static pse_context **bucket_of(pse_sequencer *s, uint64_t tph)
{
    return &s->buckets[(tph ^ (tph >> 16) ^ (tph >> 40)) % PSE_CONTEXT_BUCKETS];
}

static pse_context *fresh_context(pse_sequencer *s)
{
    pse_context *context = s->spare_contexts;
    if (context != NULL) {
        s->spare_contexts = context->chained;
        return context;
    }
    return malloc(sizeof *context + s->plan->slots * sizeof(value));
}

/* Append to the live contexts. */
static void enlist(pse_sequencer *s, pse_context *context, pse_context *parent, uint64_t tph)
{
    context->tph = tph;
    context->parent = parent;
    context->loop = -1;
    context->index = parent ? parent->index : -1;
    context->older = s->youngest;
    if (s->youngest)
        s->youngest->younger = context;
    else
        s->oldest = context;
    s->youngest = context;
}

static void delist(pse_sequencer *s, pse_context *context)
{
    if (context->older)
        context->older->younger = context->younger;
    else
        s->oldest = context->younger;
    if (context->younger)
        context->younger->older = context->older;
    else
        s->youngest = context->older;
}

/* A fiber of a region that `home` has come to. */
pse_context *fiber_create(pse_sequencer *s, pse_context *home, const pse_fiber *plan)
{
    pse_context *fiber = s->spare_fibers;
    if (fiber != NULL)
        s->spare_fibers = fiber->chained;
    else
        fiber = malloc(sizeof *fiber);
    if (fiber == NULL)
        return NULL;
    memset(fiber, 0, sizeof *fiber);
    enlist(s, fiber, home, home->tph);
    fiber->home = home;
    fiber->partition = plan->partition;
    fiber->load = plan->load;
    fiber->pc = plan->body;
    fiber->executed = home->executed;
    return fiber;
}

void fiber_remove(pse_sequencer *s, pse_context *fiber)
{
    free(fiber->kept);
    delist(s, fiber);
    fiber->chained = s->spare_fibers;
    s->spare_fibers = fiber;
}

pse_context *context_create(pse_sequencer *s, pse_context *parent, uint64_t tph)
{
    pse_context *context = fresh_context(s);
    if (context == NULL)
        return NULL;
    memset(context, 0, sizeof *context + s->plan->slots * sizeof(value));
    for (uint32_t slot = 0; slot < s->plan->slots; slot++)
        context->slots[slot].state = parent ? VALUE_OUTER : VALUE_EMPTY;
    enlist(s, context, parent, tph);
    context->home = context;
    context->partition = s->plan->partition;
    context->load = PSE_NO_LOAD;
    pse_context **bucket = bucket_of(s, tph);
    context->chained = *bucket;
    *bucket = context;
    adopt_strays(s, context);
    return context;
}

pse_context *context_find(pse_sequencer *s, uint64_t tph)
{
    pse_context *context = *bucket_of(s, tph);
    while (context != NULL && context->tph != tph)
        context = context->chained;
    return context;
}

void context_remove(pse_sequencer *s, pse_context *context)
{
    free(context->kept);
    free(context->ordinals);
    pse_messaging_close_all(s->mail, context->tph);
    pse_context **link = bucket_of(s, context->tph);
    for (uint32_t slot = 0; slot < s->plan->slots; slot++)
        slot_drop(s, context, (int32_t)slot);
    while (*link != context)
        link = &(*link)->chained;
    *link = context->chained;
    delist(s, context);
    context->chained = s->spare_contexts;
    s->spare_contexts = context;
}

value *slot_read(pse_context *context, int32_t slot)
{
    context = context->home;
    while (context->slots[slot].state == VALUE_OUTER)
        context = context->parent->home;
    return &context->slots[slot];
}

void tell_taken(pse_sequencer *s, uint32_t source, uint32_t edge, uint64_t taken)
{
    pse_slot *slot = pse_board_slot(s->board, source);
    if (credit_grew(s, edge, taken - 1))
        return;
    if (s->plan->remote[source]) {
        pse_message message = {.kind = PSE_CARRIES_CREDIT, .edge = edge, .source = s->plan->rank};
        message.value.integer = (int64_t)taken;
        post_remote(s, source, &message);
    } else if (atomic_load(&slot->wants) & PSE_WANT_CREDIT) {
        pse_channel_bell_ring(slot);
    }
}

/* Note on the board that one more message of an edge was used; returns how many that makes. */
uint64_t count_taken(pse_sequencer *s, uint32_t edge)
{
    return atomic_fetch_add(pse_board_taken(s->board, edge, s->plan->rank), 1u) + 1;
}

/* Only arrays queue; a value whose pieces have not all come yet has only some of them in the queue. */
static void leave_queue(pse_sequencer *s, const value *v)
{
    if (v->state == VALUE_BUFFER)
        queue_changed(s, v->as.buffer->tph, v->edge, v->source, -1);
    for (uint32_t i = 0; i < v->count && v->as.pieces != NULL; i++)
        if (v->as.pieces[i].here && v->as.pieces[i].buffer != NULL)
            queue_changed(s, v->as.pieces[i].buffer->tph, v->edge, v->as.pieces[i].source, -1);
}

void value_take(pse_sequencer *s, value *v)
{
    if (!v->untaken)
        return;
    v->untaken = 0;
    leave_queue(s, v);
    if (v->state == VALUE_AWAITED)
        return; /* Incomplete: whoever drops the rest tells the senders. */
    uint64_t taken = count_taken(s, v->edge);
    if (v->state != VALUE_PIECES) {
        tell_taken(s, v->source, v->edge, taken);
        return;
    }
    for (uint32_t i = 0; i < v->count; i++)
        tell_taken(s, v->as.pieces[i].source, v->edge, taken);
}

/* A swap gives a value another name, under which it may outlive later messages of its edge: it leaves the
 * queue. */
void value_rename(pse_sequencer *s, value *v)
{
    if (v->state == VALUE_AWAITED)
        v->renamed = 1;
    else
        value_take(s, v);
}

static void release_pieces(pse_sequencer *s, value *v)
{
    for (uint32_t i = 0; i < v->count; i++)
        if (v->as.pieces[i].here && v->as.pieces[i].buffer != NULL)
            buffer_release(s, v->as.pieces[i].buffer);
    free(v->as.pieces);
}

void value_clear(pse_sequencer *s, pse_context *context, value *v)
{
    value_take(s, v);
    if (v->state == VALUE_AWAITED)
        forget_unwanted(context->home, v);
    if (v->state == VALUE_BUFFER)
        buffer_release(s, v->as.buffer);
    if (v->count > 0 && (v->state == VALUE_PIECES || v->state == VALUE_AWAITED))
        release_pieces(s, v);
    v->state = VALUE_EMPTY;
    v->count = 0;
}

void slot_drop(pse_sequencer *s, pse_context *context, int32_t slot)
{
    value *v = &context->home->slots[slot];
    if (v->state > VALUE_OUTER)
        value_clear(s, context, v);
}

value *slot_renew(pse_sequencer *s, pse_context *context, int32_t slot)
{
    value *v = &context->home->slots[slot];
    slot_drop(s, context, slot);
    memset(v, 0, sizeof *v);
    return v;
}

void set_integer(value *v, int64_t integer)
{
    v->state = VALUE_SCALAR;
    v->dtype = PSE_I64;
    v->as.integer = integer;
}

void set_real(value *v, double real)
{
    v->state = VALUE_SCALAR;
    v->dtype = PSE_F64;
    v->as.real[0] = real;
    v->as.real[1] = 0;
}
