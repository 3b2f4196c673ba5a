/* Compiled modules: scalars in and out, binding of arguments, the call itself. */
#ifndef PSE_ENGINE_COMPILED_MODULES_H
#define PSE_ENGINE_COMPILED_MODULES_H

#include "engine.h"

int pse_engine_run_compiled(pse_engine *s, pse_context *context, const pse_call *call, int *result);
/* Have a process that a module forks end where the module returns in it; false if memory ran out. */
bool pse_engine_watch_forks(void);
/* The module has returned and nothing that it posted is under way. */
int pse_engine_complete_compiled(pse_engine *s, pse_context *context, const pse_call *call, int *result);

#endif
