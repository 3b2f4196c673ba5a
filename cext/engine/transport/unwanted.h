/* Messages on their way that nobody will want: they are dropped when they come. */
#ifndef PSE_ENGINE_UNWANTED_H
#define PSE_ENGINE_UNWANTED_H

#include "engine.h"
#include "state/value.h"

typedef struct pse_engine_unwanted {
    struct pse_engine_unwanted *next;
    uint32_t edge, missing, count;
    uint64_t ticket;
    uint32_t sources[]; /* per piece: who sent it, plus 1; 0 while it has not come (and been dropped) */
} pse_engine_unwanted;

/* What an awaited value stands for is not wanted any more.  Without memory the engine fails. */
void pse_engine_forget(pse_engine *s, pse_context *context, const pse_engine_value *v);

/* The oldest that a message belongs to: the link to it, or NULL. */
pse_engine_unwanted **pse_engine_first_unwanted(pse_context *context, const pse_message *message);
void pse_engine_drop_unwanted(pse_engine *s, pse_context *context, pse_engine_unwanted **link,
                              const pse_message *message);

#endif
