/* Partitions move: at a pause, what their slots hold goes to the sequencer that runs a plan for other
 * placements, in this rank or in another one of the node.
 *
 * All of it concerns the contexts that stand at the pause.  Whatever came by message has left its queue
 * before (pse_sequencer_take_all).
 */
#include "state.h"

const uint64_t *pse_sequencer_loads(const pse_sequencer *s)
{
    return s->loads;
}

/* What the slot `from` of `before` holds, references and all, is in `slot` from now on. */
void pse_sequencer_inherit(pse_sequencer *s, int32_t slot, pse_sequencer *before, int32_t from)
{
    value *old = &before->pending_context->slots[from], *v = slot_renew(s, s->pending_context, slot);
    if (old->state <= VALUE_OUTER)
        return;
    *v = *old;
    old->state = VALUE_EMPTY;
    old->count = 0;
}

/* Drop what is left; messages among partitions have been copied (pse_sequencer_kept). */
void pse_sequencer_abandon(pse_sequencer *s)
{
    pse_messaging_forget(s->mail, s->pending_context->tph);
    for (uint32_t slot = 0; slot < s->plan->slots; slot++)
        slot_drop(s, s->pending_context, (int32_t)slot);
}

/* The receiver of the handle gets a reference of its own with it. */
pse_handle pse_sequencer_lend(pse_sequencer *s, pse_block *buffer)
{
    if (buffer_is_private(buffer))
        return 0;
    buffer_retain(s, buffer, 1);
    return buffer_handle(s, buffer);
}

pse_block *pse_sequencer_lent(const pse_sequencer *s, pse_handle handle)
{
    return block_at(s, handle);
}
