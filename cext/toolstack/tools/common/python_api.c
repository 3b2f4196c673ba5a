/* Looking up Python's C interface. */
#define _GNU_SOURCE
#include "python_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static struct pse_python_api api;
static bool found, was_running;

static void look_up(void)
{
    static const struct {
        const char *name;
        void **function;
    } needed[] = {{"Py_IsInitialized", (void **)&api.is_initialized},
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
    found = true;
    for (size_t i = 0; found && i < sizeof needed / sizeof *needed; i++)
        found = (*needed[i].function = dlsym(RTLD_DEFAULT, needed[i].name)) != NULL;
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
