/* Where in the program an MPI routine was called: for C the nearest caller outside of MPI and the tools, for
 * mpi4py the line of Python.
 *
 * Taking a site is cheap enough for every call of a tool that checks (some hundred ns); only `site_text`, for
 * a report, asks addr2line for the line of C code.
 *
 * Python is found among the process's symbols; without it there is no Python code.  Frames of mpi4py's own
 * files are passed over.
 *
 * May touch: Python's interpreter lock, shortly; starts addr2line for a report.
 */
#ifndef PSE_SITE_H
#define PSE_SITE_H

#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITE_TEXT = 200 };

struct site {
    void *address;          /* of C code; NULL: unknown */
    char python[SITE_TEXT]; /* file:line, or "" */
};

/* Python. */

static struct {
    int begun; /* it has been seen running */
    int (*is_initialized)(void);
    int (*is_held)(void); /* Python's lock, by this thread */
    void *(*let_go)(void);
    void (*take_again)(void *);
    int (*ensure)(void);
    void (*release)(int);
    void *(*frame)(void);
    void *(*back)(void *);
    void *(*code)(void *);
    int (*line)(void *);
    void *(*attribute)(void *, const char *);
    const char *(*text)(void *);
    void (*forget)(void *);
} site_python;

static void site_look_for_python(void)
{
    *(void **)&site_python.is_initialized = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    *(void **)&site_python.is_held = dlsym(RTLD_DEFAULT, "PyGILState_Check");
    *(void **)&site_python.let_go = dlsym(RTLD_DEFAULT, "PyEval_SaveThread");
    *(void **)&site_python.take_again = dlsym(RTLD_DEFAULT, "PyEval_RestoreThread");
    *(void **)&site_python.ensure = dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    *(void **)&site_python.release = dlsym(RTLD_DEFAULT, "PyGILState_Release");
    *(void **)&site_python.frame = dlsym(RTLD_DEFAULT, "PyEval_GetFrame");
    *(void **)&site_python.back = dlsym(RTLD_DEFAULT, "PyFrame_GetBack");
    *(void **)&site_python.code = dlsym(RTLD_DEFAULT, "PyFrame_GetCode");
    *(void **)&site_python.line = dlsym(RTLD_DEFAULT, "PyFrame_GetLineNumber");
    *(void **)&site_python.attribute = dlsym(RTLD_DEFAULT, "PyObject_GetAttrString");
    *(void **)&site_python.text = dlsym(RTLD_DEFAULT, "PyUnicode_AsUTF8");
    *(void **)&site_python.forget = dlsym(RTLD_DEFAULT, "Py_DecRef");
}

static inline int site_find_python(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, site_look_for_python);
    const int runs = site_python.is_initialized && site_python.back && site_python.is_initialized();
    if (runs && !site_python.begun)
        site_python.begun = 1;
    return runs;
}

/* Take a mutex under which sites are taken: its holder may wait for Python's lock, so whoever has that
 * (mpi4py keeps it in calls that don't block) lets it go while it waits for the mutex. */
static inline void site_lock(pthread_mutex_t *mutex)
{
    if (pthread_mutex_trylock(mutex) == 0)
        return;
    void *python = site_find_python() && site_python.is_held() ? site_python.let_go() : NULL;
    pthread_mutex_lock(mutex);
    if (python)
        site_python.take_again(python);
}

/* The place of one frame; 0 if it is mpi4py's own. */
static inline int site_of_frame(void *frame, char *text)
{
    void *code = site_python.code(frame), *file = site_python.attribute(code, "co_filename");
    const char *path = file ? site_python.text(file) : NULL;
    int own = path && strstr(path, "/mpi4py/") != NULL;
    size_t length = path ? strlen(path) : 0;
    if (path && !own)
        snprintf(text, SITE_TEXT, "%s%s:%d", length > SITE_TEXT - 16 ? "…" : "",
                 length > SITE_TEXT - 16 ? path + length - (SITE_TEXT - 16) : path, site_python.line(frame));
    if (file)
        site_python.forget(file);
    site_python.forget(code);
    return path && !own;
}

