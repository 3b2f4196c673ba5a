/* Regions of functions of Python, and what of Python's interface is only used for them. */
#ifndef PSE_TRACE_PYTHON_REGIONS_H
#define PSE_TRACE_PYTHON_REGIONS_H

#include <stdbool.h>

struct trace_region;

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

/* Look for Python in the process; false: it has none. */
bool pse_trace_find_python(void);
/* Find out which functions are of libraries. */
void pse_trace_find_python_libraries(void);
/* The region of a code object; an exception that is on its way stays as it is. */
__attribute__((cold)) struct trace_region *pse_trace_python_region(void *code);

#pragma GCC visibility pop

#endif
