/* `--prefix`: the prefix of what a module writes names the processor, the thread, the partition and the
 * rounds of the loops around the call. */
#ifndef PSE_ENGINE_OUTPUT_PREFIX_H
#define PSE_ENGINE_OUTPUT_PREFIX_H

#include "calls/output_pipe.h"
#include "engine.h"

/* A loop around a call. */
typedef struct pse_engine_loop_name {
    const char *name;
    int32_t slot; /* of its counter */
} pse_engine_loop_name;

/* What the prefix of a call site says. */
typedef struct pse_engine_site_prefix {
    const char *thread;
    const pse_engine_loop_name *loops; /* outer ones first */
    int32_t count;
} pse_engine_site_prefix;

typedef struct pse_engine_output_prefix {
    pse_engine_output_pipe *pipes; /* NULL: lines get no prefix */
    const pse_engine_site_prefix *sites;
    const char *idle; /* between two calls */
} pse_engine_output_prefix;

/* From now on every line that modules write begins with the prefix of its call; `sites` has a row for each
 * call site, `idle` is the prefix between two calls. */
void pse_engine_prefix_output(pse_engine *engine, pse_engine_output_pipe *pipes,
                              const pse_engine_site_prefix *sites, const char *idle);

void pse_engine_output_enter(pse_engine *s, pse_context *context, const pse_call *call);
void pse_engine_output_leave(pse_engine *s);

#endif