static inline void site_take_python(char *text)
{
    text[0] = '\0';
    if (!site_find_python()) {
        if (site_python.begun)
            snprintf(text, SITE_TEXT, "the end of Python");
        return;
    }
    int state = site_python.ensure();
    void *frame = site_python.frame(), *owned = NULL;
    while (frame && !site_of_frame(frame, text)) {
        frame = site_python.back(frame);
        if (owned)
            site_python.forget(owned);
        owned = frame;
    }
    if (owned)
        site_python.forget(owned);
    site_python.release(state);
}

/* C. */

/* Whether an object stands between the program and MPI: MPI itself, tools, the stack.  They define MPI
 * routines. */
static inline int site_defines_mpi(const Dl_info *object)
{
    static const char *const names[] = {"pse_tool_start", "MPI_Init", "MPI_Init_thread", "MPI_Finalize"};
    void *handle = dlopen(object->dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    int found = 0;
    for (size_t i = 0; handle && !found && i < sizeof names / sizeof *names; i++) {
        Dl_info owner;
        void *symbol = dlsym(handle, names[i]);
        found = symbol && dladdr(symbol, &owner) && owner.dli_fbase == object->dli_fbase;
    }
    if (handle)
        dlclose(handle);
    return found;
}

static inline int site_is_between(void *address)
{
    static struct {
        void *base;
        int between;
    } known[32];
    Dl_info found;
    if (!dladdr(address, &found) || !found.dli_fname)
        return 1; /* A thunk of the stack. */
    size_t at = ((uintptr_t)found.dli_fbase >> 12) % 32;
    if (known[at].base != found.dli_fbase) {
        known[at].between = site_defines_mpi(&found);
        known[at].base = found.dli_fbase;
    }
    return known[at].between;
}

/* Where the program called the wrapper that calls this. */
static inline void site_take(struct site *site)
{
    void *frames[16];
    int n = backtrace(frames, 16);
    site->address = NULL;
    for (int i = 1; i < n && !site->address; i++)
        if (!site_is_between(frames[i]))
            site->address = (char *)frames[i] - 1; /* The call, not what follows it. */
    site_take_python(site->python);
}

/* The line of C code by addr2line; 0 if it can't tell. */
static inline int site_line(const Dl_info *object, void *address, char *text, size_t room)
{
    char command[2 * PATH_MAX], answer[PATH_MAX] = "";
    unsigned long offset = (unsigned long)((char *)address - (char *)object->dli_fbase);
    if (strchr(object->dli_fname, '\''))
        return 0;
    snprintf(command, sizeof command, "env -u LD_PRELOAD addr2line -e '%s' %#lx 2>/dev/null",
             object->dli_fname, offset);
    FILE *pipe = popen(command, "r");
    char *got = pipe ? fgets(answer, sizeof answer, pipe) : NULL;
    if (pipe)
        pclose(pipe);
    if (!got || strstr(answer, "??"))
        return 0;
    answer[strcspn(answer, "\n (")] = '\0';
    const char *name = strrchr(answer, '/');
    snprintf(text, room, "%s", name ? name + 1 : answer);
    return 1;
}

/* A site in words: file:line, or function+offset in an object. */
static inline void site_text(const struct site *site, char *text, size_t room)
{
    Dl_info found;
    if (site->python[0])
        snprintf(text, room, "%s", site->python);
    else if (!site->address || !dladdr(site->address, &found) || !found.dli_fname)
        snprintf(text, room, "an unknown place");
    else if (!site_line(&found, site->address, text, room))
        snprintf(text, room, "%s+%#lx in %s", found.dli_sname ? found.dli_sname : "code",
                 (unsigned long)((char *)site->address -
                                 (char *)(found.dli_sname ? found.dli_saddr : found.dli_fbase)),
                 strrchr(found.dli_fname, '/') ? strrchr(found.dli_fname, '/') + 1 : found.dli_fname);
}

#endif
