/* Python's C interface, looked up among the symbols of the process: there may be no Python in it. */
#ifndef PSE_TOOL_PYTHON_API_H
#define PSE_TOOL_PYTHON_API_H

#include <stdbool.h>
#include <stddef.h>

struct pse_python_api { /* objects, frames and codes of Python are void * */
    int (*is_initialized)(void);
    int (*is_held)(void); /* the interpreter lock, by this thread */
    void *(*let_go)(void);
    void (*take_again)(void *);
    int (*ensure)(void);
    void (*release)(int);
    void *(*frame)(void);
    void *(*back)(void *);
    void *(*code)(void *);
    int (*place)(void *), (*line)(void *);
    void *(*attribute)(void *, const char *);
    const char *(*text)(void *);
    void (*clear_error)(void);
    void (*keep)(void *), (*forget)(void *);
};

/* The interface if Python runs in this process, else NULL. */
const struct pse_python_api *pse_python_api(void);
/* Whether pse_python_api has found Python running before. */
bool pse_python_was_running(void);

struct pse_python_symbol {
    const char *name;
    void **address;
};
/* Look up symbols of the process; false: one of them isn't there. */
bool pse_python_find(const struct pse_python_symbol symbols[], size_t count);

/* A copy of the text of an object's attribute, to be freed; of `otherwise` if it has none, or there is no
 * object. */
char *pse_python_text(const struct pse_python_api *python, void *object, const char *attribute,
                      const char *otherwise);

/* The frame that called another one, or NULL.  `*owned` is what has to be forgotten when the walk ends: NULL
 * at its begin. */
void *pse_python_caller(const struct pse_python_api *python, void *frame, void **owned);

#endif
