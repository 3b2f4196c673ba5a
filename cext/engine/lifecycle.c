/* An engine is made and ended. */
#include <stdlib.h>
#include <string.h>

#include "calls/call_accounting.h"
#include "calls/compiled_modules.h"
#include "calls/partition_wait.h"
#include "deadlock_detection.h"
#include "messaging.h"
#include "state/buffers.h"
#include "state/contexts.h"
#include "state/edge_slots.h"
#include "state/engine_state.h"
#include "transport/collective_order.h"
#include "transport/posting.h"
#include "transport/unexpected.h"

int pse_engine_create(pse_engine **out, const pse_plan *plan, pse_board *board, pse_arena *arena,
                      pse_recorder *recorder)
{
    pse_engine *s = calloc(1, sizeof *s);
    *out = s;
    if (s == NULL)
        return PSE_RUN_MEMORY;
    s->plan = plan;
    s->board = board;
    s->self = pse_board_slot(board, plan->rank);
    s->arena = arena;
    s->arena_base = arena ? pse_arena_base(arena) : NULL;
    s->recorder = recorder;
    s->credits.shown = pse_board_queued(board, plan->rank);
    memset((void *)s->credits.shown, 0, plan->edges * sizeof *s->credits.shown);
    s->credits.sent = calloc(plan->pushes_count + 1, sizeof *s->credits.sent);
    s->iterations.loops = calloc(plan->loops_count + 1, sizeof *s->iterations.loops);
    s->credits.queued = calloc(plan->edges + 1, sizeof *s->credits.queued);
    pse_engine_account_create(s);
    bool made = s->credits.sent != NULL && s->iterations.loops != NULL && s->credits.queued != NULL &&
                s->accounting.loads != NULL && pse_engine_edge_slots_create(s) &&
                pse_engine_posting_create(s) && pse_engine_messaging_create(s) &&
                pse_engine_deadlock_create(s) && pse_engine_watch_forks();
    if (!made)
        return PSE_RUN_MEMORY;
    pse_channel_bell_note_affinity(s->self);
    pse_channel_bell_note_core(s->self);
    return pse_engine_context_create(s, NULL, 1) != NULL ? 0 : PSE_RUN_MEMORY;
}

void pse_engine_destroy(pse_engine *s)
{
    if (s == NULL)
        return;
    s->credits.shown = NULL; /* What is freed now leaves no queue, and the board is the next engine's. */
    pse_engine_frames_destroy(s);
    pse_engine_contexts_destroy(s);
    pse_engine_order_destroy(s);
    pse_engine_unexpected_destroy(s);
    pse_engine_list_free(&s->forwarding.held_up);
    pse_messaging_destroy(s->messaging);
    pse_engine_deadlock_destroy(s);
    pse_engine_buffers_destroy(s);
    for (uint32_t loop = 0; s->iterations.loops != NULL && loop < s->plan->loops_count; loop++)
        free(s->iterations.loops[loop].ahead);
    free(s->iterations.loops);
    free(s->credits.sent);
    free(s->credits.queued);
    pse_engine_account_destroy(s);
    pse_engine_edge_slots_destroy(s);
    pse_engine_posting_destroy(s);
    free(s);
}
