/* Messages that came before anybody expected them: of a context, or of one that does not exist yet (strays).
 */
#ifndef PSE_ENGINE_UNEXPECTED_H
#define PSE_ENGINE_UNEXPECTED_H

#include "engine.h"

#define PSE_ARRIVAL_LISTS 32u
#define PSE_STRAY_LISTS 64u

typedef struct pse_engine_unexpected_message {
    struct pse_engine_unexpected_message *next;
    pse_message message;
} pse_engine_unexpected_message;

/* In order of arrival. */
typedef struct pse_engine_message_list {
    pse_engine_unexpected_message *first, *last;
} pse_engine_message_list;

typedef struct pse_engine_unexpected {
    pse_engine_message_list strays[PSE_STRAY_LISTS]; /* by TPH */
    pse_engine_unexpected_message *spare;
} pse_engine_unexpected;

/* Append a message; false: no memory. */
bool pse_engine_list_append(pse_engine *s, pse_engine_message_list *list, const pse_message *message);
/* Take out the one after `before` (NULL: the first). */
void pse_engine_list_remove(pse_engine *s, pse_engine_message_list *list,
                            pse_engine_unexpected_message *before);
void pse_engine_list_free(pse_engine_message_list *list);

/* Keep a message until its context expects it, or exists.  Without memory the engine fails. */
void pse_engine_keep_unexpected(pse_engine *s, pse_context *context, const pse_message *message);
void pse_engine_keep_stray(pse_engine *s, const pse_message *message);

/* The context is there: its strays are its own. */
void pse_engine_adopt_strays(pse_engine *s, pse_context *context);

void pse_engine_unexpected_destroy(pse_engine *s);

#endif
