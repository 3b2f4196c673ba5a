/* What a call costs and where it runs: the board, the trace, wall and CPU time. */
#ifndef PSE_ENGINE_CALL_ACCOUNTING_H
#define PSE_ENGINE_CALL_ACCOUNTING_H

#include "engine.h"

#include <sys/types.h>

/* MPI would hang for a descriptor that a module closed by mistake, at the latest at its end. */
typedef struct pse_engine_descriptor_check {
    bool on;
    int descriptor; /* It must stay open, and what it was at the beginning: */
    dev_t device;
    ino_t inode;
    const pse_context *closer; /* whose module closed it; NULL: nobody's */
} pse_engine_descriptor_check;

typedef struct pse_engine_accounting {
    const char *volatile *culprit;
    uint64_t entered, entered_cpu;
    uint64_t lasted; /* ns that the last call took */
    uint64_t cpu_value, cpu_read_at;
    uint64_t cpu_guessed;   /* how much of cpu_value was not read but reckoned from the time awake */
    uint64_t entered_delay; /* ns of run-queue delay until the call began; UINT64_MAX: it wasn't read */
    int delay_file;         /* where it is read; -1: nowhere */
    pse_engine_descriptor_check open;
    uint64_t *loads; /* per partition: ns of CPU time that its calls took */
} pse_engine_accounting;

void pse_engine_account_create(pse_engine *s);
void pse_engine_account_destroy(pse_engine *s);
void pse_engine_account_enter(pse_engine *s, pse_context *context, const pse_call *call);
void pse_engine_account_rest(pse_engine *s, pse_context *context,
                             const pse_call *call); /* it goes on later */
void pse_engine_account_leave(pse_engine *s, pse_context *context, const pse_call *call, uint64_t copied);

/* Note whether a module that has just ended closed the descriptor that is watched: calls of other contexts
 * may come before this one goes on. */
void pse_engine_look_at_descriptor(pse_engine *s, const pse_context *context);
bool pse_engine_closed_descriptor(const pse_engine *s, const pse_context *context);

/* This rank waited until `now` and was off its core for `slept` ns of it. */
void pse_engine_cpu_slept(pse_engine *s, uint64_t now, uint64_t slept);

#endif
