/* What both ways of hearing of Python's functions share: names of code objects, and more of Python's
 * interface.
 */
#ifndef PSE_TRACE_PYTHON_HOOKS_H
#define PSE_TRACE_PYTHON_HOOKS_H

#include <stdbool.h>

struct pse_python_api;
struct trace_region;

/* What of Python's interface is only used here. */
struct pse_trace_python {
    void *(*interpreter)(void);
    void *(*compile)(const char *, const char *, int);
    void *(*run)(void *, void *, void *);
    void *(*new_dict)(void);
    void *(*item)(void *, const char *); /* borrowed */
    int (*set_item)(void *, const char *, void *);
    void *(*new_function)(void *method, void *self, void *module);
    void *(*modules)(void);
    void (*fetch_error)(void **, void **, void **);
    void (*restore_error)(void *, void *, void *);
    long (*as_long)(void *);
    void *none;
};

#pragma GCC visibility push(hidden)

extern struct pse_trace_python pse_trace_python;

/* The region of a code object; an exception that is on its way stays as it is. */
struct trace_region *pse_trace_python_region(void *code);
/* A function is called: regions of frames that have ended unseen are left. */
void pse_trace_close_ended_frames(void);

/* Python 3.11: whether its frames have their code where it is expected; then, begin. */
bool pse_trace_frames_are_known(const struct pse_python_api *python);
bool pse_trace_hook_evaluation(void);
/* Python 3.12 and later: begin; false after a warning. */
bool pse_trace_monitor_python(const struct pse_python_api *python);

#pragma GCC visibility pop

#endif
