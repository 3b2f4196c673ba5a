/* The hook for frames of Python, and the names of functions. */
#define _GNU_SOURCE
#include "regions/python_functions.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python_api.h"
#include "regions/region_stacks.h"
#include "regions/region_table.h"
#include "regions/threads.h"
#include "tool.h"
#include "writer.h"

enum { CODE_IN_FRAME = 32, SERVED_VERSION = 0x030b }; /* struct _PyInterpreterFrame of 3.11 */
enum { DEEPEST_HOOK = 1000 };                         /* nested evaluations, which use the stack of C */

typedef void *evaluation(void *state, void *frame, int throwing);

/* What of Python's interface is only used here. */
static struct {
    void *(*interpreter)(void);
    evaluation *(*get_evaluation)(void *);
    void (*set_evaluation)(void *, evaluation *);
    void *(*compile)(const char *, const char *, int);
    void *(*run)(void *, void *, void *);
    void *(*new_dict)(void);
    void *(*modules)(void);
    void *(*item)(void *, const char *); /* borrowed */
    void (*fetch_error)(void **, void **, void **);
    void (*restore_error)(void *, void *, void *);
    long (*as_long)(void *);
} more;

static const struct pse_python_api *python;
static evaluation *before;
static char *libraries[2];    /* where the standard library and pse are */
static bool main_has_no_file; /* python -c: its code is <string>, as that which modules generate */
static _Thread_local unsigned nested;

static bool look_up(void)
{
    static const struct {
        const char *name;
        void **function;
    } needed[] = {{"PyInterpreterState_Get", (void **)&more.interpreter},
                  {"_PyInterpreterState_GetEvalFrameFunc", (void **)&more.get_evaluation},
                  {"_PyInterpreterState_SetEvalFrameFunc", (void **)&more.set_evaluation},
                  {"Py_CompileString", (void **)&more.compile},
                  {"PyEval_EvalCode", (void **)&more.run},
                  {"PyDict_New", (void **)&more.new_dict},
                  {"PyImport_GetModuleDict", (void **)&more.modules},
                  {"PyDict_GetItemString", (void **)&more.item},
                  {"PyErr_Fetch", (void **)&more.fetch_error},
                  {"PyErr_Restore", (void **)&more.restore_error},
                  {"PyLong_AsLong", (void **)&more.as_long}};
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
    const int line = value ? (int)more.as_long(value) : 0;
    if (value)
        python->forget(value);
    return line;
}

/* The folder of a module that is loaded, with a slash at its end. */
static char *folder_of(const char *module)
{
    char *file = text_of(more.item(more.modules(), module), "__file__");
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

/* The region of a code object; an exception that is on its way stays as it is. */
static struct trace_region *region_of(void *code)
{
    struct trace_region *region = pse_trace_find_region(code);
    void *type, *value, *traceback;
    if (__builtin_expect(region != NULL, 1))
        return region;
    more.fetch_error(&type, &value, &traceback);
    region = define(code);
    more.restore_error(type, value, traceback);
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

void pse_trace_check_python_frames(void)
{
    struct trace_thread *thread = before && pse_trace_recorder ? pse_trace_this_thread() : NULL;
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

static void take_frames(void)
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
        struct trace_region *region = region_of(code);
        if (region)
            pse_trace_enter_early(region, frames[i]);
        python->forget(code);
        if (owned[i])
            python->forget(owned[i]);
    }
}

/* The hook */

/* Functions nested deeper are called without the hook: with it each needs some of C's stack. */
static void *evaluate_unhooked(void *state, void *frame, int throwing);

static void *evaluate_region(struct trace_region *region, void *state, void *frame, int throwing)
{
    struct trace_thread *thread = pse_trace_this_thread();
    if (may_have_ended(thread) && thread->initial > 1)
        close_ended(thread);
    const bool entered = pse_trace_enter_region(region);
    void *result = before(state, frame, throwing);
    if (entered)
        pse_trace_leave_region(region);
    return result;
}

static void *evaluate(void *state, void *frame, int throwing)
{
    if (nested >= DEEPEST_HOOK || !pse_trace_recorder)
        return evaluate_unhooked(state, frame, throwing);
    const struct trace_region *region = region_of(*(void **)((char *)frame + CODE_IN_FRAME));
    nested++;
    void *result = region && (region->is_recorded || region->open)
                       ? evaluate_region((struct trace_region *)region, state, frame, throwing)
                       : before(state, frame, throwing);
    nested--;
    return result;
}

static void *evaluate_unhooked(void *state, void *frame, int throwing)
{
    void *interpreter = more.interpreter();
    more.set_evaluation(interpreter, before);
    void *result = before(state, frame, throwing);
    if (pse_trace_recorder)
        more.set_evaluation(interpreter, evaluate);
    return result;
}

/* The begin */

static void *probed;

static void *probe(void *state, void *frame, int throwing)
{
    probed = *(void **)((char *)frame + CODE_IN_FRAME);
    return before(state, frame, throwing);
}

/* Whether frames have their code where it is expected: evaluate some code that is known. */
static bool frames_are_known(void *interpreter)
{
    enum { AS_EXPRESSION = 258 }; /* Py_eval_input */
    void *code = more.compile("None", "<pse>", AS_EXPRESSION), *names = more.new_dict(), *result = NULL;
    more.set_evaluation(interpreter, probe);
    if (code && names)
        result = more.run(code, names, names);
    more.set_evaluation(interpreter, before);
    const bool known = code && probed == code;
    void *const made[] = {result, names, code};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (made[i])
            python->forget(made[i]);
    return known;
}

static void hook(void)
{
    static const char *const modules[] = {"os", "pse"};
    void *interpreter = more.interpreter();
    before = more.get_evaluation(interpreter);
    if (!frames_are_known(interpreter)) {
        before = NULL;
        pse_tool_warn("functions of this Python can't be recorded: its frames have another form");
        return;
    }
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        libraries[i] = folder_of(modules[i]);
    char *main = folder_of("__main__");
    main_has_no_file = main && !main[0];
    free(main);
    take_frames();
    more.set_evaluation(interpreter, evaluate);
}

void pse_trace_hook_python(void)
{
    const unsigned long *version = dlsym(RTLD_DEFAULT, "Py_Version");
    python = pse_python_api();
    if (!python || !version || *version >> 16 != SERVED_VERSION || !look_up())
        return;
    const int state = python->ensure();
    hook();
    python->release(state);
}
