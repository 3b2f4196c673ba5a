/* The values in slots: reading, renewing, and telling senders that their messages were used. */
#ifndef PSE_ENGINE_SLOTS_H
#define PSE_ENGINE_SLOTS_H

#include "engine.h"
#include "state/value.h"

pse_engine_value *pse_engine_slot_read(pse_context *context, int32_t slot);
/* Drop what the slot has; make it the context's own. */
pse_engine_value *pse_engine_slot_renew(pse_engine *s, pse_context *context, int32_t slot);
void pse_engine_slot_drop(pse_engine *s, pse_context *context, int32_t slot);

void pse_engine_value_take(pse_engine *s,
                           pse_engine_value *v); /* tell the sender that its message was used */
/* A swap gives a value another name, under which it may outlive later messages of its edge: it leaves the
 * queue. */
void pse_engine_value_rename(pse_engine *s, pse_engine_value *v);
void pse_engine_value_set_integer(pse_engine_value *v, int64_t integer);
void pse_engine_value_set_real(pse_engine_value *v, double real);

#endif
