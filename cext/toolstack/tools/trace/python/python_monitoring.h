/* Functions of Python 3.12 and later, by sys.monitoring. */
#ifndef PSE_TRACE_PYTHON_MONITORING_H
#define PSE_TRACE_PYTHON_MONITORING_H

#include <stdbool.h>

struct pse_python_api;

#pragma GCC visibility push(hidden)

/* Begin, or warn. */
void pse_trace_monitor_python(const struct pse_python_api *python);

#pragma GCC visibility pop

#endif
