/* Call sites: Python's frames, return addresses, and lines by addr2line, which a report starts. */
#define _GNU_SOURCE
#include "call_site.h"

#include <ctype.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python_api.h"

/* Python */

void pse_call_site_lock(pthread_mutex_t *mutex)
{
    if (pthread_mutex_trylock(mutex) == 0)
        return;
    const struct pse_python_api *python = pse_python_api();
    void *state = python && python->is_held() ? python->let_go() : NULL;
    pthread_mutex_lock(mutex);
    if (state)
        python->take_again(state);
}

/* The place of one frame; false if it is in mpi4py's own files. */
static bool describe_frame(const struct pse_python_api *python, void *frame, char *text)
{
    enum { MOST = PSE_CALL_SITE_TEXT - 16 };
    void *code = python->code(frame);
    char *path = pse_python_text(python, code, "co_filename", "");
    const bool found = path && path[0] && !strstr(path, "/mpi4py/");
    const size_t length = found ? strlen(path) : 0;
    if (found)
        snprintf(text, PSE_CALL_SITE_TEXT, "%s%s:%d", length > MOST ? "…" : "",
                 length > MOST ? path + length - MOST : path, python->line(frame));
    free(path);
    python->forget(code);
    return found;
}

static void take_python(char *text)
{
    const struct pse_python_api *python = pse_python_api();
    text[0] = '\0';
    if (!python) {
        if (pse_python_was_running())
            snprintf(text, PSE_CALL_SITE_TEXT, "the end of Python");
        return;
    }
    const int state = python->ensure();
    void *frame = python->frame(), *owned = NULL;
    while (frame && !describe_frame(python, frame, text))
        frame = pse_python_caller(python, frame, &owned);
    if (owned)
        python->forget(owned);
    python->release(state);
}

/* C */

/* Whether an object stands between the program and MPI: MPI itself, tools, the stack.  They define MPI
 * routines. */
static int defines_mpi(const Dl_info *object)
{
    static const char *const names[] = {"pse_tool_start",  "pse_toolstack_attach", "MPI_Init",
                                        "MPI_Init_thread", "MPI_Finalize",         "mpi_init_"};
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

/* Looked up once for each address: dladdr goes through all symbols of an object.  What is known is the
 * address with the answer in a bit below: one word, which threads need no lock for. */
bool pse_call_site_is_between(void *address)
{
    static uintptr_t known[256];
    uintptr_t *const at = &known[(uintptr_t)address * 0x9e3779b97f4a7c15u >> 56];
    uintptr_t answer = __atomic_load_n(at, __ATOMIC_RELAXED);
    if (answer >> 1 != (uintptr_t)address) {
        Dl_info found; /* none: a thunk of the stack */
        const bool between = !dladdr(address, &found) || !found.dli_fname || defines_mpi(&found);
        answer = (uintptr_t)address << 1 | between;
        __atomic_store_n(at, answer, __ATOMIC_RELAXED);
    }
    return answer & 1;
}

static void *take_address(void)
{
    void *frames[16];
    const int n = backtrace(frames, 16);
    for (int i = 1; i < n; i++)
        if (!pse_call_site_is_between(frames[i]))
            return (char *)frames[i] - 1; /* The call, not what follows it. */
    return NULL;
}

void pse_call_site_take(struct pse_call_site *site)
{
    take_python(site->python);
    site->address = site->python[0] ? NULL : take_address();
}

bool pse_source_line(const char *object, unsigned long offset, char *function, char *line)
{
    char command[2 * PATH_MAX];
    function[0] = line[0] = '\0';
    if (strchr(object, '\''))
        return false;
    snprintf(command, sizeof command, "env -u LD_PRELOAD addr2line -f -C -e '%s' %#lx 2>/dev/null", object,
             offset);
    FILE *answer = popen(command, "r");
    const bool found =
        answer && fgets(function, PSE_SOURCE_FUNCTION, answer) && fgets(line, PATH_MAX, answer);
    if (answer)
        pclose(answer);
    function[strcspn(function, "\n")] = '\0';
    line[strcspn(line, " \n")] = '\0';
    const char *colon = strrchr(line, ':');
    return found && colon && isdigit((unsigned char)colon[1]) && strncmp(line, "??", 2) != 0;
}

bool pse_source_line_text(const char *object, unsigned long offset, char *text, size_t room)
{
    char function[PSE_SOURCE_FUNCTION], line[PATH_MAX];
    if (!pse_source_line(object, offset, function, line))
        return false;
    const char *name = strrchr(line, '/');
    snprintf(text, room, "%s", name ? name + 1 : line);
    return true;
}

void pse_call_site_text(const struct pse_call_site *site, char *text, size_t room)
{
    Dl_info object;
    if (site->python[0]) {
        snprintf(text, room, "%s", site->python);
        return;
    }
    if (!site->address || !dladdr(site->address, &object) || !object.dli_fname) {
        snprintf(text, room, "an unknown place");
        return;
    }
    const char *at = site->address, *from = object.dli_sname ? object.dli_saddr : object.dli_fbase;
    const char *file = strrchr(object.dli_fname, '/');
    const unsigned long offset = (unsigned long)(at - (const char *)object.dli_fbase);
    if (!pse_source_line_text(object.dli_fname, offset, text, room))
        snprintf(text, room, "%s+%#lx in %s", object.dli_sname ? object.dli_sname : "code",
                 (unsigned long)(at - from), file ? file + 1 : object.dli_fname);
}
