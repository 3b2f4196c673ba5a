/* Python's C interface, looked up among the symbols of the process: there may be no Python in it. */
#ifndef PSE_TOOL_PYTHON_API_H
#define PSE_TOOL_PYTHON_API_H

#include <stdbool.h>

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

#endif
