/* Partitions move: at a pause, what their slots hold goes to the sequencer that runs a plan for other
 * placements, in this rank or in another one of the node.
 *
 * All of it concerns the contexts that stand at the pause.  Whatever came by message has left its queue
 * before (pse_engine_take_all).
 */
#include "messaging.h"
#include "state/buffers.h"
#include "state/engine_state.h"
#include "state/slots.h"

const uint64_t *pse_engine_loads(const pse_engine *s)
{
    return s->accounting.loads;
}

/* What the slot `from` of `before` holds, references and all, is in `slot` from now on. */
void pse_engine_inherit(pse_engine *s, int32_t slot, pse_engine *before, int32_t from)
{
    pse_engine_value *old = &before->pending.context->slots[from],
                     *v = pse_engine_slot_renew(s, s->pending.context, slot);
    if (old->state <= VALUE_OUTER)
        return;
    *v = *old;
    old->state = VALUE_EMPTY;
    old->count = 0;
}

/* Drop what is left; messages among partitions have been copied (pse_engine_save_mailboxes). */
void pse_engine_abandon(pse_engine *s)
{
    pse_messaging_forget(s->messaging, s->pending.context->tph);
    for (uint32_t slot = 0; slot < s->plan->slots; slot++)
        pse_engine_slot_drop(s, s->pending.context, (int32_t)slot);
}

/* The receiver of the handle gets a reference of its own with it. */
pse_handle pse_engine_lend(pse_engine *s, pse_block *buffer)
{
    if (pse_engine_buffer_is_private(buffer))
        return 0;
    pse_engine_buffer_retain(s, buffer, 1);
    return pse_engine_buffer_handle(s, buffer);
}

pse_block *pse_engine_lent(const pse_engine *s, pse_handle handle)
{
    return pse_engine_block_at(s, handle);
}
