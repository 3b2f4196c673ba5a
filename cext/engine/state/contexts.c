#include "state/contexts.h"

#include <stdlib.h>
#include <string.h>

#include "messaging.h"
#include "state/engine_state.h"
#include "state/slots.h"
#include "transport/unexpected.h"

static pse_context **bucket_of(pse_engine *s, uint64_t tph)
{
    return &s->contexts.buckets[(tph ^ (tph >> 16) ^ (tph >> 40)) % PSE_CONTEXT_BUCKETS];
}

static pse_context *fresh_context(pse_engine *s)
{
    pse_context *context = s->contexts.spare_contexts;
    if (context != NULL) {
        s->contexts.spare_contexts = context->chained;
        return context;
    }
    return malloc(sizeof *context + s->plan->slots * sizeof(pse_engine_value));
}

/* Append to the live contexts. */
static void enlist(pse_engine *s, pse_context *context, pse_context *parent, uint64_t tph)
{
    context->tph = tph;
    context->parent = parent;
    context->loop = -1;
    context->index = parent ? parent->index : -1;
    context->older = s->contexts.youngest;
    if (s->contexts.youngest)
        s->contexts.youngest->younger = context;
    else
        s->contexts.oldest = context;
    s->contexts.youngest = context;
}

static void delist(pse_engine *s, pse_context *context)
{
    if (context->older)
        context->older->younger = context->younger;
    else
        s->contexts.oldest = context->younger;
    if (context->younger)
        context->younger->older = context->older;
    else
        s->contexts.youngest = context->older;
}

/* A fiber of a region that `home` has come to. */
pse_context *pse_engine_fiber_create(pse_engine *s, pse_context *home, const pse_fiber *plan)
{
    pse_context *fiber = s->contexts.spare_fibers;
    if (fiber != NULL)
        s->contexts.spare_fibers = fiber->chained;
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

void pse_engine_fiber_remove(pse_engine *s, pse_context *fiber)
{
    free(fiber->kept);
    delist(s, fiber);
    fiber->chained = s->contexts.spare_fibers;
    s->contexts.spare_fibers = fiber;
}

pse_context *pse_engine_context_create(pse_engine *s, pse_context *parent, uint64_t tph)
{
    pse_context *context = fresh_context(s);
    if (context == NULL)
        return NULL;
    memset(context, 0, sizeof *context + s->plan->slots * sizeof(pse_engine_value));
    for (uint32_t slot = 0; slot < s->plan->slots; slot++)
        context->slots[slot].state = parent ? VALUE_OUTER : VALUE_EMPTY;
    enlist(s, context, parent, tph);
    context->home = context;
    context->partition = s->plan->partition;
    context->load = PSE_NO_LOAD;
    pse_context **bucket = bucket_of(s, tph);
    context->chained = *bucket;
    *bucket = context;
    pse_engine_adopt_strays(s, context);
    return context;
}

pse_context *pse_engine_context_find(pse_engine *s, uint64_t tph)
{
    pse_context *context = *bucket_of(s, tph);
    while (context != NULL && context->tph != tph)
        context = context->chained;
    return context;
}

void pse_engine_context_remove(pse_engine *s, pse_context *context)
{
    free(context->kept);
    free(context->ordinals);
    pse_messaging_close_all(s->messaging, context->tph);
    pse_context **link = bucket_of(s, context->tph);
    for (uint32_t slot = 0; slot < s->plan->slots; slot++)
        pse_engine_slot_drop(s, context, (int32_t)slot);
    while (*link != context)
        link = &(*link)->chained;
    *link = context->chained;
    delist(s, context);
    context->chained = s->contexts.spare_contexts;
    s->contexts.spare_contexts = context;
}

static void free_contexts(pse_context *context)
{
    while (context != NULL) {
        pse_context *next = context->chained;
        free(context);
        context = next;
    }
}

void pse_engine_contexts_destroy(pse_engine *s)
{
    while (s->contexts.youngest != NULL) {
        pse_context *last = s->contexts.youngest;
        last->home == last ? pse_engine_context_remove(s, last) : pse_engine_fiber_remove(s, last);
    }
    free_contexts(s->contexts.spare_contexts);
    free_contexts(s->contexts.spare_fibers);
}
