/* Regions of functions of Python: names of code objects, and what is a library. */
#define _GNU_SOURCE
#include "python/python_regions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python_api.h"
#include "regions/region_table.h"

struct pse_trace_python pse_trace_python;

static const struct pse_python_api *python; /* NULL: there is none */
static char *libraries[2];                  /* where the standard library and pse are */
static bool main_has_no_file;               /* python -c and python -: its code is <string> or <stdin> */

bool pse_trace_find_python(void)
{
    struct pse_trace_python *api = &pse_trace_python;
    python = pse_python_api();
    const struct pse_python_symbol needed[] = {{"PyInterpreterState_Get", (void **)&api->interpreter},
                                               {"Py_CompileString", (void **)&api->compile},
                                               {"PyEval_EvalCode", (void **)&api->run},
                                               {"PyDict_New", (void **)&api->new_dict},
                                               {"PyDict_GetItemString", (void **)&api->item},
                                               {"PyDict_SetItemString", (void **)&api->set_item},
                                               {"PyCFunction_NewEx", (void **)&api->new_function},
                                               {"PyImport_GetModuleDict", (void **)&api->modules},
                                               {"PyErr_Fetch", (void **)&api->fetch_error},
                                               {"PyErr_Restore", (void **)&api->restore_error},
                                               {"PyLong_AsLong", (void **)&api->as_long},
                                               {"_Py_NoneStruct", &api->none}};
    return python && pse_python_find(needed, sizeof needed / sizeof *needed);
}

/* Names */

static int first_line(void *code)
{
    void *value = python->attribute(code, "co_firstlineno");
    const int line = value ? (int)pse_trace_python.as_long(value) : 0;
    if (value)
        python->forget(value);
    return line;
}

/* The folder of a module that is loaded, with a slash at its end. */
static char *folder_of(const char *module)
{
    void *loaded = pse_trace_python.item(pse_trace_python.modules(), module);
    char *file = pse_python_text(python, loaded, "__file__", "");
    char *slash = file ? strrchr(file, '/') : NULL;
    if (slash)
        slash[1] = '\0';
    return file;
}

void pse_trace_find_python_libraries(void)
{
    static const char *const modules[] = {"os", "pse"};
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        libraries[i] = folder_of(modules[i]);
    char *main = folder_of("__main__");
    main_has_no_file = main && (!main[0] || main[0] == '<');
    free(main);
}

static bool is_library(const char *file)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (libraries[i] && libraries[i][0] && strncmp(file, libraries[i], strlen(libraries[i])) == 0)
            return true;
    if (strstr(file, "/site-packages/") || strstr(file, "/dist-packages/"))
        return true;
    const bool may_be_main = strcmp(file, "<string>") == 0 || strcmp(file, "<stdin>") == 0;
    return file[0] == '<' && !(main_has_no_file && may_be_main);
}

/* A wait for another thread: recorded although it is the standard library's, since it is not work. */
static bool is_join(const char *file, const char *name)
{
    return strcmp(name, "Thread.join") == 0 && is_library(file);
}

static struct trace_region *define(void *code)
{
    char *file = pse_python_text(python, code, "co_filename", ""),
         *name = pse_python_text(python, code, "co_qualname", "");
    const char *slash = file ? strrchr(file, '/') : NULL;
    struct trace_region *region = NULL;
    if (file && name) {
        const bool is_module = strcmp(name, "<module>") == 0;
        python->keep(code); /* Or its address might be another's one day. */
        region = pse_trace_define_region(code, is_module ? (slash ? slash + 1 : file) : name, "", file,
                                         first_line(code), is_library(file) && !is_join(file, name));
        region->is_python = true;
    }
    free(file);
    free(name);
    return region;
}

struct trace_region *pse_trace_python_region(void *code)
{
    struct trace_region *region = pse_trace_find_region(code);
    void *type, *value, *traceback;
    if (__builtin_expect(region != NULL, 1))
        return region;
    pse_trace_python.fetch_error(&type, &value, &traceback);
    region = define(code);
    pse_trace_python.restore_error(type, value, traceback);
    return region;
}
