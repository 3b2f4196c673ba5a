/* Names of functions of Python, the frames that run when recording begins, and the choice of the way. */
#define _GNU_SOURCE
#include "regions/python_functions.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python_api.h"
#include "regions/python_hooks.h"
#include "regions/region_stacks.h"
#include "regions/region_table.h"
#include "regions/threads.h"
#include "tool.h"
#include "writer.h"

struct pse_trace_python pse_trace_python;

static const struct pse_python_api *python;
static bool is_hooked;
static char *libraries[2];    /* where the standard library and pse are */
static bool main_has_no_file; /* python -c: its code is <string>, as that which modules generate */

static bool look_up(void)
{
    struct pse_trace_python *api = &pse_trace_python;
    const struct {
        const char *name;
        void **function;
    } needed[] = {{"PyInterpreterState_Get", (void **)&api->interpreter},
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
    bool found = true;
    for (size_t i = 0; found && i < sizeof needed / sizeof *needed; i++)
        found = (*needed[i].function = dlsym(RTLD_DEFAULT, needed[i].name)) != NULL;
    return found;
}

/* Names */

/* A text of an object, to be freed; "" if there is none. */
static char *text_of(void *object, const char *attribute)
{
    void *value = object ? python->attribute(object, attribute) : NULL;
    const char *text = value ? python->text(value) : NULL;
    char *copy = strdup(text ? text : "");
    if (!text)
        python->clear_error();
    if (value)
        python->forget(value);
    return copy;
}

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
    char *file = text_of(pse_trace_python.item(pse_trace_python.modules(), module), "__file__");
    char *slash = file ? strrchr(file, '/') : NULL;
    if (slash)
        slash[1] = '\0';
    return file;
}

static bool is_library(const char *file)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (libraries[i] && libraries[i][0] && strncmp(file, libraries[i], strlen(libraries[i])) == 0)
            return true;
    if (strstr(file, "/site-packages/") || strstr(file, "/dist-packages/"))
        return true;
    return file[0] == '<' && !(main_has_no_file && strcmp(file, "<string>") == 0);
}

static struct trace_region *define(void *code)
{
    char *file = text_of(code, "co_filename"), *name = text_of(code, "co_qualname");
    const char *slash = file ? strrchr(file, '/') : NULL;
    struct trace_region *region = NULL;
    if (file && name) {
        const bool is_module = strcmp(name, "<module>") == 0;
        python->keep(code); /* Or its address might be another's one day. */
        region = pse_trace_define_region(code, is_module ? (slash ? slash + 1 : file) : name, "", file,
                                         first_line(code), is_library(file));
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

/* Frames that ran before */

static bool is_running(const void *wanted)
{
    void *frame = python->frame(), *owned = NULL;
    while (frame && frame != wanted) {
        frame = python->back(frame);
        if (owned)
            python->forget(owned);
        owned = frame;
    }
    if (owned)
        python->forget(owned);
    return frame != NULL;
}

/* The main module's frame runs as long as Python does. */
static void close_ended(struct trace_thread *thread)
{
    unsigned left = thread->initial;
    while (left > 1 && !is_running(thread->frames[left - 1].identity))
        left--;
    if (left == thread->initial)
        return;
    pse_trace_lock();
    pse_trace_close_above(thread, left, pse_clock());
    pse_trace_unlock();
}

static bool may_have_ended(const struct trace_thread *thread)
{
    return thread && thread->initial && thread->depth == thread->initial;
}

void pse_trace_close_ended_frames(void)
{
    struct trace_thread *thread = pse_trace_this_thread();
    if (may_have_ended(thread) && thread->initial > 1)
        close_ended(thread);
}

void pse_trace_check_python_frames(void)
{
    struct trace_thread *thread = is_hooked && pse_trace_recorder ? pse_trace_this_thread() : NULL;
    if (!may_have_ended(thread))
        return;
    if (!pse_python_api()) {
        pse_trace_close_thread(thread); /* Python has ended before MPI. */
    } else if (thread->initial > 1) {
        const int state = python->ensure();
        close_ended(thread);
        python->release(state);
    }
}

/* `will_end`: their ends will be told, so nobody need look for them. */
static void take_frames(bool will_end)
{
    enum { MOST = 256 };
    void *frames[MOST], *owned[MOST], *frame = python->frame();
    int count = 0;
    for (; frame && count < MOST; frame = python->back(frame)) {
        owned[count] = count ? frame : NULL;
        frames[count++] = frame;
    }
    for (int i = count; i-- > 0;) {
        void *code = python->code(frames[i]);
        struct trace_region *region = pse_trace_python_region(code);
        if (region)
            pse_trace_enter_early(region, will_end ? NULL : frames[i], NULL);
        python->forget(code);
        if (owned[i])
            python->forget(owned[i]);
    }
}

/* The begin */

static void find_libraries(void)
{
    static const char *const modules[] = {"os", "pse"};
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        libraries[i] = folder_of(modules[i]);
    char *main = folder_of("__main__");
    main_has_no_file = main && !main[0];
    free(main);
}

static void hook(bool has_monitoring)
{
    find_libraries();
    if (!has_monitoring && !pse_trace_frames_are_known(python))
        return;
    take_frames(has_monitoring);
    is_hooked = has_monitoring ? pse_trace_monitor_python(python) : pse_trace_hook_evaluation();
}

void pse_trace_hook_python(void)
{
    enum { HAS_HOOK = 0x030b, HAS_MONITORING = 0x030c };
    const unsigned long *version = dlsym(RTLD_DEFAULT, "Py_Version");
    python = pse_python_api();
    if (!python || !version || *version >> 16 < HAS_HOOK || !look_up())
        return;
    const int state = python->ensure();
    hook(*version >> 16 >= HAS_MONITORING);
    python->release(state);
}
