/* Functions of Python 3.11, by a hook for frames. */
#ifndef PSE_TRACE_PYTHON_EVALUATION_H
#define PSE_TRACE_PYTHON_EVALUATION_H

#include <stdbool.h>

struct pse_python_api;

#pragma GCC visibility push(hidden)

/* Whether frames of this Python have their code where it is expected. */
bool pse_trace_frames_are_known(const struct pse_python_api *python);
/* Begin; frames are known. */
void pse_trace_hook_evaluation(void);

#pragma GCC visibility pop

#endif
