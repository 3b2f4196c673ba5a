/* Looking up Python's C interface. */
#define _GNU_SOURCE
#include "python_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static struct pse_python_api api;
static bool found, was_running;

bool pse_python_find(const struct pse_python_symbol symbols[], size_t count)
{
    size_t i = 0;
    while (i < count && (*symbols[i].address = dlsym(RTLD_DEFAULT, symbols[i].name)) != NULL)
        i++;
    return i == count;
}

static void look_up(void)
{
    const struct pse_python_symbol needed[] = {{"Py_IsInitialized", (void **)&api.is_initialized},
                                               {"PyGILState_Check", (void **)&api.is_held},
                                               {"PyEval_SaveThread", (void **)&api.let_go},
                                               {"PyEval_RestoreThread", (void **)&api.take_again},
                                               {"PyGILState_Ensure", (void **)&api.ensure},
                                               {"PyGILState_Release", (void **)&api.release},
                                               {"PyEval_GetFrame", (void **)&api.frame},
                                               {"PyFrame_GetBack", (void **)&api.back},
                                               {"PyFrame_GetCode", (void **)&api.code},
                                               {"PyFrame_GetLasti", (void **)&api.place},
                                               {"PyFrame_GetLineNumber", (void **)&api.line},
                                               {"PyObject_GetAttrString", (void **)&api.attribute},
                                               {"PyUnicode_AsUTF8", (void **)&api.text},
                                               {"PyErr_Clear", (void **)&api.clear_error},
                                               {"Py_IncRef", (void **)&api.keep},
                                               {"Py_DecRef", (void **)&api.forget}};
    found = pse_python_find(needed, sizeof needed / sizeof *needed);
}

const struct pse_python_api *pse_python_api(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look_up);
    const bool runs = found && api.is_initialized();
    if (runs && !was_running)
        was_running = true;
    return runs ? &api : NULL;
}

bool pse_python_was_running(void)
{
    return was_running;
}

char *pse_python_text(const struct pse_python_api *python, void *object, const char *attribute,
                      const char *otherwise)
{
    void *value = object ? python->attribute(object, attribute) : NULL;
    const char *text = value ? python->text(value) : NULL;
    char *copy = strdup(text ? text : otherwise);
    if (!text)
        python->clear_error();
    if (value)
        python->forget(value);
    return copy;
}

void *pse_python_caller(const struct pse_python_api *python, void *frame, void **owned)
{
    void *caller = python->back(frame);
    if (*owned)
        python->forget(*owned);
    return *owned = caller;
}
