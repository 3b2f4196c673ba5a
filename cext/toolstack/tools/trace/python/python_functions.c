/* The choice of how functions of Python are heard of. */
#define _GNU_SOURCE
#include "python/python_functions.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "python/python_evaluation.h"
#include "python/python_frames.h"
#include "python/python_monitoring.h"
#include "python/python_regions.h"
#include "python_api.h"

static void hook(const struct pse_python_api *python, bool has_monitoring)
{
    pse_trace_find_python_libraries();
    if (!has_monitoring && !pse_trace_frames_are_known(python))
        return;
    pse_trace_take_python_frames(has_monitoring);
    if (has_monitoring)
        pse_trace_monitor_python(python);
    else
        pse_trace_hook_evaluation();
}

void pse_trace_hook_python(void)
{
    enum { HAS_HOOK = 0x030b, HAS_MONITORING = 0x030c };
    const unsigned long *version = dlsym(RTLD_DEFAULT, "Py_Version");
    const struct pse_python_api *python = pse_python_api();
    if (!python || !version || *version >> 16 < HAS_HOOK || !pse_trace_find_python())
        return;
    const int state = python->ensure();
    hook(python, *version >> 16 >= HAS_MONITORING);
    python->release(state);
}
